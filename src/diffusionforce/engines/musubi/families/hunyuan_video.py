"""HunyuanVideo: text to video, under its own licence."""

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
    TENCENT,
    TRAINING,
)

_REPOSITORY = "tencent/HunyuanVideo"
_DOUBLE_LEAVES = tuple(
    f"{kind}_{leaf}" for kind in ("img", "txt") for leaf in ("attn_qkv", "attn_proj", "mlp.fc1", "mlp.fc2")
)
_SIGNATURE = Signature(
    title="HunyuanVideo",
    tensors={
        "img_in.proj.weight": (3072, 16, 1, 2, 2),
        "double_blocks.19.img_attn_qkv.weight": (9216, 3072),
        "single_blocks.39.linear1.weight": (21504, 3072),
    },
    prefixes=NO_PREFIX,
)

FAMILIES = (
    Family(
        name="hunyuan-video",
        title="HunyuanVideo",
        trainer=Trainer(
            train="hv_train_network",
            cache_pictures="cache_latents",
            cache_captions="cache_text_encoder_outputs",
            captions_in_turns=True,
            trainer_class="HunyuanVideoNetworkTrainer",
            # With `networks.lora` the engine would load a second copy of the module, which hooks do not reach.
            network_module="musubi_tuner.networks.lora",
            architecture="hunyuan_video",
        ),
        version=None,
        width=3072,
        dit_class="musubi_tuner.hunyuan_model.models.HYVideoDiffusionTransformer",
        blocks=(
            Blocks(name="double_blocks", count=20, million_parameters=339.8, lora_leaves=_DOUBLE_LEAVES),
            Blocks(
                name="single_blocks",
                count=40,
                million_parameters=141.6,
                lora_leaves=("linear1", "linear2"),
            ),
        ),
        files=(
            WeightFile(
                role="dit",
                title="transformer",
                repository=_REPOSITORY,
                path="hunyuan-video-t2v-720p/transformers/mp_rank_00_model_states.pt",
                gib=23.9,
                uses=TRAINING,
                signature=_SIGNATURE,
                other_names=("mp_rank_00_model_states_fp8.safetensors",),
                licence=TENCENT,
            ),
            WeightFile(
                role="vae",
                title="autoencoder",
                repository=_REPOSITORY,
                path="hunyuan-video-t2v-720p/vae/pytorch_model.pt",
                gib=0.92,
                uses=PICTURES,
                signature=HUNYUAN_AUTOENCODER_SIGNATURE,
                licence=TENCENT,
            ),
            HUNYUAN_LLM,
            HUNYUAN_CLIP,
        ),
        defaults={
            "timestep_sampling": "shift",
            "discrete_flow_shift": 7.0,
            "learning_rate": 2e-4,
            "vae_chunk_size": 32,
            "vae_spatial_tile_sample_min_size": 128,
        },
        picture_options={"vae_chunk_size": 32, "vae_tiling": True},
        sample_steps=20,
        sample_guidance=6.0,
        guidance_key="guidance_scale",
        makes="videos",
        eight_bit="plain",
        eight_bit_captions="fp8_llm",
        tokenizers=("openai/clip-vit-large-patch14", "xtuner/llava-llama-3-8b-v1_1-transformers"),
        licence_folders=("hunyuan_model",),
        traps=(
            "fp8_scaled does nothing here: the engine switches it off.",
            "Where details are not learned, the documentation suggests a discrete_flow_shift of 3.",
        ),
        comfy=ComfyLora(
            loads="renamed",
            leaves_lost=("mlp.fc1", "mlp.fc2"),
            names={"attn_qkv": "attn.qkv", "attn_proj": "attn.proj", "mlp.fc1": "mlp.0", "mlp.fc2": "mlp.2"},
            words="It calls the feed-forward layers by other names.",
        ),
    ),
)
