"""A tiny Wan through the product's engine on two logical devices: records, samples, requests, a state, nothing left."""

from typing import Any

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.module_run import answer_of

pytestmark = [needs_engine, needs_libraries, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the runs came to; they take half a minute together."""
    return answer_of("tests.support.musubi_engine_runs", tmp_path_factory.mktemp("runs"), timeout_s=1100)


def test_a_run_tells_what_happens_in_order(found: Any) -> None:
    # An epoch ends at step 4, at which samples are made: once.
    sampled = ["preparing {0}", "sample {0}"] * 2
    assert found["records"] == [
        *("preparing 0", "preparing 0", "placement"),
        *(one.format(0) for one in sampled),
        *("step 1", "step 2", "step 3", "step 4"),
        *(one.format(4) for one in sampled),
        *("checkpoint 4", "step 5", "step 6", "checkpoint 6"),
    ]
    assert found["end"]["kind"] == "done"
    assert found["end"]["lora"] == "checkpoints/tiny.safetensors"
    assert found["metadata_steps"] == "6"
    placed = next(message for message in found["messages"] if message["kind"] == "placement")
    assert [device["blocks"] for device in placed["devices"]] == [[0, 1], [2, 3]]


def test_samples_are_pictures_and_videos_of_their_steps(found: Any) -> None:
    names = [f"step_{step:06d}_prompt_{ending}" for step in (0, 4) for ending in ("00.png", "01.mp4")]
    assert found["samples"] == names
    assert found["checkpoints"] == ["tiny-step00000004.safetensors", "tiny.safetensors"]
    told = [message for message in found["messages"] if message["kind"] == "sample"]
    assert [message["path"] for message in told] == [f"samples/{name}" for name in names]
    assert [(message["prompt"], message["seed"]) for message in told] == [("a cat", 42), ("a dog", 7)] * 2


def test_two_devices_with_blocks_aside_give_what_one_gives_and_the_engine_alone(found: Any) -> None:
    assert found["single_losses_equal"]
    assert found["single_samples_equal"] == [True] * 4
    assert found["single_records"] == found["records"]
    assert found["vanilla"] == {"lora_equal": True, "pictures_equal": [True, True]}


def test_a_run_saves_and_stops_when_asked_and_goes_on_from_there(found: Any) -> None:
    sampled = ["preparing 1", "sample 1"] * 2
    assert found["asked_records"][-9:] == ["step 1", *sampled, "step 2", "checkpoint 2", "step 3", "checkpoint 3"]
    assert found["stopped"] == {"kind": "stopped", "step": 3, "lora": "checkpoints/tiny-step00000003.safetensors"}
    done = "All 3 steps are done in tiny-step00000003-state, which is of step 3."
    assert found["goes_on"] == [done, ""], "the state has all that is looked for before a run"
    steps = [record for record in found["resumed_records"] if record.startswith(("step", "checkpoint"))]
    assert steps == ["step 4", "checkpoint 4", "step 5", "step 6", "checkpoint 6"]
    assert found["resumed_losses_equal"]
    assert found["resumed_lora_equal"]


def test_nothing_of_the_hooks_is_left_after_a_run(found: Any) -> None:
    assert found["state_unchanged"]
    assert found["stopped_state_unchanged"]
    assert found["failed_state_unchanged"]


def test_a_run_that_is_short_of_memory_says_where_and_what_it_keeps(found: Any) -> None:
    short = found["shortage"]
    assert short["sentence"].startswith("GPU 1 ran out of memory in the forward pass of step 3 (")
    assert short["hint"].startswith("The LoRA of step 2 is saved.")
    assert short["records"] == ["step 2", "checkpoint 2"]
    assert short["threads"] == []


def test_prompts_are_changed_while_the_training_goes_on(found: Any) -> None:
    live = found["live_prompts"]
    # Asked for after step 3, and after step 5 with a mistake, which changes nothing.
    assert live["drawn"] == [
        *([2, "a cat", 2], [2, "a dog", 2]),
        *([4, "a bird", 1], [6, "a bird", 1]),
    ]
    (warning,) = live["warned"]
    assert warning.startswith("The prompts stay as they were.")
    assert "--zz is no option of a prompt" in warning
    assert live["bird_read_on"] == [["cpu", False]], "once, and not on a card that is full of what is trained"
    assert live["losses_equal"]
    assert live["end"] == "done"


def test_folders_are_prepared_once_each_at_its_size_and_trained_on(found: Any) -> None:
    prepared = found["prepared"]
    assert prepared["announced"] == ["preparing 0"] * 4
    assert prepared["announced_again"] == 0
    assert prepared["same_place"]
    # Pictures of the first folder at the size of the profile, those of the second at its own, and five frames of its
    # clip, which the autoencoder makes two of.
    assert prepared["cached"] == [[["1x8x8", 4]], [["1x8x12", 1]], [["2x8x12", 1]]]
    assert prepared["frames"] == 5
    assert prepared["captions"] == ["Blob, picture 0", "Blob, picture 1", "Blob, picture 2", "glass"]
    assert prepared["end"] == "done"
    assert prepared["num_steps"] == 6


def test_a_folder_that_counts_twice_is_trained_on_twice_as_often(found: Any) -> None:
    assert found["prepared"]["steps_an_epoch"] == 4 * 2 / 2 + 2, "batches of two, of items of one folder and kind"


def test_a_sample_with_further_loras_leaves_nothing_of_them_behind(found: Any) -> None:
    tried = found["extra_loras"]
    once, twice, without = tried["differences"]
    assert once <= 1, "of 255, to the first sample of a run whose own LoRA begins as that one"
    assert twice > 5
    assert without > 5, "the next prompt names none"
    assert tried["losses_equal"]
