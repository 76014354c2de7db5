"""The models that Musubi Tuner can train and that we have a profile for, with the files that each needs."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """One file, or set of files, of a model.

    Attributes:
        role: What it is in the model.
        name: File name as its publisher has it.
        repository: Repository on Hugging Face that has it.
        gib: Rough size in units of 2^30 bytes, for people.
    """

    role: str
    name: str
    repository: str
    gib: float

    def __str__(self) -> str:
        return f"{self.role}: {self.name} from {self.repository} (about {self.gib:g} GB)"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model that Musubi Tuner can train.

    Attributes:
        title: Name that people read.
        files: What has to be downloaded, from Hugging Face, under the terms of the publisher.
    """

    title: str
    files: tuple[ModelFile, ...]


_FLUX2_AUTOENCODER = ModelFile(
    role="autoencoder", name="ae.safetensors", repository="black-forest-labs/FLUX.2-dev", gib=0.3
)

# Keyed by `model.family` of a profile.
MODELS: dict[str, Model] = {
    "flux2-klein-base-9b": Model(
        title="FLUX.2 Klein Base 9B",
        files=(
            ModelFile(
                role="DiT",
                name="flux2-klein-base-9b.safetensors",
                repository="black-forest-labs/FLUX.2-klein-base-9B",
                gib=16.9,
            ),
            _FLUX2_AUTOENCODER,
            ModelFile(
                role="text encoder (Qwen3 8B)",
                name="the four split files of the text encoder",
                repository="black-forest-labs/FLUX.2-klein-9B",
                gib=15,
            ),
        ),
    ),
    "wan2.1-t2v-14b": Model(
        title="Wan 2.1 T2V 14B",
        files=(
            ModelFile(
                role="DiT",
                name="wan2.1_t2v_14B_bf16.safetensors",
                repository="Comfy-Org/Wan_2.1_ComfyUI_repackaged, folder split_files/diffusion_models",
                gib=26.6,
            ),
            ModelFile(
                role="autoencoder",
                name="wan_2.1_vae.safetensors",
                repository="Comfy-Org/Wan_2.1_ComfyUI_repackaged, folder split_files/vae",
                gib=0.3,
            ),
            ModelFile(
                role="text encoder (UMT5 XXL)",
                name="models_t5_umt5-xxl-enc-bf16.pth",
                repository="Wan-AI/Wan2.1-I2V-14B-720P",
                gib=11,
            ),
        ),
    ),
}
