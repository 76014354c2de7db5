"""A tiny Wan through the product's engine while its memory is taken: nothing that was finished is lost."""

from typing import Any

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.module_run import answer_of

pytestmark = [needs_engine, needs_libraries, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the runs came to; they take half a minute together, and a busy machine many times as long."""
    return answer_of("tests.support.musubi_pressure_runs", tmp_path_factory.mktemp("runs"), timeout_s=1100)


@pytest.mark.parametrize("devices", ["two", "one"])
def test_a_run_that_is_stopped_while_it_waits_for_memory_keeps_its_last_step(found: Any, devices: str) -> None:
    # It kept what had been saved last, an hour before.
    stopped = found["stopped_waiting"][devices]
    assert stopped["end"] == {"kind": "stopped", "step": 3, "lora": "checkpoints/tiny-step00000003.safetensors"}
    assert stopped["records"] == ["step 3", "checkpoint 3"]
    assert "and step 4 needs 2 GB more than this run holds, even with 1 picture at a time." in stopped["lack"]
    assert stopped["goes_on"] == ""
    assert stopped["losses_equal"] and stopped["lora_equal"]


def test_a_step_on_one_device_is_taken_again_and_changes_nothing(found: Any) -> None:
    again = found["one_device_again"]
    assert again["losses_equal"] and again["lora_equal"] and again["accumulated_equal"]
    (warning,) = again["warned"]
    assert warning.startswith("Step 3 did not fit at first") and "tried 2 times" in warning


@pytest.mark.parametrize("fails", ["undisturbed", "forward", "backward", "again and again"])
def test_a_step_on_a_card_that_does_not_hold_all_blocks_is_taken_again_and_changes_nothing(
    found: Any, fails: str
) -> None:
    # Symptom: a game ended the night's training on the one card of most people.
    paged = found["paged"][fails]
    assert paged["losses_equal"] and paged["lora_equal"]
    words = {"undisturbed": "", "again and again": "From step 3 on the model sees"}.get(
        fails, "Step 3 did not fit at first"
    )
    assert len(paged["warned"]) == bool(words) and "".join(paged["warned"]).startswith(words)


def test_a_state_at_the_end_of_an_uneven_epoch_knows_its_step(found: Any) -> None:
    assert found["uneven"] == {"step": 2, "losses_equal": True}
