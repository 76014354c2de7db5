"""The demo: the window opens on its run, or how to open it is said."""

import sys
from pathlib import Path

import pytest

import demo


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({}, False),
        ({"DISPLAY": ":0", "CI": "true"}, False),
        ({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "1 2 3 4"}, False),
    ],
)
def test_a_display_is_one_that_somebody_sits_at(
    variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "PLATFORM", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert demo.has_display() is expected


PROGRAM = """#!/bin/sh
echo "$@" >> {log}
if [ "$1" = run ]; then
    mkdir -p "$4" && touch "$4/run.json"
    sleep 1
    exit {run_code}
fi
exit {gui_code}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in program is a shell script")
@pytest.mark.parametrize(
    ("window", "run_code", "gui_code", "commands", "hinted"),
    [
        (True, 0, 0, ["run", "gui"], False),
        (True, 0, 1, ["run", "gui"], True),
        (False, 0, 0, ["run"], True),
        (False, 1, 0, ["run"], False),
    ],
    ids=["window", "window that does not open", "terminal", "failed run"],
)
def test_the_demo_opens_the_window_on_its_run_or_says_how_to(
    window: bool,
    run_code: int,
    gui_code: int,
    commands: list[str],
    hinted: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = tmp_path / "commands"
    program = demo.venv_script(tmp_path, name="diffusionforce")
    program.parent.mkdir()
    program.write_text(PROGRAM.format(log=log, run_code=run_code, gui_code=gui_code), encoding="utf-8")
    program.chmod(0o755)
    assert demo.run_demo(["--steps", "3"], venv=tmp_path, out=tmp_path / "run", window=window) == run_code
    lines = log.read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in lines] == commands
    assert lines[1:] == [f"gui --run {tmp_path / 'run'}"] * window
    assert lines[0] == f"run pocket-demo --out {tmp_path / 'run'} --steps 3"
    assert ("To see it in the window" in capsys.readouterr().out) is hinted


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in program is a shell script")
def test_a_folder_of_ones_own_is_named_as_it_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Symptom: the last sentence named a folder that was not there, and could not be pasted into a shell.
    program = demo.venv_script(tmp_path, name="diffusionforce")
    program.parent.mkdir()
    program.write_text(PROGRAM.format(log=tmp_path / "commands", run_code=0, gui_code=0), encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "my runs").mkdir()
    monkeypatch.chdir(tmp_path / "my runs")
    assert demo.run_demo([], venv=tmp_path, out=Path("first"), window=False) == 0
    assert f"gui --run '{tmp_path}/my runs/first'" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in program is a shell script")
def test_a_run_that_left_nothing_is_not_pointed_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = demo.venv_script(tmp_path, name="diffusionforce")
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert demo.run_demo([], venv=tmp_path, out=tmp_path / "run", window=True) == 0
    assert capsys.readouterr().out == ""


def test_a_run_goes_where_the_window_looks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    monkeypatch.setattr(demo, "venv_python", lambda venv: Path(sys.executable))
    run_dir = demo.new_run_dir(tmp_path)
    assert run_dir.parent == tmp_path / "runs"
    assert not run_dir.exists()
    monkeypatch.setattr(demo, "venv_python", lambda venv: Path("/bin/false"))
    with pytest.raises(demo.SetupError, match="does not work"):
        demo.new_run_dir(tmp_path)
