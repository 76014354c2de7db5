"""A built package carries everything that a run needs, although some of it stands at the top of the repository."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("src", "profiles", "demo_datasets", "vendor", "locks")
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE")


@pytest.mark.slow
def test_a_wheel_carries_profiles_datasets_weights_fonts_and_the_pin(tmp_path: Path) -> None:
    # Built from a copy: setuptools would leave its `build` folder, whose leftovers end up in the next wheel.
    source = tmp_path / "source"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in FILES:
        shutil.copy(ROOT / file, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    assert {f"diffusionforce/shipped/locks/{path.name}" for path in (ROOT / "locks").iterdir()} <= names
    for pattern in ("engines/pocket/**/*.safetensors", "gui/fonts/*.otf", "gui/fonts/LICENSE.txt"):
        files = {
            f"diffusionforce/{path.relative_to(ROOT / 'src/diffusionforce').as_posix()}" for path in _ours(pattern)
        }
        assert files
        assert files <= names
    program = (
        "import diffusionforce; from diffusionforce.engines.musubi import read_pin;"
        "from diffusionforce.job import builtin_profiles, dataset_folder;"
        "print(diffusionforce.__file__, read_pin().version, *builtin_profiles(), dataset_folder('demo:loranne'))"
    )
    child = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    package, version, *profiles, dataset = child.stdout.split()
    assert Path(package).is_relative_to(tmp_path / "installed")
    assert version == "0.3.4"
    assert set(profiles) == {path.stem for path in (ROOT / "profiles").glob("*.toml")}
    assert Path(dataset).is_relative_to(tmp_path / "installed")


def _ours(pattern: str) -> list[Path]:
    return list((ROOT / "src" / "diffusionforce").glob(pattern))
