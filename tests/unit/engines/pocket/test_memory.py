"""Memory in runs of the pocket engine: blocks aside while samples are made, and what happens when it runs out."""

import functools
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from tests.support.pocket_runs import Run, tiny_job

from diffusionforce.engines import autopsy, pressure
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.engines.pocket import microbatches, results, stepper, training
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.errors import CardMemoryError
from diffusionforce.job import Job
from diffusionforce.pipeline.pager.pager import Pager
from diffusionforce.pipeline.portions import Portions
from diffusionforce.rig.shared_memory import SharedMemoryWatch
from diffusionforce.wire import Checkpoint, Done, Sample, Step, Stopped, Warn

NO_MEMORY = "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 24 GiB"
PROMPTS = ["Blob, waving", "a fox"]


def plan(*, num_aside: tuple[int, int] = (0, 0), paged: frozenset[int] = frozenset()) -> RunPlan:
    """Ten blocks over two logical devices, two chunks each, with one real-looking card for the words."""
    devices = tuple(
        DevicePlan(device="cpu", label=f"Part {index}", num_slots=2, num_aside=num)
        for index, num in enumerate(num_aside)
    )
    return RunPlan(devices=devices, chunk_sizes=(2, 3, 3, 2), stage_of_chunk=(0, 1, 0, 1), paged=paged)


def sampling_job(folder: Path) -> Job:
    return tiny_job(
        folder,
        steps=3,
        samples__prompts=PROMPTS,
        samples__every_steps=1,
        devices__use=["cpu", "cpu"],
        training__gradient_checkpointing=True,
        lora__dropout=0.2,
    )


@pytest.fixture(scope="module")
def losses_without_samples(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    job = sampling_job(tmp_path_factory.mktemp("plain") / "run")
    silent = job.profile.samples.model_copy(update={"prompts": ()})
    job = job.model_copy(update={"profile": job.profile.model_copy(update={"samples": silent})})
    return Run(job, plan=plan()).losses


def pixels(run: Run) -> list[bytes]:
    found = []
    for sample in run.of_kind(Sample):
        with Image.open(run.folder.root / sample.path) as picture:
            found.append(picture.tobytes())
    return found


@pytest.mark.parametrize("paged", [frozenset[int](), frozenset({0, 3, 4})])
def test_samples_with_blocks_aside_change_neither_losses_nor_pictures(
    tmp_path: Path, losses_without_samples: list[float], paged: frozenset[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[int] = []
    step_aside = Pager.step_aside

    def noting(self, aside) -> None:
        moved.append(sum(len(blocks) for blocks in aside))
        step_aside(self, aside)

    resident = Run(sampling_job(tmp_path / "resident"), plan=plan())
    monkeypatch.setattr(Pager, "step_aside", noting)
    run = Run(sampling_job(tmp_path / "aside"), plan=plan(num_aside=(2, 3), paged=paged))
    assert moved == [5] * 4  # At steps 0, 1, 2 and 3.
    assert run.losses == losses_without_samples
    assert len(pixels(run)) == 8 and pixels(run) == pixels(resident)
    assert isinstance(run.end, Done)


def test_samples_without_memory_are_left_out_with_a_word_and_the_training_goes_on(
    tmp_path: Path, losses_without_samples: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, calls = results.sample_picture, list[int]()

    def without_memory(*args, **kwargs):
        calls.append(1)
        if len(calls) == 4:  # The second prompt of step 1.
            raise torch.OutOfMemoryError(NO_MEMORY)
        return make(*args, **kwargs)

    monkeypatch.setattr(results, "sample_picture", without_memory)
    run = Run(sampling_job(tmp_path), plan=plan(num_aside=(1, 4)))
    assert isinstance(run.end, Done)
    assert run.losses == losses_without_samples
    (warning,) = [warning for warning in run.of_kind(Warn) if "left out" in warning.sentence]
    assert warning.sentence == "The samples of step 1 were left out: GPU 1 ran out of memory: 2.5 GB more did not fit."
    assert warning.step == 1
    assert [(sample.step, sample.prompt_index) for sample in run.of_kind(Sample)] == [
        (0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1)
    ]  # fmt: skip


def test_a_sample_that_cannot_be_written_still_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(results, "sample_picture", fail)
    with pytest.raises(ZeroDivisionError):
        Run(sampling_job(tmp_path), plan=plan(num_aside=(1, 1)))


def failing_at(monkeypatch: pytest.MonkeyPatch, *, step: int, phase: str) -> None:
    """Let a step run out of memory in its forward, backward or optimiser."""
    take_step = stepper.Stepper.take_step

    def fail(*_, **__):
        raise torch.OutOfMemoryError(NO_MEMORY)

    class FailsBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, *gradients):
            fail()

    def taking(self, number):
        if number == step:
            if phase == "forward":
                self._transformer.blocks[4].register_forward_pre_hook(fail)
            elif phase == "backward":
                self._transformer.blocks[4].register_forward_hook(lambda _m, _a, x: FailsBackward.apply(x))
            else:
                monkeypatch.setattr(importlib.import_module("torch.optim.adam"), "_single_tensor_adam", fail)
        return take_step(self, number)

    monkeypatch.setattr(stepper.Stepper, "take_step", taking)


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("forward", "in the forward pass of step 3"),
        ("backward", "in the backward pass of step 3"),
        ("optimizer", "in the optimiser's step of step 3"),
    ],
)
@pytest.mark.parametrize("use", [["cpu"], ["cpu", "cpu"]])
def test_no_memory_in_a_step_ends_in_an_autopsy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, words: str, use: list[str]
) -> None:
    failing_at(monkeypatch, step=3, phase=phase)
    planned = DevicePlan(
        device="cuda:1", label="GPU 1 (RTX 3060)", budget_bytes=11 << 30, planned_bytes=10 << 30, total_bytes=12 << 30
    )
    even = RunPlan(devices=(planned,), chunk_sizes=(10,), stage_of_chunk=(0,))
    job = tiny_job(tmp_path, steps=4, devices__use=use)
    run = Run(job, begin=False)
    monkeypatch.setattr(
        training, "out_of_memory", lambda *args, **words: autopsy.out_of_memory(*args, **(words | {"plan": even}))
    )
    planning = functools.partial(pressure.Pressure, plan=even)
    monkeypatch.setattr(training, "Pressure", lambda **words: planning(**{k: words[k] for k in words if k != "plan"}))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 21 << 29)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 11 << 30)
    with pytest.raises(CardMemoryError) as caught:
        run.train()
    error = caught.value
    assert error.sentence == (
        f"GPU 1 (RTX 3060) ran out of memory {words} (64 x 64, 2 at a time): 2.5 GB more did not fit. Planned were "
        "10 GB of 11 GB, it held up to 10.5 GB."
    )
    assert (error.device, error.wanted_bytes) == ("cuda:1", 5 << 29)
    assert "Traceback" in error.detail and "wanted: 2684354560 bytes more" in error.detail
    saved = [save.path for save in run.of_kind(Checkpoint)]
    if phase == "optimizer":  # Half of the matrices may have been changed.
        assert saved == []
    else:
        assert len(saved) == 1 and saved[0].endswith("_step_000002.safetensors")
        assert error.hint == "The LoRA of step 2 is saved."
    assert len(run.of_kind(Step)) == 2


def test_no_memory_while_loading_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_, **__):
        raise torch.OutOfMemoryError(NO_MEMORY)

    monkeypatch.setattr("diffusionforce.engines.pocket.beginning.place", fail)
    with pytest.raises(CardMemoryError, match=r"GPU 1 ran out of memory while the model was loaded") as caught:
        Run(tiny_job(tmp_path))
    assert caught.value.hint.startswith("Nothing had been trained yet. Close other programs")


def test_other_errors_are_not_taken_for_a_lack_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_, **__):
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(PocketTransformer, "forward", fail)
    with pytest.raises(RuntimeError, match="shapes"):
        Run(tiny_job(tmp_path))


@pytest.mark.parametrize("stops_waiting", [False, True])
def test_a_run_whose_memory_the_system_moves_saves_and_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops_waiting: bool
) -> None:
    readings = [0, 0, 2 << 30, 2 << 30, 2 << 30, 2 << 30]
    watch = SharedMemoryWatch(lambda: readings.pop(0), clock=lambda: -2.0 * len(readings))
    monkeypatch.setattr(training, "watch_shared_memory", lambda: watch)
    run = Run(tiny_job(tmp_path, steps=4, training__batch_size=1), begin=False)
    run.controls.stops_waiting = stops_waiting
    end = run.train()
    (lack,) = run.controls.lacks
    assert lack is not None and lack.sentence.startswith("Windows moved 2 GB of the graphics cards' memory to RAM by ")
    assert [save.step for save in run.of_kind(Checkpoint)] == ([3] if stops_waiting else [3, 4])
    assert isinstance(end, Stopped if stops_waiting else Done) and end.step == (3 if stops_waiting else 4)


def short_of_memory(monkeypatch: pytest.MonkeyPatch, *, step: int, times: int) -> list[int]:
    """Let the middle of a step run out of memory a few times; the steps that were tried are noted."""
    take_step, tried = stepper.Stepper.take_step, list[int]()

    def taking(self, number):
        tried.append(number)
        if number == step and tried.count(step) <= times:
            fail = _raising(torch.OutOfMemoryError(NO_MEMORY))
            handle = self._transformer.blocks[4].register_forward_pre_hook(fail)
            try:
                return take_step(self, number)
            finally:
                handle.remove()
        return take_step(self, number)

    monkeypatch.setattr(stepper.Stepper, "take_step", taking)
    monkeypatch.setattr(pressure, "TRIES_AFTER_S", (0.0, 0.0, 0.0))
    return tried


def _raising(error: Exception):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize("paged", [frozenset[int](), frozenset({0, 3, 4})])
def test_a_step_that_fits_no_longer_is_taken_again_and_changes_nothing(
    tmp_path: Path, losses_without_samples: list[float], monkeypatch: pytest.MonkeyPatch, paged: frozenset[int]
) -> None:
    tried = short_of_memory(monkeypatch, step=2, times=1)
    run = Run(sampling_job(tmp_path), plan=plan(paged=paged))
    assert isinstance(run.end, Done) and run.losses == losses_without_samples
    assert tried == [1, 2, 2, 3] and run.controls.lacks == []
    (warning,) = [warning for warning in run.of_kind(Warn) if "did not fit at first" in warning.sentence]
    assert "tried 2 times" in warning.sentence and warning.step == 2


def plain_job(folder: Path, *, use: tuple[str, ...], batch_size: int = 4, steps: int = 6) -> Job:
    """Nothing is dropped, so into how many pieces a batch is cut changes rounding alone."""
    settings = {"devices__use": list(use), "training__batch_size": batch_size}
    return tiny_job(folder, steps=steps, **settings)


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """For every step that was begun: into how many pieces it was cut, and whether they ran in turn."""
    found: list[tuple[int, bool]] = []

    for kind in (microbatches.InTurn, microbatches.Pipelined):

        def noting(self, pieces, *, in_turn=False, run=kind.run):
            found.append((len(pieces), in_turn))
            return run(self, pieces, in_turn=in_turn)

        monkeypatch.setattr(kind, "run", noting)
    return found


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (("cpu",), [(1, False), (1, False), (1, False), (2, False), (4, False), (4, False)]),
        (("cpu", "cpu"), [(4, False), (4, False), (4, False), (4, True), (4, True)]),
    ],
)
def test_a_step_that_fits_no_longer_is_taken_in_smaller_pieces_with_the_same_gradients(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cuts: list[tuple[int, bool]],
    use: tuple[str, ...],
    expected: list[tuple[int, bool]],
) -> None:
    # A game that was started took memory: the run waited for its end, where smaller pieces would have fitted.
    undisturbed = Run(plain_job(tmp_path / "undisturbed", use=use, steps=3))
    cuts.clear()
    short_of_memory(monkeypatch, step=2, times=len(expected) - 3)
    run = Run(plain_job(tmp_path / "disturbed", use=use, steps=3))
    assert cuts == expected and run.controls.lacks == []
    assert run.losses == pytest.approx(undisturbed.losses, rel=1e-5)
    norms = [step.grad_norm for step in run.of_kind(Step)]
    assert norms == pytest.approx([step.grad_norm for step in undisturbed.of_kind(Step)], rel=1e-4)
    one, other = (load_file(_last(each)) for each in (run, undisturbed))
    assert all(torch.allclose(one[key].float(), other[key].float(), atol=2e-3) for key in other)
    (warning,) = [one for one in run.of_kind(Warn) if "From step 2 on" in one.sentence]
    assert warning.sentence.endswith("the model sees 1 picture at a time, because another program took memory.")


def _last(run: Run) -> Path:
    return run.folder.root / run.of_kind(Checkpoint)[-1].path


def test_whole_batches_are_tried_again_ever_more_seldom_and_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: list[tuple[int, bool]]
) -> None:
    monkeypatch.setattr(pressure, "WHOLE_AGAIN_STEPS", 2)
    # Steps 2 to 5 do not fit whole, and then they do.
    run_pieces = microbatches.InTurn.run

    def too_large(self, pieces, *, in_turn=False):
        if len(pieces) == 1 and len(run.of_kind(Step)) in {1, 2, 3, 4}:
            raise torch.OutOfMemoryError(NO_MEMORY)
        return run_pieces(self, pieces, in_turn=in_turn)

    monkeypatch.setattr(microbatches.InTurn, "run", too_large)
    monkeypatch.setattr(pressure, "TRIES_AFTER_S", (0.0, 0.0, 0.0))
    run = Run(plain_job(tmp_path, use=("cpu",), batch_size=2, steps=11), begin=False)
    assert isinstance(run.train(), Done)
    # Steps 2 and 3 in pieces, 4 tried whole and then in pieces like the three that follow, the rest whole.
    assert [num for num, _ in cuts] == [1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1]
    told = [one.sentence.split(",")[0] for one in run.of_kind(Warn) if "step" in one.sentence]
    assert told == ["From step 2 on the model sees 1 picture at a time", "Whole batches fit again since step 8."]


def test_a_step_that_fails_although_there_is_room_is_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a word, and for ever: the run looked alive, since it asked for requests between the tries.
    tried = short_of_memory(monkeypatch, step=2, times=999)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (9 << 30, 24 << 30))
    with pytest.raises(CardMemoryError):
        Run(tiny_job(tmp_path, steps=4))
    assert tried.count(2) < 15


def test_less_is_on_the_cards_before_a_run_waits_for_memory_that_the_system_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: list[tuple[int, bool]]
) -> None:
    gib = [0, 0, 2, 0, 0, 0]
    watch = SharedMemoryWatch(lambda: gib.pop(0) << 30, clock=lambda: -2.0 * len(gib))
    monkeypatch.setattr(training, "watch_shared_memory", lambda: watch)
    run = Run(plain_job(tmp_path, use=("cpu",), batch_size=2, steps=5))
    assert [num for num, _ in cuts] == [1, 1, 1, 2, 2] and run.controls.lacks == []
    (warning,) = [one for one in run.of_kind(Warn) if "at a time" in one.sentence]
    assert warning.sentence.startswith("From step 4 on the model sees 1 picture at a time")


def of_what_cannot_be_cut(**words: Any) -> pressure.Pressure:
    words["portions"] = Portions()
    return pressure.Pressure(**words)


def test_a_step_that_does_not_fit_for_long_waits_until_there_is_room(
    tmp_path: Path, losses_without_samples: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = short_of_memory(monkeypatch, step=3, times=4)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 30, 24 << 30))
    monkeypatch.setattr(training, "Pressure", of_what_cannot_be_cut)
    run = Run(sampling_job(tmp_path), plan=plan())
    assert isinstance(run.end, Done) and run.losses == losses_without_samples and tried.count(3) == 5
    (lack,) = run.controls.lacks
    assert lack is not None and lack.sentence == (
        "Another program took memory of GPU 1: 1 GB are free, and step 3 needs 2.5 GB more than this run holds, even "
        "with 1 picture at a time."
    )


def test_a_run_that_is_stopped_while_it_waits_for_memory_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_of_memory(monkeypatch, step=3, times=99)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 30, 24 << 30))
    run = Run(tiny_job(tmp_path, steps=4), begin=False)
    run.controls.stops_waiting = True
    end = run.train()
    assert isinstance(end, Stopped) and end.step == 2
    assert [save.step for save in run.of_kind(Checkpoint)] == [2]


def test_the_first_step_is_not_tried_again_since_nothing_shows_that_it_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = short_of_memory(monkeypatch, step=1, times=99)
    with pytest.raises(CardMemoryError):
        Run(tiny_job(tmp_path, steps=4))
    assert tried == [1]
