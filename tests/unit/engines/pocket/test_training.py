"""Whole runs of the pocket engine, small enough for a test: 64 pixels, a few steps, the shipped weights."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tests.support.jobs import picture_folder, small_job
from tests.support.pocket_runs import FakeControls, Run, tiny_job

from diffusionforce.datasets import pictures
from diffusionforce.engines.pocket.lora import load_lora
from diffusionforce.engines.pocket.preparation import about_trigger
from diffusionforce.engines.pocket.stepper import Stepper
from diffusionforce.engines.pocket.training import PocketEngine
from diffusionforce.engines.pocket.weights import load_base
from diffusionforce.errors import DeviceError, DivergedError, ProfileError, WeightsError
from diffusionforce.wire import Checkpoint, Done, HeldOut, Message, Placed, Sample, Step, Stopped, Warn


def test_a_run_from_first_to_last_message(tmp_path: Path) -> None:
    prompts = ["Blob, waving", "a fox"]
    job = tiny_job(
        tmp_path,
        steps=4,
        samples__prompts=prompts,
        samples__every_steps=2,
        checkpoints__every_steps=1,
        checkpoints__keep=2,
        checkpoints__keep_best=0,
        dataset__trigger="Blob",
    ).model_copy(update={"held_out_dir": picture_folder(tmp_path / "held out", num_pictures=1)})
    run = Run(job)
    assert isinstance(run.end, Done)
    assert run.end.step == 4
    assert [step.step for step in run.of_kind(Step)] == [1, 2, 3, 4]
    assert run.of_kind(Step)[-1].learning_rate < run.of_kind(Step)[0].learning_rate
    assert [(sample.step, sample.prompt_index) for sample in run.of_kind(Sample)] == [
        (step, index) for step in (0, 2, 4) for index in (0, 1)
    ]
    for sample in run.of_kind(Sample):
        with Image.open(run.folder.root / sample.path) as picture:
            assert picture.size == (64, 64)
    measured = run.of_kind(HeldOut)
    assert [loss.step for loss in measured] == [0, 1, 2, 3, 4]  # before, with every save, and after
    before, after = measured[0], measured[-1]
    assert (run.end.held_out_before, run.end.held_out_after) == (before.loss, after.loss)
    assert before.loss != after.loss
    saves = run.of_kind(Checkpoint)
    assert saves[-1].path == run.end.lora == "checkpoints/blob.safetensors"
    assert sorted(path.name for path in run.folder.checkpoints_dir.iterdir()) == [
        "blob.safetensors",
        "blob_step_000002-state",
        "blob_step_000002.safetensors",
        "blob_step_000003-state",
        "blob_step_000003.safetensors",
        "blob_step_000004-state",
    ]
    (placed,) = run.of_kind(Placed)
    assert placed.num_blocks == len(placed.devices[0].blocks) == 10


def test_each_picture_is_decoded_once_for_the_check_and_once_for_its_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine read the folders, which had just been checked, all over again."""
    decode, decoded = pictures._decoded, list[Path]()

    def counted(picture: Image.Image) -> Image.Image:
        decoded.append(Path(getattr(picture, "filename", "")))
        return decode(picture)

    monkeypatch.setattr(pictures, "_decoded", counted)
    job = tiny_job(tmp_path, steps=1)
    held_out_dir = picture_folder(tmp_path / "held out", num_pictures=1)
    Run(job.model_copy(update={"held_out_dir": held_out_dir}))
    files = [*job.dataset_dir.glob("*.png"), *held_out_dir.glob("*.png")]
    assert sorted(decoded) == sorted(2 * files)


def test_the_saved_lora_can_be_loaded(tmp_path: Path) -> None:
    run = Run(tiny_job(tmp_path, steps=1))
    transformer = load_base().transformer
    lora = load_lora(transformer, run.folder.root / run.end.lora)
    assert lora.rank == 16
    assert any(layer.lora_B.abs().sum() > 0 for layer in lora.layers.values())


def test_samples_and_splitting_leave_the_losses_as_they_are(tmp_path: Path) -> None:
    plain = Run(tiny_job(tmp_path / "plain", steps=3))
    sampled = Run(
        tiny_job(tmp_path / "sampled", steps=3, samples__prompts=["a fox"], samples__every_steps=1),
        # Requests in between change nothing either.
        lambda message, controls: setattr(controls, "save_asked", isinstance(message, Step)),
    )
    split = Run(tiny_job(tmp_path / "split", steps=3, devices__use=["cpu", "cpu", "cpu"]))
    recomputed = Run(tiny_job(tmp_path / "recomputed", steps=3, training__gradient_checkpointing=True))
    assert sampled.losses == plain.losses
    assert split.losses == pytest.approx(plain.losses, rel=1e-6)
    assert recomputed.losses == pytest.approx(plain.losses, rel=1e-6)
    (placed,) = split.of_kind(Placed)
    assert placed.schedule == "interleaved"
    assert sorted(block for device in placed.devices for block in device.blocks) == list(range(10))
    (reading,) = split.of_kind(Step)[-1].devices
    # Six chunks forward and backward for each of the two pictures.
    assert len(reading.timeline) == 2 * 6 * 2
    assert {span.op for span in reading.timeline} == {"F", "B"}
    assert reading.busy is not None
    assert 0 < reading.busy <= 1


def test_training_learns(tmp_path: Path) -> None:
    job = tiny_job(
        tmp_path,
        steps=25,
        training__learning_rate=0.01,
        training__logit_mean=1.2,
        training__logit_std=1.0,
        dataset__regularisation_share=0.0,
    ).model_copy(update={"held_out_dir": picture_folder(tmp_path / "held out", num_pictures=2)})
    end = Run(job).end
    assert isinstance(end, Done)
    assert end.held_out_before is not None
    assert end.held_out_after is not None
    assert end.held_out_after < 0.5 * end.held_out_before


def test_a_stop_keeps_what_was_learnt(tmp_path: Path) -> None:
    def stop_after_two(message: Message, controls: FakeControls) -> None:
        controls.stop_requested = isinstance(message, Step) and message.step == 2

    run = Run(tiny_job(tmp_path, steps=50), stop_after_two)
    assert isinstance(run.end, Stopped)
    assert run.end.step == 2
    assert run.end.lora == "checkpoints/loranne_step_000002.safetensors"
    assert (run.folder.root / run.end.lora).is_file()


@pytest.mark.parametrize("kind", ["preparing", "placement", "sample"])
def test_a_stop_before_the_first_step_leaves_no_lora(tmp_path: Path, kind: str) -> None:
    def stop_there(message: Message, controls: FakeControls) -> None:
        controls.stop_requested = controls.stop_requested or message.kind == kind

    run = Run(tiny_job(tmp_path, samples__prompts=["a fox", "a frog"]), stop_there)
    assert run.end == Stopped(step=0, lora="")
    assert not run.of_kind(Step)
    assert list(run.folder.checkpoints_dir.iterdir()) == []


def test_requests_are_answered_after_the_step(tmp_path: Path) -> None:
    def ask(message: Message, controls: FakeControls) -> None:
        if isinstance(message, Step) and message.step == 1:
            controls.save_asked = controls.sample_asked = True

    run = Run(tiny_job(tmp_path, steps=3, samples__prompts=["a fox"], samples__before_training=False), ask)
    assert [sample.step for sample in run.of_kind(Sample)] == [1, 3]
    assert [save.step for save in run.of_kind(Checkpoint)] == [1, 3]


def test_other_prompts_count_from_the_next_samples_on(tmp_path: Path) -> None:
    def ask(message: Message, controls: FakeControls) -> None:
        if isinstance(message, Step) and message.step == 1:
            controls.prompts, controls.sample_asked = ("a frog", "a tall house"), True

    run = Run(tiny_job(tmp_path, steps=2, samples__prompts=["a fox"]), ask)
    drawn = [(sample.step, sample.prompt, sample.num_prompts) for sample in run.of_kind(Sample)]
    assert drawn[0] == (0, "a fox", 1)
    assert drawn[1:] == [(step, prompt, 2) for step in (1, 2) for prompt in ("a frog", "a tall house")]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"training__learning_rate": 1e3}, "training.learning_rate is 1000"),
        ({"training__learning_rate": 1e6, "training__max_grad_norm": 0}, "gradients are not clipped"),
    ],
)
def test_the_first_bad_number_ends_the_run_with_the_last_good_lora(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    job = tiny_job(tmp_path, steps=12, checkpoints__every_steps=1, **changes)
    run = Run(job, begin=False)
    with pytest.raises(DivergedError, match=r"broke down at step \d+") as caught:
        run.train()
    assert words in caught.value.hint
    assert "The pictures of that step: " in caught.value.hint and ".png" in caught.value.hint
    (caution,) = [warning for warning in run.of_kind(Warn) if "learning_rate" in warning.sentence]
    assert run.messages.index(caution) < run.messages.index(run.of_kind(Step)[0])
    last = run.of_kind(Step)[-1].step
    assert f"The LoRA of step {last} is saved." in caught.value.hint
    assert math.isfinite(run.losses[-1])
    loras = list(run.folder.checkpoints_dir.glob("*.safetensors"))
    assert f"loranne_step_{last:06d}.safetensors" in [path.name for path in loras]
    for path in loras:
        assert all(torch.isfinite(matrix).all() for matrix in load_lora(load_base().transformer, path).parameters())
    assert run.folder.states()[0].step == last


@pytest.mark.parametrize("limit", [0, 1])
def test_gradients_that_are_no_numbers_never_reach_the_lora(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Whether they are clipped or not, and though the loss is a number."""
    take = Stepper._take_step

    def spoilt(self: Stepper, step: int) -> Any:
        run_pieces = self._runner.run

        def run(pieces: Any, **options: Any) -> list[float]:
            losses = run_pieces(pieces, **options)
            self._matrices[0].grad = torch.full_like(self._matrices[0], math.inf)
            return losses

        with monkeypatch.context() as patch:
            if step == 3:
                patch.setattr(self._runner, "run", run, raising=False)
            return take(self, step)

    monkeypatch.setattr(Stepper, "_take_step", spoilt)
    run = Run(tiny_job(tmp_path, steps=5, training__max_grad_norm=limit), begin=False)
    with pytest.raises(DivergedError, match=r"broke down at step 3: the loss is 0\.\d+, its gradient inf\.") as caught:
        run.train()
    assert "The LoRA of step 2 is saved." in caught.value.hint and run.folder.states()[0].step == 2
    assert ("gradients are not clipped" in caught.value.hint) == (limit == 0)
    (path,) = run.folder.checkpoints_dir.glob("*.safetensors")
    assert all(torch.isfinite(matrix).all() for matrix in load_lora(load_base().transformer, path).parameters())


def test_small_datasets_are_not_split_and_larger_ones_are(tmp_path: Path) -> None:
    small = Run(tiny_job(tmp_path / "small", steps=1))
    (warning,) = [warning for warning in small.of_kind(Warn) if "too small" in warning.sentence]
    # Symptom: the hint named a setting that does nothing for a dataset chosen with --dataset.
    assert warning.hint.startswith("Use 8 or more pictures, or a profile that names both")
    folder = picture_folder(tmp_path / "ten", num_pictures=3)
    for index in range(3, 10):
        Image.new("RGB", (64, 64), (20 * index, 90, 0)).save(folder / f"{index}.png")
        (folder / f"{index}.txt").write_text(f"Blob, picture {index}", encoding="utf-8")
    large = Run(tiny_job(tmp_path / "large", steps=1, dataset_dir=folder))
    assert len(large.of_kind(HeldOut)) == 2


def test_long_captions_are_told_about(tmp_path: Path) -> None:
    folder = picture_folder(tmp_path / "wordy")
    (folder / "0.txt").write_text(" ".join(f"word{index}" for index in range(40)), encoding="utf-8")
    run = Run(tiny_job(tmp_path, steps=1, dataset_dir=folder))
    assert any("1 caption is longer than the 24 words" in warning.sentence for warning in run.of_kind(Warn))


@pytest.mark.parametrize(
    ("trigger", "sentence"),
    [
        ("", None),
        ("FOX", None),
        ("lake", "1 of 3 captions does not contain lake."),
        ("Zyx", "3 of 3 captions do not contain Zyx."),
    ],
)
def test_captions_without_the_trigger_are_told_about(trigger: str, sentence: str | None) -> None:
    warning = about_trigger(["a fox at a lake", "lake and fox", "a fox"], trigger=trigger)
    assert (warning.sentence if warning else None) == sentence


def test_a_run_tells_of_captions_without_the_trigger(tmp_path: Path) -> None:
    run = Run(tiny_job(tmp_path, steps=1, dataset__trigger="Glorbix"))
    assert any("3 of 3 captions do not contain Glorbix" in warning.sentence for warning in run.of_kind(Warn))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"model__family": "wan"}, ProfileError, "model.family = 'wan'"),
        ({"training__timestep_sampling": "flux2_shift"}, ProfileError, "timestep_sampling = 'flux2_shift'"),
        ({"samples__num_frames": 9}, ProfileError, "num_frames = 9"),
        ({"model__weights": "/nowhere/x.safetensors"}, WeightsError, "/nowhere/x.safetensors"),
        ({"model__weights": "~nosuch/x.safetensors"}, ProfileError, "no home folder ~nosuch"),
        ({"lora__rank": 257}, ProfileError, "lora.rank = 257. Write 256 or less"),
        ({"devices__use": ["cuda:7"]}, DeviceError, "cuda:7"),
        ({"devices__use": ["cpu"] * 11}, DeviceError, "11 devices"),
    ],
)
def test_jobs_that_cannot_run_are_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        PocketEngine().check(small_job(tmp_path, **changes))
    assert words in str(caught.value)
