"""LoRA files of a run that get other names, or go into the trash."""

import os
from pathlib import Path

import psutil
import pytest
from tests.gui import recorded

from diffusionforce.errors import RunFolderError
from diffusionforce.runs import RunFolder, deleting, manifest_of, require_whole, write_checkpoint
from diffusionforce.runs.deleting import delete_lora
from diffusionforce.runs.lora_files import MAX_NAME, checked_name, present_path, rename_lora


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run that has ended, with some LoRA files."""
    return recorded.run_folder(tmp_path / "run", end="done")


def told(run: RunFolder) -> list[str]:
    """Where the run says that its files are, the oldest first."""
    found = [path.relative_to(run.root).as_posix() for path in run.checkpoints_dir.glob("*.safetensors")]
    assert len(found) > 1
    return sorted(found)


def let_go_on(run: RunFolder) -> None:
    alive = {"state": "running", "pid": os.getpid(), "process_started_s": psutil.Process().create_time()}
    run.write_state(run.read_state().model_copy(update=alive))


def test_a_file_keeps_its_content_under_another_name(run: RunFolder):
    first = told(run)[0]
    (run.root / first).write_bytes(b"weights and metadata")
    now = rename_lora(run.root, first, "red fox")
    assert now == run.checkpoints_dir / "red fox.safetensors"
    assert now.read_bytes() == b"weights and metadata"
    assert not (run.root / first).exists()
    assert present_path(run.root, first) == now


def test_a_file_is_found_after_several_names(run: RunFolder):
    first, second = told(run)[:2]
    for name in ("a", "b.safetensors", "c"):
        rename_lora(run.root, first, name)
    rename_lora(run.root, second, "a")
    assert present_path(run.root, first).name == "c.safetensors"
    assert present_path(run.root, second).name == "a.safetensors"


def test_the_state_names_the_newest_file_as_it_is_called_now(run: RunFolder):
    newest = run.read_state().lora
    assert newest, "the run told of one"
    rename_lora(run.root, newest, "best")
    assert run.read_state().lora == "checkpoints/best.safetensors"
    telemetry = run.telemetry_path.read_text(encoding="utf-8")
    assert newest in telemetry and "best.safetensors" not in telemetry, "what was told stays"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        ".safetensors",
        "a/b",
        "..\\b",
        "what?",
        "a\nb",
        "con",
        "Aux.old",
        ".hidden",
        "ends.",
        "x" * (MAX_NAME + 1),
    ],
)
def test_a_name_that_no_system_takes_is_refused(run: RunFolder, name: str):
    first = told(run)[0]
    with pytest.raises(RunFolderError) as caught:
        rename_lora(run.root, first, name)
    assert caught.value.hint
    assert present_path(run.root, first) == run.root / first


@pytest.mark.parametrize(
    ("typed", "file"), [("  fox ", "fox"), ("Fuchs 日本.SAFETENSORS", "Fuchs 日本"), ("v1.2", "v1.2")]
)
def test_a_name_may_have_letters_of_any_language(typed: str, file: str):
    assert checked_name(typed) == f"{file}.safetensors"


def test_no_file_takes_the_place_of_another(run: RunFolder):
    first, second = told(run)[:2]
    (run.root / second).write_bytes(b"other")
    with pytest.raises(RunFolderError, match="another file"):
        rename_lora(run.root, first, Path(second).name)
    assert (run.root / second).read_bytes() == b"other" and (run.root / first).is_file()


def test_its_own_name_changes_nothing(run: RunFolder):
    first = told(run)[0]
    assert rename_lora(run.root, first, Path(first).stem) == run.root / first


def test_files_of_a_run_that_goes_on_keep_their_names(run: RunFolder):
    let_go_on(run)
    with pytest.raises(RunFolderError, match="goes on"):
        rename_lora(run.root, told(run)[0], "fox")


def test_a_file_that_is_gone_is_said_and_stays_under_its_old_name(run: RunFolder):
    first = told(run)[0]
    (run.root / first).unlink()
    with pytest.raises(RunFolderError, match="not there any more"):
        rename_lora(run.root, first, "fox")
    assert present_path(run.root, first) == run.root / first


def test_a_damaged_list_of_names_leaves_the_files_where_they_are(run: RunFolder):
    first = told(run)[0]
    (run.root / "lora-names.json").write_bytes(b"{")
    assert present_path(run.root, first) == run.root / first


def test_a_list_of_names_leads_to_no_other_folder(run: RunFolder, tmp_path: Path):
    (tmp_path / "secret.safetensors").write_bytes(b"")
    first = told(run)[0]
    (run.root / "lora-names.json").write_text(f'{{"now": {{"{first}": "../../secret.safetensors"}}}}', encoding="utf-8")
    assert present_path(run.root, first) == run.root / first


def test_the_newest_file_of_a_run_that_goes_on_is_not_deleted(run: RunFolder, monkeypatch: pytest.MonkeyPatch):
    moved: list[str] = []
    monkeypatch.setattr(deleting, "send2trash", moved.append)
    let_go_on(run)
    newest = run.root / run.newest_checkpoint()
    others = [run.root / path for path in told(run) if run.root / path != newest]
    with pytest.raises(RunFolderError, match="newest file"):
        delete_lora(newest)
    delete_lora(others[0])
    assert moved == [str(others[0])]


def test_a_run_goes_on_from_its_checkpoints_whatever_becomes_of_its_files(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deleting, "send2trash", lambda path: Path(path).unlink())
    job = recorded.job(run.root, steps=300, dataset_dir=tmp_path)
    write_checkpoint(run.checkpoints_dir / "step-000100-state", manifest_of(job, step=100), {"adapter": b"weights"})
    before = run.states()
    assert [state.step for state in before] == [100]
    first, *others = told(run)
    rename_lora(run.root, first, "step-000100-state")
    for path in others:
        delete_lora(run.root / path)
    assert run.states() == before
    assert require_whole(before[0].path).step == 100
