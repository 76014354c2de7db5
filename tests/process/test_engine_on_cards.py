"""The measurement on cards, tiny and on the processor: the product's own run, its continuation, the engine's run."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.module_run import output_of

pytestmark = [needs_engine, needs_libraries, pytest.mark.slow]


def measured(row: str, folder: Path) -> Any:
    """What a row came to."""
    options = ("--folder", str(folder), "--tiny", "--alone", "4")
    output_of("tools.engine_on_cards", row, *options, timeout_s=580)
    return json.loads((folder / f"{row}.json").read_text(encoding="utf-8"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("row", "num_stages"), [("wan", 2), ("wan22", 2), ("klein", 2), ("one-card", 1)])
def test_the_products_run_is_the_engines_and_can_be_gone_on_with(row: str, num_stages: int, tmp_path: Path) -> None:
    found = measured(row, tmp_path)
    product, resumed, (alone,) = found["product"], found["resumed"], found["alone"]
    assert [said["kind"] for said in product["said"]][-1] == "done"
    assert len(product["blocks"]) == num_stages
    assert len(product["steps_s"]) == len(product["losses"]) == 6
    assert [sample["step"] for sample in product["samples"]] == ([] if row == "one-card" else [4])
    assert [one["step"] for one in product["checkpoints"]] == [4, 6]
    assert resumed["first_step"] == 5
    assert found["summary"]["losses_differ_by"] == 0
    # In bf16 a product of two pictures is rounded otherwise than one of four.
    assert product["losses"] == pytest.approx(alone["losses"][:6], rel=1e-6 if num_stages == 1 else 1e-3)
    assert alone["ended"] == "done"
