"""What opens clips, where the Python of the window does not have it: a copy of the training environment's."""

import sys
from pathlib import Path

import pytest

from diffusionforce.datasets import decoder
from diffusionforce.datasets.check import check_folder
from diffusionforce.datasets.clips import first_frame
from diffusionforce.errors import DatasetError
from diffusionforce.wire.interpreter import environment_dir, site_packages


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, and a Python without PyAV, as the installed application has it."""
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    pytest.importorskip("av")
    monkeypatch.delitem(sys.modules, "av")
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    return tmp_path / "home"


def bring(monkeypatch: pytest.MonkeyPatch, *, version: str = "19.0.2", is_ready: bool = True) -> Path:
    """Put a PyAV into the training environment, and return its folder."""
    monkeypatch.setattr(decoder, "is_environment_ready", lambda: is_ready)
    packages = site_packages(environment_dir())
    for name, text in (("av/__init__.py", f"version = {version!r}"), ("av.libs/one.dll", "")):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text, encoding="utf-8")
    (packages / f"av-{version}.dist-info").mkdir()
    return packages / "av"


def test_without_one_the_check_says_what_brings_it(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.mp4").write_bytes(b"whatever")
    report = check_folder(tmp_path / "set")
    assert report is not None
    assert [(one.what, one.note) for one in report.findings if one.name == "a.mp4"] == [
        ("no_decoder", "Waits for the training environment")
    ]
    with pytest.raises(DatasetError, match="training environment") as raised:
        first_frame(tmp_path / "set" / "a.mp4")
    assert "env create" in raised.value.hint


def test_that_of_the_environment_is_copied_so_that_nothing_of_it_is_in_use(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(monkeypatch)
    av = decoder.pyav()
    copied = home / "cache" / "decoder" / "av-19.0.2"
    assert (av.version, Path(av.__file__)) == ("19.0.2", copied / "av" / "__init__.py")
    assert (copied / "av.libs" / "one.dll").is_file(), "its libraries come along"
    assert [path.name for path in copied.parent.iterdir()] == ["av-19.0.2"]
    assert decoder.pyav() is av


def test_what_was_copied_serves_while_the_environment_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch)
    copied = decoder._copied()  # pyright: ignore[reportPrivateUsage]
    bring(monkeypatch, version="20.0", is_ready=False)
    assert decoder._copied() == copied  # pyright: ignore[reportPrivateUsage]


def test_one_of_an_environment_that_is_not_whole_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, is_ready=False)
    with pytest.raises(ModuleNotFoundError):
        decoder.pyav()
