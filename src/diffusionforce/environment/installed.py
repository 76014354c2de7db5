"""What is in an environment: its packages, whether their files are all there, whether they load.

Read from outside, without starting its Python, except to load things: a damaged environment may not start at all.
"""

import csv
import importlib.metadata
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from diffusionforce.environment import loading, process
from diffusionforce.errors import SetupError
from diffusionforce.wire.environment import EnvironmentLine, EnvironmentProgress
from diffusionforce.wire.interpreter import site_packages

_NOT_COMPARED = (".pyc", "RECORD", "direct_url.json", "INSTALLER", "REQUESTED", "uv_cache.json")


def installed_packages(folder: Path) -> dict[str, str]:
    """Return names and versions of an environment's packages."""
    found = importlib.metadata.distributions(path=[str(site_packages(folder))])
    return {_normal(one.metadata["Name"]): one.version for one in found if one.metadata["Name"]}


def incomplete_packages(folder: Path) -> dict[str, str]:
    """Return the packages of which a file is missing or of another size, each with the first such file."""
    found: dict[str, str] = {}
    for path in sorted(site_packages(folder).glob("*.dist-info")):
        wrong = next(_wrong_files(path), None)
        if wrong is not None:
            found[_normal(path.name.partition("-")[0])] = wrong
    return found


def _wrong_files(dist_info: Path) -> Iterator[str]:
    """Yield the files of a package that are not as its own record says."""
    root = dist_info.parent
    try:
        rows = list(csv.reader((dist_info / "RECORD").read_text(encoding="utf-8").splitlines()))
    except (OSError, ValueError):
        yield f"{dist_info.name}/RECORD"
        return
    for name, _hash, size in (row for row in rows if len(row) == 3):
        if name.endswith(_NOT_COMPARED):
            continue
        try:
            found = (root / name).stat().st_size
        except OSError:
            yield name
            continue
        # Programs are written anew for each environment, with its path in them.
        if size.isdecimal() and found != int(size) and not name.startswith(".."):
            yield name


def check_imports(
    python: Path,
    names: Sequence[str],
    *,
    report: Callable[[EnvironmentProgress | EnvironmentLine], None],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> str:
    """Load everything that training needs, in the environment's own Python.

    Args:
        python: That Python.
        names: The modules.
        report: Told which one is being loaded.
        is_cancelled: Asked often.

    Returns:
        The version of CUDA that PyTorch was built for; empty for a build without.

    Raises:
        SetupError: One does not load.
        process.Cancelled: `is_cancelled` said yes.
    """
    begun: list[str] = []
    cuda = ""

    def take(line: str) -> None:
        nonlocal cuda
        if line.startswith(loading.PREFIX):
            begun.append(line.removeprefix(loading.PREFIX).strip())
            report(EnvironmentProgress(step="check", package=begun[-1], done=len(begun) - 1, total=len(names)))
        elif line.startswith(loading.CUDA_PREFIX):
            cuda = line.removeprefix(loading.CUDA_PREFIX).strip()
        else:
            report(EnvironmentLine(text=line))

    report(EnvironmentProgress(step="check", total=len(names)))
    command = [str(python), "-I", "-X", "utf8", str(Path(loading.__file__)), *names]
    try:
        ended = process.run(
            command, take=take, tick=lambda: None, is_cancelled=is_cancelled, variables={"PYTHONPATH": None}
        )
    except OSError as error:
        raise SetupError(
            f"The environment's Python cannot be started: {error.strerror or error}.",
            hint="Repair the environment.",
            detail=str(error),
        ) from error
    if ended.code != 0:
        last = (ended.output.strip().splitlines() or [f"exit code {ended.code}"])[-1]
        which = begun[-1] if begun else "Python"
        raise SetupError(
            f"{which} does not load: {last.rstrip('.')}.", hint="Repair the environment.", detail=ended.output.strip()
        )
    report(EnvironmentProgress(step="check", done=len(names), total=len(names)))
    return cuda


def _normal(name: str) -> str:
    """A package's name as lock files write it."""
    return re.sub(r"[-_.]+", "-", name).lower()
