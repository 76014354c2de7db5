"""Pictures and captions made ready for the engine, once: it trains on what its own programs have written of them.

The engine is given a folder of its own, not the user's: every picture upright in plain RGB under a number for its name,
with its caption beside it. So none of its traps is met: two pictures of one name, pictures on their side, captions in
other files, folders with what another model has left. The folder is named for its contents, so that another run over
the same pictures finds it, and goes on where one was interrupted.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from diffusionforce.datasets import Dataset, Item
from diffusionforce.datasets.pictures import load_rgb
from diffusionforce.engines.musubi.arguments import EngineArguments, caption_arguments, picture_arguments
from diffusionforce.engines.musubi.controls import CONTROL_DIR, controls_of, needs_controls
from diffusionforce.engines.musubi.program import load_program, run_program
from diffusionforce.engines.musubi.readiness import Ready
from diffusionforce.job import Profile, write_whole
from diffusionforce.runs import data_dir, storage_error
from diffusionforce.wire import Message, Preparing

_DONE = "prepared"
"""A file that says that everything is there."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What is prepared.

    Attributes:
        ready: The model with its files.
        dataset: The pictures.
        profile: Sizes and batches.
        picture_device: Where pictures are read, for example `cuda:0`.
        caption_device: Where captions are read.
        announce: Takes records; may raise to leave.
    """

    ready: Ready
    dataset: Dataset
    profile: Profile
    picture_device: str
    caption_device: str
    announce: Callable[[Message], None]

    def run(self) -> Path:
        """Prepare, and return the engine's description of the dataset.

        Raises:
            UserError: The disk is full, or the engine cannot read a file.
        """
        folder = prepared_root() / self.ready.family.trainer.architecture / self._key()
        config = folder / "dataset.toml"
        num = len(self.dataset.items)
        if not (folder / _DONE).exists():
            try:
                self._lay_out(folder)
            except OSError as error:
                raise storage_error(error, folder) from error
            self._run("pictures", self._picture_arguments(config), num)
            self._run("text", self._caption_arguments(config), num)
            (folder / _DONE).touch()
        write_whole(config, self._config(folder))
        return config

    def _run(self, stage: str, arguments: EngineArguments, num: int) -> None:
        self.announce(Preparing.model_validate({"stage": stage, "done": 0, "total": num}))
        run_program(load_program(arguments.script), arguments.argv())
        self.announce(Preparing.model_validate({"stage": stage, "done": num, "total": num}))

    def _lay_out(self, folder: Path) -> None:
        """Write pictures and captions; those that are there are whole."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, item in enumerate(self.dataset.items):
            picture, caption = folder / f"{number:05d}.png", folder / f"{number:05d}.txt"
            _write_picture(item.picture, picture)
            write_whole(caption, item.caption.encode())
            for index, control in enumerate(self._controls(item)):
                _write_picture(control, folder / CONTROL_DIR / f"{number:05d}_{index}.png")
        write_whole(folder / "dataset.toml", self._config(folder))

    def _config(self, folder: Path) -> bytes:
        """The engine's description; how many pictures a batch has does not change what is prepared."""
        dataset = self.profile.dataset
        source = {"image_directory": str(folder), "cache_directory": str(folder / "cache"), "num_repeats": 1}
        if needs_controls(self.ready.family):
            source["control_directory"] = str(folder / CONTROL_DIR)
        table = {
            "general": {
                "resolution": [dataset.width, dataset.height],
                "caption_extension": ".txt",
                "batch_size": self.profile.training.batch_size,
                "enable_bucket": False,
            },
            "datasets": [source],
        }
        return tomli_w.dumps(table).encode()

    def _picture_arguments(self, config: Path) -> EngineArguments:
        ready = self.ready
        return picture_arguments(ready.family, files=ready.files, dataset_config=config, device=self.picture_device)

    def _caption_arguments(self, config: Path) -> EngineArguments:
        ready = self.ready
        return caption_arguments(ready.family, files=ready.files, dataset_config=config, device=self.caption_device)

    def _key(self) -> str:
        """The name of what is prepared: by its pictures, captions, sizes, and the files that read them."""
        digest = hashlib.sha256()
        for part in self._parts():
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.hexdigest()[:24]

    def _parts(self) -> Iterator[bytes]:
        dataset, family = self.profile.dataset, self.ready.family
        yield f"{family.name} {dataset.width} {dataset.height}".encode()
        for file in family.files_for(frozenset({"pictures", "captions"})):
            if file.role in self.ready.files:
                path = self.ready.files[file.role]
                size = path.stat().st_size if path.is_file() else 0
                yield f"{file.role} {path.name} {size}".encode()
        for item in self.dataset.items:
            yield item.picture.read_bytes()
            yield item.caption.encode()
            for control in self._controls(item):
                yield control.read_bytes()

    def _controls(self, item: Item) -> tuple[Path, ...]:
        """What a picture is made from, for models that want it."""
        return controls_of(item.picture) if needs_controls(self.ready.family) else ()


def _write_picture(source: Path, target: Path) -> None:
    """Write a picture upright in plain RGB, whole or not at all; one that is there is whole."""
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        part = target.with_suffix(".part")
        load_rgb(source).save(part, format="PNG")
        part.replace(target)


def prepared_root() -> Path:
    """Where prepared pictures are kept for further runs."""
    return data_dir() / "prepared"
