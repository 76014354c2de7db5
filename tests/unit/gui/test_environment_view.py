"""What the page of the training environment says in each of its states."""

from dataclasses import replace

import pytest

from diffusionforce.errors import UserError
from diffusionforce.gui.model.environment_view import EnvironmentView, facts, headline, share_built, steps
from diffusionforce.wire.environment import EnvironmentPlan, EnvironmentProgress, EnvironmentState, EnvironmentStatus

GIB = 1 << 30
PLAN = EnvironmentPlan(
    folder="C:\\env",
    backend="cu130",
    reason="",
    torch_version="2.13.0",
    python_version="3.12.9",
    download_bytes=round(2.8 * GIB),
    needed_bytes=8 * GIB,
    free_bytes=212 * GIB,
    drive="C:",
)
MISSING = EnvironmentStatus(state="missing", folder="C:\\env")
READY = EnvironmentStatus(state="ready", folder="C:\\env", backend="cu130", torch_version="2.13.0", num_packages=94)
BEFORE = EnvironmentView(phase="idle", status=MISSING, plan=PLAN)
RUNNING = replace(BEFORE, phase="running", action="create")


def states(view: EnvironmentView) -> list[str]:
    return [step.state for step in steps(view)]


def test_before_it_is_built_the_numbers_are_said_and_nothing_is_done() -> None:
    come, room, build = facts(BEFORE)
    assert (come.value, come.unit, come.is_about) == ("2.8", "GB", True)
    assert (room.value, room.context, room.tone) == ("8", "212 GB free on C:", "")
    assert (build.value, build.context) == ("2.13.0", "CUDA 13.0")
    assert states(BEFORE) == ["later"] * 4
    assert headline(BEFORE).title == "Training needs one more thing"


def test_a_copy_that_runs_from_its_source_is_not_told_to_set_anything_up() -> None:
    # A newcomer read that this copy trains, and below it that training needs one more thing.
    spare = replace(BEFORE, is_ours=False)
    assert (headline(spare).tone, headline(spare).title) == ("ok", "Nothing needs to be set up")
    assert spare.start() == ("create", "Build it all the same")
    assert headline(replace(spare, status=READY)).title == "Ready to train"


def test_wheels_need_no_download() -> None:
    come, *_ = facts(replace(BEFORE, plan=PLAN.model_copy(update={"wheels": "D:\\wheels", "download_bytes": 0})))
    assert (come.value, come.context, come.is_about) == ("0", "from a folder of wheels", False)


def test_a_full_drive_is_said_before_it_is_tried() -> None:
    view = replace(BEFORE, plan=PLAN.model_copy(update={"free_bytes": 3 * GIB}))
    assert headline(view).title == "There is too little room on C:"
    assert facts(view)[1].tone == "err"
    assert headline(replace(view, status=READY)).title == "Ready to train"


def test_a_download_is_told_with_what_has_come_and_how_fast() -> None:
    progress = EnvironmentProgress(
        step="torch", package="torch", done_bytes=GIB, total_bytes=4 * GIB, bytes_per_s=24 << 20
    )
    view = replace(RUNNING, progress=progress)
    assert states(view) == ["done", "now", "later", "later"]
    torch = steps(view)[1]
    assert (torch.note, torch.amount, torch.share) == ("Downloading torch, 24 MB a second", "1.0 / 4 GB", 0.25)
    unpacking = steps(replace(view, progress=progress.model_copy(update={"package": ""})))[1]
    assert unpacking.note == "Unpacking"
    looking = steps(replace(view, progress=EnvironmentProgress(step="torch")))[1]
    assert (looking.note, looking.share) == ("Looking for versions", None)
    loading = EnvironmentProgress(step="check", package="cv2", done=8, total=16)
    assert (steps(replace(view, progress=loading))[3].amount, steps(replace(view, progress=loading))[3].share) == (
        "8 of 16",
        0.5,
    )


def test_the_step_that_failed_or_was_stopped_is_seen() -> None:
    view = replace(RUNNING, phase="idle", progress=EnvironmentProgress(step="libraries"))
    assert states(view) == ["done", "done", "stopped", "later"]
    failed = replace(view, problem=UserError("The disk is full.", hint="Free some space."))
    assert states(failed) == ["done", "done", "failed", "later"]
    assert (headline(failed).tone, headline(failed).title) == ("err", "The disk is full.")
    assert failed.start() == ("create", "Try again")


@pytest.mark.parametrize(
    ("state", "action", "words"),
    [
        ("missing", "create", "Set up now"),
        ("unfinished", "create", "Go on"),
        ("outdated", "create", "Update now"),
        ("moved", "repair", "Make it anew"),
        ("damaged", "repair", "Repair"),
        ("ready", "verify", "Check it"),
    ],
)
def test_the_one_button_does_what_the_state_needs(state: EnvironmentState, action: str, words: str) -> None:
    view = replace(BEFORE, status=READY.model_copy(update={"state": state}))
    assert view.start() == (action, words)


def test_another_build_than_the_one_that_is_there_is_offered() -> None:
    view = replace(BEFORE, status=READY.model_copy(update={"backend": "cpu"}))
    assert view.start() == ("create", "Change the build")
    assert "The build CUDA 13.0 could take its place." in headline(view).text
    assert headline(replace(view, status=READY)).text == (
        "PyTorch 2.13.0 (CUDA 13.0) with 94 packages. Everything was loaded once."
    )


def test_why_nothing_can_be_planned_is_said() -> None:
    problem = UserError("The NVIDIA driver 572.16 is too old.", hint="Install the newest.")
    view = replace(BEFORE, plan=None, plan_problem=problem)
    assert headline(view).title == "The NVIDIA driver 572.16 is too old."
    assert [fact.value for fact in facts(view)] == ["–"] * 3
    # A driver that was changed since does not make an environment wrong that is there.
    assert headline(replace(view, status=READY)).title == "Ready to train"


def test_the_whole_goes_on_from_step_to_step_and_ends_with_the_building() -> None:
    told = [
        EnvironmentProgress(step="venv"),
        EnvironmentProgress(step="torch", done_bytes=10, total_bytes=100),
        EnvironmentProgress(step="torch", done_bytes=90, total_bytes=100),
        EnvironmentProgress(step="libraries"),
        EnvironmentProgress(step="check", done=9, total=10),
    ]
    shares = [share_built(EnvironmentView(phase="running", action="create", progress=one)) for one in told]
    assert shares == sorted(shares, key=lambda share: share or 0.0)
    assert shares[0] == 0 and 0.9 < (shares[-1] or 0.0) < 1
    assert share_built(EnvironmentView(phase="idle", action="create", progress=told[-1])) is None
    assert share_built(EnvironmentView(phase="running", action="verify", progress=told[-1])) is None
