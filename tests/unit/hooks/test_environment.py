"""Environment variables for the time of a run."""

import os

import pytest

from diffusionforce.errors import EngineError
from diffusionforce.hooks import EnvironmentHook, apply_all


def hook(**values: str | None) -> EnvironmentHook:
    return EnvironmentHook(number=1, name="variables", values=values, reason="", prevents="", upstream_revision="abc")


def test_variables_are_set_and_taken_away_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DF_TEST_OLD", "before")
    monkeypatch.setenv("DF_TEST_GONE", "before")
    monkeypatch.delenv("DF_TEST_NEW", raising=False)
    with apply_all([hook(DF_TEST_OLD="within", DF_TEST_NEW="within", DF_TEST_GONE=None)]):
        assert os.environ["DF_TEST_OLD"] == os.environ["DF_TEST_NEW"] == "within"
        assert "DF_TEST_GONE" not in os.environ
    assert os.environ["DF_TEST_OLD"] == os.environ["DF_TEST_GONE"] == "before"
    assert "DF_TEST_NEW" not in os.environ


def test_neither_is_applied_nor_undone_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DF_TEST_NEW", raising=False)
    one = hook(DF_TEST_NEW="within")
    with pytest.raises(EngineError, match="not applied"):
        one.undo()
    one.apply()
    with pytest.raises(EngineError, match="applied already"):
        one.apply()
    one.undo()
    assert "DF_TEST_NEW" not in os.environ
