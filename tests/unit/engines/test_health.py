"""Signs that a training goes wrong: leaps of the loss, no gradient, a learning rate far from what works."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.jobs import small_job
from tests.support.pocket_runs import Run
from tests.support.small_pocket import eventful_job

from diffusionforce.engines.health import HealthWatch, about_learning_rate, likely_causes, named
from diffusionforce.engines.pocket.schedule import RATES
from diffusionforce.engines.pocket.stepper import Stepper
from diffusionforce.errors import DivergedError
from diffusionforce.job import builtin_profiles, read_profile
from diffusionforce.wire import Step, Warn


def warned(watch: HealthWatch, losses: list[float], *, grad_norm: float = 1.0) -> list[tuple[int, str]]:
    """Steps and sentences of the warnings about losses, beginning at the watch's next step."""
    found: list[tuple[int, str]] = []
    for step, loss in enumerate(losses, watch.count + 1):
        found += [
            (step, warning.sentence) for warning in watch.note(step, loss=loss, grad_norm=grad_norm, files=["a.png"])
        ]
    return found


def test_a_leap_of_the_loss_is_told_once_and_ordinary_ups_and_downs_are_not() -> None:
    ordinary = [0.2 + 0.1 * math.sin(step) for step in range(60)]
    watch = HealthWatch()
    assert warned(watch, ordinary) == []
    # Symptom: one noisy step of a run of 40 was reason to "stop, and go on from an earlier checkpoint".
    assert warned(watch, [2.0, 0.2, 0.2, 2.0, 2.0, 0.2]) == []
    ((step, sentence),) = warned(watch, [2.0, 2.0, 2.0, 2.0])
    assert step == 69 and sentence.startswith("The loss leapt to 2 by step 69, from about 0.")
    assert warned(HealthWatch(), [0.1, 5.0, 0.1]) == [], "too early to know what is usual"


def test_the_average_goes_on_where_it_was() -> None:
    whole, first = HealthWatch(), HealthWatch()
    losses = [0.3, 0.1, 0.5, 0.2]
    warned(whole, losses)
    warned(first, losses[:2])
    rest = HealthWatch(average=first.average, count=first.count)
    warned(rest, losses[2:])
    assert (rest.average, rest.count) == (whole.average, whole.count)


def test_a_lora_that_no_gradient_reaches_is_told_once() -> None:
    found = warned(HealthWatch(), [0.2] * 30, grad_norm=0.0)
    assert found == [(5, "The LoRA learns nothing: no gradient has reached it for 5 steps.")]
    watch = HealthWatch()
    for step in range(1, 30):
        assert not list(watch.note(step, loss=0.1, grad_norm=float(step % 2), files=[]))


def test_a_dead_lora_is_told_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = eventful_job(tmp_path, lora__dropout=0.0, samples__prompts=[])
    take = Stepper.take_step

    def dead(self: Stepper, step: int) -> Any:
        with torch.no_grad():
            for matrix in self._matrices:
                matrix.zero_()  # Both matrices zero: neither gets a gradient from the other.
        return take(self, step)

    monkeypatch.setattr(Stepper, "take_step", dead)
    run = Run(job)
    (warning,) = [one for one in run.of_kind(Warn) if "learns nothing" in one.sentence]
    assert warning.step == 5 and run.of_kind(Step)[4].grad_norm == 0


@pytest.mark.parametrize(("rate", "words"), [(1e3, "breaks a LoRA"), (1e-9, "changes next to nothing"), (0.003, "")])
def test_a_learning_rate_far_from_what_works_is_told_before_the_start(tmp_path: Path, rate: float, words: str) -> None:
    warning = about_learning_rate(small_job(tmp_path, training__learning_rate=rate).profile, rates=RATES)
    assert (warning is None) == (words == "")
    assert warning is None or (words in warning.sentence and f"{rate:g}" in warning.sentence)


def test_no_built_in_profile_is_warned_about() -> None:
    profiles = [read_profile(path) for path in builtin_profiles().values()]
    pocket = [profile for profile in profiles if profile.model.engine == "pocket"]
    assert pocket and not any(about_learning_rate(profile, rates=RATES) for profile in pocket)


def test_causes_are_those_that_the_settings_speak_for(tmp_path: Path) -> None:
    plain = small_job(tmp_path / "a", training__warmup_steps=1).profile
    assert "damaged" in likely_causes(plain, step=50, rate=0.003, rates=RATES)[0]
    odd = small_job(tmp_path / "b", training__max_grad_norm=0, lora__alpha=1000, training__learning_rate=5).profile
    found = "; ".join(likely_causes(odd, step=3, rate=5, rates=RATES))
    for words in ("training.learning_rate is 5", "not clipped", "lora.alpha is 62.5 times", "no warm-up"):
        assert words in found


def test_many_files_are_named_shortly() -> None:
    assert named(["a", "b", "a"]) == "a, b"
    assert named([str(number) for number in range(9)]) == "0, 1, 2, 3 and 5 more"


def test_weights_about_to_become_infinite_stop_the_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their loss and gradients are numbers to the last: they shrink by a decay that overshoots."""
    job = eventful_job(tmp_path, training__learning_rate=1e6, training__weight_decay=10, training__warmup_steps=0)
    run = Run(job, begin=False)
    kept: list[Stepper] = []

    def still(self: Stepper, pieces: Any) -> list[float]:
        kept.append(self)
        for matrix in self._matrices:
            matrix.grad = torch.ones_like(matrix)
        return [1.0 for _ in pieces]

    take = Stepper._take_step

    def take_step(self: Stepper, step: int) -> Any:
        monkeypatch.setattr(self._runner, "run", lambda pieces, **_: still(self, pieces), raising=False)
        return take(self, step)

    monkeypatch.setattr(Stepper, "_take_step", take_step)
    with pytest.raises(DivergedError, match=r"broke down at step \d: weights of the LoRA, now up to .* infinite"):
        run.train()
    assert all(torch.isfinite(matrix).all() for matrix in kept[-1]._matrices)
    assert run.folder.states()[0].step == run.of_kind(Step)[-1].step
