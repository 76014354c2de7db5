"""What `diffusionforce lora info` says of a file."""

from diffusionforce.cli import lora
from diffusionforce.wire.weights import LoraInfo

POCKET = LoraInfo(
    path="loranne.safetensors",
    size_bytes=1_238_000,
    algorithm="LoRA",
    precision="bf16",
    base_model="pocket",
    families=(),
    titles=(),
    num_expected=0,
    unknown_modules=(),
    step=300,
    comfy_lost=0,
    metadata={},
    ranks=(16,),
    alphas=(16,),
    num_modules=40,
    comfy="not known",
    comfy_words="The model that it is for is not known.",
)


def test_a_lora_of_the_pocket_model_is_called_that():
    # Symptom: "LoRA for pocket", and a line further "The model that it is for is not known."
    first, *rest = [line.plain for line in lora._lines(POCKET)]
    assert "LoRA for the pocket model" in first
    assert any("does not know the pocket model" in line for line in rest)
    assert not any("not known" in line for line in [first, *rest])
