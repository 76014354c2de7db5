"""Ideogram 4: published in 8 bits only, and trained on these."""

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
    FLUX2_AUTOENCODER_IN_ANY_LAYOUT,
    PICTURES,
    QWEN3_VL_8B,
    SAMPLES,
    TRAINING,
)

_REPOSITORY = "Comfy-Org/Ideogram-4"
_LICENCE = "Ideogram 4 non-commercial licence"
_LEAVES = ("attention.qkv", "attention.o", *(f"feed_forward.w{number}" for number in (1, 2, 3)))
_SIGNATURE = Signature(
    title="Ideogram 4, conditional or unconditional",
    tensors={"input_proj.weight": (4608, 128), "layers.33.attention.qkv.weight": (13824, 4608)},
    absent=("layers.34.",),
    prefixes=NO_PREFIX,
)

FAMILIES = (
    Family(
        name="ideogram4",
        title="Ideogram 4",
        trainer=Trainer(
            train="ideogram4_train_network",
            cache_pictures="ideogram4_cache_latents",
            cache_captions="ideogram4_cache_text_encoder_outputs",
            trainer_class="Ideogram4NetworkTrainer",
            network_module="networks.lora_ideogram4",
            architecture="ideogram4",
        ),
        version=None,
        width=4608,
        dit_class="musubi_tuner.ideogram4.ideogram4_model.Ideogram4Transformer",
        blocks=(Blocks(name="layers", count=34, million_parameters=264.3, lora_leaves=_LEAVES),),
        files=(
            WeightFile(
                role="dit",
                title="transformer, conditional",
                repository=_REPOSITORY,
                path="diffusion_models/ideogram4_fp8_scaled.safetensors",
                gib=8.7,
                uses=TRAINING,
                signature=_SIGNATURE,
                licence=_LICENCE,
            ),
            WeightFile(
                role="vae",
                title="autoencoder (FLUX.2)",
                repository=_REPOSITORY,
                path="vae/flux2-vae.safetensors",
                gib=0.31,
                uses=PICTURES,
                signature=FLUX2_AUTOENCODER_IN_ANY_LAYOUT,
                licence=_LICENCE,
            ),
            WeightFile(
                role="text_encoder",
                title="text encoder (Qwen3-VL 8B)",
                repository=_REPOSITORY,
                path="text_encoders/qwen3vl_8b_fp8_scaled.safetensors",
                gib=8.6,
                uses=CAPTIONS,
                signature=QWEN3_VL_8B,
                licence=_LICENCE,
            ),
            WeightFile(
                role="unconditional_dit",
                title="transformer, unconditional, for samples",
                repository=_REPOSITORY,
                path="diffusion_models/ideogram4_unconditional_fp8_scaled.safetensors",
                gib=8.7,
                uses=SAMPLES,
                signature=_SIGNATURE,
                licence=_LICENCE,
                optional=True,
            ),
        ),
        defaults={"timestep_sampling": "ideogram4_shift", "weighting_scheme": "none", "learning_rate": 1e-4},
        sample_steps=20,
        sample_guidance=7.0,
        eight_bit="already",
        tokenizers=("Qwen/Qwen3-VL-8B-Instruct",),
        traps=(
            "Prepared captions are large: about 27 MB for one of 256 words.",
            "weighting_scheme has to be none.",
            "The LoRA cannot be merged into the 8-bit weights.",
        ),
        comfy=ComfyLora(loads="unknown", words="Results may differ from those of the engine, its documentation says."),
    ),
)
