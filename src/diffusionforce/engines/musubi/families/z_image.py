"""Z-Image, the base model."""

from diffusionforce.engines.musubi.families.record import (
    NO_PREFIX,
    Blocks,
    ComfyLora,
    Family,
    Signature,
    Trainer,
    WeightFile,
)
from diffusionforce.engines.musubi.families.shared import APACHE, CAPTIONS, PICTURES, QWEN3_4B, TRAINING

_REPOSITORY = "Tongyi-MAI/Z-Image"
_LEAVES = (
    *(f"attention.to_{part}" for part in "qkv"),
    "attention.to_out.0",
    *(f"feed_forward.w{number}" for number in (1, 2, 3)),
)

FAMILIES = (
    Family(
        name="z-image",
        title="Z-Image",
        trainer=Trainer(
            train="zimage_train_network",
            cache_pictures="zimage_cache_latents",
            cache_captions="zimage_cache_text_encoder_outputs",
            trainer_class="ZImageNetworkTrainer",
            network_module="networks.lora_zimage",
            architecture="z_image",
        ),
        version=None,
        width=3840,
        dit_class="musubi_tuner.zimage.zimage_model.ZImageTransformer2DModel",
        blocks=(
            Blocks(name="noise_refiner", count=2, million_parameters=180.9, lora_leaves=()),
            Blocks(name="context_refiner", count=2, million_parameters=177.0, lora_leaves=()),
            Blocks(name="layers", count=30, million_parameters=180.9, lora_leaves=_LEAVES),
        ),
        files=(
            WeightFile(
                role="dit",
                title="transformer",
                repository=_REPOSITORY,
                path="transformer/diffusion_pytorch_model-*-of-*.safetensors",
                gib=11.5,
                uses=TRAINING,
                signature=Signature(
                    title="Z-Image",
                    tensors={
                        "cap_embedder.1.weight": (3840, 2560),
                        "layers.29.feed_forward.w1.weight": (10240, 3840),
                    },
                    absent=("layers.30.",),
                    prefixes=NO_PREFIX,
                ),
                other_names=("z_image_bf16.safetensors", "z_image_de_turbo_v1_bf16.safetensors"),
                licence=APACHE,
            ),
            WeightFile(
                role="vae",
                title="autoencoder",
                repository=_REPOSITORY,
                path="vae/diffusion_pytorch_model.safetensors",
                gib=0.16,
                uses=PICTURES,
                signature=Signature(
                    title="Z-Image autoencoder",
                    tensors={"encoder.conv_in.weight": (128, 3, 3, 3), "decoder.conv_in.weight": (512, 16, 3, 3)},
                    prefixes=NO_PREFIX,
                ),
                licence=APACHE,
            ),
            WeightFile(
                role="text_encoder",
                title="text encoder (Qwen3 4B)",
                repository=_REPOSITORY,
                path="text_encoder/model-*-of-*.safetensors",
                gib=7.5,
                uses=CAPTIONS,
                signature=QWEN3_4B,
                other_names=("qwen_3_4b.safetensors",),
                licence=APACHE,
            ),
        ),
        defaults={
            "timestep_sampling": "shift",
            "weighting_scheme": "none",
            "discrete_flow_shift": 2.0,
            "learning_rate": 1e-4,
        },
        sample_steps=25,
        sample_guidance=4.0,
        eight_bit_captions="fp8_llm",
        tokenizers=("Tongyi-MAI/Z-Image",),
        traps=(
            "The Turbo model is distilled; the documentation recommends to train the base model, or the De-Turbo one.",
            "The autoencoder always runs in fp32.",
        ),
        comfy=ComfyLora(
            loads="renamed",
            leaves_lost=("attention.to_q", "attention.to_k", "attention.to_v", "attention.to_out.0"),
            words="Names have to be in dots for ComfyUI to find the attention layers.",
        ),
    ),
)
