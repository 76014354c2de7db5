"""Installing the engine: from every kind of place, whole or not at all, never by the names that an archive holds."""

import io
import os
import shutil
import stat
import subprocess
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar
from urllib.error import URLError

import pytest
from tests.support.engine import FILES, lay_out, small_manifest, small_pin

from diffusionforce.engines.musubi import Pin, engine_dir, installation, sources, verify
from diffusionforce.engines.musubi.installation import Installation
from diffusionforce.errors import EngineError

LINK_MODE = (stat.S_IFLNK | 0o777) << 16
WITH_CRLF = {name: content.replace(b"\n", b"\r\n") for name, content in FILES.items()}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own."""
    monkeypatch.delenv("DIFFUSIONFORCE_ENGINE", raising=False)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def install(place: Path | None, pin: Pin | None = None) -> Installation:
    """Install the engine of three files."""
    return installation.install(
        pin or small_pin(), place=place, manifest=small_manifest(), report=lambda stage, done, total: None
    )


def zip_of(path: Path, *, prefix: str = "engine-abc/", changes: dict[str, bytes | None] | None = None) -> Path:
    """Write a zip as upstream's: everything in one folder."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**FILES, **(changes or {})}.items():
            if content is not None:
                archive.writestr(prefix + name, content)
    return path


def git_of(folder: Path) -> str:
    """Make a git directory with a commit of the engine, and return the commit; the work tree is changed afterwards."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    lay_out(folder)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "engine"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    lay_out(folder, {"README.md": b"something newer\n"})
    return head


def assert_installed(folder: Path) -> None:
    """Compare every file."""
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert verify(small_pin(), folder=folder, manifest=small_manifest(), every_byte=True) == folder


def leftovers(home: Path) -> list[str]:
    """Return what lies in the data folder beside a finished engine."""
    return [path.name for path in (home / "engines" / "musubi-tuner").glob(".*")]


def plain_folder(tmp_path: Path) -> Path:
    """The engine, unpacked."""
    return lay_out(tmp_path / "plain")


def folder_in_folder(tmp_path: Path) -> Path:
    """The engine in a folder of a folder, as zips unpack."""
    lay_out(tmp_path / "unpacked" / "engine-abc")
    return tmp_path / "unpacked"


def zip_with_folder(tmp_path: Path) -> Path:
    """Upstream's zip."""
    return zip_of(tmp_path / "engine.zip")


def flat_zip(tmp_path: Path) -> Path:
    """A zip with the engine at its top."""
    return zip_of(tmp_path / "engine.zip", prefix="")


@pytest.mark.parametrize("make", [plain_folder, folder_in_folder, zip_with_folder, flat_zip])
def test_every_kind_of_place_gives_the_same_engine(make: Callable[[Path], Path], tmp_path: Path, home: Path) -> None:
    done = install(make(tmp_path))
    assert done.outcome == "installed"
    assert done.folder == engine_dir(small_pin())
    assert_installed(done.folder)
    assert leftovers(home) == []


@pytest.mark.parametrize("bare", [False, True])
def test_a_git_directory_gives_the_commit_whatever_its_work_tree_has(bare: bool, tmp_path: Path) -> None:
    commit = git_of(tmp_path / "clone")
    place = tmp_path / "clone"
    if bare:
        place = tmp_path / "bare"
        command = ["git", "clone", "-q", "--bare", str(tmp_path / "clone"), str(place)]
        subprocess.run(command, check=True, capture_output=True)
    assert_installed(install(place, small_pin(commit)).folder)


def test_a_git_directory_without_the_commit_is_told_what_to_fetch(tmp_path: Path) -> None:
    git_of(tmp_path / "clone")
    with pytest.raises(EngineError, match="does not have the commit 0000") as caught:
        install(tmp_path / "clone")
    assert "git fetch" in caught.value.hint


def test_the_download_is_upstreams_zip_of_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Answer(io.BytesIO):
        headers: ClassVar[dict[str, str]] = {}

    def answer(address: str, *, timeout: float) -> Answer:
        asked.append(address)
        return Answer(zip_of(tmp_path / "engine.zip").read_bytes())

    monkeypatch.setattr(sources.urllib.request, "urlopen", answer)
    assert_installed(install(None).folder)
    assert asked == [f"https://github.com/someone/engine/archive/{'0' * 40}.zip"]


def test_without_a_network_the_sentence_says_how_to_do_without(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def no_network(address: str, *, timeout: float) -> None:
        raise URLError("no route")

    monkeypatch.setattr(sources.urllib.request, "urlopen", no_network)
    with pytest.raises(EngineError, match="cannot be downloaded") as caught:
        install(None)
    assert "engine install --from FILE" in caught.value.hint
    assert not engine_dir(small_pin()).exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"README.md": b"# Another\n"}, "modified: README.md"),
        ({"README.md": None}, "missing: README.md"),
        ({"README.md": b"x", "src/musubi_tuner/wan/model.py": None}, "modified: README.md; missing: src/musubi_tuner"),
        (WITH_CRLF, "with the line ends of Windows: README.md, src/musubi_tuner/wan/model.py"),
    ],
)
@pytest.mark.parametrize("as_zip", [False, True])
def test_a_place_with_other_files_is_refused_by_name(
    changes: dict[str, bytes | None], words: str, as_zip: bool, tmp_path: Path, home: Path
) -> None:
    place = zip_of(tmp_path / "engine.zip", changes=changes) if as_zip else lay_out(tmp_path / "engine", changes)
    with pytest.raises(EngineError) as caught:
        install(place)
    assert words in caught.value.sentence
    assert ("autocrlf" in caught.value.hint) == (changes is WITH_CRLF)
    assert not engine_dir(small_pin()).exists()
    assert leftovers(home) == []


def test_what_else_a_zip_holds_is_never_unpacked(tmp_path: Path, home: Path) -> None:
    place = zip_of(tmp_path / "engine.zip", changes={"../../outside.py": b"bad", "src/musubi_tuner/new.py": b"bad"})
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr("/absolute.py", b"bad")
    done = install(place)
    assert done.left_out == ("src/musubi_tuner/new.py",)
    assert_installed(done.folder)
    assert not [path for path in tmp_path.rglob("*.py") if path.read_bytes() == b"bad"]


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    place = zip_of(tmp_path / "engine.zip", changes={"README.md": None})
    with zipfile.ZipFile(place, "a") as archive:
        entry = zipfile.ZipInfo("engine-abc/README.md")
        entry.external_attr = LINK_MODE
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(EngineError, match=r"README\.md in .* is a link"):
        install(place)


@pytest.mark.parametrize("name", ["README.md", "src/musubi_tuner/wan"])
def test_a_link_in_a_folder_is_refused_even_if_it_leads_to_the_right_bytes(name: str, tmp_path: Path) -> None:
    place = lay_out(tmp_path / "engine")
    (place / name).rename(tmp_path / "elsewhere")
    try:
        (place / name).symlink_to(tmp_path / "elsewhere")
    except OSError:
        pytest.skip("this system lets users make no links")
    with pytest.raises(EngineError, match="is a link"):
        install(place)


def test_what_is_no_engine_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn.zip").write_bytes(zip_of(tmp_path / "engine.zip").read_bytes()[:100])
    for name, words in [("nowhere", "does not exist"), ("empty", "does not hold Musubi"), ("torn.zip", "not a whole")]:
        with pytest.raises(EngineError, match=words):
            install(tmp_path / name)


@pytest.mark.parametrize("make", [zip_of, lay_out])
def test_a_place_that_cannot_be_read_is_not_taken_for_one_that_cannot_be_written(
    make: Callable[[Path], Path], tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a zip without the right to read it was said that it is damaged, of a folder that it is not writable."""
    place = make(tmp_path / "engine.zip")

    def refuse(path: Path, *args: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(zipfile, "ZipFile", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(EngineError, match=r"engine\.zip.* cannot be read: Permission denied\.") as caught:
        install(place)
    assert caught.value.hint == "Check its rights, or give another place with --from."
    assert leftovers(home) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_a_device_is_no_place(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="null cannot be read: Not a directory"):
        install(Path("/dev/null"))


def test_a_zip_with_damaged_contents_is_a_sentence(tmp_path: Path, home: Path) -> None:
    # A download damaged in the middle has a whole directory at its end; zlib's own error came through as a bug.
    place = tmp_path / "engine.zip"
    zip_of(tmp_path / "stored.zip")
    with (
        zipfile.ZipFile(tmp_path / "stored.zip") as stored,
        zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
        first = packed.infolist()[0]
    content = bytearray(place.read_bytes())
    start = 30 + len(first.filename)
    content[start : start + first.compress_size] = b"\xff" * first.compress_size
    place.write_bytes(content)
    with pytest.raises(EngineError, match=r"engine\.zip is damaged at"):
        install(place)
    assert leftovers(home) == []


def test_installing_again_does_nothing_and_repairs_what_is_damaged(tmp_path: Path, home: Path) -> None:
    place = plain_folder(tmp_path)
    folder = install(place).folder
    assert install(tmp_path / "nowhere").outcome == "was there"
    installation._remove(folder / "README.md")
    assert install(place).outcome == "repaired"
    assert_installed(folder)
    assert leftovers(home) == []


def test_a_folder_that_the_user_has_named_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout with what had been trained in it was deleted, for it had files that are not the engine's."""
    own = lay_out(tmp_path / "my checkout", {"outputs/lora.safetensors": b"a week's work"})
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(own))
    with pytest.raises(EngineError, match=r"my checkout, named by DIFFUSIONFORCE_ENGINE, .* is not replaced"):
        install(plain_folder(tmp_path))
    assert (own / "outputs/lora.safetensors").read_bytes() == b"a week's work"
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(tmp_path / "new"))
    assert_installed(install(plain_folder(tmp_path)).folder)


def test_the_installed_files_are_read_only(tmp_path: Path) -> None:
    folder = install(plain_folder(tmp_path)).folder
    assert not any(path.stat().st_mode & stat.S_IWRITE for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_installation_leaves_what_was_there(
    problem: BaseException, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(folder: Path, manifest: object) -> None:
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(installation, "_verified", interrupted)
        with pytest.raises((KeyboardInterrupt, Exception)) as caught:
            install(plain_folder(tmp_path))
    assert isinstance(problem, KeyboardInterrupt) or "is full" in str(caught.value)
    assert not engine_dir(small_pin()).exists()
    assert leftovers(home) == []


def test_what_a_killed_installation_left_is_swept_away_and_a_living_ones_is_not(tmp_path: Path, home: Path) -> None:
    parent = home / "engines" / "musubi-tuner"
    dead, living = parent / ".new-999999999-a", parent / f".new-{os.getpid()}-b"
    lay_out(dead)
    lay_out(living)
    install(plain_folder(tmp_path))
    assert leftovers(home) == [living.name]


def test_installations_at_once_do_not_clash(tmp_path: Path, home: Path) -> None:
    place = plain_folder(tmp_path)
    lay_out(engine_dir(small_pin()), {"README.md": b"damaged"})
    outcomes: list[str] = []
    threads = [threading.Thread(target=lambda: outcomes.append(install(place).outcome)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6
    assert_installed(engine_dir(small_pin()))
    assert leftovers(home) == []
