"""Several hooks together: in order, all or none, taken back in reverse."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from diffusionforce.errors import EngineError
from diffusionforce.hooks import Hook, Target, apply_all, source_fingerprint

ENGINE = """
def first(x):
    return [*x, "first"]


def second(x):
    return [*x, "second"]


def third(x):
    return [*x, "third"]
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A fresh module `fake_engine_of_three` with three functions."""
    (tmp_path / "fake_engine_of_three.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("fake_engine_of_three", None)
    yield __import__("fake_engine_of_three")
    sys.modules.pop("fake_engine_of_three", None)


def reporting_hook(engine: ModuleType, attribute: str, *, events: list[str], name: str = "") -> Hook:
    """Return a hook that notes when it wraps and that marks what goes through it."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        events.append(f"wrap {attribute}")
        return lambda x: original([*x, "hooked"])

    return Hook(
        name=name or f"hook-{attribute}",
        target=Target(module=engine.__name__, attribute=attribute),
        reason="It runs on one device.",
        prevents="Tensors of two devices meet.",
        upstream_revision="30c658c",
        fingerprint=source_fingerprint(getattr(engine, attribute)),
        wrap=wrap,
    )


def results(engine: ModuleType) -> list[list[str]]:
    """Return what the three functions say."""
    return [function([]) for function in (engine.first, engine.second, engine.third)]


UNHOOKED = [["first"], ["second"], ["third"]]


def test_hooks_apply_in_order_and_leave_with_the_context(engine: ModuleType) -> None:
    events: list[str] = []
    hooks = [reporting_hook(engine, name, events=events) for name in ("third", "first")]
    with apply_all(hooks) as applied:
        assert events == ["wrap third", "wrap first"]
        assert applied.names == ("hook-third", "hook-first")
        assert results(engine) == [["hooked", "first"], ["second"], ["hooked", "third"]]
    assert results(engine) == UNHOOKED
    assert applied.names == ()


def test_an_error_in_the_run_takes_the_hooks_back(engine: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="out of memory"), apply_all([reporting_hook(engine, "first", events=[])]):
        raise RuntimeError("out of memory")
    assert results(engine) == UNHOOKED


def test_a_refusal_half_way_takes_the_others_back(engine: ModuleType) -> None:
    hooks = [reporting_hook(engine, name, events=[]) for name in ("first", "second", "third")]
    hooks[2].fingerprint = "0" * 64
    with pytest.raises(EngineError, match="hook-third"):
        apply_all(hooks)
    assert results(engine) == UNHOOKED
    assert not any(hook.applied for hook in hooks)


def test_a_bug_in_a_hook_takes_the_others_back_and_keeps_its_own_error(engine: ModuleType) -> None:
    def broken(original: Callable[..., Any]) -> Callable[..., Any]:
        raise ZeroDivisionError("a bug of ours")

    hooks = [reporting_hook(engine, name, events=[]) for name in ("first", "second")]
    hooks[1].wrap = broken
    with pytest.raises(ZeroDivisionError):
        apply_all(hooks)
    assert results(engine) == UNHOOKED


def test_two_hooks_on_one_target_are_refused_before_any_is_applied(engine: ModuleType) -> None:
    events: list[str] = []
    hooks = [reporting_hook(engine, "first", events=events, name=name) for name in ("one", "two")]
    with pytest.raises(EngineError, match="one and two both claim"):
        apply_all(hooks)
    assert events == []


def test_one_hook_twice_is_refused(engine: ModuleType) -> None:
    hook = reporting_hook(engine, "first", events=[])
    with pytest.raises(EngineError, match="listed twice"):
        apply_all([hook, hook])
    assert results(engine) == UNHOOKED


def test_applying_again_while_applied_is_refused_and_harmless(engine: ModuleType) -> None:
    hooks = [reporting_hook(engine, name, events=[]) for name in ("first", "second")]
    applied = apply_all(hooks)
    hooked = results(engine)
    with pytest.raises(EngineError, match="applied already"):
        apply_all(hooks)
    assert results(engine) == hooked
    applied.undo_all()
    applied.undo_all()
    assert results(engine) == UNHOOKED


def test_undoing_stops_at_a_target_that_somebody_replaced(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    applied = apply_all([reporting_hook(engine, name, events=[]) for name in ("first", "second", "third")])
    monkeypatch.setattr(engine, "second", print)
    with pytest.raises(EngineError, match="was replaced after"):
        applied.undo_all()
    assert applied.names == ("hook-first", "hook-second")
