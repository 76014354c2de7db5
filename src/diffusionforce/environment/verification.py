"""How the environment stands: what its stamp says, against the application that asks, and against what is there."""

from collections.abc import Callable, Iterator
from pathlib import Path

from diffusionforce.environment.application import Application
from diffusionforce.environment.installed import check_imports, incomplete_packages, installed_packages
from diffusionforce.environment.locked import read_locks
from diffusionforce.environment.stamp import Stamp, read_stamp
from diffusionforce.errors import SetupError
from diffusionforce.wire.environment import EnvironmentLine, EnvironmentProgress, EnvironmentState, EnvironmentStatus
from diffusionforce.wire.interpreter import environment_dir, ingredients, venv_python

_MOST_NAMED = 5


def look() -> EnvironmentStatus:
    """Return how the environment stands by its stamp; takes no time.

    Raises:
        UserError: There is no data folder.
    """
    folder = environment_dir()
    stamp = read_stamp(folder)
    if stamp is None:
        return EnvironmentStatus(state="unfinished" if folder.is_dir() else "missing", folder=str(folder))
    state, problems = _against(stamp, folder)
    return _status(stamp, state=state, problems=problems, folder=folder)


def verify(
    application: Application,
    *,
    report: Callable[[EnvironmentProgress | EnvironmentLine], None],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> EnvironmentStatus:
    """Return how the environment stands: every file is looked for, and everything is loaded.

    Args:
        application: Whose environment it is.
        report: Told how far it is.
        is_cancelled: Asked often.

    Raises:
        UserError: There is no data folder, or the lock files cannot be read.
        process.Cancelled: `is_cancelled` said yes.
    """
    quick = look()
    folder, stamp = environment_dir(), read_stamp(environment_dir())
    if quick.state != "ready" or stamp is None:
        return quick
    problems = tuple(_damage(stamp, folder))
    if not problems:
        try:
            imports = read_locks(application.locks).imports
            check_imports(venv_python(folder), imports, report=report, is_cancelled=is_cancelled)
        except SetupError as error:
            problems = (error.sentence,)
    return _status(stamp, state="damaged" if problems else "ready", problems=problems, folder=folder)


def _against(stamp: Stamp, folder: Path) -> tuple[EnvironmentState, tuple[str, ...]]:
    """Compare a stamp with the application that asks."""
    if not venv_python(folder).exists():
        return "damaged", ("Its Python is missing.",)
    wanted = ingredients()
    if stamp.code != wanted["code"] or stamp.base != wanted["base"]:
        return "moved", ("It was made for a DiffusionForce that was in another place.",)
    if stamp.python_version != wanted["python_version"]:
        return "outdated", (f"It was made with Python {stamp.python_version}.",)
    if stamp.fingerprint != wanted["fingerprint"]:
        return "outdated", ("This DiffusionForce needs other versions of libraries.",)
    return "ready", ()


def _damage(stamp: Stamp, folder: Path) -> Iterator[str]:
    """Say what is not there, or not as it was, a sentence each."""
    present = installed_packages(folder)
    changed = [name for name, version in stamp.packages.items() if present.get(name) != version]
    for name in changed[:_MOST_NAMED]:
        found = f"version {present[name]}" if name in present else "not there"
        yield f"{name} {stamp.packages[name]} was installed, and is {found}."
    broken = {name: file for name, file in incomplete_packages(folder).items() if name not in changed}
    for name, file in list(broken.items())[:_MOST_NAMED]:
        yield f"{name} is damaged: {file} is missing or was changed."
    more = max(len(changed) - _MOST_NAMED, 0) + max(len(broken) - _MOST_NAMED, 0)
    if more:
        yield f"And {more} more packages."


def _status(stamp: Stamp, *, state: EnvironmentState, problems: tuple[str, ...], folder: Path) -> EnvironmentStatus:
    return EnvironmentStatus(
        state=state,
        folder=str(folder),
        backend=stamp.backend,
        torch_version=stamp.torch_version,
        num_packages=len(stamp.packages),
        problems=problems,
    )
