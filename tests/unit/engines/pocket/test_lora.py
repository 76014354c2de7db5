"""LoRA: nothing at first, trained, saved, loaded, taken off."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tests.support.pocket_models import TINY, tiny_text_encoder, tiny_transformer

from diffusionforce.engines.pocket.lora import Lora, LoraNotes, load_lora
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.errors import RunFolderError, WeightsError

NOTES = LoraNotes(trigger="Zorbo", step=12, profile_name="pocket-demo", dataset="zorbo", product_version="1.2.3")


def velocity(transformer: PocketTransformer) -> torch.Tensor:
    text = tiny_text_encoder().encode(["a red fox"])
    picture = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return transformer.velocity(picture, torch.tensor([0.5]), text)


def trained_lora(transformer: PocketTransformer) -> Lora:
    lora = Lora.attach(transformer, rank=3, alpha=6.0, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for matrix in lora.parameters():
            matrix.copy_(torch.randn(matrix.shape, generator=generator).to(torch.bfloat16))
    return lora


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "zorbo.safetensors"
    trained_lora(tiny_transformer()).save(path, NOTES)
    return path


def test_a_fresh_lora_changes_nothing() -> None:
    transformer = tiny_transformer()
    before = velocity(transformer)
    lora = Lora.attach(transformer, rank=2, alpha=2.0)
    assert torch.equal(velocity(transformer), before)
    assert len(lora.layers) == 4 * TINY.num_blocks


def test_only_the_lora_is_trained() -> None:
    transformer = tiny_transformer()
    lora = Lora.attach(transformer, rank=2, alpha=2.0)
    trained = {name for name, parameter in transformer.named_parameters() if parameter.requires_grad}
    assert len(trained) == len(lora.parameters())
    assert all(name.endswith(("lora_A", "lora_B")) for name in trained)


def test_the_lora_adds_its_scaled_product() -> None:
    transformer = tiny_transformer()
    lora = trained_lora(transformer)
    layer = lora.layers["blocks.1.mlp.down"]
    x = torch.randn(5, layer.base.in_features, generator=torch.Generator().manual_seed(3))
    expected = layer.base(x) + x @ layer.lora_A.T @ layer.lora_B.T * (6.0 / 3)
    assert torch.allclose(layer(x), expected, atol=1e-4)


def test_disabled_and_detached_leave_the_base_model() -> None:
    transformer = tiny_transformer()
    before = velocity(transformer)
    lora = trained_lora(transformer)
    assert not torch.allclose(velocity(transformer), before, atol=1e-3)
    with lora.disabled():
        assert torch.equal(velocity(transformer), before)
    assert not torch.allclose(velocity(transformer), before, atol=1e-3)
    lora.detach(transformer)
    assert torch.equal(velocity(transformer), before)
    assert {type(module).__name__ for module in transformer.modules()} & {"LoraLinear"} == set()


def test_dropout_works_in_training_only() -> None:
    transformer = tiny_transformer()
    lora = Lora.attach(transformer, rank=2, alpha=2.0, dropout=0.5)
    layer = lora.layers["blocks.0.attn.qkv"]
    torch.nn.init.normal_(layer.lora_B)
    x = torch.ones(4, layer.base.in_features)
    transformer.eval()
    assert torch.equal(layer(x), layer(x))
    transformer.train()
    assert not torch.equal(layer(x), layer(x))


def test_the_same_seed_gives_the_same_first_values() -> None:
    first, second = (Lora.attach(tiny_transformer(), rank=2, alpha=2.0, seed=9) for _ in range(2))
    for mine, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_saved_lora_is_loaded_again(saved: Path) -> None:
    trained, loaded = tiny_transformer(), tiny_transformer()
    trained_lora(trained)
    lora = load_lora(loaded, saved)
    assert (lora.rank, lora.alpha) == (3, 6.0)
    assert torch.equal(velocity(loaded), velocity(trained))


def test_the_file_has_the_names_that_other_tools_read(saved: Path) -> None:
    tensors = load_file(saved)
    prefix = "diffusion_model.blocks.0.attn.qkv"
    assert tensors[f"{prefix}.lora_A.weight"].shape == (3, TINY.width)
    assert tensors[f"{prefix}.lora_B.weight"].shape == (3 * TINY.width, 3)
    assert tensors[f"{prefix}.lora_A.weight"].dtype == torch.bfloat16
    assert tensors[f"{prefix}.alpha"].item() == 6.0
    assert len(tensors) == 3 * 4 * TINY.num_blocks


def test_the_file_says_what_it_is(saved: Path) -> None:
    with safe_open(saved, framework="pt") as file:
        metadata = file.metadata()
    assert metadata["model_family"] == "pocket"
    assert (metadata["rank"], metadata["alpha"], metadata["steps"]) == ("3", "6.0", "12")
    assert (metadata["trigger"], metadata["profile"], metadata["dataset"]) == ("Zorbo", "pocket-demo", "zorbo")
    assert metadata["product"] == "DiffusionForce 1.2.3"


def test_a_file_that_does_not_fit_leaves_the_model_as_it_was(saved: Path) -> None:
    with safe_open(saved, framework="pt") as file:
        metadata = file.metadata()
    tensors = load_file(saved)
    missing = "diffusion_model.blocks.2.mlp.down.lora_A.weight"
    del tensors[missing]
    tensors["diffusion_model.blocks.9.extra"] = torch.zeros(1)
    save_file(tensors, saved, metadata)
    transformer = tiny_transformer()
    before = velocity(transformer)
    with pytest.raises(WeightsError) as caught:
        load_lora(transformer, saved)
    assert missing in str(caught.value)
    assert "diffusion_model.blocks.9.extra" in str(caught.value)
    assert torch.equal(velocity(transformer), before)
    assert not any(parameter.requires_grad for parameter in transformer.parameters())


def test_a_lora_of_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wan.safetensors"
    save_file({"x": torch.zeros(1)}, path, {"model_family": "wan", "rank": "4", "alpha": "4"})
    with pytest.raises(WeightsError, match="is a LoRA of wan"):
        load_lora(tiny_transformer(), path)


@pytest.mark.parametrize("metadata", [{}, {"model_family": "pocket", "rank": "0", "alpha": "1"}])
def test_a_file_that_is_no_lora_is_refused(tmp_path: Path, metadata: dict[str, str]) -> None:
    path = tmp_path / "some.safetensors"
    save_file({"x": torch.zeros(1)}, path, metadata)
    with pytest.raises(WeightsError, match="does not say that it is a LoRA"):
        load_lora(tiny_transformer(), path)


def test_a_damaged_or_missing_file_is_refused(saved: Path, tmp_path: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:-5])
    with pytest.raises(WeightsError, match="damaged or cut short"):
        load_lora(tiny_transformer(), saved)
    with pytest.raises(WeightsError, match="There is no LoRA file"):
        load_lora(tiny_transformer(), tmp_path / "none.safetensors")


def test_a_refused_write_keeps_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def refuse(descriptor: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(RunFolderError, match="not writable"):
        trained_lora(tiny_transformer()).save(saved, NOTES)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
