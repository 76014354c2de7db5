"""Who may load what, checked at run time as well: contracts on import statements miss what libraries pull in.

The contracts themselves stand in pyproject.toml; here they are run, and tried on a package that breaks them.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "diffusionforce"
HEAVY = ("torch", "accelerate", "musubi_tuner", "diffusionforce.engines", "diffusionforce.pipeline")

pytestmark = pytest.mark.filterwarnings("error")


def loaded_after(imports: str, *, watched: tuple[str, ...]) -> list[str]:
    """Import modules in a fresh interpreter and return which of the watched ones it holds afterwards."""
    program = f"import sys, {imports}\nprint(*(name for name in {watched!r} if name in sys.modules))"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    return child.stdout.split()


def modules_of(package: str) -> list[str]:
    """Return the names of all modules of a package of ours."""
    files = (SOURCE / package).rglob("*.py")
    parts = (file.relative_to(SOURCE.parent).with_suffix("").parts for file in files)
    return [".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts if part[-1] != "__main__"]


@pytest.mark.parametrize("package", ["gui", "cli"])
def test_the_front_runs_without_torch(package: str) -> None:
    modules = modules_of(package)
    assert f"diffusionforce.{package}" in modules
    assert loaded_after(", ".join(modules), watched=HEAVY) == []


@pytest.mark.parametrize(
    "package", ["datasets", "environment", "errors", "hooks", "job", "rig", "runs", "ugpum", "wire"]
)
def test_a_plain_package_runs_without_torch_and_qt(package: str) -> None:
    modules = modules_of(package) or ["diffusionforce.errors"]
    # The hooks on the engine's trainers, and the page about them, work on tensors; what all hooks share does not.
    on_tensors = ("diffusionforce.hooks.musubi", "diffusionforce.hooks.document")
    modules = [module for module in modules if not module.startswith(on_tensors)]
    assert loaded_after(", ".join(modules), watched=("torch", "PySide6")) == []


def test_the_watch_would_see_torch() -> None:
    assert loaded_after("diffusionforce.pipeline.router", watched=HEAVY) == ["torch", "diffusionforce.pipeline"]


VIOLATIONS = {
    "A package imports only from those below it": ("job", "from diffusionforce import runs"),
    "The window and the command line never load the machinery of training": ("gui", "def f():\n    import torch"),
    "What both processes share is free of torch": (
        "wire",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch",
    ),
    "Qt lives in the window only": ("runs", "from PySide6 import QtCore"),
    "Musubi Tuner is touched by hooks, engines and trainer only": ("pipeline", "import musubi_tuner.networks"),
}


def test_each_contract_notices_a_package_that_breaks_it(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "diffusionforce", ignore=not_python)
    for package, code in VIOLATIONS.values():
        (tmp_path / "diffusionforce" / package / "offender.py").write_text(code + "\n", encoding="utf-8")
    program = Path(sys.executable).parent / "lint-imports"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    command = [str(program), "--no-cache", str(ROOT / "pyproject.toml")]
    child = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert child.returncode == 1
    broken = {line.removesuffix(" BROKEN") for line in child.stdout.splitlines() if line.endswith(" BROKEN")}
    assert broken == set(VIOLATIONS) == {contract["name"] for contract in contracts()["contracts"]}


def not_python(folder: str | os.PathLike[str], names: list[str]) -> set[str]:
    """Return what need not be copied to look at imports: everything but folders and modules."""
    return {name for name in names if not (name.endswith(".py") or (Path(folder) / name).is_dir())}


def contracts() -> dict[str, Any]:
    """Return the import-linter section of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["tool"]["importlinter"]


def test_every_package_has_its_place_among_the_layers() -> None:
    (layers,) = [contract for contract in contracts()["contracts"] if contract["type"] == "layers"]
    placed = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    entries = [entry for entry in SOURCE.iterdir() if entry.is_dir() or entry.suffix == ".py"]
    present = {entry.stem for entry in entries if not entry.stem.startswith("_") or entry.stem == "__main__"}
    assert placed == present - {"shipped"}
    assert layers["exhaustive"] is True
