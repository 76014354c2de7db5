"""Wan 2.1: text or one picture to video; Wan 2.2 A14B: the same, shared between two models of one shape."""

from diffusionforce.engines.musubi.families.record import (
    ALL_IN_ONE_PREFIX,
    Blocks,
    ComfyLora,
    Family,
    OptionValue,
    Signature,
    Trainer,
    Validated,
    WeightFile,
)
from diffusionforce.engines.musubi.families.shared import APACHE, PICTURES, T5_UMT5, TRAINING, WAN_AUTOENCODER

_TRAINER = Trainer(
    train="wan_train_network",
    cache_pictures="wan_cache_latents",
    cache_captions="wan_cache_text_encoder_outputs",
    trainer_class="WanNetworkTrainer",
    network_module="networks.lora_wan",
    architecture="wan",
)
_LEAVES = (
    *(f"{kind}_attn.{part}" for kind in ("self", "cross") for part in "qkvo"),
    "ffn.0",
    "ffn.2",
)
_IMAGE_LEAVES = ("cross_attn.k_img", "cross_attn.v_img")
_PREFIXES = ("", ALL_IN_ONE_PREFIX)
_COMFY = ComfyLora(loads="as written")
_REPOSITORY_2_1 = "Comfy-Org/Wan_2.1_ComfyUI_repackaged"
_REPOSITORY_2_2 = "Comfy-Org/Wan_2.2_ComfyUI_Repackaged"
_TOKENIZERS = ("Wan-AI/Wan2.1-T2V-14B",)
_FP8_SCALED = "Files that ComfyUI calls fp8_scaled do not load: take the fp16 or bf16 file."
_FOLLOWS_FILE = "Mixed precision has to be that of the file: a bf16 file trains in bf16, an fp16 file in fp16."
_CPU = "On a processor, bf16 weights do not train: the engine computes its time embedding in fp32 on cards only."


def _signature(
    title: str,
    *,
    width: int = 5120,
    inner: int = 13824,
    num_blocks: int = 40,
    channels: int = 16,
    absent: tuple[str, ...] = (),
    has_picture: bool = False,
) -> Signature:
    tensors = {
        "patch_embedding.weight": (width, channels, 1, 2, 2),
        f"blocks.{num_blocks - 1}.ffn.0.weight": (inner, width),
    }
    if has_picture:
        tensors["img_emb.proj.1.weight"] = (1280, 1280)
    return Signature(title=title, tensors=tensors, absent=(f"blocks.{num_blocks}.", *absent), prefixes=_PREFIXES)


_NO_PICTURE = ("img_emb.",)
_T2V_14B = _signature("Wan 2.1 or 2.2 T2V 14B", absent=_NO_PICTURE)
_I2V_A14B = _signature("Wan 2.2 I2V A14B", channels=36, absent=_NO_PICTURE)
_I2V_14B = _signature("Wan 2.1 I2V 14B", channels=36, has_picture=True)
_T2V_1_3B = _signature("Wan 2.1 T2V 1.3B", width=1536, inner=8960, num_blocks=30, absent=_NO_PICTURE)


def _dit(
    role: str,
    title: str,
    *,
    repository: str,
    name: str,
    gib: float,
    signature: Signature,
    other_names: tuple[str, ...] = (),
    optional: bool = False,
) -> WeightFile:
    return WeightFile(
        role=role,
        title=title,
        repository=repository,
        path=f"split_files/diffusion_models/{name}",
        gib=gib,
        uses=TRAINING,
        signature=signature,
        other_names=other_names,
        licence=APACHE,
        optional=optional,
    )


_CLIP = WeightFile(
    role="clip",
    title="image encoder (CLIP)",
    repository="Wan-AI/Wan2.1-I2V-14B-720P",
    path="models_clip_open-clip-xlm-roberta-large-vit-huge-14.pth",
    gib=4.4,
    uses=PICTURES,
    signature=Signature(
        title="CLIP image encoder of Wan 2.1",
        tensors={
            "visual.transformer.31.mlp.2.weight": (1280, 5120),
            "textual.token_embedding.weight": (250002, 1024),
        },
        prefixes=("",),
    ),
    licence=APACHE,
)
_BLOCKS_14B = (Blocks(name="blocks", count=40, million_parameters=351.4, lora_leaves=_LEAVES),)
_BLOCKS_I2V = (Blocks(name="blocks", count=40, million_parameters=403.8, lora_leaves=_LEAVES + _IMAGE_LEAVES),)
_BLOCKS_1_3B = (Blocks(name="blocks", count=30, million_parameters=46.4, lora_leaves=_LEAVES),)
_DEFAULTS: dict[str, OptionValue] = {"timestep_sampling": "shift", "discrete_flow_shift": 3.0, "learning_rate": 2e-4}


def _family(
    name: str,
    title: str,
    *,
    task: str,
    blocks: tuple[Blocks, ...],
    files: tuple[WeightFile, ...],
    defaults: dict[str, OptionValue],
    traps: tuple[str, ...] = (),
    from_picture: bool = False,
    sample_guidance: float = 5.0,
    sample_steps: int = 20,
    sample_shift: float = 5.0,
    validated: Validated = "trained tiny on two devices",
) -> Family:
    return Family(
        name=name,
        title=title,
        trainer=_TRAINER,
        version=("task", task),
        width=1536 if blocks is _BLOCKS_1_3B else 5120,
        dit_class="musubi_tuner.wan.modules.model.WanModel",
        blocks=blocks,
        files=(*files, WAN_AUTOENCODER, T5_UMT5),
        defaults=defaults,
        picture_options={"i2v": True} if from_picture else {},
        sample_steps=sample_steps,
        sample_guidance=sample_guidance,
        sample_options={"discrete_flow_shift": sample_shift},
        sample_inputs="picture" if from_picture else "prompt",
        makes="videos",
        eight_bit_captions="fp8_t5",
        keeps_precision=True,
        # Its attention to the picture writes into what backward needs, unless activations are recomputed.
        needs_checkpointing=blocks is _BLOCKS_I2V,
        tokenizers=_TOKENIZERS,
        validated=validated,
        traps=(_FOLLOWS_FILE, _FP8_SCALED, _CPU, *traps),
        comfy=_COMFY,
    )


def _wan_2_2(
    name: str,
    title: str,
    *,
    task: str,
    letters: str,
    signature: Signature,
    shift: float,
    boundary: int,
    guidance: float,
    from_picture: bool,
) -> Family:
    """`boundary`: timestep, of 1000, above which the high-noise model works."""
    dits = tuple(
        _dit(
            role,
            f"transformer, {noise} noise",
            repository=_REPOSITORY_2_2,
            name=f"wan2.2_{letters}_{noise}_noise_14B_fp16.safetensors",
            gib=26.6,
            signature=signature,
            other_names=(f"wan2.2_{letters}_{noise}_noise_14B_bf16.safetensors",),
        )
        for role, noise in (("dit", "low"), ("dit_high_noise", "high"))
    )
    defaults: dict[str, OptionValue] = {
        **_DEFAULTS,
        "discrete_flow_shift": shift,
        "timestep_boundary": boundary,
        "force_v2_1_time_embedding": True,
    }
    return _family(
        name,
        title,
        task=task,
        blocks=_BLOCKS_14B,
        files=dits,
        defaults=defaults,
        traps=(
            "dit is the low-noise model and dit_high_noise the high-noise one; their files look alike from inside.",
            "timestep_boundary is a whole number of 1000 steps: 875, not 0.875.",
            "offload_inactive_dit moves whole models and undoes a placement on several cards.",
            "The autoencoder is that of Wan 2.1; Wan2.2_VAE.pth belongs to the 5B model.",
            "Samples are made with the low-noise model only.",
        ),
        from_picture=from_picture,
        sample_guidance=guidance,
        sample_shift=shift,
    )


FAMILIES = (
    _family(
        "wan2.1-t2v-14b",
        "Wan 2.1 T2V 14B",
        task="t2v-14B",
        blocks=_BLOCKS_14B,
        files=(
            _dit(
                "dit",
                "transformer",
                repository=_REPOSITORY_2_1,
                name="wan2.1_t2v_14B_bf16.safetensors",
                gib=26.6,
                signature=_T2V_14B,
                other_names=("wan2.1_t2v_14B_fp16.safetensors",),
            ),
        ),
        defaults=_DEFAULTS,
        validated="trained in full size on two cards",
    ),
    _family(
        "wan2.1-t2v-1.3b",
        "Wan 2.1 T2V 1.3B",
        task="t2v-1.3B",
        blocks=_BLOCKS_1_3B,
        files=(
            _dit(
                "dit",
                "transformer",
                repository=_REPOSITORY_2_1,
                name="wan2.1_t2v_1.3B_bf16.safetensors",
                gib=2.7,
                signature=_T2V_1_3B,
                other_names=("wan2.1_t2v_1.3B_fp16.safetensors",),
            ),
        ),
        defaults=_DEFAULTS,
    ),
    _family(
        "wan2.1-i2v-14b",
        "Wan 2.1 I2V 14B",
        task="i2v-14B",
        blocks=_BLOCKS_I2V,
        files=(
            _dit(
                "dit",
                "transformer",
                repository=_REPOSITORY_2_1,
                name="wan2.1_i2v_720p_14B_bf16.safetensors",
                gib=30.5,
                signature=_I2V_14B,
                other_names=(
                    "wan2.1_i2v_720p_14B_fp16.safetensors",
                    "wan2.1_i2v_480p_14B_bf16.safetensors",
                    "wan2.1_i2v_480p_14B_fp16.safetensors",
                ),
            ),
            _CLIP,
        ),
        defaults=_DEFAULTS,
        traps=("Samples start from a picture, which the prompt has to name.",),
        from_picture=True,
    ),
    _wan_2_2(
        "wan2.2-t2v-a14b",
        "Wan 2.2 T2V A14B",
        task="t2v-A14B",
        letters="t2v",
        signature=_T2V_14B,
        shift=12.0,
        boundary=875,
        guidance=4.0,
        from_picture=False,
    ),
    _wan_2_2(
        "wan2.2-i2v-a14b",
        "Wan 2.2 I2V A14B",
        task="i2v-A14B",
        letters="i2v",
        signature=_I2V_A14B,
        shift=5.0,
        boundary=900,
        guidance=3.5,
        from_picture=True,
    ),
)
