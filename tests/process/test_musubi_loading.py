"""Weights on their way from the file to their devices, by the engine's own loader in a process of its own."""

import json
import sys
from typing import Any

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.module_run import output_of

WAYS = ["bf16", "bf16 with a LoRA", "fp8", "fp8 with a LoRA"]

pytestmark = [
    needs_engine,
    needs_libraries,
    pytest.mark.skipif(sys.platform == "win32", reason="the largest memory of a process is asked for the POSIX way"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = str(tmp_path_factory.mktemp("weights"))
    # Written by another process: what this one once needed for it would hide what it needs to read it.
    _run(folder, "write")
    return json.loads(_run(folder).splitlines()[-1])


def _run(*arguments: str) -> str:
    return output_of("tests.support.musubi_loading", *arguments, timeout_s=120)


def test_ram_never_holds_more_than_a_tensor_or_two(found: Any) -> None:
    tensor_bytes = found["file_bytes"] / 11
    assert found["direct_bytes"] < 3 * tensor_bytes
    assert found["plain_bytes"] > 7 * tensor_bytes, "without the hook the file is in RAM as a whole"


@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_the_same_and_each_tensor_is_where_its_block_belongs(found: Any, way: str) -> None:
    loaded = found["ways"][way]
    assert loaded["equal"]
    assert len(loaded["devices"]) == 11 + (10 if way.startswith("fp8") else 0), "a scale for each 8-bit weight"
    for name, device in loaded["devices"].items():
        belongs_to_second = any(f"blocks.{index}." in name for index in range(5, 10))
        assert device == ("cpu:1" if belongs_to_second else "cpu:0"), name
