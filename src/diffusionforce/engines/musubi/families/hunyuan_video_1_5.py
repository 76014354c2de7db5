"""HunyuanVideo 1.5: text or one picture to video, under its own licence."""

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
    BYT5,
    CAPTIONS,
    PICTURES,
    QWEN2_5_VL_7B,
    SIGLIP,
    TENCENT,
    TRAINING,
)

_REPOSITORY = "tencent/HunyuanVideo-1.5"
_REPACKAGED = "Comfy-Org/HunyuanVideo_1.5_repackaged"
_TRAINER = Trainer(
    train="hv_1_5_train_network",
    cache_pictures="hv_1_5_cache_latents",
    cache_captions="hv_1_5_cache_text_encoder_outputs",
    trainer_class="HunyuanVideo15NetworkTrainer",
    network_module="networks.lora_hv_1_5",
    architecture="hunyuan_video_1_5",
)
_LEAVES = tuple(
    f"{kind}_{leaf}"
    for kind in ("img", "txt")
    for leaf in ("mod.linear", "attn_q", "attn_k", "attn_v", "attn_proj", "mlp.fc1", "mlp.fc2")
)
_SIGNATURE = Signature(
    title="HunyuanVideo 1.5",
    tensors={
        "img_in.proj.weight": (2048, 65, 1, 1, 1),
        "byt5_in.fc1.weight": (2048, 1472),
        "double_blocks.53.img_mlp.fc1.weight": (8192, 2048),
    },
    prefixes=NO_PREFIX,
)
_VAE = WeightFile(
    role="vae",
    title="autoencoder",
    repository=_REPOSITORY,
    path="vae/diffusion_pytorch_model.safetensors",
    gib=4.6,
    uses=PICTURES,
    signature=Signature(
        title="HunyuanVideo 1.5 autoencoder",
        tensors={
            "decoder.conv_in.conv.weight": (1024, 32, 3, 3, 3),
            "encoder.mid.attn_1.q.weight": (1024, 1024, 1, 1, 1),
        },
        prefixes=NO_PREFIX,
    ),
    licence=TENCENT,
)
_TEXT_ENCODER = WeightFile(
    role="text_encoder",
    title="text encoder (Qwen2.5-VL 7B)",
    repository=_REPACKAGED,
    path="split_files/text_encoders/qwen_2.5_vl_7b.safetensors",
    gib=15.5,
    uses=CAPTIONS,
    signature=QWEN2_5_VL_7B,
)
_GLYPHS = WeightFile(
    role="byt5",
    title="glyph encoder (ByT5)",
    repository=_REPACKAGED,
    path="split_files/text_encoders/byt5_small_glyphxl_fp16.safetensors",
    gib=0.41,
    uses=CAPTIONS,
    signature=BYT5,
)
_IMAGE_ENCODER = WeightFile(
    role="image_encoder",
    title="image encoder (SigLIP)",
    repository=_REPACKAGED,
    path="split_files/clip_vision/sigclip_vision_patch14_384.safetensors",
    gib=0.8,
    uses=PICTURES,
    signature=SIGLIP,
)


def _family(name: str, title: str, *, task: str, files: tuple[WeightFile, ...]) -> Family:
    dit = WeightFile(
        role="dit",
        title="transformer",
        repository=_REPOSITORY,
        path=f"transformer/720p_{task}/diffusion_pytorch_model.safetensors",
        gib=15.5,
        uses=TRAINING,
        signature=_SIGNATURE,
        other_names=(f"hunyuanvideo1.5_720p_{task}_fp16.safetensors",),
        licence=TENCENT,
    )
    return Family(
        name=name,
        title=title,
        trainer=_TRAINER,
        version=("task", task),
        width=2048,
        dit_class="musubi_tuner.hunyuan_video_1_5.hunyuan_video_1_5_models.HunyuanVideo_1_5_DiffusionTransformer",
        blocks=(Blocks(name="double_blocks", count=54, million_parameters=151.1, lora_leaves=_LEAVES),),
        files=(dit, _VAE, _TEXT_ENCODER, _GLYPHS, *files),
        defaults={
            "timestep_sampling": "shift",
            "weighting_scheme": "none",
            "discrete_flow_shift": 2.0,
            "learning_rate": 1e-4,
        },
        picture_options={"i2v": True} if task == "i2v" else {},
        sample_steps=50,
        sample_guidance=6.0,
        sample_options={"discrete_flow_shift": 7.0},
        sample_inputs="picture" if task == "i2v" else "prompt",
        makes="videos",
        eight_bit_captions="fp8_vl",
        keeps_precision=True,
        tokenizers=("google/byt5-small", "Qwen/Qwen2.5-VL-7B-Instruct"),
        licence_folders=("hunyuan_video_1_5", "hunyuan_model"),
        traps=(
            "Text-to-video and picture-to-video files look alike from inside; their folder tells which one it is.",
            "An fp16 file cannot be trained in bf16.",
        ),
        comfy=ComfyLora(
            loads="converted",
            leaves_lost=("attn_q", "attn_k", "attn_v", "mlp.fc1", "mlp.fc2", "mod.linear"),
            names={
                **{f"attn_{part}": "attn.qkv" for part in "qkv"},
                "attn_proj": "attn.proj",
                "mlp.fc1": "mlp.0",
                "mlp.fc2": "mlp.2",
                "mod.linear": "mod.lin",
            },
            words="ComfyUI holds query, key and value in one layer, so the three have to be joined.",
        ),
    )


FAMILIES = (
    _family("hunyuan-video-1.5", "HunyuanVideo 1.5 T2V", task="t2v", files=()),
    _family("hunyuan-video-1.5-i2v", "HunyuanVideo 1.5 I2V", task="i2v", files=(_IMAGE_ENCODER,)),
)
