"""Qwen-Image, and the Edit models, which change a picture as the prompt says."""

from diffusionforce.engines.musubi.families.record import (
    ALL_IN_ONE_PREFIX,
    Blocks,
    ComfyLora,
    Family,
    Signature,
    Trainer,
    WeightFile,
)
from diffusionforce.engines.musubi.families.shared import APACHE, QWEN2_5_VL, QWEN_IMAGE_AUTOENCODER, TRAINING

_TRAINER = Trainer(
    train="qwen_image_train_network",
    cache_pictures="qwen_image_cache_latents",
    cache_captions="qwen_image_cache_text_encoder_outputs",
    trainer_class="QwenImageNetworkTrainer",
    network_module="networks.lora_qwen_image",
    architecture="qwen_image",
)
_LEAVES = (
    *(f"attn.to_{part}" for part in "qkv"),
    *(f"attn.add_{part}_proj" for part in "qkv"),
    "attn.to_out.0",
    "attn.to_add_out",
    "img_mod.1",
    "txt_mod.1",
    *(f"{kind}_mlp.net.{part}" for kind in ("img", "txt") for part in ("0.proj", "2")),
)
_SIGNATURE = Signature(
    title="Qwen-Image or one of its Edit models",
    tensors={
        "img_in.weight": (3072, 64),
        "txt_in.weight": (3072, 3584),
        "transformer_blocks.59.attn.to_q.weight": (3072, 3072),
    },
    absent=("transformer_blocks.60.",),
    prefixes=("", ALL_IN_ONE_PREFIX),
)


_CONTROLS = (
    "Every picture needs a control picture, or several: of the same name, in a folder control beside the pictures."
)


def _family(name: str, title: str, *, version: str, repository: str, file_name: str) -> Family:
    is_edit = version != "original"
    return Family(
        name=name,
        title=title,
        trainer=_TRAINER,
        version=("model_version", version),
        width=3072,
        dit_class="musubi_tuner.qwen_image.qwen_image_model.QwenImageTransformer2DModel",
        blocks=(Blocks(name="transformer_blocks", count=60, million_parameters=339.8, lora_leaves=_LEAVES),),
        files=(
            WeightFile(
                role="dit",
                title="transformer",
                repository=repository,
                path=f"split_files/diffusion_models/{file_name}",
                gib=38.1,
                uses=TRAINING,
                signature=_SIGNATURE,
                licence=APACHE,
            ),
            QWEN_IMAGE_AUTOENCODER,
            QWEN2_5_VL,
        ),
        defaults={
            "timestep_sampling": "shift",
            "weighting_scheme": "none",
            "discrete_flow_shift": 2.2,
            "learning_rate": 5e-5,
        },
        picture_options={"model_version": version},
        caption_options={"model_version": version},
        sample_guidance=4.0,
        # The engine shifts by 14.5 unless told to go by the size of the picture.
        sample_options={"discrete_flow_shift": None},
        sample_inputs="control picture" if is_edit else "prompt",
        trains_on="pictures with control pictures" if is_edit else "pictures",
        eight_bit_captions="fp8_vl",
        tokenizers=("Qwen/Qwen-Image-Edit" if is_edit else "Qwen/Qwen-Image",),
        traps=(
            "8-bit files (fp8_scaled, fp8_e4m3fn) do not load: the engine makes its own from the bf16 file.",
            *((_CONTROLS,) if is_edit else ()),
        ),
        comfy=ComfyLora(loads="as written"),
    )


_EDITS = "Comfy-Org/Qwen-Image-Edit_ComfyUI"
FAMILIES = (
    _family(
        "qwen-image",
        "Qwen-Image",
        version="original",
        repository="Comfy-Org/Qwen-Image_ComfyUI",
        file_name="qwen_image_bf16.safetensors",
    ),
    _family(
        "qwen-image-edit",
        "Qwen-Image-Edit",
        version="edit",
        repository=_EDITS,
        file_name="qwen_image_edit_bf16.safetensors",
    ),
    _family(
        "qwen-image-edit-2509",
        "Qwen-Image-Edit 2509",
        version="edit-2509",
        repository=_EDITS,
        file_name="qwen_image_edit_2509_bf16.safetensors",
    ),
    _family(
        "qwen-image-edit-2511",
        "Qwen-Image-Edit 2511",
        version="edit-2511",
        repository=_EDITS,
        file_name="qwen_image_edit_2511_bf16.safetensors",
    ),
)
