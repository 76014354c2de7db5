"""FLUX.2 dev and its smaller Klein models, the distilled ones and the base ones that are meant to be trained."""

from diffusionforce.engines.musubi.families.record import (
    NO_PREFIX,
    Blocks,
    ComfyLora,
    Family,
    OptionValue,
    Signature,
    Trainer,
    Validated,
    WeightFile,
)
from diffusionforce.engines.musubi.families.shared import (
    APACHE,
    CAPTIONS,
    FLUX2_AUTOENCODER,
    FLUX_NON_COMMERCIAL,
    MISTRAL3,
    QWEN3_4B,
    QWEN3_8B,
    TRAINING,
)

_TRAINER = Trainer(
    train="flux_2_train_network",
    cache_pictures="flux_2_cache_latents",
    cache_captions="flux_2_cache_text_encoder_outputs",
    trainer_class="Flux2NetworkTrainer",
    network_module="networks.lora_flux_2",
    architecture="flux_2",
)
_DOUBLE_LEAVES = tuple(
    f"{kind}_{leaf}" for kind in ("img", "txt") for leaf in ("attn.qkv", "attn.proj", "mlp.0", "mlp.2")
)
_SINGLE_LEAVES = ("linear1", "linear2")
_DEFAULTS: dict[str, OptionValue] = {
    "timestep_sampling": "flux2_shift",
    "weighting_scheme": "none",
    "learning_rate": 1e-4,
}
_DIFFUSERS_AE = "vae/diffusion_pytorch_model.safetensors is the autoencoder in another format, which does not load."
_DISTILLED = "This model is distilled for making pictures; train the base model and use the LoRA with both."
_COMFY = ComfyLora(loads="as written", words="Do not convert it: converted files lose layers.")


def _qwen(size: str, *, gib: float, signature: Signature, repository: str, licence: str, gated: bool) -> WeightFile:
    return WeightFile(
        role="text_encoder",
        title=f"text encoder (Qwen3 {size})",
        repository=repository,
        path="text_encoder/model-*-of-*.safetensors",
        gib=gib,
        uses=CAPTIONS,
        signature=signature,
        other_names=(f"qwen_3_{size.lower()}.safetensors",),
        licence=licence,
        gated=gated,
    )


_QWEN_4B = _qwen(
    "4B",
    gib=7.5,
    signature=QWEN3_4B,
    repository="black-forest-labs/FLUX.2-klein-4B",
    licence=APACHE,
    gated=False,
)
_QWEN_8B = _qwen(
    "8B",
    gib=15.3,
    signature=QWEN3_8B,
    repository="black-forest-labs/FLUX.2-klein-9B",
    licence=FLUX_NON_COMMERCIAL,
    gated=True,
)
_MISTRAL = WeightFile(
    role="text_encoder",
    title="text encoder (Mistral Small 3 24B)",
    repository="black-forest-labs/FLUX.2-dev",
    path="text_encoder/model-*-of-*.safetensors",
    gib=44.7,
    uses=CAPTIONS,
    signature=MISTRAL3,
    licence=FLUX_NON_COMMERCIAL,
    gated=True,
)


def _signature(title: str, *, width: int, context: int, num_double: int, num_single: int) -> Signature:
    return Signature(
        title=title,
        tensors={
            "img_in.weight": (width, 128),
            "txt_in.weight": (width, context),
            f"single_blocks.{num_single - 1}.linear1.weight": (width * 9, width),
        },
        absent=(f"double_blocks.{num_double}.", f"single_blocks.{num_single}."),
        prefixes=NO_PREFIX,
    )


def _blocks(*, num_double: int, double: float, num_single: int, single: float) -> tuple[Blocks, ...]:
    return (
        Blocks(name="double_blocks", count=num_double, million_parameters=double, lora_leaves=_DOUBLE_LEAVES),
        Blocks(name="single_blocks", count=num_single, million_parameters=single, lora_leaves=_SINGLE_LEAVES),
    )


_DEV = _signature("FLUX.2 dev", width=6144, context=15360, num_double=8, num_single=48)
_KLEIN_9B = _signature("FLUX.2 Klein 9B, distilled or base", width=4096, context=12288, num_double=8, num_single=24)
_KLEIN_4B = _signature("FLUX.2 Klein 4B, distilled or base", width=3072, context=7680, num_double=5, num_single=20)
_BLOCKS_DEV = _blocks(num_double=8, double=981.5, num_single=48, single=490.7)
_BLOCKS_9B = _blocks(num_double=8, double=436.2, num_single=24, single=218.1)
_BLOCKS_4B = _blocks(num_double=5, double=245.4, num_single=20, single=122.7)


def _family(
    name: str,
    title: str,
    *,
    version: str,
    repository: str,
    file_name: str,
    gib: float,
    signature: Signature,
    blocks: tuple[Blocks, ...],
    text_encoder: WeightFile,
    licence: str,
    gated: bool,
    is_distilled: bool,
    tokenizer: str,
    sample_steps: int,
    sample_guidance: float,
    validated: Validated = "trained tiny on two devices",
    traps: tuple[str, ...] = (),
) -> Family:
    dit = WeightFile(
        role="dit",
        title="transformer",
        repository=repository,
        path=file_name,
        gib=gib,
        uses=TRAINING,
        signature=signature,
        licence=licence,
        gated=gated,
    )
    return Family(
        name=name,
        title=title,
        trainer=_TRAINER,
        version=("model_version", version),
        width=signature.tensors["img_in.weight"][0],
        dit_class="musubi_tuner.flux_2.flux2_models.Flux2",
        blocks=blocks,
        files=(dit, FLUX2_AUTOENCODER, text_encoder),
        defaults=_DEFAULTS,
        picture_options={"model_version": version},
        caption_options={"model_version": version},
        sample_steps=sample_steps,
        guidance_key="guidance_scale",
        sample_guidance=sample_guidance,
        eight_bit_captions="" if version == "dev" else "fp8_text_encoder",
        tokenizers=(tokenizer,),
        validated=validated,
        traps=(_DIFFUSERS_AE, *((_DISTILLED,) if is_distilled else ()), *traps),
        comfy=_COMFY,
    )


FAMILIES = (
    _family(
        "flux2-dev",
        "FLUX.2 dev",
        version="dev",
        repository="black-forest-labs/FLUX.2-dev",
        file_name="flux2-dev.safetensors",
        gib=60.0,
        signature=_DEV,
        blocks=_BLOCKS_DEV,
        text_encoder=_MISTRAL,
        licence=FLUX_NON_COMMERCIAL,
        gated=True,
        is_distilled=True,
        tokenizer="mistralai/Mistral-Small-3.1-24B-Instruct-2503",
        sample_steps=50,
        sample_guidance=4.0,
        traps=("The text encoder cannot be held in 8 bits: fp8_text_encoder is for Klein.",),
    ),
    _family(
        "flux2-klein-9b",
        "FLUX.2 Klein 9B",
        version="klein-9b",
        repository="black-forest-labs/FLUX.2-klein-9B",
        file_name="flux2-klein-9b.safetensors",
        gib=16.9,
        signature=_KLEIN_9B,
        blocks=_BLOCKS_9B,
        text_encoder=_QWEN_8B,
        licence=FLUX_NON_COMMERCIAL,
        gated=True,
        is_distilled=True,
        tokenizer="Qwen/Qwen3-8B",
        sample_steps=4,
        sample_guidance=1.0,
    ),
    _family(
        "flux2-klein-base-9b",
        "FLUX.2 Klein Base 9B",
        version="klein-base-9b",
        repository="black-forest-labs/FLUX.2-klein-base-9B",
        file_name="flux2-klein-base-9b.safetensors",
        gib=16.9,
        signature=_KLEIN_9B,
        blocks=_BLOCKS_9B,
        text_encoder=_QWEN_8B,
        licence=FLUX_NON_COMMERCIAL,
        gated=True,
        is_distilled=False,
        tokenizer="Qwen/Qwen3-8B",
        sample_steps=50,
        sample_guidance=4.0,
        validated="trained in full size on two cards",
    ),
    _family(
        "flux2-klein-4b",
        "FLUX.2 Klein 4B",
        version="klein-4b",
        repository="black-forest-labs/FLUX.2-klein-4B",
        file_name="flux2-klein-4b.safetensors",
        gib=7.2,
        signature=_KLEIN_4B,
        blocks=_BLOCKS_4B,
        text_encoder=_QWEN_4B,
        licence=APACHE,
        gated=False,
        is_distilled=True,
        tokenizer="Qwen/Qwen3-4B",
        sample_steps=4,
        sample_guidance=1.0,
    ),
    _family(
        "flux2-klein-base-4b",
        "FLUX.2 Klein Base 4B",
        version="klein-base-4b",
        repository="black-forest-labs/FLUX.2-klein-base-4B",
        file_name="flux2-klein-base-4b.safetensors",
        gib=7.2,
        signature=_KLEIN_4B,
        blocks=_BLOCKS_4B,
        text_encoder=_QWEN_4B,
        licence=APACHE,
        gated=False,
        is_distilled=False,
        tokenizer="Qwen/Qwen3-4B",
        sample_steps=50,
        sample_guidance=4.0,
    ),
)
