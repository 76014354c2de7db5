"""Pictures and captions made ready for the engine, once: it trains on what its own programs have written of them.

The engine is given a folder of its own, not the user's (`staging`). So none of its traps is met: two pictures of one
name, pictures on their side, captions in other files, folders with what another model has left. The folder is named for
its contents, so that another run over the same pictures finds it, and goes on where one was interrupted.
"""

import glob
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import tomli_w
from safetensors import SafetensorError

from diffusionforce.datasets import Dataset
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.desktop.instance import FileClaim
from diffusionforce.engines.musubi.arguments import EngineArguments, caption_arguments, picture_arguments
from diffusionforce.engines.musubi.headers import split_parts
from diffusionforce.engines.musubi.prepared_files import drop_unfinished, num_lacking
from diffusionforce.engines.musubi.program import load_program, run_program
from diffusionforce.engines.musubi.readiness import Ready
from diffusionforce.engines.musubi.staging import Source, sources_of
from diffusionforce.errors import EngineError, RunFolderError
from diffusionforce.job import Profile, write_whole
from diffusionforce.runs import data_dir, is_disk_full, storage_error
from diffusionforce.wire import Message, Preparing, Warn

_DONE = "prepared"
"""A file that says that everything is there."""
_CONFIG = "dataset.toml"
"""The description that the programs are given; which one is trained with is for every run to say."""
_SAMPLE_BYTES = 1 << 16
_PATIENCE_S = 2.0
"""Between looks whether another run has finished."""


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
            UserError: The disk is full or refuses, or the engine leaves something out.
        """
        _require_plain(prepared_root())
        sources = self._sources()
        folder = prepared_root() / self.ready.family.trainer.architecture / self._key(sources)
        places = {folder / str(number): source for number, source in enumerate(sources)}
        content = self._config(places)
        # Another run over the same pictures may have batches of another size.
        config = folder / f"dataset-{hashlib.sha256(content).hexdigest()[:12]}.toml"
        claim = FileClaim(folder / "in-work.lock")
        self._wait_for(claim, num=sum(len(source.items) for source in sources))
        try:
            if not (folder / _DONE).exists() or _num_lacking(places):
                self._prepare(folder, places, content)
            for path in (config, folder / _CONFIG):
                write_whole(path, content)
        except (RuntimeError, SafetensorError) as error:
            if is_disk_full(error):
                raise storage_error(error, folder) from error
            raise
        except OSError as error:
            if is_disk_full(error) or error.filename is None or Path(error.filename).is_relative_to(folder):
                raise storage_error(error, folder) from error
            raise
        finally:
            claim.give_up()
        names = chain.from_iterable(source.file_names(place) for place, source in places.items())
        return Prepared(config=config, files=dict(names))

    def _wait_for(self, claim: FileClaim, *, num: int) -> None:
        """Let another process finish that prepares the same pictures; to announce is a moment to leave."""
        has_told = False
        while not claim.take():
            if not has_told:
                self.announce(Warn(sentence="Another run prepares the same pictures; this one waits for it."))
                has_told = True
            time.sleep(_PATIENCE_S)
            self.announce(Preparing(stage="pictures", done=0, total=num))

    def _prepare(self, folder: Path, places: Mapping[Path, Source], config: bytes) -> None:
        """Lay everything out and let the engine's programs make what is not there.

        Raises:
            EngineError: They left something out.
        """
        done, num = folder / _DONE, sum(len(source.items) for source in places.values())
        in_turns = self.ready.family.trainer.captions_in_turns
        drop_unfinished(places, was_interrupted=not done.exists(), with_captions=in_turns)
        done.unlink(missing_ok=True)
        for place, source in places.items():
            source.lay_out(place)
        write_whole(folder / _CONFIG, config)
        self._run("pictures", self._picture_arguments(folder / _CONFIG), num)
        self._run("text", self._caption_arguments(folder / _CONFIG), num)
        lacking = _num_lacking(places)
        if lacking:
            raise EngineError(
                f"The engine has prepared {num - lacking} of {num} pictures and captions in {folder}.",
                hint="What it says is in the log of the run. Start again to prepare the others.",
            )
        done.touch()

    def _sources(self) -> list[Source]:
        dataset = self.profile.dataset
        size = (dataset.width, dataset.height)
        return sources_of(self.dataset, usual_size=size, intake=intake_of(self.profile))

    def _run(self, stage: str, arguments: EngineArguments, num: int) -> None:
        self.announce(Preparing.model_validate({"stage": stage, "done": 0, "total": num}))
        run_program(load_program(arguments.script), arguments.argv())
        self.announce(Preparing.model_validate({"stage": stage, "done": num, "total": num}))

    def _config(self, places: Mapping[Path, Source]) -> bytes:
        """The engine's description; how many pictures a batch has, and how often they count, changes no file."""
        dataset = self.profile.dataset
        table = {
            "general": {
                "resolution": [dataset.width, dataset.height],
                "caption_extension": ".txt",
                "batch_size": self.profile.training.batch_size,
                "enable_bucket": False,
            },
            "datasets": [source.table(place) for place, source in places.items()],
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
                yield file.role.encode()
                yield from _identity(self.ready.files[file.role])
        for source in sources:
            yield from source.key_parts()


def _identity(path: Path) -> Iterator[bytes]:
    """Yield what tells a model's files from others of their names and sizes, without reading gigabytes."""
    for file in sorted(path.glob("*.safetensors")) if path.is_dir() else split_parts(path):
        size_bytes = file.stat().st_size if file.is_file() else 0
        yield f"{file.name} {size_bytes}".encode()
        if size_bytes:
            with file.open("rb") as content:
                content.seek(size_bytes // 2)
                yield content.read(_SAMPLE_BYTES)


def _num_lacking(places: Mapping[Path, Source]) -> int:
    return sum(num_lacking(place, source.names()) for place, source in places.items())


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
