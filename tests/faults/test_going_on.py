"""What a trainer that goes on from a checkpoint tells, as a process of its own."""

from pathlib import Path
from typing import Any

from tests.support.fault_runs import ForkServer, Undisturbed, check_goes_on_exactly

from diffusionforce.job import Job, changed
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Failed, Warn


def going_on(reference: Undisturbed, folder: Path, changes: dict[str, Any]) -> Job:
    newest = RunFolder.open(reference.job.run_dir).states()[1]
    profile = changed(reference.job.profile, changes, origin="test") if changes else reference.job.profile
    return reference.job.model_copy(update={"run_dir": folder / "run", "resume": newest.path, "profile": profile})


def test_settings_that_differ_are_told_before_anything_else(
    server: ForkServer, reference: Undisturbed, tmp_path: Path
) -> None:
    ended = server.train(going_on(reference, tmp_path, {"training.steps": 9, "devices.use": ["cpu", "cpu"]}))
    assert ended.code == 0
    first = next(message for message in ended.said if isinstance(message, Warn))
    assert first.sentence == (
        "From checkpoint blob_step_000006-state, these settings differ: training.steps (7 before, 9 now), "
        "devices.use (cpu before, cpu, cpu now)."
    )
    steps = [message.step for message in ended.said if message.kind == "step"]
    assert steps == [7, 8, 9]


def test_a_damaged_checkpoint_is_refused_before_a_folder_is_made(
    server: ForkServer, reference: Undisturbed, tmp_path: Path
) -> None:
    job = server.train(stopped := reference.job.model_copy(update={"run_dir": tmp_path / "run"}))
    assert job.code == 0
    good, bad = RunFolder.open(stopped.run_dir).states()[2], RunFolder.open(stopped.run_dir).states()[1]
    content = bytearray((bad.path / "state.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (bad.path / "state.safetensors").write_bytes(content)
    # The last one is not damaged, but nothing is left to do after it.
    for last in RunFolder.open(stopped.run_dir).states()[:1]:
        (last.path / "progress.json").unlink()
    more = stopped.model_copy(update={"run_dir": tmp_path / "more", "resume": bad.path})
    ended = server.train(more)
    end = ended.said[-1]
    assert isinstance(end, Failed) and ended.code == 1 and not more.run_dir.exists()
    assert f"{bad.path} is no state that a run can go on from: state.safetensors is damaged." == end.sentence
    assert end.hint == f"The last good one is {good.path.name}: go on from step {good.step}."


def test_a_run_that_went_on_is_gone_on_with_itself(server: ForkServer, reference: Undisturbed, tmp_path: Path) -> None:
    first = going_on(reference, tmp_path, {})
    newest = RunFolder.open(reference.job.run_dir).states()[2]
    assert server.train(first.model_copy(update={"resume": newest.path})).code == 0
    again = first.model_copy(update={"resume": RunFolder.open(first.run_dir).states()[1].path})
    assert server.train(again.model_copy(update={"run_dir": tmp_path / "again"})).code == 0
    check_goes_on_exactly(server, first, reference, name="unused")
