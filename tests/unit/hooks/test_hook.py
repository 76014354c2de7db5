"""One hook on a made-up engine: applied, twice, undone, re-applied, with an exception inside, on other source."""

import functools
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from diffusionforce.errors import EngineError
from diffusionforce.hooks import Hook, Target, source_fingerprint

ENGINE = '''
class Base:
    def inherited(self, x):
        return x + 1


class Trainer(Base):
    device = "cuda"

    def load(self, path, *, dtype="bf16"):
        """Load the model."""
        if path == "":
            raise ValueError("no path")
        return f"{path} in {dtype} on {self.device}"

    @staticmethod
    def double(x):
        return 2 * x

    @classmethod
    def named(cls, suffix):
        return cls.__name__ + suffix


def place(block):
    return ("cuda:0", block)
'''


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A fresh module `fake_engine`, as upstream's code would be: source on disk, imported by name."""
    (tmp_path / "fake_engine.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("fake_engine", None)
    yield __import__("fake_engine")
    sys.modules.pop("fake_engine", None)


def calling_through(log: list[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a `wrap` that logs each call and calls the original."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            log.append("before")
            return original(*args, **kwargs)

        return wrapper

    return wrap


def hook_on(attribute: str, *, function: Callable[..., Any], log: list[str], name: str = "log-calls") -> Hook:
    """Return a hook that logs calls of `fake_engine`'s attribute."""
    return Hook(
        name=name,
        target=Target(module="fake_engine", attribute=attribute),
        reason="The trainer does not say what it loads.",
        prevents="Nobody knows what was loaded.",
        upstream_revision="30c658c",
        fingerprint=source_fingerprint(function),
        wrap=calling_through(log),
    )


def test_an_applied_hook_is_called_and_calls_through(engine: ModuleType) -> None:
    log: list[str] = []
    hook = hook_on("Trainer.load", function=engine.Trainer.load, log=log)
    hook.apply()
    assert engine.Trainer().load("model", dtype="fp32") == "model in fp32 on cuda"
    assert log == ["before"]


def test_undoing_leaves_the_very_original(engine: ModuleType) -> None:
    originals = dict(vars(engine.Trainer))
    hook = hook_on("Trainer.load", function=engine.Trainer.load, log=[])
    for _ in range(2):
        hook.apply()
        assert vars(engine.Trainer)["load"] is not originals["load"]
        hook.undo()
        assert vars(engine.Trainer)["load"] is originals["load"]
        assert not hook.applied


def test_applying_twice_is_refused_and_wraps_once(engine: ModuleType) -> None:
    log: list[str] = []
    hook = hook_on("place", function=engine.place, log=log)
    hook.apply()
    with pytest.raises(EngineError, match="applied already"):
        hook.apply()
    assert engine.place(3) == ("cuda:0", 3)
    assert log == ["before"]


def test_a_second_claim_is_refused_with_both_names(engine: ModuleType) -> None:
    fingerprint_of = engine.place
    hook_on("place", function=fingerprint_of, log=[], name="first").apply()
    with pytest.raises(EngineError, match="first and second both claim fake_engine:place"):
        hook_on("place", function=fingerprint_of, log=[], name="second").apply()


def test_other_source_is_refused_and_left_alone(engine: ModuleType) -> None:
    hook = hook_on("place", function=engine.Trainer.load, log=[])
    original = engine.place
    with pytest.raises(EngineError, match="is not the code that the hook log-calls was written for") as caught:
        hook.apply()
    assert engine.place is original
    assert not hook.applied
    assert hook.fingerprint in caught.value.detail
    assert "30c658c" in caught.value.detail


def test_an_exception_inside_passes_and_leaves_the_hook_in_place(engine: ModuleType) -> None:
    log: list[str] = []
    hook = hook_on("Trainer.load", function=engine.Trainer.load, log=log)
    hook.apply()
    with pytest.raises(ValueError, match="no path"):
        engine.Trainer().load("")
    assert engine.Trainer().load("again").startswith("again")
    assert log == ["before", "before"]
    hook.undo()


def test_name_signature_and_docstring_stay_but_nothing_to_unwrap(engine: ModuleType) -> None:
    original = engine.Trainer.load
    hook_on("Trainer.load", function=original, log=[]).apply()
    hooked = engine.Trainer.load
    assert (hooked.__name__, hooked.__doc__) == ("load", "Load the model.")
    assert inspect.signature(hooked) == inspect.signature(original)
    # The engine follows `__wrapped__` when it unwraps a model; the hook would be off from then on.
    assert not hasattr(hooked, "__wrapped__")


def test_static_and_class_methods_stay_what_they_are(engine: ModuleType) -> None:
    log: list[str] = []
    static = hook_on("Trainer.double", function=engine.Trainer.double, log=log, name="static")
    named = hook_on("Trainer.named", function=engine.Trainer.named.__func__, log=log, name="class")
    before = (vars(engine.Trainer)["double"], vars(engine.Trainer)["named"])
    static.apply()
    named.apply()
    assert engine.Trainer.double(4) == engine.Trainer().double(4) == 8
    assert engine.Trainer.named("!") == "Trainer!"
    assert len(log) == 3
    static.undo()
    named.undo()
    assert (vars(engine.Trainer)["double"], vars(engine.Trainer)["named"]) == before


def test_an_inherited_method_is_hooked_in_the_subclass_only(engine: ModuleType) -> None:
    log: list[str] = []
    hook = hook_on("Trainer.inherited", function=engine.Base.inherited, log=log)
    hook.apply()
    assert (engine.Base().inherited(1), engine.Trainer().inherited(1)) == (2, 2)
    assert log == ["before"]
    hook.undo()
    assert "inherited" not in vars(engine.Trainer)


@pytest.mark.parametrize("attribute", ["Trainer.missing", "Missing.load", "Trainer.device", "missing"])
def test_a_target_that_is_not_there_is_named(engine: ModuleType, attribute: str) -> None:
    hook = hook_on(attribute, function=engine.place, log=[])
    with pytest.raises(EngineError, match="is not there to be hooked") as caught:
        hook.apply()
    assert "pinned version" in caught.value.hint


def test_a_module_that_is_not_there_is_named() -> None:
    hook = Hook(
        name="nowhere",
        target=Target(module="fake_engine_that_is_not_there", attribute="f"),
        reason="",
        prevents="",
        upstream_revision="",
        fingerprint="",
        wrap=lambda original: original,
    )
    with pytest.raises(EngineError, match="No module named"):
        hook.apply()


def test_undoing_refuses_to_remove_somebody_elses_patch(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = hook_on("place", function=engine.place, log=[])
    hook.apply()
    theirs = functools.partial(engine.place)
    monkeypatch.setattr(engine, "place", theirs)
    with pytest.raises(EngineError, match="was replaced after the hook"):
        hook.undo()
    assert engine.place is theirs


def test_undoing_what_is_not_applied_is_refused(engine: ModuleType) -> None:
    with pytest.raises(EngineError, match="is not applied"):
        hook_on("place", function=engine.place, log=[]).undo()


def test_line_endings_do_not_change_a_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def f(x):\n    return x\n"
    (tmp_path / "unix_lines.py").write_bytes(source.encode())
    (tmp_path / "dos_lines.py").write_bytes(source.replace("\n", "\r\n").encode())
    (tmp_path / "other_lines.py").write_bytes(source.replace("return x", "return -x").encode())
    monkeypatch.syspath_prepend(tmp_path)
    unix, dos, other = (source_fingerprint(__import__(name).f) for name in ("unix_lines", "dos_lines", "other_lines"))
    assert unix == dos != other


def test_importing_hooks_patches_nothing_and_loads_no_engine() -> None:
    program = textwrap.dedent(
        """
        import sys
        import diffusionforce.hooks
        loaded = [name for name in ("torch", "musubi_tuner") if name in sys.modules]
        raise SystemExit(f"loaded: {loaded}" if loaded else 0)
        """
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
