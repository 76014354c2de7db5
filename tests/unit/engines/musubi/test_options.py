"""The engine's options: the table is that of the installed engine, and what is not in it is refused in words."""

import pytest
from tests.support.engine import needs_engine

from diffusionforce.engines.musubi import engine_dir, read_pin
from diffusionforce.engines.musubi.options import Option, options_of, require_option
from diffusionforce.errors import ProfileError
from engine_options import read_options

WAN = "wan_train_network"


@needs_engine
def test_the_table_is_that_of_the_engine():
    table = read_options(engine_dir(read_pin()) / "src" / "musubi_tuner")
    for script, options in table.items():
        expected = {
            name: Option(kind=raw["type"], many=raw.get("many", False), choices=tuple(raw.get("choices", ())))
            for name, raw in {**table["common"], **options}.items()
        }
        if script != "common":
            assert options_of(script) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task", "t2v-A14B"),
        ("timestep_boundary", 875),
        ("learning_rate", 1),
        ("lr_warmup_steps", 0.05),
        ("lr_warmup_steps", 100),
        ("gradient_checkpointing", False),
        ("network_args", ["loraplus_lr_ratio=4"]),
        ("base_weights_multiplier", [1.0, 0.5]),
    ],
)
def test_what_the_engine_takes_passes(name: str, value: object):
    require_option(WAN, name, value, origin="advanced")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("discrete_flow_shfit", 3.0, "no option of the engine for this model. Did you mean discrete_flow_shift?"),
        ("model_version", "dev", "advanced.model_version is no option"),
        ("qqqqqqqq", 1, "advanced.qqqqqqqq is no option of the engine for this model."),
        # The engine's command line wants a whole number here, its file takes what it finds.
        ("timestep_boundary", 0.875, "advanced.timestep_boundary is 0.875: it has to be a whole number."),
        ("timestep_boundary", True, "is true: it has to be a whole number"),
        ("learning_rate", "1e-4", "is '1e-4': it has to be a number"),
        ("learning_rate", float("nan"), "has to be a finite number"),
        ("sdpa", 1, "is 1: it has to be true or false"),
        ("timestep_sampling", "flux2-shift", "did you mean flux2_shift?"),
        ("mixed_precision", "float16", "has to be one of no, fp16, bf16"),
        ("network_args", "loraplus_lr_ratio=4", "has to be a list, each item a text"),
        ("network_args", [4], "has to be a text"),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(name: str, value: object, words: str):
    with pytest.raises(ProfileError) as refusal:
        require_option(WAN, name, value, origin="advanced")
    assert words in refusal.value.sentence
