"""Profiles and jobs on disk: found by name, read with errors that name file, field and allowed values, written.

pydantic reports every problem of a file at once, but in its own words; `describe` turns each into one line that
a user can act on.
"""

import difflib
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from diffusionforce.errors import ProfileError
from diffusionforce.job.home import own_profiles_dir
from diffusionforce.job.job import Job
from diffusionforce.job.profile import Profile
from diffusionforce.job.toml import loaded_toml
from diffusionforce.job.whole_files import write_whole

DEMO_PREFIX = "demo:"
_MAX_SHOWN = 120

_WANTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text, in quotes",
    "finite_number": "a number that is finite",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "too_short": "a list of {min_length} or more",
    "too_long": "a list of {max_length} or fewer",
    "string_too_short": "a text of {min_length} or more letters",
    "string_too_long": "a text of {max_length} or fewer letters",
    "literal_error": "{expected}",
}
"""What to write in place of a value, by pydantic's kind of error and with the numbers of its context."""

_Model = TypeVar("_Model", bound=BaseModel)


def shipped_dir(name: str) -> Path:
    """Return a folder that ships with the product, `profiles` or `demo_datasets`.

    A source checkout has it at its top level; an installed package carries a copy beside this package.
    """
    package = Path(__file__).resolve().parents[1]
    installed = package / "shipped" / name
    return installed if installed.is_dir() else package.parents[1] / name


def builtin_profiles() -> dict[str, Path]:
    """Return the profiles that ship with the product, name to file, in alphabetical order."""
    return {path.stem: path for path in sorted(shipped_dir("profiles").glob("*.toml"))}


def own_profiles() -> dict[str, Path]:
    """Return the user's own profiles, name to file, in alphabetical order.

    One that bears the name of a built-in profile is left out: its name would mean two things. It is found by its path.
    """
    builtin = builtin_profiles()
    return {path.stem: path for path in sorted(own_profiles_dir().glob("*.toml")) if path.stem not in builtin}


def find_profile(name_or_path: str) -> Path:
    """Return the file of a profile.

    Args:
        name_or_path: The name of a built-in profile or of one of the user's own, or the path of a TOML file.

    Raises:
        ProfileError: There is no such profile; the hint lists the ones there are.
    """
    builtin, own = builtin_profiles(), own_profiles()
    known = {**own, **builtin}
    if name_or_path in known:
        return known[name_or_path]
    path = Path(name_or_path)
    if path.suffix == ".toml" and is_there(path):
        return path
    raise _no_profile(name_or_path, path, known, hint=f"Built-in profiles: {', '.join(builtin)}. {_own_words(own)}")


def is_there(path: Path) -> bool:
    """Tell whether a path names something; one that no file system would take names nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _no_profile(name: str, path: Path, known: Iterable[str], *, hint: str) -> ProfileError:
    if not name.strip():
        return ProfileError("The name of the profile is empty.", hint="See: diffusionforce profiles.")
    close = difflib.get_close_matches(name.lower(), known, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    if is_there(path):
        what = "a folder" if path.is_dir() else "a file whose name does not end in .toml"
        return ProfileError(f"{path} is no profile: it is {what}.{meant}", hint="Give a .toml file, or a name.")
    if not meant and (path.suffix == ".toml" or len(path.parts) > 1):
        return ProfileError(f"There is no profile {name!r}.", hint="Check the path; or see: diffusionforce profiles.")
    return ProfileError(f"There is no profile {name!r}.{meant}", hint=hint)


def _own_words(own: Mapping[str, Path]) -> str:
    if own:
        return f"Your own: {', '.join(own)}; or give the path of a .toml file."
    return "Your own: give the path of its .toml file."


def read_profile(path: Path) -> Profile:
    """Read and check a profile file.

    Raises:
        ProfileError: The file cannot be read, is no TOML, or holds a value we refuse.
    """
    return _validated(Profile, _read_toml(path), path)


def read_job(path: Path) -> Job:
    """Read and check a job file.

    Raises:
        ProfileError: The file cannot be read, is no TOML, or holds a value we refuse.
    """
    return _validated(Job, _read_toml(path), path)


def write_job(path: Path, job: Job) -> None:
    """Write a job file, whole or not at all."""
    write_toml(path, job.model_dump(mode="json", exclude_none=True))


def write_profile(path: Path, profile: Profile) -> None:
    """Write a profile file, whole or not at all."""
    write_toml(path, profile.model_dump(mode="json", exclude_none=True))


def write_toml(path: Path, table: Mapping[str, Any]) -> None:
    """Write a TOML file, whole or not at all.

    Raises:
        ProfileError: A text in it, such as a path, is not UTF-8.
        OSError: The disk refuses.
    """
    try:
        content = tomli_w.dumps(table).encode()
    except UnicodeEncodeError as error:
        line = error.object[: error.end].rpartition("\n")[2] + error.object[error.end :].partition("\n")[0]
        readable = line.encode(errors="backslashreplace").decode()
        raise ProfileError(f"{readable} is not UTF-8 text.", hint="Rename the folder or the file.") from error
    write_whole(path, content)


def changed(profile: Profile, changes: Mapping[str, Any], *, origin: str, texts: bool = True) -> Profile:
    """Return the profile with some settings replaced, checked like a file.

    Args:
        profile: The profile to start from.
        changes: Dotted names of settings and their new values, for example `{"training.steps": 20}`.
        origin: Who asked for the change, named in errors, for example `--steps`.
        texts: Whether numbers may be written as texts, as whoever has nothing else must; otherwise `true` is no 1.

    Raises:
        ProfileError: A new value is refused.
    """
    table = profile.model_dump(mode="json", exclude_none=True)
    for name, value in changes.items():
        section, _, key = name.rpartition(".")
        target = table
        for part in section.split(".") if section else ():
            # What is no section becomes one, for the check below to refuse by its name.
            if not isinstance(target.get(part), dict):
                target[part] = {}
            target = target[part]
        target[key] = value
    return _validated(Profile, table, origin, strict=False if texts else None)


def demo_folder(name: str) -> Path:
    """Return the folder that `demo:NAME` stands for.

    Raises:
        ProfileError: No demo dataset has that name.
    """
    folder = shipped_dir("demo_datasets") / name
    if not name or not folder.is_dir() or folder.parent != shipped_dir("demo_datasets"):
        raise ProfileError(
            f"There is no demo dataset {name!r}.", hint="The demo datasets are demo:loranne and demo:rolwayne."
        )
    return folder


def dataset_folder(folder: str, *, base: Path | None = None) -> Path:
    """Resolve the folder that a profile or a user names: `demo:NAME`, or a path relative to `base`.

    Raises:
        ProfileError: There is no such demo dataset, or no such home folder.
    """
    if folder.startswith(DEMO_PREFIX):
        return demo_folder(folder.removeprefix(DEMO_PREFIX))
    path = expanded(folder)
    return (base / path if base is not None else path).resolve()


def with_absolute_weights(profile: Profile, *, base: Path) -> Profile:
    """Return the profile with the paths of its weights, if it names any, made absolute.

    Args:
        profile: The profile.
        base: Where its relative paths begin: the folder that it lies in.

    Raises:
        ProfileError: The path begins in a home folder that is not there.
    """
    model = profile.model
    absolute = {
        "weights": _absolute(model.weights, base),
        "files": {role: _absolute(path, base) for role, path in model.files.items()},
    }
    return profile.model_copy(update={"model": model.model_copy(update=absolute)})


def _absolute(path: str, base: Path) -> str:
    return str((base / expanded(path)).resolve()) if path else ""


def expanded(path: str) -> Path:
    """Return a path with the home folder in place of `~`.

    Raises:
        ProfileError: There is no such home folder, or it is no path.
    """
    if "\0" in path:
        raise ProfileError(f"{path!r} is no path: no file has a NUL in its name.", hint="Write the whole path.")
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = path.partition("/")[0]
        raise ProfileError(f"There is no home folder {user}, named by {path}.", hint="Write the whole path.") from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return loaded_toml(path)
    except FileNotFoundError:
        raise ProfileError(f"{path} is not there.", hint="Check the path.") from None
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise ProfileError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8 and try again.") from None
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(path, error) from None
    except ValueError as error:
        raise ProfileError(f"{path} cannot be read: {error}.", hint="Take another file.") from None


def _no_toml(path: Path, error: tomllib.TOMLDecodeError) -> ProfileError:
    """Return the refusal, short enough for a line of the window, with the number of the line to look at."""
    reason, _, place = str(error).removesuffix(")").partition(" (at ")
    line = place.partition(",")[0]
    hint = f"Fix {line}: {reason}." if line.startswith("line ") else f"Fix its end: {reason}."
    return ProfileError(f"{path.name} is not valid TOML.", hint=hint, detail=f"{path}: {error}")


def _validated(
    model: type[_Model], table: Mapping[str, Any], origin: Path | str, *, strict: bool | None = None
) -> _Model:
    """Check a table; `strict` None leaves it to the model whether texts may stand for numbers."""
    try:
        return model.model_validate(table, strict=strict)
    except ValidationError as error:
        lines = describe(model, error.errors(include_url=False))
        more = f" ({len(lines) - 1} more below)" if len(lines) > 1 else ""
        raise ProfileError(f"{origin}: {lines[0]}{more}", hint="\n".join(lines[1:]), detail=str(error)) from None


def describe(model: type[BaseModel], problems: Iterable[ErrorDetails]) -> list[str]:
    """Say each problem that pydantic found in one sentence that names the field and what is allowed.

    Unknown keys come first: a setting that is misspelt is missing too, and the spelling is the cause.
    """
    causes_first = sorted(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    return [_sentence(model, problem) for problem in causes_first]


def _sentence(model: type[BaseModel], problem: ErrorDetails) -> str:
    field = ".".join(str(part) for part in problem["loc"])
    value = problem["input"]
    message = problem["msg"].removeprefix("Value error, ")
    match problem["type"]:
        case "extra_forbidden":
            known = _known_keys(model, problem["loc"][:-1])
            close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
            meant = f" Did you mean {close[0]}?" if close else f" Known here: {', '.join(known)}."
            return f"{field} is not a setting.{meant}"
        case "missing":
            return f"{field} is missing."
        case "value_error":
            return f"{field}: {message}." if field else f"{message}."
        case "tuple_type" | "list_type":  # One number where a list of them may stand.
            return f"{field} is {_shown(value)}: write a list, in brackets."
        case "model_type" | "dict_type":  # A value where a table of settings belongs.
            return f"{field} is {_shown(value)}: write a table, [{field}], with its settings below it."
        case kind if kind in _WANTED:
            return f"{field} is {_shown(value)}: write {_WANTED[kind].format_map(problem.get('ctx', {}))}."
        case _:
            return f"{field} is {_shown(value)}: {message[0].lower()}{message[1:]}."


def _shown(value: object) -> str:
    """A value as a file has it, the middle of a long one left out."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 20]}…{text[-20:]}"


def _known_keys(model: type[BaseModel], path: Iterable[int | str]) -> list[str]:
    for part in path:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
            annotation = next((a for a in typing.get_args(annotation) if isinstance(a, type)), None)
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
