"""FramePack: continues a picture to a video, section by section; trained on videos."""

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
    HUNYUAN_AUTOENCODER_SIGNATURE,
    HUNYUAN_CLIP,
    HUNYUAN_LLM,
    PICTURES,
    SIGLIP,
    TENCENT,
    TRAINING,
)

_ATTENTION = ("attn.to_q", "attn.to_k", "attn.to_v")
_DOUBLE_LEAVES = (
    *_ATTENTION,
    "attn.to_out.0",
    *(f"attn.add_{part}_proj" for part in "qkv"),
    "attn.to_add_out",
    *(f"{kind}.net.{part}" for kind in ("ff", "ff_context") for part in ("0.proj", "2")),
)

FAMILIES = (
    Family(
        name="framepack",
        title="FramePack",
        trainer=Trainer(
            train="fpack_train_network",
            cache_pictures="fpack_cache_latents",
            cache_captions="fpack_cache_text_encoder_outputs",
            trainer_class="FramePackNetworkTrainer",
            network_module="networks.lora_framepack",
            architecture="framepack",
        ),
        version=None,
        width=3072,
        dit_class="musubi_tuner.frame_pack.hunyuan_video_packed.HunyuanVideoTransformer3DModelPacked",
        blocks=(
            Blocks(name="transformer_blocks", count=20, million_parameters=339.8, lora_leaves=_DOUBLE_LEAVES),
            Blocks(
                name="single_transformer_blocks",
                count=40,
                million_parameters=141.6,
                lora_leaves=(*_ATTENTION, "proj_mlp", "proj_out"),
            ),
        ),
        files=(
            WeightFile(
                role="dit",
                title="transformer",
                repository="Kijai/HunyuanVideo_comfy",
                path="FramePackI2V_HY_bf16.safetensors",
                gib=24.0,
                uses=TRAINING,
                signature=Signature(
                    title="FramePack",
                    tensors={
                        "x_embedder.proj.weight": (3072, 16, 1, 2, 2),
                        "clean_x_embedder.proj.weight": (3072, 16, 1, 2, 2),
                        "transformer_blocks.19.attn.to_q.weight": (3072, 3072),
                    },
                    prefixes=NO_PREFIX,
                ),
                other_names=("diffusion_pytorch_model-00001-of-00003.safetensors",),
                licence=TENCENT,
            ),
            WeightFile(
                role="vae",
                title="autoencoder (HunyuanVideo)",
                repository="hunyuanvideo-community/HunyuanVideo",
                path="vae/diffusion_pytorch_model.safetensors",
                gib=0.92,
                uses=PICTURES,
                signature=HUNYUAN_AUTOENCODER_SIGNATURE,
                other_names=("pytorch_model.pt",),
                licence=TENCENT,
            ),
            HUNYUAN_LLM,
            HUNYUAN_CLIP,
            WeightFile(
                role="image_encoder",
                title="image encoder (SigLIP)",
                repository="Comfy-Org/sigclip_vision_384",
                path="sigclip_vision_patch14_384.safetensors",
                gib=0.8,
                uses=PICTURES,
                signature=SIGLIP,
            ),
        ),
        defaults={
            "timestep_sampling": "shift",
            "weighting_scheme": "none",
            "discrete_flow_shift": 3.0,
            "learning_rate": 2e-4,
            # In one piece the frames of two sections take 40 GB to decode.
            "vae_chunk_size": 32,
            "vae_spatial_tile_sample_min_size": 128,
            "split_attn": True,
        },
        picture_options={"vae_chunk_size": 32, "vae_tiling": True},
        sample_steps=25,
        sample_guidance=10.0,
        guidance_key="guidance_scale",
        sample_inputs="picture",
        makes="videos",
        trains_on="videos",
        eight_bit_captions="fp8_llm",
        tokenizers=("openai/clip-vit-large-patch14",),
        licence_folders=("hunyuan_model",),
        traps=(
            "It trains on videos only; a folder of pictures is refused.",
            "More than one video at a time needs split_attn.",
            "The autoencoder runs in fp16, whatever is asked for.",
        ),
        comfy=ComfyLora(loads="unknown", words="ComfyUI has no FramePack of its own; extensions load it differently."),
    ),
)
