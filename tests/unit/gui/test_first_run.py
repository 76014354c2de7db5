"""The first steps without a window."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.model import first_run
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.rig import GIB, NOT_HERE, Card, Finding, RigReport, find, read_machine
from diffusionforce.wire import Done, HeldOut, Preparing, Step, Stopped


def report(cards: tuple[Card, ...] = ()) -> RigReport:
    machine = read_machine()
    return RigReport(machine=machine, cards=cards, torch=None, findings=find(machine, cards=cards, torch=None))


def states(model: RunModel) -> list[str]:
    return [stage.state for stage in first_run.stages(model)]


def step(number: int, of: int) -> Step:
    return Step(step=number, num_steps=of, loss=0.5, seconds=1.0, eta_s=10.0, learning_rate=0.1, devices=())


def test_a_rig_without_cards_is_ready_for_the_demo():
    lines = first_run.rig_lines(report())
    assert first_run.rig_verdict(report()) == ("info", "Ready for the demo")
    assert sum("NVIDIA" in line.title for line in lines) == 1, "that there is no card is said once"
    assert any("free on the disk" in line.title for line in lines)


def card(index: int) -> Card:
    return Card(
        index=index,
        uuid=str(index),
        name="NVIDIA GeForce RTX 4060 Ti",
        pci_address=f"0000:0{index}:00.0",
        total_bytes=16 * GIB,
        free_bytes=15 * GIB,
        used_bytes=GIB,
        driver_version="581.00",
    )


def test_two_cards_are_good_for_splitting_and_one_is_ready():
    two = report((card(0), card(1)))
    assert first_run.rig_verdict(two) == ("ok", "Good for splitting")
    assert any(line.title == "RTX 4060 Ti and RTX 4060 Ti: 32 GB together" for line in first_run.rig_lines(two))
    assert first_run.rig_verdict(report((card(0),))) == ("ok", "Ready")


def test_the_job_of_the_demo_is_the_demo_and_its_pictures_are_there():
    job = first_run.demo_job()
    assert job.profile_name == "pocket-demo"
    assert job.held_out_dir is not None
    pictures = first_run.demo_pictures()
    assert len(pictures) > 5
    assert all(path.is_file() and caption for path, caption in pictures)


def test_the_first_start_is_over_with_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    assert first_run.is_first_start()
    recorded.run_folder(tmp_path / "runs" / "a", end="done")
    assert not first_run.is_first_start()


def test_what_is_done_stays_done_when_the_demo_is_stopped_before_its_first_step(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path / "run", steps=4))
    model.feed(Preparing(stage="pictures", done=9, total=9, step=0))
    model.feed(Preparing(stage="samples", done=1, total=4, step=0))
    model.stop_asked = True
    assert states(model) == ["done", "done", "now", "later"]
    model.feed(Stopped(step=0, lora=""))
    assert states(model) == ["done", "done", "stopped", "later"]


def test_the_stages_follow_the_trainer(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path / "run", steps=4))
    assert states(model) == ["now", "later", "later", "later"]
    model.feed(Preparing(stage="model", done=0, total=1, step=0))
    assert states(model)[0] == "now"
    model.feed(Preparing(stage="pictures", done=3, total=9, step=0))
    assert states(model) == ["done", "now", "later", "later"]
    model.feed(Preparing(stage="samples", done=0, total=4, step=0))
    assert states(model) == ["done", "done", "now", "later"]
    model.feed(step(2, 4))
    assert first_run.stages(model)[2].words == "Learn, step 2 of 4"
    assert first_run.left_words(model) == "about 10 s left"
    model.feed(step(4, 4))
    assert states(model) == ["done", "done", "done", "now"]
    model.feed(HeldOut(step=0, loss=1.0))
    model.feed(HeldOut(step=4, loss=0.25))
    model.feed(Done(step=4, seconds=4.0, lora="x", held_out_before=1.0, held_out_after=0.25))
    assert states(model) == ["done"] * 4
    assert "fell by 75 %" in first_run.result_words(model)


def test_that_pytorch_is_not_set_up_yet_is_no_fault_of_the_rig():
    """In the installed application the first steps set it up on the same page."""
    lacking = Finding(severity="problem", sentence=NOT_HERE, hint="")
    seen = replace(report(), findings=(lacking,))
    assert first_run.rig_verdict(seen) == ("info", "One thing to set up")
    assert NOT_HERE not in [line.title for line in first_run.rig_lines(seen)]
    other = Finding(severity="problem", sentence="The driver is too old.", hint="")
    assert first_run.rig_verdict(replace(seen, findings=(lacking, other))) == ("err", "Needs attention")
