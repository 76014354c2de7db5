"""Krea 2: trained on the full-step RAW model, used with RAW or with the distilled Turbo model."""

from diffusionforce.engines.musubi.families.record import (
    NO_PREFIX,
    Blocks,
    ComfyLora,
    Family,
    Signature,
    Trainer,
    WeightFile,
)
from diffusionforce.engines.musubi.families.shared import (
    CAPTIONS,
    QWEN3_VL_4B,
    QWEN_IMAGE_AUTOENCODER,
    SAMPLES,
    TRAINING,
)

_LEAVES = (
    *(f"attn.{part}" for part in ("wq", "wk", "wv", "gate", "wo")),
    *(f"mlp.{part}" for part in ("gate", "up", "down")),
)
_TEXT_BLOCKS = tuple(
    f"txtfusion.{kind}_blocks.{index}.{leaf}"
    for kind in ("layerwise", "refiner")
    for index in (0, 1)
    for leaf in _LEAVES
)
_OTHER_LAYERS = (
    "first",
    "tmlp.0",
    "tmlp.2",
    "tproj.1",
    "txtmlp.1",
    "txtmlp.3",
    "txtfusion.projector",
    *_TEXT_BLOCKS,
    "last.linear",
)
_SIGNATURE = Signature(
    title="Krea 2, RAW or Turbo",
    tensors={
        "first.weight": (6144, 64),
        "txtfusion.projector.weight": (1, 12),
        "blocks.27.mlp.down.weight": (6144, 16384),
    },
    absent=("blocks.28.",),
    prefixes=NO_PREFIX,
)

FAMILIES = (
    Family(
        name="krea2",
        title="Krea 2",
        trainer=Trainer(
            train="krea2_train_network",
            cache_pictures="krea2_cache_latents",
            cache_captions="krea2_cache_text_encoder_outputs",
            trainer_class="Krea2NetworkTrainer",
            network_module="networks.lora_krea2",
            architecture="krea2",
        ),
        version=None,
        width=6144,
        dit_class="musubi_tuner.krea2.krea2_mmdit.SingleStreamDiT",
        blocks=(Blocks(name="blocks", count=28, million_parameters=434.2, lora_leaves=_LEAVES),),
        files=(
            WeightFile(
                role="dit",
                title="transformer (RAW)",
                repository="krea/Krea-2-Raw",
                path="raw.safetensors",
                gib=23.9,
                uses=TRAINING,
                signature=_SIGNATURE,
            ),
            QWEN_IMAGE_AUTOENCODER,
            WeightFile(
                role="text_encoder",
                title="text encoder (Qwen3-VL 4B)",
                repository="Comfy-Org/Qwen3-VL",
                path="text_encoders/qwen3vl_4b_bf16.safetensors",
                gib=8.3,
                uses=CAPTIONS,
                signature=QWEN3_VL_4B,
                licence="Apache-2.0",
            ),
            WeightFile(
                role="turbo_dit",
                title="transformer (Turbo), for samples",
                repository="krea/Krea-2-Turbo",
                path="turbo.safetensors",
                gib=23.9,
                uses=SAMPLES,
                signature=_SIGNATURE,
                optional=True,
            ),
        ),
        defaults={
            "timestep_sampling": "shift",
            "weighting_scheme": "none",
            "discrete_flow_shift": 2.5,
            "learning_rate": 1e-4,
        },
        sample_steps=28,
        sample_guidance=5.5,
        # Without a negative prompt the engine gives no guidance, whatever its scale.
        sample_options={"negative_prompt": ""},
        tokenizers=("Qwen/Qwen3-VL-4B-Instruct",),
        traps=(
            "fp8_base needs fp8_scaled.",
            "Samples are made with turbo_dit only where all of the model is on one card.",
            "Without guidance, samples of the RAW model are blurry.",
            "The LoRA covers every layer of the model, also those outside its blocks.",
        ),
        other_lora_modules=_OTHER_LAYERS,
        comfy=ComfyLora(loads="as written", words="Taken from ComfyUI's list of names; not tried."),
    ),
)
