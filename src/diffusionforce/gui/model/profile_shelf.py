"""The profiles there are, and everything that is done to their files. Built-in ones are read and never written.

The user's own are TOML files in the data folder, where the command line finds them too. One that is deleted is moved
aside, so that it can come back.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diffusionforce.errors import ProfileError, UserError
from diffusionforce.job import (
    Profile,
    builtin_profiles,
    loaded_toml,
    own_profiles,
    own_profiles_dir,
    read_profile,
    with_absolute_weights,
    write_profile,
)
from diffusionforce.job.files import DEMO_PREFIX, describe

DELETED = "deleted"
MAX_TITLE = 80


@dataclass(frozen=True, kw_only=True)
class ShelfItem:
    """One profile of the list.

    Attributes:
        name: What the command line calls it.
        path: Its file.
        is_own: Whether it is the user's own.
        profile: What the file holds; None when it cannot be read.
        problem: Why not.
    """

    name: str
    path: Path
    is_own: bool
    profile: Profile | None
    problem: UserError | None = None

    @property
    def title(self) -> str:
        """What people call it."""
        return self.profile.title if self.profile is not None else self.name

    def matches(self, wanted: str) -> bool:
        """Tell whether somebody who looks for these words means this profile."""
        family = f"{self.profile.model.family} {self.profile.description}" if self.profile is not None else ""
        text = f"{self.title} {self.name} {family}".lower()
        return all(word in text for word in wanted.lower().split())


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A profile that came from a file: its name here, and what of the file was left out, a sentence each."""

    name: str
    left_out: tuple[str, ...] = ()


def read_shelf() -> tuple[ShelfItem, ...]:
    """Return the profiles: the user's own by title, then the built-in ones, what trains anywhere first."""
    own = sorted((_item(name, path, is_own=True) for name, path in own_profiles().items()), key=_by_title)
    builtin = [_item(name, path, is_own=False) for name, path in builtin_profiles().items()]
    return (*own, *sorted(builtin, key=_by_title))


def _by_title(item: ShelfItem) -> tuple[int, str]:
    if item.profile is None:
        return 2, item.name.lower()
    return 0 if item.profile.model.engine == "pocket" else 1, item.title.lower()


def _item(name: str, path: Path, *, is_own: bool) -> ShelfItem:
    try:
        return ShelfItem(name=name, path=path, is_own=is_own, profile=read_profile(path))
    except UserError as error:
        return ShelfItem(name=name, path=path, is_own=is_own, profile=None, problem=error)


def path_of(name: str) -> Path:
    """Return the file of an own profile, which need not be there."""
    return own_profiles_dir() / f"{name}.toml"


def free_name(title: str) -> str:
    """Return a name for a profile of this title that no other one has."""
    base = re.sub(r"[^\w]+", "-", title.casefold()).strip("-_")[:60].strip("-_") or "profile"
    taken, name, number = {*builtin_profiles(), *own_profiles()}, base, 2
    while name in taken or path_of(name).exists():
        name, number = f"{base}-{number}", number + 1
    return name


def free_title(title: str) -> str:
    """Return a title like this one that no profile bears."""
    taken = {item.title for item in read_shelf()}
    base = re.sub(r" \(\d+\)$", "", title)[: MAX_TITLE - 5]
    new, number = base, 2
    while new in taken:
        new, number = f"{base} ({number})", number + 1
    return new


def save(name: str, profile: Profile) -> None:
    """Write an own profile.

    Raises:
        ProfileError: The data folder may not be written to.
    """
    path = path_of(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_profile(path, profile)
    except OSError as error:
        raise ProfileError(
            f"{path} cannot be written: {error.strerror}.", hint="Free some space, or give the folder back to you."
        ) from error


def duplicate(item: ShelfItem) -> str:
    """Make an own profile out of any other, and return its name.

    Raises:
        ProfileError: It cannot be read, or the copy cannot be written.
    """
    if item.profile is None:
        raise item.problem or ProfileError(f"{item.name} cannot be read.")
    profile = _moved(item.profile, base=item.path.parent)
    title = free_title(profile.title if item.is_own else f"{profile.title}, mine"[:MAX_TITLE])
    based_on = profile.based_on if item.is_own else item.name
    name = free_name(title)
    save(name, profile.model_copy(update={"title": title, "based_on": based_on}))
    return name


def rename(item: ShelfItem, title: str) -> str:
    """Give an own profile another title, and a name that goes with it; returns the name.

    Raises:
        ProfileError: The title is empty or too long, or the file cannot be written.
    """
    title = " ".join(title.split())
    if not title or len(title) > MAX_TITLE:
        raise ProfileError(f"A name has 1 to {MAX_TITLE} characters.", hint="Write a shorter one, or none is changed.")
    assert item.is_own
    assert item.profile is not None
    if title == item.title:
        return item.name
    name = free_name(title)
    save(name, item.profile.model_copy(update={"title": title}))
    item.path.unlink(missing_ok=True)
    return name


def delete(item: ShelfItem) -> Path:
    """Move an own profile aside; returns where it lies, for `restore`.

    Raises:
        ProfileError: The file cannot be moved.
    """
    assert item.is_own
    aside = item.path.parent / DELETED / item.path.name
    try:
        aside.parent.mkdir(parents=True, exist_ok=True)
        item.path.replace(aside)
    except OSError as error:
        raise ProfileError(f"{item.path} cannot be deleted: {error.strerror}.") from error
    return aside


def restore(aside: Path) -> str:
    """Bring a deleted profile back, under another name if its own was given away; returns the name.

    Raises:
        ProfileError: The file cannot be moved.
    """
    name = aside.stem if not path_of(aside.stem).exists() else free_name(aside.stem)
    try:
        aside.replace(path_of(name))
    except OSError as error:
        raise ProfileError(f"{aside} cannot be brought back: {error.strerror}.") from error
    return name


def export(item: ShelfItem, path: Path) -> None:
    """Write a profile to a file of the user's choice.

    Raises:
        ProfileError: It cannot be read or written.
    """
    if item.profile is None:
        raise item.problem or ProfileError(f"{item.name} cannot be read.")
    try:
        write_profile(path, _moved(item.profile, base=item.path.parent))
    except OSError as error:
        raise ProfileError(f"{path} cannot be written: {error.strerror}.", hint="Choose another folder.") from error


def import_file(path: Path) -> Imported:
    """Copy a profile of the user's among the own ones; what is not understood is left out and told.

    Raises:
        ProfileError: The file cannot be read, or too much of it is not understood.
    """
    profile, left_out = _understood(path)
    profile = _moved(profile, base=path.parent)
    profile = profile.model_copy(update={"title": free_title(profile.title), "based_on": _known_base(profile.based_on)})
    name = free_name(profile.title)
    save(name, profile)
    return Imported(name=name, left_out=left_out)


def _known_base(name: str) -> str:
    return name if name in builtin_profiles() else ""


def _understood(path: Path) -> tuple[Profile, tuple[str, ...]]:
    try:
        return read_profile(path), ()
    except ProfileError as refusal:
        try:
            table = loaded_toml(path)
        except (OSError, ValueError):
            raise refusal from None
        return _without_errors(table, refusal)


def _without_errors(table: dict[str, Any], refusal: ProfileError) -> tuple[Profile, tuple[str, ...]]:
    """Leave out every setting that is refused. What must be there and is not cannot be left out."""
    left_out: list[str] = []
    for _ in range(3):  # A table without its errors may show others.
        try:
            return Profile.model_validate(table), tuple(left_out)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            left_out += describe(Profile, problems)
            for problem in problems:
                if problem["type"] == "missing" or not _drop(table, [str(part) for part in problem["loc"]]):
                    raise refusal from None
    raise refusal


def _drop(table: dict[str, Any], location: list[str]) -> bool:
    for part in location[:-1]:
        inner = table.get(part)
        if not isinstance(inner, dict):
            return table.pop(part, None) is not None
        table = inner
    return bool(location) and table.pop(location[-1], None) is not None


def _moved(profile: Profile, *, base: Path) -> Profile:
    """Return a profile for another folder: paths that begin at its own are made whole."""
    profile = with_absolute_weights(profile, base=base)
    dataset = profile.dataset
    moved = {
        name: folder
        if folder.startswith(DEMO_PREFIX) or not folder
        else str((base / Path(folder).expanduser()).resolve())
        for name, folder in (("folder", dataset.folder), ("held_out_folder", dataset.held_out_folder))
    }
    return profile.model_copy(update={"dataset": dataset.model_copy(update=moved)})


def engines_by_family(items: tuple[ShelfItem, ...]) -> Mapping[str, str]:
    """Return which engine trains a family of models, as far as the built-in profiles tell."""
    return {item.profile.model.family: item.profile.model.engine for item in items if item.profile and not item.is_own}


def titles_by_family(items: tuple[ShelfItem, ...]) -> Mapping[str, str]:
    """Return what people call the families that the built-in profiles are for."""
    found: dict[str, str] = {}
    for item in items:
        if item.profile is not None and not item.is_own:
            found.setdefault(item.profile.model.family, item.title.partition(",")[0])
    return found
