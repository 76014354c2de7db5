"""Plans, lock files, places and the choice of a Python for children."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.support import wheelhouse

from diffusionforce.environment import application, plan
from diffusionforce.environment.application import Application, find_application
from diffusionforce.environment.locked import read_locks
from diffusionforce.environment.plan import check_space, drive_of, plan_environment, size_of
from diffusionforce.environment.stamp import Ingredients, Stamp, is_same, read_stamp, write_stamp, write_unfinished
from diffusionforce.environment.verification import look
from diffusionforce.errors import SetupError
from diffusionforce.wire import child, interpreter, own_command

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Application:
    root = wheelhouse.make_application(tmp_path / "app")
    for name, value in wheelhouse.use(root, tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    return find_application()


def test_our_own_locks_hold_what_training_needs_and_not_the_window() -> None:
    locked = read_locks(ROOT / "locks")
    assert locked.built[0].startswith("torch==")
    assert locked.built[1].startswith("torchvision==")
    assert locked.torch_version == locked.built[0].removeprefix("torch==")
    assert "transformers==" in locked.requirements
    assert "--hash=sha256:" in locked.requirements
    assert "pyside6" not in locked.requirements
    assert "\nuv==" not in locked.requirements
    assert "--hash" not in locked.constraints
    assert "numpy==" in locked.constraints
    assert "diffusionforce.trainer.session" in locked.imports


def test_every_module_that_has_to_load_is_there_or_pinned() -> None:
    """A wrong name would make every environment fail its check."""
    locked = read_locks(ROOT / "locks")
    modules = {"PIL": "pillow", "cv2": "opencv-python-headless", "huggingface_hub": "huggingface-hub"}
    for name in locked.imports:
        top = name.partition(".")[0]
        pin = modules.get(top, top)
        assert top == "diffusionforce" or f"\n{pin}==" in f"\n{locked.requirements}\n" + "\n".join(locked.built)


def test_another_pin_is_another_fingerprint(app: Application) -> None:
    before = interpreter.ingredients()
    (app.locks / "torch.txt").write_text("torch==9.2.0\n", encoding="utf-8")
    after = interpreter.ingredients()
    assert {name for name in before if before[name] != after[name]} == {"fingerprint"}


def test_lock_files_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        read_locks(tmp_path)
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    (tmp_path / "locks" / "torch.txt").write_text("# no pin\n", encoding="utf-8")
    with pytest.raises(SetupError, match="cannot be read"):
        read_locks(tmp_path / "locks")


def test_a_plan_says_what_comes_and_where_it_goes(app: Application, tmp_path: Path) -> None:
    made = plan_environment(app, cards=())
    told = made.told()
    assert (told.backend, told.torch_version) == ("cpu", "9.1.0")
    assert told.wheels == str(app.root / "wheels")
    assert told.download_bytes == 0
    assert told.folder == str(tmp_path / "home" / "env")
    shutil.rmtree(app.root / "wheels")
    downloaded = plan_environment(app, cards=(), backend="cu130").told()
    assert downloaded.download_bytes > plan_environment(app, cards=()).told().download_bytes > 0
    with pytest.raises(SetupError, match="no wheels in"):
        plan_environment(app, cards=(), wheels=tmp_path)


def test_a_drive_without_room_is_named_with_its_numbers(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan_environment(app, cards=())
    check_space(made)
    monkeypatch.setattr(plan, "free_bytes", lambda _folder: 1_200_000_000)
    with pytest.raises(SetupError) as caught:
        check_space(made)
    drive = plan.drive_words(drive_of(made.folder))
    assert caught.value.sentence == f"{drive} has 1.1 GB free, and the environment needs about 2 GB."
    assert caught.value.hint.startswith("Free 0.9 GB there")


def test_what_was_downloaded_before_needs_no_room(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan_environment(app, cards=())
    monkeypatch.setattr(plan, "free_bytes", lambda _folder: 1_200_000_000)
    monkeypatch.setattr(plan, "size_of", lambda _folder: 2_000_000_000)
    check_space(made)


def test_sizes_and_drives(tmp_path: Path) -> None:
    assert size_of(tmp_path / "none") == 0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 70)
    assert size_of(tmp_path) == 70
    drive = drive_of(tmp_path / "none" / "deeper")
    assert plan.drive_words(drive).startswith("Drive " if sys.platform == "win32" else "The disk of /")


def test_the_application_is_above_its_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = tmp_path / ("uv.exe" if sys.platform == "win32" else "uv")
    uv.touch()
    monkeypatch.delenv("DIFFUSIONFORCE_APP", raising=False)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "python"))
    found = find_application()
    assert found.root == tmp_path
    assert found.uv() == uv
    assert found.engine_archive is None
    assert found.locks == ROOT / "locks"
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "musubi-tuner.zip").touch()
    assert found.engine_archive == tmp_path / "engine" / "musubi-tuner.zip"


def test_without_uv_the_setup_is_to_be_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(application.shutil, "which", lambda _name: None)
    with pytest.raises(SetupError, match="uv, which builds the environment, is not in") as caught:
        Application(root=tmp_path, code=tmp_path, locks=tmp_path).uv()
    assert "Run the setup" in caught.value.hint


def test_a_stamp_is_for_exactly_what_it_was_made_of(tmp_path: Path) -> None:
    made = Ingredients(fingerprint="f", backend="cpu", python_version="3.12.9", base="/python", code="/code")
    assert not is_same(None, made)
    assert is_same(made, made)
    assert not is_same(made.model_copy(update={"backend": "cu130"}), made)
    stamp = Stamp(**made.model_dump(), torch_version="9.1.0", packages={"torch": "9.1.0"})
    write_stamp(tmp_path, stamp)
    assert read_stamp(tmp_path) == stamp
    write_unfinished(tmp_path, made)
    assert read_stamp(tmp_path) is None
    (tmp_path / interpreter.STAMP_NAME).write_text("{", encoding="utf-8")
    assert read_stamp(tmp_path) is None


def test_an_environment_that_was_never_built_is_missing(app: Application) -> None:
    assert look().state == "missing"
    interpreter.environment_dir().mkdir(parents=True)
    assert look().state == "unfinished"


def test_children_run_in_the_environment_only_where_we_have_no_torch_and_it_is_whole(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert interpreter.child_python() == sys.executable
    assert child.module_command("a.b")[1] == "-P"
    assert not interpreter.is_environment_needed()
    monkeypatch.setattr(interpreter, "has_torch", lambda: False)
    assert interpreter.child_python() == sys.executable
    assert interpreter.is_environment_needed()
    folder = interpreter.environment_dir()
    folder.mkdir(parents=True)
    stamp = folder / interpreter.STAMP_NAME
    for other in ("", "[]", json.dumps(interpreter.ingredients() | {"code": "/elsewhere"})):
        stamp.write_text(other, encoding="utf-8")
        assert interpreter.child_python() == sys.executable
        assert interpreter.is_environment_needed()
    stamp.write_text(json.dumps(interpreter.ingredients() | {"backend": "cpu"}), encoding="utf-8")
    python = str(interpreter.venv_python(folder))
    assert child.module_command("a.b", "c")[0] == python
    assert child.module_command("a.b", "c")[1:] == ["-I", "-X", "utf8", "-X", "faulthandler", "-m", "a.b", "c"]
    assert own_command("a.b")[0] == sys.executable
    assert not interpreter.is_environment_needed()
    assert "env repair" in interpreter.repair_hint()


def test_children_of_a_python_without_streams_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pythonw.exe", "python.exe"):
        (tmp_path / name).touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "pythonw.exe"))
    assert interpreter.own_python() == str(tmp_path / "python.exe")
    (tmp_path / "python.exe").unlink()
    assert interpreter.own_python() == str(tmp_path / "pythonw.exe")
