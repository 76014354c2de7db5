"""Builds the environment, step by step: venv, PyTorch, libraries, check; the stamp last.

Every step may be repeated: uv leaves alone what is there, and takes from its cache what was downloaded. So a build that
was cancelled, or that lost the network, goes on by being started again.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from diffusionforce.environment import process
from diffusionforce.environment.backends import CPU, default_backend
from diffusionforce.environment.failures import failure_of
from diffusionforce.environment.installed import check_imports, installed_packages
from diffusionforce.environment.plan import Plan, cache_dir, check_space
from diffusionforce.environment.stamp import (
    Stamp,
    forget_stamp,
    ingredients_of,
    is_same,
    read_stamp,
    read_unfinished,
    write_stamp,
    write_unfinished,
)
from diffusionforce.environment.uv_output import UvOutput
from diffusionforce.errors import SetupError, UserError
from diffusionforce.runs import storage_error
from diffusionforce.wire.environment import BuildStep, EnvironmentLine, EnvironmentProgress
from diffusionforce.wire.interpreter import environment_dir, site_packages, venv_python

Report = Callable[[EnvironmentProgress | EnvironmentLine], None]
PATH_FILE = "diffusionforce.pth"
_TITLES: dict[BuildStep, str] = {"venv": "The environment", "torch": "PyTorch", "libraries": "A library"}


class Build:
    """One attempt at building an environment.

    Args:
        plan: What to build.
        report: Told how far it is, and each line that uv says.
        is_cancelled: Asked often; the attempt ends when it says yes.
    """

    def __init__(self, plan: Plan, *, report: Report, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        self._plan, self._report, self._is_cancelled = plan, report, is_cancelled
        self._python = venv_python(plan.folder)
        self._ingredients = ingredients_of(plan)
        self._uv = ""

    def run(self, *, anew: bool = False) -> bool:
        """Build it.

        Args:
            anew: Clear it first, whatever is there.

        Returns:
            Whether anything had to be done.

        Raises:
            UserError: It cannot be built.
            process.Cancelled: `is_cancelled` said yes; what was done is kept.
        """
        if not anew and is_same(read_stamp(self._plan.folder), self._ingredients):
            return False
        check_space(self._plan)
        self._uv = str(self._plan.application.uv())
        try:
            self._make_venv(anew=anew)
            self._install_torch()
            self._install_libraries()
            self._finish()
        except OSError as error:
            raise storage_error(error, Path(error.filename or self._plan.folder)) from error
        return True

    def _make_venv(self, *, anew: bool) -> None:
        folder = self._plan.folder
        self._report(EnvironmentProgress(step="venv"))
        if anew or not is_same(read_unfinished(folder), self._ingredients) or not self._python.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            if folder.exists():  # First, so that nothing takes what is left of it for whole.
                forget_stamp(folder)
            self._call("venv", "venv", "--clear", "--python", self._plan.python, str(folder))
        write_unfinished(folder, self._ingredients)

    def _install_torch(self) -> None:
        constraints = self._plan.folder / "diffusionforce-constraints.txt"
        constraints.write_text(self._plan.locked.constraints, encoding="utf-8")
        built_elsewhere = self._plan.wheels is None and self._plan.backend != default_backend()
        backend = ("--torch-backend", self._plan.backend) if built_elsewhere else ()
        self._install("torch", *backend, "--constraint", str(constraints), *self._plan.locked.built)

    def _install_libraries(self) -> None:
        requirements = self._plan.folder / "diffusionforce-locked.txt"
        requirements.write_text(self._plan.locked.requirements, encoding="utf-8")
        self._install("libraries", "--no-deps", "--require-hashes", "--requirement", str(requirements))

    def _finish(self) -> None:
        path_file = site_packages(self._plan.folder) / PATH_FILE
        path_file.write_text(f"{self._plan.application.code}\n", encoding="utf-8")
        cuda = check_imports(
            self._python, self._plan.locked.imports, report=self._report, is_cancelled=self._is_cancelled
        )
        if self._plan.backend != CPU and not cuda:
            raise SetupError(
                "What was installed is PyTorch without CUDA, which cannot use the cards.",
                hint="Install from other wheels, or choose the build for the processor, to try the demo.",
            )
        packages = installed_packages(self._plan.folder)
        stamp = Stamp(
            **self._ingredients.model_dump(),
            torch_version=packages.get("torch", self._plan.locked.torch_version),
            packages=packages,
        )
        write_stamp(self._plan.folder, stamp)

    def _install(self, step: BuildStep, *arguments: str) -> None:
        places = ("--offline", "--no-index", "--find-links", str(self._plan.wheels)) if self._plan.wheels else ()
        self._call(step, "pip", "install", "--python", str(self._python), *places, *arguments)

    def _call(self, step: BuildStep, *arguments: str) -> None:
        """Let uv do a step.

        Raises:
            SetupError: It failed.
        """
        output = UvOutput(step)
        self._report(EnvironmentLine(text=f"$ uv {' '.join(arguments)}"))
        last = output.progress()
        self._report(last)

        def take(line: str) -> None:
            output.take(line)
            self._report(EnvironmentLine(text=line))

        def tick() -> None:
            nonlocal last
            now = output.progress()
            if now != last:
                last = now
                self._report(now)

        ended = process.run(
            [self._uv, *arguments],
            take=take,
            tick=tick,
            is_cancelled=self._is_cancelled,
            variables=uv_variables(self._plan.cache),
        )
        if ended.code != 0:
            raise failure_of(ended.output, doing=_TITLES[step], wheels=str(self._plan.wheels or ""))


def uv_variables(cache: Path) -> dict[str, str | None]:
    """Return what uv is told by its environment; None for what it is not to see.

    Args:
        cache: Where it keeps what it downloads.
    """
    return {
        "UV_CACHE_DIR": str(cache),
        # A project or a file of settings that is for the user's other work says nothing about ours.
        "UV_NO_CONFIG": "1",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_LINK_MODE": "hardlink",
        "UV_TORCH_BACKEND": None,
        "NO_COLOR": "1",
        # What is active around us is not what is meant.
        "VIRTUAL_ENV": None,
        "CONDA_PREFIX": None,
        "PYTHONHOME": None,
        "PYTHONPATH": None,
    }


def remove() -> bool:
    """Delete the environment and what was downloaded for it; tell whether there was any.

    Raises:
        UserError: A file cannot be deleted.
    """
    folder = environment_dir()
    found = [path for path in (folder, cache_dir()) if path.is_dir()]
    try:
        if folder.is_dir():
            forget_stamp(folder)
        for path in found:
            shutil.rmtree(path)
    except OSError as error:
        raise _not_removed(error, folder) from error
    return bool(found)


def _not_removed(error: OSError, folder: Path) -> UserError:
    if isinstance(error, PermissionError):
        return SetupError(
            f"{error.filename or folder} cannot be deleted: another program uses it.",
            hint="End runs and other programs that use the environment, and try again.",
            detail=str(error),
        )
    return storage_error(error, Path(error.filename or folder))
