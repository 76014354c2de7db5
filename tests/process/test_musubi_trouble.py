"""A tiny Wan through the product's engine with bad numbers: it stops before they do harm, and says which pictures."""

from typing import Any

import pytest
from tests.process.test_musubi_training import needs_libraries
from tests.support.engine import needs_engine
from tests.support.module_run import answer_of

pytestmark = [needs_engine, needs_libraries, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the runs came to; they take half a minute together, and a busy machine many times as long."""
    return answer_of("tests.support.musubi_trouble_runs", tmp_path_factory.mktemp("runs"), timeout_s=1100)


@pytest.mark.parametrize("clipped", ["clipped", "not clipped"])
@pytest.mark.parametrize("devices", ["two", "one"])
@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_a_number_that_is_none_leaves_the_last_good_step(found: Any, what: str, devices: str, clipped: str) -> None:
    # Symptom: without clipping nobody looked at gradients, and the optimiser spoilt the LoRA with them.
    broken = found["bad number"][f"{what}, {devices}, {clipped}"]
    words = {"loss": "the loss is nan", "gradient": "its gradient is nan"}
    assert broken["sentence"] == f"The training broke down at step 3: {words[what]}."
    assert broken["records"] == ["step 2", "checkpoint 2"]
    assert broken["goes_on"] == "" and broken["finite"]
    assert broken["hint"].endswith(
        "The LoRA of step 2 is saved.\nGo on from it with other settings, or begin anew: "
        "checkpoints/tiny-step00000002.safetensors."
    )


@pytest.mark.parametrize("way", ["alone", "read in processes", "accumulated"])
def test_a_picture_that_breaks_a_training_is_named(found: Any, way: str) -> None:
    # Symptom: the engine's batches have no names, so a thousand pictures had to be looked through.
    refused = found["poisoned"][way]
    assert refused["kind"] == "DivergedError" and "the loss is nan" in refused["sentence"]
    assert "one of these pictures or captions is damaged" in refused["hint"]
    (line,) = [line for line in refused["hint"].splitlines() if line.startswith("The pictures of that step: ")]
    names = line.removeprefix("The pictures of that step: ").removesuffix(".").split(", ")
    assert "my cat 2.png" in names and len(names) == (2 if way == "accumulated" else 1)


def test_a_learning_rate_that_no_lora_survives_stops_at_the_first_bad_number(found: Any) -> None:
    refused = found["far too fast"]
    assert refused["hint"].startswith("Likely: training.learning_rate is 1000: try 0.0002;")
    step = int(refused["sentence"].split("step ")[1].split(":")[0])
    assert refused["records"] == [f"step {step - 1}", f"checkpoint {step - 1}"]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("optimiser", "optimizer.bin holds more than numbers, and could run a program"),
        ("optimiser, bare", "optimizer.bin is damaged"),
        ("schedule", "scheduler.bin holds more than numbers, and could run a program"),
        ("random numbers", "random_states_0.pkl holds more than numbers, and could run a program"),
        ("random numbers, bare", "random_states_0.pkl is damaged"),
        ("no random numbers", "random_states_0.pkl is damaged"),
        ("order of pictures", "no run of this program writes sampler.bin"),
        ("scale", "scaler.pt holds more than numbers, and could run a program"),
        ("something of its own", "no run of this program writes custom_checkpoint_0.pkl"),
        ("LoRA", "is of a LoRA of another rank, or of another model"),
        ("LoRA as a pickle", "it lacks model.safetensors"),
        ("notes", "is no state that a run can go on from"),
        ("another rank", "is of a LoRA of another rank, or of another model"),
    ],
)
def test_a_state_of_a_stranger_is_refused_before_any_of_it_runs(found: Any, state: str, why: str) -> None:
    # Symptoms: of evil random numbers nothing was said, and the run went on with others; the rest was a traceback.
    strange = found["strange states"][state]
    assert strange["goes_on"] == "", "its checksums are right, as anybody can make them"
    assert strange["kind"] == "RunFolderError" and why in strange["sentence"]
    assert not strange["harmed"]


def test_a_run_that_breaks_down_when_it_has_just_gone_on_says_what_there_is(found: Any) -> None:
    # Symptom: it said that nothing was saved yet.
    refused = found["strange states"]["gone on"]
    assert refused["sentence"] == "The training broke down at step 3: the loss is nan."
    assert refused["hint"].endswith("Nothing new was saved: the checkpoint that the run began with is still there.")
