"""The files of the models on this computer: where they are looked for, which is taken, what is missing.

Many users have the files already, in ComfyUI's folders or in the cache of Hugging Face, and a model is tens of
gigabytes. So they are looked for by name in all of these places and recognised by their headers; a file under any other
name can be chosen by hand. What is chosen is remembered in one small file of the data folder.
"""

import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.engines.musubi.families import Family, Use, WeightFile
from diffusionforce.engines.musubi.headers import FilePrecision
from diffusionforce.engines.musubi.weights_check import check_file
from diffusionforce.engines.musubi.weights_settings import WeightsSettings, models_dir, read_settings
from diffusionforce.errors import WeightsError
from diffusionforce.job import Profile
from diffusionforce.job.files import expanded, is_there

FOLDERS_VARIABLE = "DIFFUSIONFORCE_MODELS"
_MAX_DEPTH = 8
_COMFY_FOLDERS = ("ComfyUI/models", "Documents/ComfyUI/models", "ComfyUI_windows_portable/ComfyUI/models")
"""Relative to the home folder."""
_UNTELLING_NAMES = {"ae.safetensors", "diffusion_pytorch_model.safetensors", "model.safetensors", "pytorch_model.pt"}
"""Names that many models use for different files."""
_TOLD_BY_FOLDER = {"diffusion_pytorch_model.safetensors", "pytorch_model.pt"}
"""Those of them whose files may look alike from inside, or cannot be looked into."""
_WEIGHTS = (".safetensors", ".pth", ".pt")
_UNFINISHED = (".crdownload", ".part", ".partial", ".incomplete", ".opdownload")
"""What programs add to the name of a file while they download it."""


@dataclass(frozen=True, kw_only=True)
class Located:
    """One file of a model, and what was found of it.

    Attributes:
        file: What is needed.
        path: Where it is; None if it is missing.
        precision: Its number format.
        problem: Why the file at `path` cannot be used; None if it can.
    """

    file: WeightFile
    path: Path | None = None
    precision: FilePrecision = "unknown"
    problem: WeightsError | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the engine can be given it."""
        return self.path is not None and self.problem is None


class Shelf:
    """All files in the folders that are looked into, by name; the folders are read once.

    Args:
        folders: The folders.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._paths: dict[str, list[Path]] = {}
        seen: set[Path] = set()
        for folder in folders:
            for path in _files_in(folder, seen=seen):
                self._paths.setdefault(path.name.lower(), []).append(path)

    def named(self, name: str) -> list[Path]:
        """Return the files of a name, in which `*` stands for anything; of a split set the first files."""
        if "*" not in name:
            return self._paths.get(name.lower(), [])
        matching = fnmatch.filter(self._paths, name.lower())
        return [path for found in sorted(matching) if "00001-of-" in found for path in self._paths[found]]


def search_folders(settings: WeightsSettings | None = None) -> list[Path]:
    """Return the folders that are looked into: ours, the user's, ComfyUI's, the cache of Hugging Face."""
    settings = settings or read_settings()
    from_environment = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    named = [Path(folder) for folder in (*settings.folders, *from_environment) if folder]
    comfy = [Path.home() / folder for folder in _COMFY_FOLDERS]
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(os.environ.get("HF_HOME") or "~/.cache/huggingface") / "hub")
    folders = [models_dir(), *named, *comfy, hub.expanduser()]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def locate(
    family: Family,
    *,
    profile: Profile | None = None,
    settings: WeightsSettings | None = None,
    shelf: Shelf | None = None,
) -> tuple[Located, ...]:
    """Look for every file of a model.

    Args:
        family: The model.
        profile: Its files count before all others, if it names some.
        settings: What was chosen by hand; read if None.
        shelf: What lies in the folders; read if None.
    """
    settings = settings or read_settings()
    shelf = shelf or Shelf(search_folders(settings))
    return tuple(_locate(file, family, profile=profile, settings=settings, shelf=shelf) for file in family.files)


def require_files(
    located: Iterable[Located], *, family: Family, uses: frozenset[Use], profile_name: str
) -> Mapping[str, Path]:
    """Return the files that are read for some uses, by role; refuse if one is missing or wrong.

    Optional files are among them if they are there.

    Raises:
        WeightsError: All that is missing or wrong is named.
    """
    wanted = [found for found in located if found.file.uses & uses]
    wrong = [found for found in wanted if found.problem is not None]
    missing = [found for found in wanted if found.path is None and not found.file.optional]
    problems = [found.problem for found in wrong if found.problem is not None]
    if missing:
        problems.append(_missing_error([found.file for found in missing], family=family, profile_name=profile_name))
    if problems:
        first, *others = problems
        hint = "\n".join(filter(None, [first.hint, *map(str, others)]))
        raise WeightsError(first.sentence, hint=hint, detail=first.detail)
    return {found.file.role: found.path for found in wanted if found.path is not None}


def download_path(file: WeightFile) -> Path:
    """Return where a download puts a file; of a split set, or of a folder, the folder."""
    folder = models_dir() / file.repository.replace("/", "--")
    if file.is_folder:
        return folder
    return folder / file.path.rpartition("/")[0] if file.is_split else folder / file.path


def _missing_error(files: list[WeightFile], *, family: Family, profile_name: str) -> WeightsError:
    count = "a file that is" if len(files) == 1 else f"{len(files)} files that are"
    return WeightsError(
        f"{family.title} needs {count} not here: {', '.join(file.title for file in files)}.",
        hint=f"Download: diffusionforce models download {profile_name}. What you have already is found after "
        f"diffusionforce models folder DIR, or diffusionforce models use {profile_name} ROLE FILE.\n"
        + "\n".join(f"  {file.role}: {file}" for file in files),
    )


def _locate(
    file: WeightFile, family: Family, *, profile: Profile | None, settings: WeightsSettings, shelf: Shelf
) -> Located:
    chosen = _from_profile(file, profile) or settings.files.get(f"{family.name}.{file.role}", "")
    if chosen:
        return _checked(file, _first_of_split(expanded(chosen), file), family)
    first_problem: Located | None = None
    for path in _candidates(file, shelf):
        found = _checked(file, path, family)
        if found.problem is None:
            return found
        tells_nothing = file.is_split or path.name in _UNTELLING_NAMES
        is_meant = path.is_relative_to(models_dir()) or _is_of(file, path) or not tells_nothing
        first_problem = first_problem or (found if is_meant else None)
    return first_problem or _unfinished(file, shelf) or Located(file=file)


def _from_profile(file: WeightFile, profile: Profile | None) -> str:
    if profile is None:
        return ""
    return profile.model.files.get(file.role, "") or (profile.model.weights if file.role == "dit" else "")


def _first_of_split(path: Path, file: WeightFile) -> Path:
    """Take the first file of a split set where its folder is given."""
    if file.is_folder or not (is_there(path) and path.is_dir()):
        return path
    return next(iter(sorted(path.glob("*00001-of-*.safetensors"))), path)


def _candidates(file: WeightFile, shelf: Shelf) -> Iterator[Path]:
    """Yield what may be the file: the download first, then what has one of its names."""
    own = download_path(file)
    if file.is_folder:
        yield from (folder for folder in (own, *_snapshots(file)) if folder.is_dir())
        return
    if file.is_split:
        yield from sorted(own.glob("*00001-of-*.safetensors"))
    elif own.is_file():
        yield own
    for name in (file.name, *file.other_names):
        for path in shelf.named(name):
            if name not in _TOLD_BY_FOLDER or _is_of(file, path):
                yield path


def _unfinished(file: WeightFile, shelf: Shelf) -> Located | None:
    """Return a download that is still going on, or was broken off, if there is one of that name."""
    for name in (file.name, *file.other_names):
        for path in (path for end in _UNFINISHED for path in shelf.named(f"{name}{end}")):
            problem = WeightsError(f"{path} is half downloaded.", hint="Let the download finish, or download it here.")
            return Located(file=file, path=path, problem=problem)
    return None


def _is_of(file: WeightFile, path: Path) -> bool:
    """Tell whether a file lies in a copy of its repository, such as the cache of Hugging Face has."""
    return file.repository.replace("/", "--").lower() in str(path).lower() and path.match(file.path)


def _snapshots(file: WeightFile) -> Iterator[Path]:
    for folder in search_folders():
        yield from sorted((folder / f"models--{file.repository.replace('/', '--')}" / "snapshots").glob("*"))
        yield folder / file.repository.rpartition("/")[2]


def _checked(file: WeightFile, path: Path, family: Family) -> Located:
    try:
        return Located(file=file, path=path, precision=check_file(file, path, family=family))
    except WeightsError as error:
        return Located(file=file, path=path, problem=error)


def _files_in(folder: Path, *, seen: set[Path]) -> Iterator[Path]:
    """Yield the files below a folder, through links too, each folder once."""
    for root, names, files in os.walk(folder, followlinks=True):
        place = Path(root)
        real = place.resolve()
        depth = len(place.parts) - len(folder.parts)
        if real in seen or depth > _MAX_DEPTH:
            names.clear()
            continue
        seen.add(real)
        names[:] = [name for name in names if name not in {"blobs", ".locks", ".git"}]
        yield from (place / name for name in files if name.lower().endswith((*_WEIGHTS, *_UNFINISHED)))
