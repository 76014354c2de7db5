"""What the window says about the engine."""

from diffusionforce.errors import UserError
from diffusionforce.gui.model import engine_state
from diffusionforce.wire import Failed
from diffusionforce.wire.engine import EngineProgress, EngineStatus


def status(state: str, **more: object) -> EngineStatus:
    values: dict[str, object] = {
        "name": "Engine",
        "version": "1.2",
        "commit": "0" * 40,
        "upstream": "a/b",
        "licence": "x",
        "folder": "/f",
        "state": state,
        "num_files": 306,
        "size_bytes": 6 * 1024**2,
    }
    return EngineStatus.model_validate({**values, **more})


def test_every_state_says_what_to_do():
    missing = engine_state.of_record(status("missing"), action="status")
    assert (missing.tone, missing.action) == ("warn", "install")
    damaged = engine_state.of_record(status("damaged", modified=("a", "b")), action="status")
    assert damaged.text.startswith("2 files not as pinned")
    assert damaged.action == "install"
    intact = engine_state.of_record(status("intact"), action="status")
    assert (intact.tone, intact.action, intact.is_busy) == ("ok", "verify", False)
    assert "Every byte" in engine_state.of_record(status("intact"), action="verify").text
    assert "Repaired" in engine_state.of_record(status("intact", outcome="repaired"), action="install").text


def test_progress_is_busy_and_has_a_share_where_the_total_is_known():
    known = engine_state.of_record(EngineProgress(stage="files", done=3, total=6), action="install")
    assert (known.is_busy, known.share, known.title) == (True, 0.5, "Comparing 3 of 6 files")
    unknown = engine_state.of_record(EngineProgress(stage="download", done=1024**2, total=0), action="install")
    assert (unknown.share, unknown.title) == (None, "Downloading, 1 MB")


def test_a_failure_can_be_tried_again():
    failed = engine_state.of_record(Failed(sentence="No disk.", hint="Free some.", detail=""), action="install")
    assert (failed.tone, failed.title, failed.text, failed.action) == ("err", "No disk.", "Free some.", "install")
    assert engine_state.of_problem(UserError("Dead.", hint="Again.")).action == "install"
    assert engine_state.begun("install").is_busy
