"""`diffusionforce env` where no environment is needed: a source checkout trains with its own PyTorch."""

import runpy
import sys

import pytest

from diffusionforce.cli import environment, main


@pytest.mark.parametrize("action", ["status", "verify"])
def test_a_checkout_needs_none_and_nothing_is_wrong(
    action: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # It said that the environment is not there and is to be built, with exit code 1.
    monkeypatch.setattr(environment, "is_from_checkout", lambda: True)
    assert main(["env", action]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "This copy runs from its source and trains with its own PyTorch: it needs no environment."
    ]


def test_the_installed_application_is_told_to_build_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "is_from_checkout", lambda: False)
    assert main(["env", "verify"]) == 1
    assert "is not there. Build it: diffusionforce env create" in capsys.readouterr().out


def test_removing_what_is_not_there_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "remove"]) == 0
    assert capsys.readouterr().out == "There is no environment; nothing to remove.\n"


def test_the_package_runs_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["diffusionforce", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("diffusionforce", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("DiffusionForce ")
