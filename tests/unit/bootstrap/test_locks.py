"""The lock files belong to pyproject.toml: a dependency that is added without locking it fails here, not in set-up."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}


def pins(*names: str) -> list[Requirement]:
    """Return the pins of lock files."""
    lines = (line for name in names for line in (ROOT / "locks" / name).read_text(encoding="utf-8").splitlines())
    return [Requirement(line.rstrip("\\ ")) for line in lines if re.match(r"[a-z]", line)]


def wanted(*, extra: str) -> list[Requirement]:
    """Return what pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    on_top = project["optional-dependencies"][extra] if extra else []
    return [Requirement(text) for text in [*project["dependencies"], *on_top]]


ON_TOP = {"": (), "test": ("test.txt",), "musubi": ("musubi.txt", "torchvision.txt")}
EVERY_FILE = ("torch.txt", "runtime.txt", "test.txt", "musubi.txt", "torchvision.txt")


@pytest.mark.parametrize("python", ["3.11", "3.12"])
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("extra", ON_TOP)
def test_every_dependency_is_pinned_once_to_a_version_it_allows(python: str, system: str, extra: str) -> None:
    environment = {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.7",
        "sys_platform": system,
        "platform_system": SYSTEMS[system],
        "extra": "",
    }
    locked: dict[str, list[str]] = {}
    for pin in pins("torch.txt", "runtime.txt", *ON_TOP[extra]):
        if pin.marker is None or pin.marker.evaluate(environment):
            (specifier,) = pin.specifier
            assert specifier.operator == "=="
            locked.setdefault(canonicalize_name(pin.name), []).append(specifier.version)
    for requirement in wanted(extra=extra):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            (version,) = set(locked[canonicalize_name(requirement.name)])
            assert version in requirement.specifier, f"{requirement} is locked to {version}: run tools/lock.py"
    # An extra may need on every system what the product needs on some; it is the same version then.
    assert all(len(set(versions)) == 1 for versions in locked.values())


def test_no_cuda_package_comes_with_the_locks() -> None:
    # On a machine without a card they would be gigabytes for nothing.
    names = {canonicalize_name(pin.name) for pin in pins(*EVERY_FILE)}
    assert {name for name in names if name.startswith(("nvidia-", "cuda-", "triton"))} == {"nvidia-ml-py"}


def test_every_pin_but_pytorchs_carries_hashes() -> None:
    for name in ("runtime.txt", "test.txt", "musubi.txt"):
        text = (ROOT / "locks" / name).read_text(encoding="utf-8")
        blocks = re.findall(r"^[a-z].*\n(?:[ \t].*\n)*", text, re.M)
        assert len(blocks) == len(pins(name)) > 10
        assert all("--hash=sha256:" in block for block in blocks)


def test_the_locks_name_no_registry() -> None:
    assert all("://" not in path.read_text(encoding="utf-8") for path in (ROOT / "locks").iterdir())
