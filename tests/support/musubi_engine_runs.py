"""Trains a tiny Wan through the engine of the product, on two logical devices, with samples, requests and a state.

    python -m tests.support.musubi_engine_runs FOLDER

prints one JSON object.
"""

import argparse
import dataclasses
import importlib
import inspect
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from accelerate.state import AcceleratorState
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tests.support.broken_dataset import clip
from tests.support.jobs import picture_folder, small_job
from tests.support.musubi_families import FAMILIES, write_caches
from tests.support.musubi_process import import_on_processor

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.datasets.sets import DatasetSet, SetFolder, write_set
from diffusionforce.engines.contract import Lack
from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.arguments import EngineArguments
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.musubi.preparation import Preparation
from diffusionforce.engines.musubi.readiness import Ready
from diffusionforce.engines.musubi.training import Training
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.engines.pressure import Pressure
from diffusionforce.errors import CardMemoryError, ProfileError
from diffusionforce.job import Job, changed
from diffusionforce.runs import require_resumable
from diffusionforce.wire import Message, Step

TINY = FAMILIES["wan21"]
NUM_STEPS = 6
FAMILY = dataclasses.replace(
    find_family("wan2.1-t2v-14b"),
    blocks=(dataclasses.replace(find_family("wan2.1-t2v-14b").blocks[0], count=TINY.num_blocks),),
)
TWO = RunPlan(
    devices=tuple(DevicePlan(device="cpu", label=f"part {index}", num_aside=1) for index in range(2)),
    chunk_sizes=(2, 2),
    stage_of_chunk=(0, 1),
)


NO_MEMORY = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has"


class Wishes:
    """What is asked of a run, told by its own records."""

    def __init__(
        self,
        *,
        save_at: int = 0,
        sample_at: int = 0,
        stop_at: int = 0,
        prompts_at: Mapping[int, tuple[str, ...]] | None = None,
        stops_waiting: bool = False,
    ) -> None:
        self._stops_waiting, self.lack = stops_waiting, None
        self._prompts_at, self._prompts = prompts_at or {}, None
        self.stop_requested = False
        self.records: list[Message] = []
        self._save_at, self._sample_at, self._stop_at = save_at, sample_at, stop_at
        self._wants_save = self._wants_sample = False

    def report(self, message: Message) -> None:
        self.records.append(message)
        if isinstance(message, Step):
            self._wants_save = message.step == self._save_at
            self._wants_sample = message.step == self._sample_at
            self.stop_requested = message.step == self._stop_at
            self._prompts = self._prompts_at.get(message.step, self._prompts)

    def take_save_request(self) -> bool:
        wanted, self._wants_save = self._wants_save, False
        return wanted

    def take_sample_request(self) -> bool:
        wanted, self._wants_sample = self._wants_sample, False
        return wanted

    def take_prompts(self) -> tuple[str, ...] | None:
        wanted, self._prompts = self._prompts, None
        return wanted

    def wait_while(self, find_lack: Callable[[], Lack | None]) -> None:
        assert self._stops_waiting, "nothing is lacking here"
        self.lack, self.stop_requested = find_lack(), True


@dataclasses.dataclass(frozen=True)
class Folders:
    """A run folder."""

    root: Path

    @property
    def samples_dir(self) -> Path:
        return self.root / "samples"

    @property
    def checkpoints_dir(self) -> Path:
        return self.root / "checkpoints"


def fake_encoder_and_decoder() -> None:
    """A text encoder that makes up what it says, and a small random autoencoder of the engine's own class."""
    program: Any = importlib.import_module("musubi_tuner.wan_train_network")
    autoencoder: Any = importlib.import_module("musubi_tuner.wan.modules.vae")

    class FakeT5:
        def __init__(self, **_: Any) -> None:
            pass

        def __call__(self, texts: list[str], device: torch.device) -> list[torch.Tensor]:
            generator = torch.Generator().manual_seed(len(texts[0]))
            return [torch.randn(6, 4096, generator=generator).to(device) for _ in texts]

    def small(z_dim: int, **_: Any) -> Any:
        torch.manual_seed(0)
        sizes = {"dim_mult": [1, 2, 4, 4], "num_res_blocks": 1, "attn_scales": [], "dropout": 0.0}
        return autoencoder.WanVAE_(dim=8, z_dim=z_dim, temperal_downsample=[False, True, True], **sizes)

    program.T5EncoderModel = FakeT5
    captions: Any = importlib.import_module("musubi_tuner.wan_cache_text_encoder_outputs")
    captions.T5EncoderModel = FakeT5
    autoencoder._video_vae = small


class Runs:
    """Runs in one folder, over the same weights and pictures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options = self._options(TINY.prepare(folder))
        self.job: Job = small_job(folder, steps=NUM_STEPS, samples__prompts=["a cat", "a dog"])
        self.number = 0

    def _options(self, own: list[str]) -> dict[str, Any]:
        prompts = self.folder / "prompts.txt"
        prompts.write_text(
            "a cat --w 64 --h 64 --f 1 --d 42 --s 2 --l 5 --n bad\na dog --w 64 --h 64 --f 5 --d 7 --s 2\n",
            encoding="utf-8",
        )
        named = dict(zip((name.removeprefix("--") for name in own[::2]), own[1::2], strict=True))
        return {
            **named,
            "dataset_config": str(write_caches(TINY, self.folder, num=4, batch_size=1)),
            "sdpa": True,
            "mixed_precision": "no",
            "gradient_checkpointing": True,
            "network_module": TINY.network_module,
            "network_dim": 4,
            "network_alpha": 4,
            "learning_rate": 1e-3,
            "optimizer_type": "AdamW",
            "max_data_loader_n_workers": 0,
            "seed": 1,
            "output_name": "tiny",
            "max_train_steps": NUM_STEPS,
            "timestep_sampling": "shift",
            "discrete_flow_shift": 3.0,
            "save_every_n_steps": 4,
            "vae": "none",
            "vae_dtype": "float32",
            "t5": "none",
            "sample_prompts": str(prompts),
            "sample_every_n_steps": 4,
            "sample_at_first": True,
        }

    def train(
        self,
        wishes: Wishes,
        *,
        plan: RunPlan | None = TWO,
        change_trainer: Callable[[type[Any]], type[Any]] = lambda trainer: trainer,
        files: Mapping[str, str] | None = None,
        **further: Any,
    ) -> tuple[Any, Folders]:
        """Train once; gives how it ended and where it wrote."""
        self.number += 1
        AcceleratorState._reset_state(True)
        folders = Folders(self.folder / f"run{self.number}")
        folders.samples_dir.mkdir(parents=True)
        values = {**self.options, "output_dir": str(folders.checkpoints_dir), **further}
        training = Training(
            job=self.job,
            family=FAMILY,
            arguments=EngineArguments(script=FAMILY.trainer.train, values=values),
            output=folders,
            report=wishes.report,
            controls=wishes,
            devices=(torch.device("cpu"),),
            plan=plan,
            files=files or {},
            change_trainer=change_trainer,
        )
        return training.run(), folders


def state_of_the_engine() -> dict[str, str]:
    """What hooks replace, as it is now."""
    base: Any = importlib.import_module("musubi_tuner.training.trainer_base")
    program: Any = importlib.import_module("musubi_tuner.wan_train_network")
    linear = inspect.getattr_static(torch.nn.Linear, "forward")
    return {
        "should_sample": str(id(base.should_sample_images)),
        "trainer": str(id(program.WanNetworkTrainer)),
        "methods": str(hash(tuple(sorted((name, id(value)) for name, value in vars(base.NetworkTrainer).items())))),
        "linear": str(id(linear)),
        "argv": " ".join(sys.argv),
        "path": " ".join(sys.path),
        "device": os.environ.get("ACCELERATE_TORCH_DEVICE", "none"),
    }


def kinds(wishes: Wishes) -> list[str]:
    """The records in short."""
    return [f"{record.kind} {getattr(record, 'step', '')}".strip() for record in wishes.records]


def lora_equal(one: Path, other: Path) -> bool:
    """Whether two LoRA files hold the same numbers."""
    a, b = load_file(one), load_file(other)
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def losses(wishes: Wishes) -> list[float]:
    """Of every step."""
    return [record.loss for record in wishes.records if isinstance(record, Step)]


def run_all(folder: Path) -> dict[str, Any]:
    """Every run, and what is compared of them."""
    runs, answer = Runs(folder), dict[str, Any]()
    before = state_of_the_engine()
    whole = Wishes()
    end, places = runs.train(whole)
    answer["end"] = end.model_dump(exclude={"seconds"})
    answer["records"] = kinds(whole)
    answer["messages"] = [record.model_dump(mode="json") for record in whole.records if not isinstance(record, Step)]
    answer["samples"] = sorted(path.name for path in places.samples_dir.iterdir())
    answer["checkpoints"] = sorted(path.name for path in places.checkpoints_dir.iterdir())
    answer["state_unchanged"] = state_of_the_engine() == before
    with safe_open(places.checkpoints_dir / "tiny.safetensors", "pt") as file:
        answer["metadata_steps"] = file.metadata()["ss_steps"]

    single = Wishes()
    _, alone = runs.train(single, plan=None)
    answer["single_records"] = kinds(single)
    answer["single_losses_equal"] = losses(single) == losses(whole)
    answer["single_samples_equal"] = [
        (alone.samples_dir / name).read_bytes() == (places.samples_dir / name).read_bytes()
        for name in answer["samples"]
    ]
    answer["vanilla"] = vanilla(runs, folder / "vanilla", places)

    answer["extra_loras"] = with_lora(runs, folder, places)
    answer["live_prompts"] = live_prompts(runs)
    answer["prepared"] = prepared(runs, folder)
    before = state_of_the_engine()  # The engine's own program leaves the import path longer than it was.
    asked = Wishes(sample_at=1, save_at=2, stop_at=3)
    stopped, kept = runs.train(asked)
    answer["stopped"] = stopped.model_dump()
    answer["asked_records"] = kinds(asked)
    answer["stopped_state_unchanged"] = state_of_the_engine() == before
    answer["shortage"] = short_of_memory(runs)
    answer["failed_state_unchanged"] = state_of_the_engine() == before
    rest, state = Wishes(), kept.checkpoints_dir / "tiny-step00000003-state"
    answer["goes_on"] = [goes_on(runs.job, state, num_steps=steps) for steps in (3, NUM_STEPS)]
    _, later = runs.train(rest, resume=str(state))
    answer["resumed_records"] = kinds(rest)
    answer["resumed_losses_equal"] = losses(rest) == losses(whole)[3:]
    name = "tiny.safetensors"
    answer["resumed_lora_equal"] = lora_equal(later.checkpoints_dir / name, places.checkpoints_dir / name)
    return answer


def goes_on(job: Job, state: Path, *, num_steps: int) -> str:
    """What is said of a job of so many steps that goes on from a state; empty if nothing."""
    profile = changed(job.profile, {"training.steps": num_steps}, origin="test")
    try:
        require_resumable(job.model_copy(update={"profile": profile, "resume": state}))
    except ProfileError as error:
        return error.sentence
    return ""


def short_of_memory(runs: Runs) -> dict[str, Any]:
    """A run whose model asks for too much in its third step."""
    wishes, calls = Wishes(), list[int]()

    def change(trainer: type[Any]) -> type[Any]:
        class Greedy(trainer):
            def call_dit(self, *args: Any) -> Any:
                calls.append(1)
                if len(calls) == 3:
                    raise torch.OutOfMemoryError(NO_MEMORY)
                return super().call_dit(*args)

        return Greedy

    ended, hint = "", ""
    try:
        # A card's budget tells that the run itself wants too much; here there is no card, and so no budget.
        with mock.patch.object(Pressure, "makes_room", return_value=False):
            runs.train(wishes, change_trainer=change, sample_at_first=False, sample_every_n_steps=100)
    except CardMemoryError as error:
        ended, hint = error.sentence, error.hint
    threads = [thread.name for thread in threading.enumerate() if not thread.daemon and thread.name != "MainThread"]
    return {"sentence": ended, "hint": hint, "records": kinds(wishes)[-2:], "threads": threads}


def with_lora(runs: Runs, folder: Path, ours: Folders) -> dict[str, Any]:
    """First samples with a LoRA on top, and of a run whose own LoRA begins as that one."""
    weights = load_file(ours.checkpoints_dir / "tiny.safetensors")
    big = {name: tensor * (30.0 if "lora_up" in name else 1.0) for name, tensor in weights.items()}
    strong = folder / "strong.safetensors"
    save_file(big, strong)
    prompts = folder / "prompts.json"
    first = {"prompt": "a cat", "width": 64, "height": 64, "sample_steps": 2, "seed": 42, "frame_count": 1}
    lora = {"path": str(strong), "strength": 1.0}
    prompts.write_text(json.dumps([{**first, "loras": [lora]}, {**first, "loras": [lora, lora]}, first]))
    common = {"sample_prompts": str(prompts), "sample_every_n_steps": 100, "max_train_steps": 2}
    stacked, plain = Wishes(), Wishes()
    _, on_top = runs.train(stacked, **common)
    runs.train(plain, max_train_steps=2, sample_at_first=False)
    prompts.write_text(json.dumps([first]))
    _, as_own = runs.train(Wishes(), **common, network_weights=str(strong))

    def pixels(folders: Folders, index: int) -> np.ndarray[Any, Any]:
        name = f"step_000000_prompt_{index:02d}.png"
        return np.asarray(Image.open(folders.samples_dir / name), dtype=np.int16)

    wanted = pixels(as_own, 0)
    return {
        "differences": [int(np.abs(wanted - pixels(on_top, index)).max()) for index in range(3)],
        "losses_equal": losses(stacked) == losses(plain),
    }


def live_prompts(runs: Runs) -> dict[str, Any]:
    """Other prompts while the training goes on, and then prompts with a mistake."""
    bird, slip = "a bird --w 64 --h 64 --f 1 --s 2", "a fish --zz 1"
    common = {"sample_every_n_steps": 2, "max_train_steps": 6, "sample_at_first": False}
    wishes, plain = Wishes(prompts_at={3: (bird,), 5: (slip,)}), Wishes()
    program: Any = importlib.import_module("musubi_tuner.wan_train_network")
    fake, read_on = program.T5EncoderModel, list[tuple[str, str, bool]]()

    class Noted(fake):
        def __init__(self, **named: Any) -> None:
            super().__init__(**named)
            torch.rand(1)  # As weights that are made up before they are loaded do.
            self._is_eight_bit = bool(named.get("fp8"))

        def __call__(self, texts: list[str], device: torch.device) -> list[torch.Tensor]:
            read_on.append((texts[0], device.type, self._is_eight_bit))
            return super().__call__(texts, device)

    program.T5EncoderModel = Noted
    try:
        end, _ = runs.train(wishes, **common)
    finally:
        program.T5EncoderModel = fake
    runs.train(plain, **common)
    samples = [record for record in wishes.records if record.kind == "sample"]
    return {
        "drawn": [[record.step, record.prompt, record.num_prompts] for record in samples],
        "warned": [record.sentence for record in wishes.records if record.kind == "warning"],
        "bird_read_on": [list(each[1:]) for each in read_on if each[0] == "a bird"],
        "losses_equal": losses(wishes) == losses(plain),
        "end": end.kind,
    }


def prepared(runs: Runs, folder: Path) -> dict[str, Any]:
    """Two folders made ready by the engine's own programs, twice, and trained on.

    One holds pictures that count twice, the other is trained larger, a clip beside a picture.
    """
    pictures = picture_folder(folder / "mine")
    Image.new("RGBA", (80, 64), (9, 9, 9, 0)).save(pictures / "see through.png")
    (pictures / "see through.txt").write_text("glass", encoding="utf-8")
    larger = picture_folder(folder / "[sks] larger", num_pictures=1)
    clip(larger / "dance.mp4", num_frames=16, size=(160, 90), fps=32)
    (larger / "dance.txt").write_text("a dance", encoding="utf-8")
    both = folder / "set"
    folders = (
        SetFolder(path=str(pictures), repeats=2),
        SetFolder(path=str(larger), width=96, height=64, frames=5),
    )
    write_set(both, DatasetSet(title="Both", folders=folders))
    wishes = Wishes()

    def prepare() -> Path:
        return preparation(runs.job, folder, both, announce=wishes.report).run().config

    config = prepare()
    announced = kinds(wishes)
    again = prepare()
    steps = Wishes()
    end, _ = runs.train(steps, dataset_config=str(config), max_train_steps=6, sample_at_first=False)
    return {
        "announced": announced,
        "announced_again": len(kinds(wishes)) - len(announced),
        "same_place": config == again,
        "cached": [_cached(config.parent / name) for name in ("0", "1", "2")],
        "captions": sorted(path.read_text(encoding="utf-8") for path in (config.parent / "0").glob("*.txt")),
        "frames": len(list((config.parent / "2" / "00000").glob("*.png"))),
        "end": end.kind,
        "num_steps": len(losses(steps)),
        "steps_an_epoch": _steps_an_epoch(config),
    }


def preparation(job: Job, folder: Path, pictures: Path, *, announce: Callable[[Message], None]) -> Preparation:
    """Makes pictures ready with the files in a folder, which hold nothing."""
    files = {role: folder / f"{role}.bin" for role in ("vae", "t5")}
    for path in files.values():
        path.touch()
    model = job.profile.model.model_copy(update={"engine": "musubi", "family": FAMILY.name})
    size = job.profile.dataset.model_copy(update={"width": 64, "height": 64})
    profile = job.profile.model_copy(update={"model": model, "dataset": size})
    return Preparation(
        ready=Ready(family=FAMILY, files=files, file_precision="fp32"),
        dataset=read_folder(pictures, intake=intake_of(profile)),
        profile=profile,
        picture_device="cpu",
        caption_device="cpu",
        announce=announce,
    )


def _steps_an_epoch(config: Path) -> int:
    """How many batches the engine makes of the prepared folders in one pass over the data."""
    tools: Any = importlib.import_module("musubi_tuner.dataset.config_utils")
    blueprint = tools.BlueprintGenerator(tools.ConfigSanitizer()).generate(
        tools.load_user_config(str(config)), argparse.Namespace(), architecture="wan"
    )
    return len(tools.generate_dataset_group_by_blueprint(blueprint.dataset_group, training=True))


def _cached(source: Path) -> list[list[Any]]:
    """The latents of a source: how many files have which shape."""
    found = Counter(
        name.split("_")[1] for path in (source / "cache").glob("*_wan.safetensors") for name in load_file(path)
    )
    return [[shape, number] for shape, number in sorted(found.items())]


def vanilla(runs: Runs, folder: Path, ours: Folders) -> dict[str, Any]:
    """The engine's own program with the same options."""
    AcceleratorState._reset_state(True)
    program: Any = importlib.import_module("musubi_tuner.wan_train_network")
    values = {**runs.options, "output_dir": str(folder)}
    usual = sys.argv
    sys.argv = ["wan_train_network", *EngineArguments(script="wan_train_network", values=values).argv()]
    try:
        program.main()
    finally:
        sys.argv = usual
    # It names the first pass after an epoch, and makes the second one twice: at its step and at the end of its epoch.
    pictures = [next((folder / "sample").glob(f"tiny_{when}_00_*.png")) for when in ("e000000", "000004")]
    mine = [ours.samples_dir / f"step_{step:06d}_prompt_00.png" for step in (0, 4)]
    return {
        "lora_equal": lora_equal(folder / "tiny.safetensors", ours.checkpoints_dir / "tiny.safetensors"),
        "pictures_equal": [a.read_bytes() == b.read_bytes() for a, b in zip(pictures, mine, strict=True)],
    }


def main(run: Callable[[Path], Any]) -> None:
    """Run in the folder that the command line names, and print what came out."""
    open_engine()
    import_on_processor()
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["DIFFUSIONFORCE_HOME"] = str(folder / "home")
    fake_encoder_and_decoder()
    sys.stdout.write(f"\n{json.dumps(run(folder))}\n")


if __name__ == "__main__":
    main(run_all)
