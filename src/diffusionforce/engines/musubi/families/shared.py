"""Files that several families share: text encoders, autoencoders, image encoders.

Shapes are those of the configurations that the engine builds these models with.
"""

from typing import Final

from diffusionforce.engines.musubi.families.record import Signature, Use, WeightFile

APACHE: Final = "Apache-2.0"
FLUX_NON_COMMERCIAL: Final = "FLUX non-commercial licence"
TENCENT: Final = "Tencent Hunyuan Community Licence"

TRAINING: Final[frozenset[Use]] = frozenset({"training", "samples"})
PICTURES: Final[frozenset[Use]] = frozenset({"pictures", "samples"})
CAPTIONS: Final[frozenset[Use]] = frozenset({"captions", "samples"})
SAMPLES: Final[frozenset[Use]] = frozenset({"samples"})

QWEN3_4B = Signature(
    title="Qwen3 4B text encoder",
    tensors={"layers.35.mlp.down_proj.weight": (2560, 9728), "layers.0.self_attn.q_norm.weight": (128,)},
    absent=("visual.",),
)
QWEN3_8B = Signature(
    title="Qwen3 8B text encoder",
    tensors={"layers.35.mlp.down_proj.weight": (4096, 12288), "layers.0.self_attn.q_norm.weight": (128,)},
    absent=("visual.",),
)
QWEN3_VL_4B = Signature(
    title="Qwen3-VL 4B text encoder",
    tensors={"layers.35.mlp.down_proj.weight": (2560, 9728), "layers.0.self_attn.q_norm.weight": (128,)},
)
QWEN3_VL_8B = Signature(
    title="Qwen3-VL 8B text encoder",
    tensors={"layers.35.mlp.down_proj.weight": (4096, 12288), "layers.0.self_attn.q_norm.weight": (128,)},
)
QWEN2_5_VL_7B = Signature(title="Qwen2.5-VL 7B text encoder", tensors={"layers.27.mlp.down_proj.weight": (3584, 18944)})
MISTRAL3 = Signature(
    title="Mistral Small 3 24B text encoder", tensors={"layers.39.mlp.down_proj.weight": (5120, 32768)}
)
LLAVA_LLAMA3 = Signature(
    title="LLaVA Llama 3 8B text encoder", tensors={"layers.31.mlp.down_proj.weight": (4096, 14336)}
)
CLIP_L = Signature(title="CLIP-L text encoder", tensors={"text_model.encoder.layers.11.mlp.fc1.weight": (3072, 768)})
T5_XXL = Signature(
    title="T5-XXL text encoder",
    tensors={"encoder.block.23.layer.1.DenseReluDense.wo.weight": (4096, 10240)},
    # UMT5, as ComfyUI has it for Wan, has these in every block.
    absent=("encoder.block.1.layer.0.SelfAttention.relative_attention_bias.",),
)
UMT5_XXL = Signature(
    title="UMT5 XXL text encoder",
    tensors={"token_embedding.weight": (256384, 4096), "blocks.23.ffn.fc2.weight": (4096, 10240)},
    prefixes=("", "encoder."),
)
BYT5 = Signature(title="ByT5 glyph encoder", tensors={"block.11.layer.1.DenseReluDense.wo.weight": (1472, 3584)})
SIGLIP = Signature(title="SigLIP image encoder", tensors={"encoder.layers.26.mlp.fc1.weight": (4304, 1152)})
FLUX2_AUTOENCODER_SIGNATURE = Signature(
    title="FLUX.2 autoencoder",
    tensors={"encoder.conv_in.weight": (128, 3, 3, 3), "encoder.quant_conv.weight": (64, 64, 1, 1)},
    prefixes=("",),
)

FLUX2_AUTOENCODER_IN_ANY_LAYOUT = Signature(
    title="FLUX.2 autoencoder", tensors={"quant_conv.weight": (64, 64, 1, 1)}, prefixes=("", "encoder.")
)
QWEN_IMAGE_AUTOENCODER_SIGNATURE = Signature(
    # In ComfyUI's layout the layer is called middle.1, in that of diffusers mid_block.attentions.0.
    title="Qwen-Image or Wan 2.1 autoencoder",
    tensors={"to_qkv.weight": (1152, 384, 1, 1)},
)
HUNYUAN_AUTOENCODER_SIGNATURE = Signature(
    title="HunyuanVideo autoencoder",
    tensors={
        "decoder.conv_in.conv.weight": (512, 16, 3, 3, 3),
        "encoder.mid_block.attentions.0.to_q.weight": (512, 512),
    },
    prefixes=("", "vae."),
)
WAN_AUTOENCODER_SIGNATURE = Signature(
    # The engine would load any file here, and leave out what it does not find.
    title="Wan 2.1 autoencoder",
    tensors={"encoder.conv1.weight": (96, 3, 3, 3, 3), "decoder.conv1.weight": (384, 16, 3, 3, 3)},
    prefixes=("",),
)

T5_UMT5 = WeightFile(
    role="t5",
    title="text encoder (UMT5 XXL)",
    repository="Wan-AI/Wan2.1-I2V-14B-720P",
    path="models_t5_umt5-xxl-enc-bf16.pth",
    gib=10.6,
    uses=CAPTIONS,
    signature=UMT5_XXL,
    licence=APACHE,
)
WAN_AUTOENCODER = WeightFile(
    role="vae",
    title="autoencoder (Wan 2.1)",
    repository="Comfy-Org/Wan_2.1_ComfyUI_repackaged",
    path="split_files/vae/wan_2.1_vae.safetensors",
    gib=0.24,
    uses=PICTURES,
    signature=WAN_AUTOENCODER_SIGNATURE,
    other_names=("Wan2.1_VAE.pth",),
    licence=APACHE,
)
FLUX2_AUTOENCODER = WeightFile(
    role="vae",
    title="autoencoder (FLUX.2)",
    repository="black-forest-labs/FLUX.2-dev",
    path="ae.safetensors",
    gib=0.31,
    uses=PICTURES,
    signature=FLUX2_AUTOENCODER_SIGNATURE,
    licence=FLUX_NON_COMMERCIAL,
    gated=True,
)
QWEN_IMAGE_AUTOENCODER = WeightFile(
    role="vae",
    title="autoencoder (Qwen-Image)",
    repository="Comfy-Org/Qwen-Image_ComfyUI",
    path="split_files/vae/qwen_image_vae.safetensors",
    gib=0.24,
    uses=PICTURES,
    signature=QWEN_IMAGE_AUTOENCODER_SIGNATURE,
    licence=APACHE,
)
QWEN2_5_VL = WeightFile(
    role="text_encoder",
    title="text encoder (Qwen2.5-VL 7B)",
    repository="Comfy-Org/Qwen-Image_ComfyUI",
    path="split_files/text_encoders/qwen_2.5_vl_7b.safetensors",
    gib=15.5,
    uses=CAPTIONS,
    signature=QWEN2_5_VL_7B,
    licence=APACHE,
)
HUNYUAN_LLM = WeightFile(
    role="text_encoder1",
    title="text encoder 1 (LLaVA Llama 3)",
    repository="Comfy-Org/HunyuanVideo_repackaged",
    path="split_files/text_encoders/llava_llama3_fp16.safetensors",
    gib=15,
    uses=CAPTIONS,
    signature=LLAVA_LLAMA3,
)
HUNYUAN_CLIP = WeightFile(
    role="text_encoder2",
    title="text encoder 2 (CLIP-L)",
    repository="Comfy-Org/HunyuanVideo_repackaged",
    path="split_files/text_encoders/clip_l.safetensors",
    gib=0.23,
    uses=CAPTIONS,
    signature=CLIP_L,
)
