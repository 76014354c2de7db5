"""FLUX.1 Kontext dev: edits a picture as the prompt says; every training picture needs the one it comes from."""

from diffusionforce.engines.musubi.families.record import (
    ALL_IN_ONE_PREFIX,
    Blocks,
    ComfyLora,
    Family,
    Signature,
    Trainer,
    WeightFile,
)
from diffusionforce.engines.musubi.families.shared import (
    CAPTIONS,
    CLIP_L,
    FLUX_NON_COMMERCIAL,
    PICTURES,
    T5_XXL,
    TRAINING,
)

_REPOSITORY = "black-forest-labs/FLUX.1-Kontext-dev"
_ENCODERS = "comfyanonymous/flux_text_encoders"
_DOUBLE_LEAVES = tuple(
    f"{kind}_{leaf}" for kind in ("img", "txt") for leaf in ("attn.qkv", "attn.proj", "mlp.0", "mlp.2")
)
_SIGNATURE = Signature(
    title="FLUX.1 dev or Kontext",
    tensors={
        "img_in.weight": (3072, 64),
        "guidance_in.in_layer.weight": (3072, 256),
        "single_blocks.37.linear1.weight": (21504, 3072),
    },
    absent=("double_blocks.19.", "single_blocks.38."),
    prefixes=("", ALL_IN_ONE_PREFIX),
)
_AUTOENCODER = Signature(
    title="FLUX.1 autoencoder",
    tensors={"encoder.mid.attn_1.q.weight": (512, 512, 1, 1), "encoder.conv_out.weight": (32, 512, 3, 3)},
    absent=("encoder.quant_conv.",),
    prefixes=("",),
)

FAMILIES = (
    Family(
        name="flux1-kontext",
        title="FLUX.1 Kontext dev",
        trainer=Trainer(
            train="flux_kontext_train_network",
            cache_pictures="flux_kontext_cache_latents",
            cache_captions="flux_kontext_cache_text_encoder_outputs",
            trainer_class="FluxKontextNetworkTrainer",
            network_module="networks.lora_flux",
            architecture="flux_kontext",
        ),
        version=None,
        width=3072,
        dit_class="musubi_tuner.flux.flux_models.Flux",
        blocks=(
            Blocks(name="double_blocks", count=19, million_parameters=339.8, lora_leaves=_DOUBLE_LEAVES),
            Blocks(name="single_blocks", count=38, million_parameters=141.6, lora_leaves=("linear1", "linear2")),
        ),
        files=(
            WeightFile(
                role="dit",
                title="transformer",
                repository=_REPOSITORY,
                path="flux1-kontext-dev.safetensors",
                gib=22.2,
                uses=TRAINING,
                signature=_SIGNATURE,
                licence=FLUX_NON_COMMERCIAL,
                gated=True,
            ),
            WeightFile(
                role="vae",
                title="autoencoder (FLUX.1)",
                repository=_REPOSITORY,
                path="ae.safetensors",
                gib=0.31,
                uses=PICTURES,
                signature=_AUTOENCODER,
                licence=FLUX_NON_COMMERCIAL,
                gated=True,
            ),
            WeightFile(
                role="text_encoder1",
                title="text encoder 1 (T5-XXL)",
                repository=_ENCODERS,
                path="t5xxl_fp16.safetensors",
                gib=9.1,
                uses=CAPTIONS,
                signature=T5_XXL,
            ),
            WeightFile(
                role="text_encoder2",
                title="text encoder 2 (CLIP-L)",
                repository=_ENCODERS,
                path="clip_l.safetensors",
                gib=0.23,
                uses=CAPTIONS,
                signature=CLIP_L,
            ),
        ),
        defaults={"timestep_sampling": "flux_shift", "weighting_scheme": "none", "learning_rate": 1e-4},
        sample_steps=25,
        sample_guidance=2.5,
        guidance_key="guidance_scale",
        # The engine shifts by 14.5 unless told, with a 0, to go by the size of the picture.
        sample_options={"discrete_flow_shift": 0},
        sample_inputs="control picture",
        trains_on="pictures with control pictures",
        eight_bit_captions="fp8_t5",
        tokenizers=("google/t5-v1_1-xxl", "openai/clip-vit-large-patch14"),
        traps=(
            "Every picture needs one control picture: of the same name, in a folder control beside the pictures.",
            "The files in the repository's folders are in another format, which does not load.",
        ),
        comfy=ComfyLora(loads="as written"),
    ),
)
