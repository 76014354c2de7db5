"""Which LoRA files of the engine's runs stay, and what its runs wait for."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tests.support.jobs import small_job
from tests.support.pocket_runs import FakeControls

from diffusionforce.engines import pressure
from diffusionforce.engines.health import about_learning_rate
from diffusionforce.engines.musubi import telling
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.musubi.rates import usual_rates
from diffusionforce.engines.musubi.telling import Teller
from diffusionforce.errors import DivergedError, WeightsError
from diffusionforce.hooks.musubi.assignment import StepReport
from diffusionforce.job import builtin_profiles, changed, read_profile
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.pipeline.portions import Portions
from diffusionforce.rig.shared_memory import SharedMemoryWatch
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Warn


def teller(folder: RunFolder, **settings: int) -> Teller:
    return Teller(
        even_placement(2, [torch.device("cpu")]),
        output=folder,
        report=lambda message: None,
        controls=FakeControls(),
        plan=None,
        portions=Portions(),
        sample_steps=frozenset(),
        num_steps=60,
        write_prompts=lambda prompts: Path(),
        profile=changed(
            read_profile(builtin_profiles()["pocket-demo"]),
            {f"checkpoints.{name}": value for name, value in settings.items()},
            origin="test",
        ),
        family=find_family("wan2.1-t2v-14b"),
        files={"/data/0/00007": "fox.png"},
    )


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    job = small_job(tmp_path)
    return RunFolder.create(job.run_dir, job)


def saved(folder: RunFolder, step: int, name: str = "") -> Path:
    path = folder.checkpoints_dir / (name or f"fox-step{step:08d}.safetensors")
    save_file({"x": torch.zeros(8)}, path)
    return path


def test_the_newest_and_some_in_between_stay(folder: RunFolder) -> None:
    told = teller(folder, every_steps=10, keep=2, keep_every_steps=20)
    for step in range(10, 60, 10):
        told.on_checkpoint(step, path=saved(folder, step))
    told.on_checkpoint(60, path=saved(folder, 60, "fox.safetensors"))
    kept = {path.name for path in folder.checkpoints_dir.iterdir()}
    assert kept == {"fox.safetensors", *(f"fox-step{step:08d}.safetensors" for step in (20, 40, 50))}


def test_nothing_goes_for_a_file_that_is_cut_short(folder: RunFolder) -> None:
    told = teller(folder, every_steps=10, keep=1)
    first, second = saved(folder, 10), saved(folder, 20)
    told.on_checkpoint(10, path=first)
    second.write_bytes(second.read_bytes()[:-8])
    with pytest.raises(WeightsError):
        told.on_checkpoint(20, path=second)
    assert first.is_file()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_lora_of_numbers_that_are_none_ends_the_run_and_those_before_stay(folder: RunFolder, number: float) -> None:
    """Its last step was still measured well: only the gradients were no numbers."""
    told = teller(folder, every_steps=10, keep=1)
    first, second = saved(folder, 10), saved(folder, 20)
    told.on_checkpoint(10, path=first)
    save_file({"good": torch.zeros(3), "bad": torch.tensor([0.0, number])}, second)
    with pytest.raises(DivergedError, match="broke down by step 20"):
        told.on_checkpoint(20, path=second)
    assert first.is_file() and not second.exists()
    assert (told.saved_step, told.saved_path) == (10, "checkpoints/fox-step00000010.safetensors")


PREPARED = ("/data/0/cache/00007_0064x0064_wan.safetensors",)


def step_report(
    *, locked_bytes: int = 0, loss: float = 1.0, grad_norm: float | None = None, files: tuple[str, ...] = ()
) -> StepReport:
    return StepReport(
        loss=loss,
        learning_rate=1e-4,
        grad_norm=grad_norm,
        seconds=1.0,
        timeline=None,
        locked_bytes=locked_bytes,
        files=files,
    )


def test_a_run_whose_memory_the_system_moves_saves_first_and_then_waits(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gib = [0, 8, 8, 11, 11, 11, 11, 11]
    watch = SharedMemoryWatch(lambda: gib.pop(0) << 30, clock=lambda: -2.0 * len(gib))
    monkeypatch.setattr(telling, "watch_shared_memory", lambda: watch)
    told, controls = teller(folder), FakeControls()
    told._controls = controls
    told.on_step(1, num_steps=60, report=step_report())
    told.on_step(2, num_steps=60, report=step_report(locked_bytes=8 << 30))
    told.on_step(3, num_steps=60, report=step_report(locked_bytes=8 << 30))
    assert not told.take_save_request() and controls.lacks == []
    told.on_step(4, num_steps=60, report=step_report(locked_bytes=8 << 30))
    assert told.take_save_request() and not told.take_save_request() and controls.lacks == []
    told.on_step(5, num_steps=60, report=step_report(locked_bytes=8 << 30))
    (lack,) = controls.lacks
    assert lack is not None and "moved 3 GB" in lack.sentence and "by step 5" in lack.sentence
    told.on_step(6, num_steps=60, report=step_report(locked_bytes=8 << 30))
    assert not told.take_save_request() and len(controls.lacks) == 1, "who goes on all the same is not asked again"


def test_a_number_that_is_none_names_the_likely_cause(folder: RunFolder) -> None:
    told = teller(folder)
    told._profile = changed(told._profile, {"training.learning_rate": 0.5}, origin="test")
    told.on_step(6, num_steps=60, report=step_report())
    with pytest.raises(DivergedError, match=r"broke down at step 7: the loss is nan\.") as caught:
        told.on_bad_number("loss", float("nan"), learning_rate=0.5, files=PREPARED)
    assert caught.value.hint == (
        "Likely: training.learning_rate is 0.5: try 0.0002.\nThe pictures of that step: fox.png."
    )


def test_a_loss_that_leaps_and_a_lora_without_gradient_are_warned_about(folder: RunFolder) -> None:
    warned: list[Warn] = []
    told = teller(folder)
    told._report = lambda message: warned.append(message) if isinstance(message, Warn) else None
    for step in range(1, 31):
        told.on_step(
            step, num_steps=60, report=step_report(loss=9.0 if step > 26 else 1.0, grad_norm=1.0, files=PREPARED)
        )
    for step in range(31, 37):
        told.on_step(step, num_steps=60, report=step_report(loss=1.0, grad_norm=0.0))
    leapt, dead = warned
    assert leapt.sentence == "The loss leapt to 9 by step 29, from about 1."
    assert leapt.hint.endswith("The pictures of that step: fox.png.")
    assert dead.sentence == "The LoRA learns nothing: no gradient has reached it for 5 steps."


@pytest.mark.parametrize(("rate", "words"), [(1e3, "breaks a LoRA"), (1e-8, "changes next to nothing"), (1e-4, "")])
def test_a_learning_rate_far_from_what_works_is_warned_about(rate: float, words: str) -> None:
    changes = {"training.learning_rate": rate, "model.engine": "musubi"}
    profile = changed(read_profile(builtin_profiles()["pocket-demo"]), changes, origin="test")
    family = find_family("wan2.1-t2v-14b")
    warning = about_learning_rate(profile, rates=usual_rates(profile, family=family))
    assert (warning is None) == (not words)
    assert warning is None or words in warning.sentence
    own = changed(profile, {"advanced.optimizer_type": "Prodigy"}, origin="test")
    assert usual_rates(own, family=family) is None and about_learning_rate(own, rates=None) is None


def test_a_step_is_taken_again_only_where_one_has_fitted(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pressure, "TRIES_AFTER_S", (0.0,))
    told, error = teller(folder), torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has")
    assert not told.makes_room(error)
    told.on_step(1, num_steps=60, report=step_report())
    assert told.makes_room(error)
    assert not told.makes_room(RuntimeError("shapes cannot be multiplied"))
