"""Trains a tiny Wan through the engine of the product with bad numbers, and goes on from states that are not ours.

    python -m tests.support.musubi_trouble_runs FOLDER

prints one JSON object.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file, save_file
from tests.support.gradients import with_backward
from tests.support.jobs import picture_folder
from tests.support.musubi_engine_runs import (
    NUM_STEPS,
    TWO,
    Runs,
    Wishes,
    goes_on,
    kinds,
    main,
    preparation,
)
from tests.support.strange_states import Evil, evil_pickle, seal

from diffusionforce.engines.plans import RunPlan
from diffusionforce.errors import UserError
from diffusionforce.job import changed

PLANS = {"two": TWO, "one": None}


def run_all(folder: Path) -> dict[str, Any]:
    """Every run, and what is seen of it."""
    runs = Runs(folder)
    runs.options |= {"sample_at_first": False, "sample_every_n_steps": 100}
    return {
        "bad number": {
            f"{what}, {name}, {clipped}": bad_number(runs, plan, change=change, max_grad_norm=limit)
            for what, change in (("loss", loss_breaks), ("gradient", gradient_breaks))
            for name, plan in PLANS.items()
            for clipped, limit in (("clipped", 1.0), ("not clipped", 0.0))
        },
        "poisoned": poisoned(runs, folder),
        "far too fast": far_too_fast(runs),
        "strange states": strange_states(runs, folder),
    }


def loss_breaks(loss: Any) -> Any:
    """No number."""
    return loss * float("nan")


def gradient_breaks(loss: Any) -> Any:
    """A number, with gradients that are none."""
    return with_backward(loss, lambda gradient: gradient * float("inf"))


def diverging(change: Callable[[Any], Any], *, at: int) -> Callable[[type[Any]], type[Any]]:
    """The engine's trainer, one of whose losses is changed."""
    calls = list[int]()

    def made(trainer: type[Any]) -> type[Any]:
        class Diverging(trainer):
            def compute_loss(self, *args: Any) -> Any:
                loss, metrics = super().compute_loss(*args)
                calls.append(1)
                return (change(loss) if len(calls) == at else loss), metrics

        return Diverging

    return made


def bad_number(runs: Runs, plan: RunPlan | None, *, change: Callable[[Any], Any], **options: Any) -> dict[str, Any]:
    """A run whose loss is changed in its third step."""
    wishes = Wishes()
    refused = refusal(lambda: runs.train(wishes, plan=plan, change_trainer=diverging(change, at=3), **options))
    saved = next(runs.folder.glob(f"run{runs.number}/checkpoints/*-state"), None)
    lora = load_file(saved.with_name("tiny-step00000002.safetensors")) if saved is not None else {}
    return {
        **refused,
        "records": kinds(wishes)[-2:],
        "goes_on": goes_on(runs.job, saved, num_steps=NUM_STEPS) if saved is not None else "nothing was saved",
        "finite": bool(lora) and all(bool(torch.isfinite(tensor).all()) for tensor in lora.values()),
    }


def refusal(run: Callable[[], object]) -> dict[str, str]:
    """What a run ends with that somebody is told about; empty if it ends well."""
    try:
        run()
    except UserError as error:
        return {"kind": type(error).__name__, "sentence": error.sentence, "hint": error.hint}
    return {"kind": "", "sentence": "", "hint": ""}


def poisoned(runs: Runs, folder: Path) -> dict[str, Any]:
    """Runs over four pictures, of which one was prepared badly."""
    one_at_a_time = changed(runs.job.profile, {"training.batch_size": 1}, origin="test")
    job = runs.job.model_copy(update={"profile": one_at_a_time})
    pictures = picture_folder(folder / "mine", num_pictures=4)
    for path in pictures.glob("*.png"):
        path.rename(path.with_name(f"my cat {path.name}"))
    for path in pictures.glob("*.txt"):
        path.rename(path.with_name(f"my cat {path.name}"))
    ready = preparation(job, folder, pictures, announce=lambda message: None).run()
    (place,) = [place for place, name in ready.files.items() if name == "my cat 2.png"]
    (bad,) = (ready.config.parent / "0" / "cache").glob(f"{Path(place).name}_*_wan.safetensors")
    save_file({name: tensor * float("nan") for name, tensor in load_file(bad).items()}, bad)
    common = {"dataset_config": str(ready.config), "files": ready.files}
    return {
        "alone": refusal(lambda: runs.train(Wishes(), plan=None, **common)),
        "accumulated": refusal(lambda: runs.train(Wishes(), gradient_accumulation_steps=2, **common)),
        "read in processes": refusal(lambda: runs.train(Wishes(), max_data_loader_n_workers=2, **common)),
    }


def far_too_fast(runs: Runs) -> dict[str, Any]:
    """A run with a learning rate that no LoRA survives."""
    usual, wishes = runs.job, Wishes()
    profile = changed(usual.profile, {"training.learning_rate": 1e3}, origin="test")
    runs.job = usual.model_copy(update={"profile": profile})
    try:
        found = refusal(lambda: runs.train(wishes, learning_rate=1e3, max_train_steps=40))
    finally:
        runs.job = usual
    return {**found, "records": kinds(wishes)[-2:]}


def strange_states(runs: Runs, folder: Path) -> dict[str, Any]:
    """Runs that go on from states of somebody else, whose checksums are right."""
    _, places = runs.train(Wishes(stop_at=2))
    (state,) = places.checkpoints_dir.glob("*-state")
    marker = folder / "a stranger was here"
    answer = {}
    for name, replaced in STRANGE.items():
        strange = folder / "strange" / name.replace(" ", "-") / state.name
        shutil.copytree(state, strange)
        for file, content in replaced.items():
            write_strange(strange / file, content, marker)
        seal(strange)
        found = {"goes_on": goes_on(runs.job, strange, num_steps=NUM_STEPS)}
        found |= refusal(lambda strange=strange: runs.train(Wishes(), resume=str(strange)))
        answer[name] = {**found, "harmed": marker.exists()}
    rank = refusal(lambda: runs.train(Wishes(), resume=str(state), network_dim=2))
    breaks = diverging(loss_breaks, at=1)
    gone_on = refusal(lambda: runs.train(Wishes(), resume=str(state), change_trainer=breaks))
    return answer | {"another rank": {**rank, "goes_on": "", "harmed": False}, "gone on": gone_on}


Content = Literal["evil", "evil, zipped", "numbers", "text", "gone"]
STRANGE: dict[str, dict[str, Content]] = {
    "optimiser": {"optimizer.bin": "evil, zipped"},
    "optimiser, bare": {"optimizer.bin": "evil"},
    "schedule": {"scheduler.bin": "evil, zipped"},
    "random numbers": {"random_states_0.pkl": "evil, zipped"},
    "random numbers, bare": {"random_states_0.pkl": "evil"},
    "no random numbers": {"random_states_0.pkl": "numbers"},
    "order of pictures": {"sampler.bin": "evil, zipped"},
    "scale": {"scaler.pt": "evil, zipped"},
    "something of its own": {"custom_checkpoint_0.pkl": "evil, zipped"},
    "LoRA": {"model.safetensors": "evil"},
    "LoRA as a pickle": {"model.safetensors": "gone", "pytorch_model.bin": "evil, zipped"},
    "notes": {"diffusionforce.json": "text"},
}


def write_strange(path: Path, content: Content, marker: Path) -> None:
    """Write a file of a stranger in the place of ours."""
    if content == "gone":
        path.unlink()
    elif content == "evil":
        path.write_bytes(evil_pickle(marker))
    elif content == "text":
        path.write_text(path.read_text(encoding="utf-8").replace("MT19937", "MT19938"), encoding="utf-8")
    else:
        torch.save({"state": Evil(marker) if content == "evil, zipped" else torch.zeros(2)}, path)


if __name__ == "__main__":
    main(run_all)
