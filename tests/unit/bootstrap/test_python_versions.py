"""bootstrap.py under Pythons that cannot run it: it parses there, says so, and goes on with one that can."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import bootstrap
import pytest

BOOTSTRAP = Path(bootstrap.__file__)


@pytest.mark.parametrize("version", [(3, 11), (3, 11, 7), (3, 12, 0, "final", 0)])
def test_supported_pythons_have_no_problem(version: tuple[int, ...]) -> None:
    assert bootstrap.python_problem(version) == ""


@pytest.mark.parametrize(
    ("version", "age"), [((2, 7, 18), "too old"), ((3, 10, 13), "too old"), ((3, 13, 0), "too new")]
)
def test_other_pythons_are_told_their_version_and_what_is_needed(version: tuple[int, ...], age: str) -> None:
    problem = bootstrap.python_problem(version)
    assert problem.startswith("DiffusionForce needs Python 3.11 or 3.12; this is Python ")
    assert f"{version[0]}.{version[1]}" in problem
    assert age in problem


def test_old_pythons_can_read_the_file() -> None:
    tree = ast.parse(BOOTSTRAP.read_text(encoding="utf-8"), feature_version=(3, 4))
    # What an even older one would stumble over, and `feature_version` does not look for.
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal)
    assert [node for node in ast.walk(tree) if isinstance(node, newer)] == []
    displays = [node for node in ast.walk(tree) if isinstance(node, (ast.List, ast.Tuple))]
    assert [item for display in displays for item in display.elts if isinstance(item, ast.Starred)] == []
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert all(function.returns is None and not function.args.kwonlyargs for function in functions)
    assert all(argument.annotation is None for function in functions for argument in function.args.args)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in Python is a shell script")
def test_another_python_on_the_path_is_found_and_a_broken_one_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, code in (("python3.12", 1), ("python3.11", 0)):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bootstrap.suitable_python() == ["python3.11"]
    (tmp_path / "python3.11").unlink()
    assert bootstrap.suitable_python() == []


def test_without_a_suitable_python_it_ends_with_the_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "SUPPORTED", ((3, 98), (3, 99)))
    assert bootstrap.main() == 1
    assert capsys.readouterr().err.endswith("Install Python 3.12 and start bootstrap.py with it.\n")


def test_help_names_both_commands() -> None:
    child = subprocess.run([sys.executable, BOOTSTRAP, "--help"], capture_output=True, text=True, check=False)
    assert child.returncode == 0
    assert "demo" in child.stdout
    assert "test" in child.stdout


def test_a_misspelt_command_is_refused_without_a_traceback() -> None:
    child = subprocess.run([sys.executable, BOOTSTRAP, "dmeo"], capture_output=True, text=True, check=False)
    assert child.returncode == 2
    assert "invalid choice: 'dmeo'" in child.stderr
    assert "Traceback" not in child.stderr
