"""The measurement of models beside the transformer, tiny and on the processor."""

import json
from pathlib import Path

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.module_run import output_of

pytestmark = [needs_engine, needs_libraries, pytest.mark.slow]


@pytest.mark.timeout(300)
def test_what_is_traced_runs_and_holds_what_was_said(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    names = ("flux2", "umt5", "clip_l", "llama")
    said = output_of("tools.side_models_on_cards", *names, "--tiny", "--json", str(file), timeout_s=280)
    lines = json.loads(file.read_text(encoding="utf-8"))
    assert [line["words"].split()[:2] for line in lines] == [
        ["decoding", "flux2"],
        ["pictures", "flux2"],
        ["captions", "umt5"],
        ["captions", "clip_l"],
        ["captions", "llama"],
    ]
    assert [line["off"] for line in lines] == pytest.approx([0] * 5, abs=0.02)
    assert "5 of 5" in said.splitlines()[-1]
