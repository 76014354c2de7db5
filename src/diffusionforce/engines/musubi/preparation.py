"""Pictures and captions made ready for the engine, once: it trains on what its own programs have written of them.

The engine is given a folder of its own, not the user's (`staging`). So none of its traps is met: two pictures of one
name, pictures on their side, captions in other files, folders with what another model has left. The folder is named for
its contents, so that another run over the same pictures finds it, and goes on where one was interrupted.
"""

import glob
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import tomli_w

from diffusionforce.datasets import Dataset
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.engines.musubi.arguments import EngineArguments, caption_arguments, picture_arguments
from diffusionforce.engines.musubi.program import load_program, run_program
from diffusionforce.engines.musubi.readiness import Ready
from diffusionforce.engines.musubi.staging import Source, sources_of
from diffusionforce.errors import RunFolderError
from diffusionforce.job import Profile, write_whole
from diffusionforce.runs import data_dir, storage_error
from diffusionforce.wire import Message, Preparing

_DONE = "prepared"
"""A file that says that everything is there."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What is ready to be trained on."""

    config: Path
    """The engine's description of the dataset."""
    files: Mapping[str, str]
    """Names of the user's files by the places that they are laid out at, see `staging.place_of`."""


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

    def run(self) -> Prepared:
        """Prepare what is not ready yet.

        Raises:
            UserError: The disk is full, or the engine cannot read a file.
        """
        _require_plain(prepared_root())
        sources = self._sources()
        folder = prepared_root() / self.ready.family.trainer.architecture / self._key(sources)
        config = folder / "dataset.toml"
        num = sum(len(source.items) for source in sources)
        if not (folder / _DONE).exists():
            try:
                for number, source in enumerate(sources):
                    source.lay_out(folder / str(number))
                write_whole(config, self._config(folder, sources))
            except OSError as error:
                raise storage_error(error, folder) from error
            self._run("pictures", self._picture_arguments(config), num)
            self._run("text", self._caption_arguments(config), num)
            (folder / _DONE).touch()
        write_whole(config, self._config(folder, sources))
        names = (source.file_names(folder / str(number)) for number, source in enumerate(sources))
        return Prepared(config=config, files=dict(chain.from_iterable(names)))

    def _sources(self) -> list[Source]:
        dataset = self.profile.dataset
        size = (dataset.width, dataset.height)
        return sources_of(self.dataset, usual_size=size, intake=intake_of(self.profile))

    def _run(self, stage: str, arguments: EngineArguments, num: int) -> None:
        self.announce(Preparing.model_validate({"stage": stage, "done": 0, "total": num}))
        run_program(load_program(arguments.script), arguments.argv())
        self.announce(Preparing.model_validate({"stage": stage, "done": num, "total": num}))

    def _config(self, folder: Path, sources: list[Source]) -> bytes:
        """The engine's description; how many pictures a batch has, and how often they count, changes no file."""
        dataset = self.profile.dataset
        table = {
            "general": {
                "resolution": [dataset.width, dataset.height],
                "caption_extension": ".txt",
                "batch_size": self.profile.training.batch_size,
                "enable_bucket": False,
            },
            "datasets": [source.table(folder / str(number)) for number, source in enumerate(sources)],
        }
        return tomli_w.dumps(table).encode()

    def _picture_arguments(self, config: Path) -> EngineArguments:
        ready = self.ready
        return picture_arguments(ready.family, files=ready.files, dataset_config=config, device=self.picture_device)

    def _caption_arguments(self, config: Path) -> EngineArguments:
        ready = self.ready
        return caption_arguments(ready.family, files=ready.files, dataset_config=config, device=self.caption_device)

    def _key(self, sources: list[Source]) -> str:
        """The name of what is prepared: by its pictures, captions, sizes, and the files that read them."""
        digest = hashlib.sha256()
        for part in self._parts(sources):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
        return digest.hexdigest()[:24]

    def _parts(self, sources: list[Source]) -> Iterator[bytes]:
        family = self.ready.family
        yield family.name.encode()
        for file in family.files_for(frozenset({"pictures", "captions"})):
            if file.role in self.ready.files:
                path = self.ready.files[file.role]
                size = path.stat().st_size if path.is_file() else 0
                yield f"{file.role} {path.name} {size}".encode()
        for source in sources:
            yield from source.key_parts()


def _require_plain(root: Path) -> None:
    """Refuse a place in whose path the engine, which looks for its files by a pattern, would find none of them."""
    if glob.escape(str(root)) != str(root):
        raise RunFolderError(
            f"The engine cannot work in {root}: one of the signs [ * ? is in its path.",
            hint="Set DIFFUSIONFORCE_HOME to a folder without them.",
        )


def prepared_root() -> Path:
    """Where prepared pictures are kept for further runs."""
    return data_dir() / "prepared"
