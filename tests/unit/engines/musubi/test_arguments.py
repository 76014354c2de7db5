"""From a profile to the engine's options: complete, of the right types, and free of the traps of its defaults."""

import ast
import importlib.util
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import needs_engine
from tests.support.weights import write_weights

from diffusionforce.engines.musubi import engine_dir, read_pin
from diffusionforce.engines.musubi.advanced import require_libraries, require_loras
from diffusionforce.engines.musubi.arguments import (
    EngineArguments,
    MemoryUse,
    Places,
    caption_arguments,
    known_options,
    mixed_precision,
    picture_arguments,
    training_arguments,
)
from diffusionforce.engines.musubi.families import FAMILIES, Family
from diffusionforce.engines.musubi.options import options_of
from diffusionforce.engines.musubi.reserved import PROFILE_SETTINGS, require_free
from diffusionforce.errors import EngineError, ProfileError, UserError
from diffusionforce.job import Profile

ALL = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
KLEIN, WAN22 = FAMILIES["flux2-klein-base-9b"], FAMILIES["wan2.2-t2v-a14b"]


def profile_of(family: Family = KLEIN, *, advanced: dict[str, Any] | None = None, **training: Any) -> Profile:
    model = {"family": family.name, "engine": "musubi"}
    table = {"schema_version": 1, "title": "T", "model": model, "advanced": advanced or {}}
    always = {"steps": 100, "gradient_checkpointing": family.needs_checkpointing}
    return Profile.model_validate({**table, "training": {**always, **training}})


def files_of(family: Family) -> dict[str, Path]:
    return {file.role: Path("/weights", file.role) for file in family.files}


def places(*, with_samples: bool = True) -> Places:
    prompts = Path("/run/prompts.txt") if with_samples else None
    return Places(
        dataset_config=Path("/run/data.toml"), output_dir=Path("/run"), output_name="lora", sample_prompts=prompts
    )


def arguments(family: Family = KLEIN, profile: Profile | None = None, **more: Any) -> EngineArguments:
    profile = profile or profile_of(family)
    more = {"files": files_of(family), "places": places(), **more}
    return training_arguments(profile, family=family, **more)


def test_another_transformer_for_samples_needs_a_card_on_which_all_of_the_model_is():
    # Symptom: the first sample put all of Krea 2 onto the first card, or the engine ended before the first step.
    krea = FAMILIES["krea2"]
    assert arguments(krea).values["turbo_dit"] == "/weights/turbo_dit"
    values = arguments(krea, memory=MemoryUse(is_whole=False)).values
    assert "turbo_dit" not in values and values["dit"] == "/weights/dit" and values["vae"] == "/weights/vae"


@ALL
def test_nothing_that_decides_is_left_to_the_engine(family: Family):
    values = arguments(family).values
    # Without an optimiser the engine looks for one without a name; its other defaults do not train.
    assert values["optimizer_type"] == "AdamW" and values["learning_rate"] == 1e-4
    assert values["network_alpha"] == 16 and values["timestep_sampling"] != "sigma"
    assert values["sdpa"] is True and values["mixed_precision"] == "bf16"
    assert values["network_module"] == family.trainer.network_module
    assert {"dit", "vae", "dataset_config", "output_dir", "output_name", "seed"} <= set(values)


@ALL
def test_every_option_is_one_of_the_engine(family: Family):
    options = options_of(family.trainer.train)
    for name, value in arguments(family, memory=MemoryUse(eight_bit=True)).values.items():
        assert options[name].problem(value) == "", name


@ALL
def test_the_file_says_what_the_command_line_says(family: Family):
    made = arguments(family)
    table = tomllib.loads(made.toml().decode())
    assert set(table) == set(made.values)
    words = made.argv()
    for name, value in made.values.items():
        if value is True:
            assert f"--{name}" in words
        elif not isinstance(value, bool | tuple):
            assert f"--{name}={value}" in words


def test_a_switch_that_is_on_by_default_can_be_switched_off():
    family = FAMILIES["kandinsky5-pro-t2v"]
    profile = profile_of(family, advanced={"nabla_add_sta": False})
    assert "--no_nabla_add_sta" in arguments(family, profile).argv()


def test_both_experts_and_their_boundary():
    values = arguments(WAN22).values
    assert (values["dit"], values["dit_high_noise"]) == ("/weights/dit", "/weights/dit_high_noise")
    assert values["timestep_boundary"] == 875 and isinstance(values["timestep_boundary"], int)
    assert values["task"] == "t2v-A14B" and values["force_v2_1_time_embedding"] is True


def test_a_logit_normal_with_a_mean_is_a_shift():
    values = arguments(profile=profile_of(logit_mean=0.7, logit_std=1.2)).values
    assert values["timestep_sampling"] == "shift" and values["sigmoid_scale"] == 1.2
    assert values["discrete_flow_shift"] == pytest.approx(math.exp(0.7))
    z = 0.3
    t = 1 / (1 + math.exp(-1.2 * z))
    shift = float(values["discrete_flow_shift"])  # pyright: ignore[reportArgumentType]
    assert t * shift / (1 + (shift - 1) * t) == pytest.approx(1 / (1 + math.exp(-(1.2 * z + 0.7))))


def test_a_warm_up_needs_a_schedule_with_one():
    assert arguments(profile=profile_of()).values["lr_scheduler"] == "constant"
    assert arguments(profile=profile_of(warmup_steps=5)).values["lr_scheduler"] == "constant_with_warmup"
    assert arguments(profile=profile_of(warmup_steps=5, schedule="cosine")).values["lr_scheduler"] == "cosine"


def test_files_for_samples_are_needed_for_samples_only():
    files = {"dit": Path("/weights/dit")}
    assert "text_encoder" not in arguments(files=files, places=places(with_samples=False)).values
    with pytest.raises(ProfileError, match=r"FLUX\.2 Klein Base 9B needs its autoencoder"):
        arguments(files=files)
    with pytest.raises(ProfileError, match="needs its transformer"):
        arguments(files={}, places=places(with_samples=False))


def test_eight_bits_as_the_family_can():
    def eight_bit(name: str) -> dict[str, object]:
        values = arguments(FAMILIES[name], memory=MemoryUse(eight_bit=True)).values
        return {key: values[key] for key in ("fp8_base", "fp8_scaled") if key in values}

    assert eight_bit("krea2") == {"fp8_base": True, "fp8_scaled": True}
    assert eight_bit("hunyuan-video") == {"fp8_base": True}
    assert eight_bit("ideogram4") == {}


def test_the_number_format_follows_the_file_where_it_has_to():
    auto, bf16 = profile_of(WAN22), profile_of(WAN22).model_copy(update={"model": bf16_model()})
    assert mixed_precision(auto, family=WAN22, file_precision="fp16") == "fp16"
    assert mixed_precision(auto, family=WAN22, file_precision="bf16") == "bf16"
    assert mixed_precision(profile_of(), family=KLEIN, file_precision="fp16") == "bf16"
    with pytest.raises(ProfileError, match=r"Wan 2\.2 T2V A14B is in fp16, and model\.precision is bf16"):
        mixed_precision(bf16, family=WAN22, file_precision="fp16")


def test_what_the_engine_cannot_train_without_recomputing_is_refused():
    # Symptom: a forecast of such a job ended as a bug, and the run would have failed in its first backward.
    family = FAMILIES["wan2.1-i2v-14b"]
    arguments(family, profile_of(family))
    with pytest.raises(
        ProfileError, match=r"Wan 2\.1 I2V 14B cannot be trained with training\.gradient_checkpointing off"
    ):
        arguments(family, profile_of(family, gradient_checkpointing=False))
    arguments(KLEIN, profile_of(gradient_checkpointing=False))


def bf16_model():
    return profile_of(WAN22).model.model_copy(update={"precision": "bf16"})


def test_advanced_options_come_last_and_are_checked():
    advanced = {"optimizer_type": "AdamW8bit", "timestep_sampling": "qinglong_flux", "network_args": ["a=1"]}
    values = arguments(profile=profile_of(advanced=advanced)).values
    assert values["optimizer_type"] == "AdamW8bit" and "optimizer_args" not in values
    assert values["timestep_sampling"] == "qinglong_flux" and values["network_args"] == ("a=1",)
    assert arguments(profile=profile_of(advanced={"flash_attn": True})).values.get("sdpa") is None


@pytest.mark.parametrize(
    ("advanced", "words"),
    [
        ({"network_dim": 8}, "advanced.network_dim is decided by lora.rank."),
        ({"vae": "x"}, "advanced.vae is decided by model.files.vae."),
        ({"model_version": "dev"}, "advanced.model_version is decided by model.family."),
        ({"output_dir": "x"}, "cannot be set: the run sets it"),
        ({"huggingface_token": "hf_x"}, "a profile is no place for a secret"),
        ({"blocks_to_swap": 3}, "the plan sets it"),
        ({"sage_attn": True}, "the engine cannot train with it"),
        ({"max_train_epochs": 3}, "lengths are counted in steps here"),
        ({"learning_rat": 1.0}, "Did you mean learning_rate?"),
        ({"xformers": True}, "advanced.xformers needs advanced.split_attn"),
        # Each of these was found out by the engine, after everything had been prepared and the model loaded.
        ({"optimizer_type": "AdamV"}, "advanced.optimizer_type is 'AdamV': it has to be a class of torch.optim"),
        ({"optimizer_args": ["weight_decay"]}, "'weight_decay': write it as name=value"),
        ({"optimizer_args": ["betas=0.9;0.99"]}, "its value has to be one of Python's"),
        ({"lr_scheduler_args": ["a=b=c"]}, "'a=b=c': write it as name=value"),
        ({"network_args": ["loraplus_lr_ratio 4"]}, "write it as name=value"),
        ({"lr_scheduler": "cosin"}, "advanced.lr_scheduler is 'cosin': it has to be one of constant, "),
        ({"lr_scheduler_type": "Cosine"}, "it has to be a class of torch.optim.lr_scheduler"),
        ({"min_timestep": 2000}, "advanced.min_timestep is 2000: it has to be from 0 to 1000."),
        ({"min_timestep": 500, "max_timestep": 500}, "has to be less than advanced.max_timestep"),
        ({"vae_dtype": "bf15"}, "advanced.vae_dtype is 'bf15': it has to be one of bf16, "),
        ({"discrete_flow_shift": 0}, "advanced.discrete_flow_shift is 0: it has to be more than 0."),
        ({"timestep_sampling": "sigmiod"}, "did you mean sigmoid?"),
        ({"sdpa": True, "flash_attn": True}, "exclude each other"),
    ],
)
def test_what_is_decided_elsewhere_or_does_not_work_is_refused(advanced: dict[str, Any], words: str):
    with pytest.raises(ProfileError) as refusal:
        arguments(profile=profile_of(advanced=advanced))
    assert words in refusal.value.sentence


@pytest.mark.parametrize("advanced", [{"lr_scheduler": "constant"}, {"optimizer_type": "Adafactor"}])
def test_a_warm_up_is_refused_where_the_engine_takes_none(advanced: dict[str, Any]):
    with pytest.raises(ProfileError, match="does not start with a warm-up") as refusal:
        arguments(profile=profile_of(advanced=advanced, warmup_steps=5))
    assert refusal.value.hint == "Set training.warmup_steps to 0."
    arguments(profile=profile_of(advanced=advanced))
    fixed = {"optimizer_type": "adafactor", "optimizer_args": ["relative_step=False"]}
    arguments(profile=profile_of(advanced=fixed, warmup_steps=5))


@pytest.mark.parametrize(
    ("advanced", "words"),
    [
        ({"flash3": True}, "advanced.flash3 needs the library flash_attn_interface, which is not installed."),
        ({"optimizer_type": "nowhere.Lion"}, "advanced.optimizer_type needs the library nowhere"),
        ({"optimizer_type": "AdamW8bit"}, "advanced.optimizer_type needs the library bitsandbytes"),
        ({"log_with": "all"}, "advanced.log_with needs the library tensorboard"),
    ],
)
def test_libraries_of_options_are_looked_for(monkeypatch: pytest.MonkeyPatch, advanced: dict[str, Any], words: str):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=words):
        require_libraries(profile_of(advanced=advanced))
    require_libraries(profile_of(advanced={"optimizer_type": "Adamax", "sdpa": True}))


@ALL
def test_every_option_can_be_reached_or_says_why_not(family: Family):
    free = known_options(family)
    for name in options_of(family.trainer.train):
        if name not in free:
            with pytest.raises(ProfileError, match=r"is decided by|cannot be set: "):
                require_free(name, family=family)
    assert {"lr_scheduler_power", "min_timestep", "optimizer_args", "scale_weight_norms"} <= set(free)


def test_the_settings_that_stand_for_options_exist():
    profile = profile_of()
    for setting in PROFILE_SETTINGS.values():
        section, _, name = setting.partition(".")
        assert hasattr(getattr(profile, section), name), setting


@needs_engine
@ALL
def test_the_programs_that_prepare_know_their_options(family: Family):
    source = engine_dir(read_pin()) / "src" / "musubi_tuner"
    dataset = Path("/run/data.toml")
    for made in (
        picture_arguments(family, files=files_of(family), dataset_config=dataset, device="cuda:0"),
        caption_arguments(family, files=files_of(family), dataset_config=dataset, device="cuda:0", eight_bit=True),
    ):
        tree = ast.parse((source / f"{made.script}.py").read_text(encoding="utf-8"))
        shared = "".join((source / f"{name}.py").read_text(encoding="utf-8") for name in SHARED)
        named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        for name in made.values:
            assert f"--{name}" in named or f'"--{name}"' in shared, (made.script, name)


SHARED = ("cache_latents", "cache_text_encoder_outputs", "flux_2/flux2_utils", "qwen_image/qwen_image_utils")


def test_loras_to_begin_with_are_looked_at(tmp_path: Path):
    """Another model's was passed over in silence, one of another rank ended in a traceback when all was loaded."""

    def refusal(name: str, rank: int, option: str = "network_weights") -> str:
        shapes = {"lora_down.weight": (rank, 4096), "lora_up.weight": (12288, rank)}
        path = write_weights(tmp_path / "x.safetensors", {f"{name}.{part}": shape for part, shape in shapes.items()})
        given = str(path) if option == "network_weights" else [str(path)]
        with pytest.raises(UserError) as caught:
            require_loras(profile_of(advanced={option: given}), family=KLEIN)
        return caught.value.sentence

    own = "double_blocks_0_img_attn_qkv"
    assert refusal(f"lora_unet_{own}", 4).endswith("x.safetensors is 4, and lora.rank is 16.")
    assert "x.safetensors is no LoRA for FLUX.2 Klein Base 9B: it is for a model not known" in refusal("lora_unet_x", 4)
    assert "names that the engine passes over" in refusal("diffusion_model.double_blocks.0.img_attn.qkv", 16)
    assert "names that the engine passes over" in refusal(f"diffusion_model.{own}", 4, "base_weights")
    with pytest.raises(UserError, match="none is not there"):
        require_loras(profile_of(advanced={"network_weights": str(tmp_path / "none")}), family=KLEIN)
    require_loras(profile_of(), family=KLEIN)
