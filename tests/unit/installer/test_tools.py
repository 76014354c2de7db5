"""The build's tools, its lock files, and the menu entry for Linux."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from installer import inputs, lock, toolbox
from installer.places import INSTALLER, OWN_LOCKS
from installer.problems import BuildError


def menu() -> ModuleType:
    spec = importlib.util.spec_from_file_location("linux_menu", INSTALLER / "linux" / "install.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_missing_programs_are_told_with_the_command_that_brings_them():
    with pytest.raises(BuildError, match=r"apt-get install .* one two$"):
        toolbox.check_programs({"not-there-a": "two", "not-there-b": "one", "sh": "three"})
    toolbox.check_programs({"sh": "three"})


def test_a_python_that_makes_no_environments_is_told_with_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(toolbox, "TOOLS", tmp_path / "tools")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(BuildError, match=r"apt-get install python3-venv$"):
        toolbox.python()


def test_a_version_of_openssl_with_two_digits_is_understood(tmp_path: Path):
    # Symptom: "Error detecting the version of libcrypto" with OpenSSL 3.0.20.
    module = tmp_path / "_libcrypto_cffi.py"
    module.write_text(f"version_match = re.search('\\\\b({toolbox.NARROW})\\\\b', text)\n", encoding="utf-8")
    toolbox.widen(module)
    (pattern,) = re.findall(r"'(.*)'", module.read_text(encoding="utf-8"))
    found = re.search(pattern.replace("\\\\", "\\"), "OpenSSL 3.0.20 7 Apr 2026")
    assert found is not None and found[1] == "3.0.20"
    with pytest.raises(BuildError, match="not look for OpenSSL"):
        toolbox.widen(module)


@pytest.mark.parametrize("name", lock.FILES)
def test_the_lock_files_are_those_that_the_command_would_write(name: str):
    wanted = lock.FILES[name][0]
    pinned = inputs.pins((OWN_LOCKS / name).read_text(encoding="utf-8"))
    assert {f"{pin.name}=={pin.version}" for pin in pinned.values()} >= set(wanted)
    assert all(pin.hashes for pin in pinned.values())


def test_the_menu_starts_the_program_by_its_full_path():
    text = menu().entry('/home/me/my "bin"/diffusionforce')
    assert 'Exec="/home/me/my \\"bin\\"/diffusionforce" gui\n' in text
    assert menu().icon().startswith("<svg") and menu().icon().endswith("</svg>")
