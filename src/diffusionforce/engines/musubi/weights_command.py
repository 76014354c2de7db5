"""The child process behind `diffusionforce models` and `diffusionforce lora`: answers in JSON, a record a line.

Window and command line may not load engines; they start this module and read.
"""

import argparse
import functools
import importlib
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel

from diffusionforce.engines.musubi.arguments import known_options
from diffusionforce.engines.musubi.downloads import Hub, Part, download
from diffusionforce.engines.musubi.families import FAMILIES, UNAVAILABLE, Family, Unavailable, find_family
from diffusionforce.engines.musubi.headers import GIB, split_parts
from diffusionforce.engines.musubi.lora_comfy import write_for_comfy
from diffusionforce.engines.musubi.lora_files import describe_lora
from diffusionforce.engines.musubi.pin import Terms
from diffusionforce.engines.musubi.terms import accept, are_accepted, require_accepted, terms_of
from diffusionforce.engines.musubi.weights import Located, Shelf, locate, search_folders
from diffusionforce.engines.musubi.weights_check import check_file
from diffusionforce.engines.musubi.weights_settings import read_settings, write_settings
from diffusionforce.errors import ProfileError, UserError, WeightsError
from diffusionforce.job import Profile, builtin_profiles, find_profile, read_profile, with_absolute_weights
from diffusionforce.job.files import expanded
from diffusionforce.wire import Failed, let_interrupts_through, to_json
from diffusionforce.wire.engine import EngineTerms
from diffusionforce.wire.weights import (
    Chosen,
    DownloadProgress,
    EngineOption,
    EngineOptions,
    LoraInfo,
    Model,
    ModelFile,
    Models,
    NoModel,
)

EXIT_OK, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
_REPORT_INTERVAL_S = 0.1


def main(arguments: Sequence[str] | None = None, *, hub: Hub | None = None) -> int:
    """Do what is asked, and return the exit code: 0, or 1 after `failed`, 130 after Ctrl-C.

    Args:
        arguments: What to do; the process's own if None.
        hub: Where downloads come from; Hugging Face if None.
    """
    options = _parser().parse_args(arguments)
    try:
        let_interrupts_through()
        _send(_answer(options, hub))
    except UserError as error:
        _send(Failed(sentence=error.sentence, hint=error.hint, detail=error.detail))
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list")
    for action in ("show", "accept", "options", "download"):
        actions.add_parser(action).add_argument("profile")
    actions.choices["download"].add_argument("--all", action="store_true")
    use = actions.add_parser("use")
    use.add_argument("profile")
    use.add_argument("role")
    use.add_argument("path")
    for action in ("folder", "lora", "convert"):
        actions.add_parser(action).add_argument("path")
    actions.choices["convert"].add_argument("target", nargs="?", default="")
    return parser


def _answer(options: argparse.Namespace, hub: Hub | None) -> BaseModel:
    match options.action:
        case "list":
            return _everything()
        case "show":
            return _one(*_family_of(options.profile))
        case "accept":
            family, profile = _family_of(options.profile)
            accept(family)
            return _one(family, profile)
        case "options":
            return _options(_family_of(options.profile)[0])
        case "download":
            return _download(options.profile, with_optional=options.all, hub=hub)
        case "use":
            return _use(options.profile, options.role, expanded(options.path).absolute())
        case "folder":
            return _add_folder(expanded(options.path).absolute())
        case "convert":
            return _convert(expanded(options.path).absolute(), options.target)
        case _:
            return describe_lora(expanded(options.path).absolute())


def _family_of(name: str) -> tuple[Family, Profile | None]:
    """Return the family that a word means, the name of a profile, of a family, or a profile's file."""
    if name in FAMILIES or any(name == model.name for model in UNAVAILABLE):
        return find_family(name), None
    path = find_profile(name)
    profile = with_absolute_weights(read_profile(path), base=path.parent)
    if profile.model.engine != "musubi":
        raise ProfileError(
            f"The profile {name} trains the pocket model, which comes with DiffusionForce.", hint="It needs no files."
        )
    return find_family(profile.model.family), profile


def _everything() -> Models:
    settings = read_settings()
    folders = search_folders(settings)
    shelf = Shelf(folders)
    return Models(
        models=tuple(_model(family, locate(family, settings=settings, shelf=shelf)) for family in FAMILIES.values()),
        unavailable=tuple(_unavailable(model) for model in UNAVAILABLE),
        folders=tuple(str(folder) for folder in folders),
    )


def _one(family: Family, profile: Profile | None) -> Models:
    folders = tuple(str(folder) for folder in search_folders())
    return Models(models=(_model(family, locate(family, profile=profile)),), folders=folders)


def _download(name: str, *, with_optional: bool, hub: Hub | None) -> Models:
    family, profile = _family_of(name)
    require_accepted(family, profile_name=name)
    located = locate(family, profile=profile)
    wanted = [one.file for one in located if not one.is_usable and (with_optional or not one.file.optional)]
    if wanted:
        download(family, wanted, hub or _hugging_face(), report=_Reporter())
    return _one(family, profile)


def _hugging_face() -> Hub:
    """Return the hub; its library takes a second to load, which only a download is worth."""
    return importlib.import_module("diffusionforce.engines.musubi.hub").HuggingFaceHub()


def _options(family: Family) -> EngineOptions:
    return EngineOptions(
        family=family.name,
        options=tuple(
            EngineOption(name=name, type=option.words, many=option.many, choices=option.choices)
            for name, option in known_options(family).items()
        ),
    )


def _use(name: str, role: str, path: Path) -> Chosen:
    family, _ = _family_of(name)
    file = family.file(role)
    if file is None:
        raise WeightsError(
            f"{family.title} has no file {role!r}.", hint=f"It has: {', '.join(one.role for one in family.files)}."
        )
    check_file(file, path, family=family)
    settings = read_settings()
    files = {**settings.files, f"{family.name}.{role}": str(path)}
    write_settings(settings.model_copy(update={"files": files}))
    return Chosen(what=f"{file.title} of {family.title}", path=str(path))


def _add_folder(path: Path) -> Chosen:
    if not path.is_dir():
        raise WeightsError(f"{path} is not a folder.", hint="Give the folder that your models are in.")
    settings = read_settings()
    folders = tuple(dict.fromkeys((*settings.folders, str(path))))
    write_settings(settings.model_copy(update={"folders": folders}))
    return Chosen(what="folder with models", path=str(path))


def _convert(source: Path, target_text: str) -> LoraInfo:
    """Write a LoRA under ComfyUI's names, beside the file unless a place is named, and look at the result."""
    target = expanded(target_text).absolute() if target_text else source.with_name(f"{source.stem}-comfyui.safetensors")
    if target.exists():
        raise WeightsError(f"{target} is there already.", hint="Name another file, or remove it.")
    write_for_comfy(source, target)
    return describe_lora(target)


def _model(family: Family, located: Iterable[Located]) -> Model:
    return Model(
        family=family.name,
        title=family.title,
        profiles=_profiles_of(family),
        makes=family.makes,
        trains_on=family.trains_on,
        validated=family.validated,
        files=tuple(_file(one) for one in located),
        traps=family.traps,
        terms=tuple(_terms(terms) for terms in terms_of(family)),
        terms_accepted=are_accepted(family),
        comfy=family.comfy.loads,
    )


def _profiles_of(family: Family) -> tuple[str, ...]:
    return tuple(name for name, trained in _trained_by_profiles().items() if trained == family.name)


@functools.cache
def _trained_by_profiles() -> dict[str, str]:
    return {name: read_profile(path).model.family for name, path in builtin_profiles().items()}


def _file(located: Located) -> ModelFile:
    file, problem = located.file, located.problem
    size_bytes = round(file.gib * GIB) if located.path is None else _size_bytes(located.path)
    return ModelFile(
        role=file.role,
        title=file.title,
        name=file.path,
        repository=file.repository,
        page=file.page,
        licence=file.licence,
        gated=file.gated,
        optional=file.optional,
        size_bytes=size_bytes,
        state="wrong" if problem is not None else "missing" if located.path is None else "here",
        path=str(located.path or ""),
        precision=located.precision if located.is_usable and located.precision != "unknown" else "",
        problem=problem.sentence if problem is not None else "",
        hint=problem.hint if problem is not None else "",
    )


def _size_bytes(path: Path) -> int:
    files = [child for child in path.iterdir() if child.is_file()] if path.is_dir() else split_parts(path)
    return sum(file.stat().st_size for file in files if file.is_file())


def _terms(terms: Terms) -> EngineTerms:
    return EngineTerms(
        folder=terms.folder,
        licence=terms.licence,
        origin=terms.origin,
        url=terms.url,
        words=terms.words,
        models=terms.models,
    )


def _unavailable(model: Unavailable) -> NoModel:
    return NoModel(name=model.name, title=model.title, reason=model.reason, instead=model.instead)


class _Reporter:
    """Passes on how far a download is, as often as an eye can follow, and the end of every file."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, part: Part, number: int, num_parts: int, done_bytes: int) -> None:
        if time.monotonic() >= self._next_s or done_bytes == part.size_bytes:
            self._next_s = time.monotonic() + _REPORT_INTERVAL_S
            _send(
                DownloadProgress(
                    file=part.path,
                    number=number,
                    num_files=num_parts,
                    done_bytes=done_bytes,
                    total_bytes=part.size_bytes,
                )
            )


def _send(record: BaseModel) -> None:
    sys.stdout.buffer.write(to_json(record) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
