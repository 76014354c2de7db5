"""The engine's programs, run in this process, the training ones with a trainer of ours in the place of theirs.

A training program reads its options, puts some of them right, makes its trainer and lets it train. What it puts right
differs from model to model, so its own `main` is run. Under the name of its trainer it finds something that makes ours.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from diffusionforce.engines.musubi.modules import LIBRARIES_HINT
from diffusionforce.errors import EngineError, ProfileError

PACKAGE = "musubi_tuner"


def load_program(script: str) -> ModuleType:
    """Import a program of the engine, which is on the import path.

    Args:
        script: Its module, for example `wan_train_network`.

    Raises:
        EngineError: A library that it needs is not installed.
    """
    try:
        return importlib.import_module(f"{PACKAGE}.{script}")
    except ModuleNotFoundError as error:
        missing = (error.name or str(error)).partition(".")[0]
        raise EngineError(
            f"The engine needs the library {missing}, which is not installed.",
            hint=LIBRARIES_HINT,
            detail=f"importing {script}: {error!r}",
        ) from error


def run_program(program: ModuleType, argv: Sequence[str]) -> None:
    """Run a program to its end.

    Args:
        program: The program.
        argv: Its options, as `EngineArguments.argv` gives them.

    Raises:
        ProfileError: The program refuses the options. Whatever else it raises is raised as it is.
    """
    with _called_with(program, argv):
        try:
            program.main()
        except SystemExit as error:
            raise ProfileError(
                f"The engine refuses its options (exit code {error.code}).",
                hint="What it says is in the log of the run.",
                detail=" ".join(argv),
            ) from error


@contextmanager
def trainer_in_place(program: ModuleType, trainer_name: str, make_trainer: Callable[[], Any]) -> Iterator[None]:
    """Let a program find something else where it looks for its trainer.

    Args:
        program: The program.
        trainer_name: The trainer's class in it.
        make_trainer: Called by the program to make its trainer.

    Raises:
        EngineError: The program has no such trainer.
    """
    usual = getattr(program, trainer_name, None)
    if usual is None:
        raise EngineError(f"{program.__name__} has no {trainer_name}.", hint="Install the pinned engine again.")
    setattr(program, trainer_name, make_trainer)
    try:
        yield
    finally:
        setattr(program, trainer_name, usual)


@contextmanager
def _called_with(program: ModuleType, argv: Sequence[str]) -> Iterator[None]:
    """With these options; the import path, which the trainer adds to, is put back afterwards."""
    usual_argv, usual_path = sys.argv, list(sys.path)
    sys.argv = [program.__name__, *argv]
    try:
        yield
    finally:
        sys.argv = usual_argv
        sys.path[:] = usual_path
