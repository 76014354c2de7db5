"""Overrides composed into a trainer class of a made-up engine."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from diffusionforce.errors import EngineError
from diffusionforce.hooks import Seam, Target, composed, source_fingerprint

ENGINE = """
class Trainer:
    def step(self, x):
        return [x]
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "seam_engine.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("seam_engine", None)
    yield __import__("seam_engine")
    sys.modules.pop("seam_engine", None)


def seam(number: int, fingerprint: str, *, name: str = "", attribute: str = "Trainer.step") -> Seam:
    class Mixin:
        def step(self, x: Any) -> Any:
            return [*super().step(x), number]  # pyright: ignore

    return Seam(
        number=number,
        name=name or f"seam-{number}",
        overrides=((Target(module="seam_engine", attribute=attribute), fingerprint),),
        reason="A reason.",
        prevents="A failure.",
        upstream_revision="abc",
        mixin=Mixin,
    )


def test_the_hook_with_the_higher_number_has_the_last_word(engine: ModuleType) -> None:
    right = source_fingerprint(engine.Trainer.step)
    trainer = composed(engine.Trainer, [seam(2, right), seam(1, right)])
    assert trainer().step(0) == [0, 1, 2]
    assert issubclass(trainer, engine.Trainer)
    assert engine.Trainer().step(0) == [0], "the engine's own class must stay as it is"


def test_another_source_is_refused_with_the_name_of_method_and_hook(engine: ModuleType) -> None:
    with pytest.raises(EngineError, match=r"seam_engine:Trainer\.step is not the code .* seam-1"):
        composed(engine.Trainer, [seam(1, "0" * 64)])


def test_a_method_that_is_not_there_is_refused(engine: ModuleType) -> None:
    with pytest.raises(EngineError, match=r"seam_engine:Trainer\.gone is not there"):
        composed(engine.Trainer, [seam(1, "", attribute="Trainer.gone")])


def test_two_hooks_of_one_name_or_number_are_refused(engine: ModuleType) -> None:
    right = source_fingerprint(engine.Trainer.step)
    with pytest.raises(EngineError, match="same name"):
        composed(engine.Trainer, [seam(1, right, name="a"), seam(2, right, name="a")])
    with pytest.raises(EngineError, match="same number"):
        composed(engine.Trainer, [seam(1, right, name="a"), seam(1, right, name="b")])
