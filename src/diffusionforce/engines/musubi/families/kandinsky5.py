"""Kandinsky 5: text or one picture to video; the large Pro models and the small Lite one."""

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
    CLIP_L,
    HUNYUAN_AUTOENCODER_SIGNATURE,
    PICTURES,
    QWEN2_5_VL_7B,
    TENCENT,
    TRAINING,
)

_TRAINER = Trainer(
    train="kandinsky5_train_network",
    cache_pictures="kandinsky5_cache_latents",
    cache_captions="kandinsky5_cache_text_encoder_outputs",
    trainer_class="Kandinsky5NetworkTrainer",
    network_module="networks.lora_kandinsky",
    architecture="kandinsky5",
)
_ATTENTION = ("to_query", "to_key", "to_value", "out_layer")
_FORWARD = ("feed_forward.in_layer", "feed_forward.out_layer")
_TEXT_LEAVES = (*(f"self_attention.{part}" for part in _ATTENTION), *_FORWARD)
_VISUAL_LEAVES = (
    *(f"{kind}_attention.{part}" for kind in ("self", "cross") for part in _ATTENTION),
    *_FORWARD,
)
_SHARED_FILES = (
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
    WeightFile(
        role="text_encoder_qwen",
        title="text encoder (Qwen2.5-VL 7B)",
        repository="Qwen/Qwen2.5-VL-7B-Instruct",
        path="*",
        gib=15.5,
        uses=CAPTIONS,
        signature=QWEN2_5_VL_7B,
        licence="Apache-2.0",
        is_folder=True,
    ),
    WeightFile(
        role="text_encoder_clip",
        title="text encoder (CLIP-L)",
        repository="openai/clip-vit-large-patch14",
        path="*",
        gib=1.6,
        uses=CAPTIONS,
        signature=CLIP_L,
        is_folder=True,
    ),
)


def _family(
    name: str,
    title: str,
    *,
    task: str,
    repository: str,
    file_name: str,
    gib: float,
    width: int,
    num_text: int,
    text: float,
    num_visual: int,
    visual: float,
) -> Family:
    dit = WeightFile(
        role="dit",
        title="transformer",
        repository=repository,
        path=f"model/{file_name}",
        gib=gib,
        uses=TRAINING,
        signature=Signature(
            title=f"Kandinsky 5 {'Pro' if width == 4096 else 'Lite'}",
            tensors={
                "text_embeddings.in_layer.weight": (width, 3584),
                f"visual_transformer_blocks.{num_visual - 1}.feed_forward.in_layer.weight": (width * 4, width),
            },
            prefixes=NO_PREFIX,
        ),
        licence="MIT",
    )
    return Family(
        name=name,
        title=title,
        trainer=_TRAINER,
        version=("task", task),
        width=width,
        dit_class="musubi_tuner.kandinsky5.models.dit.DiffusionTransformer3D",
        blocks=(
            Blocks(name="text_transformer_blocks", count=num_text, million_parameters=text, lora_leaves=_TEXT_LEAVES),
            Blocks(
                name="visual_transformer_blocks",
                count=num_visual,
                million_parameters=visual,
                lora_leaves=_VISUAL_LEAVES,
            ),
        ),
        files=(dit, *_SHARED_FILES),
        defaults={
            "timestep_sampling": "shift",
            "discrete_flow_shift": 5.0,
            "learning_rate": 1e-4,
            "scheduler_scale": 10.0,
        },
        sample_steps=50,
        guidance_key="guidance_scale",
        sample_guidance=5.0,
        sample_inputs="picture" if "i2v" in task else "prompt",
        makes="videos",
        tokenizers=("Qwen/Qwen2.5-VL-7B-Instruct", "openai/clip-vit-large-patch14"),
        # The autoencoder is HunyuanVideo's; its weights are under their terms.
        licence_folders=("hunyuan_model",),
        traps=(
            "The two text encoders are whole folders, not single files.",
            "fp8_base without fp8_scaled is made fp8_scaled by the engine.",
            "offload_dit_during_sampling moves the whole model and undoes a placement on several cards.",
        ),
        comfy=ComfyLora(loads="as written", words="Taken from ComfyUI's list of names; not tried."),
    )


_HUB = "kandinskylab/Kandinsky-5.0"
FAMILIES = (
    _family(
        "kandinsky5-pro-t2v",
        "Kandinsky 5 Pro T2V",
        task="k5-pro-t2v-5s-sd",
        repository=f"{_HUB}-T2V-Pro-pretrain-5s",
        file_name="kandinsky5pro_t2v_pretrain_5s.safetensors",
        gib=36.0,
        width=4096,
        num_text=4,
        text=226.5,
        num_visual=60,
        visual=306.3,
    ),
    _family(
        "kandinsky5-pro-i2v",
        "Kandinsky 5 Pro I2V",
        task="k5-pro-i2v-5s-sd",
        repository=f"{_HUB}-I2V-Pro-sft-5s",
        file_name="kandinsky5pro_i2v_sft_5s.safetensors",
        gib=36.0,
        width=4096,
        num_text=4,
        text=226.5,
        num_visual=60,
        visual=306.3,
    ),
    _family(
        "kandinsky5-lite-t2v",
        "Kandinsky 5 Lite T2V",
        task="k5-lite-t2v-5s-sd",
        repository=f"{_HUB}-T2V-Lite-sft-5s",
        file_name="kandinsky5lite_t2v_sft_5s.safetensors",
        gib=3.8,
        width=1792,
        num_text=2,
        text=44.1,
        num_visual=32,
        visual=59.7,
    ),
)
