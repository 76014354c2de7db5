"""Parts of the hooks that can be tried without the engine."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.support.virtual_devices import VirtualDevices, VirtualTensor, virtual_device
from torch import nn

from diffusionforce.errors import DeviceError, EngineError
from diffusionforce.hooks.musubi import wan_experts
from diffusionforce.hooks.musubi.autoencoder import Autoencoder, SettledAutoencoder
from diffusionforce.hooks.musubi.block_placement import place_transformer
from diffusionforce.hooks.musubi.kandinsky_samples import KandinskySamples
from diffusionforce.hooks.musubi.lora_placement import layer_of
from diffusionforce.hooks.musubi.wan_experts import exchange, move_to_locked_memory
from diffusionforce.pipeline.pager.store import PinnedMemory
from diffusionforce.pipeline.placement import even_placement


class Lora(nn.Module):
    """As the engine puts one on a layer: it takes the layer's forward over and keeps the old one."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.lora_name = "lora_unet_layer"
        self.org_forward = layer.forward
        layer.forward = self.forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.org_forward(x)


def test_a_lora_on_a_lora_finds_its_layer() -> None:
    layer = nn.Linear(2, 2)
    first = Lora(layer)
    assert layer_of(first) is layer
    assert layer_of(Lora(layer)) is layer, "the second keeps the forward of the first"


def test_a_lora_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(EngineError, match="lora_unet_x does not say"):
        layer_of(SimpleNamespace(lora_name="lora_unet_x"))


def test_blocks_that_live_in_ram_are_not_put_on_a_card_first() -> None:
    # A card that has no room for all of its blocks ran out of memory before the pager took some of them.
    model = nn.Module()
    model.blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    model.head = nn.Linear(2, 2)
    placement = even_placement(3, ["meta"])
    place_transformer(model, list(model.blocks), placement, paged={1})
    devices = [str(next(part.parameters()).device) for part in (*model.blocks, model.head)]
    assert devices == ["meta", "cpu", "meta", "meta"]
    with pytest.raises(DeviceError, match="is for 3 blocks, but the model has 2"):
        place_transformer(model, list(model.blocks)[:2], placement)


def test_experts_change_places_and_parameters_stay_themselves() -> None:
    model = nn.Linear(2, 2)
    model.register_buffer("scale", torch.ones(1))
    parameters = [id(one) for one in model.parameters()]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    other = {name: torch.full_like(value, 7.0) for name, value in before.items()}
    exchange(model, other)
    assert all(torch.equal(value, torch.full_like(value, 7.0)) for value in model.state_dict().values())
    assert all(torch.equal(other[name], before[name]) for name in before)
    exchange(model, other)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [id(one) for one in model.parameters()] == parameters


class Locks(PinnedMemory):
    def __init__(self) -> None:
        super().__init__(limit_bytes=0)
        self.asked: list[int] = []

    def lock(self, buffer: torch.Tensor) -> bool:
        self.asked.append(buffer.numel())
        return False


def test_what_waits_is_moved_to_locked_memory_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wan_experts, "_GROUP_BYTES", 1000)
    waiting = {
        "scale": torch.tensor(2.5, dtype=torch.bfloat16),
        "weight": torch.arange(300.0).view(20, 15).T,
        "eight": torch.ones(7, 3).to(torch.float8_e4m3fn),
        "none": torch.empty(0),
    }
    before = {name: value.clone() for name, value in waiting.items()}
    locks = Locks()
    move_to_locked_memory(waiting, locks)
    assert locks.asked == [256 + 1280, 256]
    for name, value in waiting.items():
        assert value.dtype == before[name].dtype and torch.equal(value.float(), before[name].float()), name


class Decoder:
    """Not a module, as one of the engine's is not."""

    def __init__(self) -> None:
        self.moved: list[Any] = []
        self.seen: list[tuple[torch.dtype, bool]] = []

    def to(self, device: Any) -> None:
        self.moved.append(device)

    def decode(self, latents: list[torch.Tensor]) -> list[torch.Tensor]:
        self.seen.append((latents[0].dtype, torch.is_autocast_enabled("cpu")))
        return latents


def test_an_autoencoder_comes_to_its_device_for_a_call_alone() -> None:
    inner, device = Decoder(), torch.device("meta")
    settled = SettledAutoencoder(inner, device, torch.bfloat16)
    (latents,) = settled.decode([torch.ones(1)])
    assert (latents.device, latents.dtype) == (device, torch.bfloat16)
    assert inner.moved == [torch.device("cpu"), device, torch.device("cpu")]


def test_an_autoencoder_stays_and_gets_what_it_can_take() -> None:
    # bfloat16 latents under autocast met float32 weights on the processor.
    inner, cpu = Decoder(), torch.device("cpu")
    settled = SettledAutoencoder(inner, cpu, torch.float32)
    assert settled.to("cuda") is settled
    with torch.autocast("cpu", torch.bfloat16):
        settled.decode([torch.ones(1, dtype=torch.bfloat16)])
    assert set(inner.moved) == {cpu}
    assert inner.seen == [(torch.float32, False)]
    assert settled.dtype is torch.float32


class FrameByFrameModel:
    """Keeps features between frames until it is told to clear them, as Wan's does."""

    def __init__(self) -> None:
        self.features: list[torch.Tensor] = []

    def clear_cache(self) -> None:
        self.features = []


class VideoDecoder(Decoder):
    def __init__(self) -> None:
        super().__init__()
        self.model = FrameByFrameModel()

    def decode(self, latents: list[torch.Tensor]) -> list[torch.Tensor]:
        self.model.features += latents
        raise torch.OutOfMemoryError


def test_a_video_autoencoder_that_ran_out_of_memory_keeps_none() -> None:
    inner = VideoDecoder()
    with pytest.raises(torch.OutOfMemoryError):
        SettledAutoencoder(inner, torch.device("cpu"), torch.float32).decode([torch.ones(1)])
    assert inner.model.features == []
    assert inner.moved[-1] == torch.device("cpu")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(2, 2)) for _ in range(4))
        self.scale = nn.Parameter(torch.ones(1))


def test_everything_outside_of_blocks_goes_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.__future__._swap_module_params_on_conversion", True)
    model, devices = Model(), (virtual_device(0), virtual_device(1))
    with VirtualDevices():
        place_transformer(model, list(model.blocks), even_placement(4, devices))
    assert all(isinstance(one, VirtualTensor) for one in model.parameters())
    where = {name: one.device.index for name, one in model.named_parameters()}
    assert where["scale"] == where["first.weight"] == where["blocks.0.0.weight"] == where["blocks.1.0.bias"] == 0
    assert where["blocks.2.0.weight"] == where["blocks.3.0.bias"] == 1


class Decodes(nn.Module):
    """An autoencoder with a part that trainers may call by itself."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.decoder = nn.Linear(4, 4, dtype=dtype)


@pytest.mark.parametrize("given", [torch.float16, torch.bfloat16])
def test_an_autoencoder_is_given_the_number_format_that_it_was_loaded_in(given: torch.dtype) -> None:
    # Symptom: trainers load some in a format of their own, whatever they are told, and samples failed on a processor.
    class Loads:
        def load_vae(self, args: Any, vae_dtype: Any, vae_path: str) -> nn.Module:
            return Decodes(given)

    trainer: Any = type("Trainer", (Autoencoder, Loads), {})()
    for device, expected in ((torch.device("cpu"), torch.float32), (torch.device("meta"), given)):
        trainer.assignment = SimpleNamespace(decoder_device=device, decoder_tiles=None)
        assert trainer.load_vae(None, torch.bfloat16, "").dtype is expected


def test_a_part_that_is_called_by_itself_comes_to_the_device_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    # Symptom: the decoder that Ideogram 4 calls by itself stayed in RAM while what it was given lay on a card.
    monkeypatch.setattr("torch.__future__._swap_module_params_on_conversion", True)
    with VirtualDevices():
        vae = SettledAutoencoder(Decodes(torch.float32), virtual_device(1), torch.float32)
        assert vae.decoder(torch.zeros(1, 4).to(virtual_device(0))).device == virtual_device(1)


class Encodes(Decodes):
    def encode(self, pixels: list[torch.Tensor]) -> list[torch.Tensor]:
        return [self.decoder(one) for one in pixels]


def test_latents_go_back_to_where_their_picture_was(monkeypatch: pytest.MonkeyPatch) -> None:
    # Symptom: a sample from a picture put its latents, still on the autoencoder's device, beside others on the first.
    monkeypatch.setattr("torch.__future__._swap_module_params_on_conversion", True)
    with VirtualDevices():
        vae = SettledAutoencoder(Encodes(torch.float32), virtual_device(1), torch.float32)
        (latents,) = vae.encode([torch.zeros(1, 4).to(virtual_device(0))])
        assert latents.device == virtual_device(0)


def test_kandinsky_is_not_decoded_in_float16() -> None:
    class Loads:
        def load_vae(self, args: Any, vae_dtype: Any, vae_path: str) -> None: ...

        def _load_vae_for_sampling(self, args: Any, device: torch.device) -> nn.Module:
            return nn.Linear(2, 2)

    trainer: Any = type("Trainer", (KandinskySamples, Loads), {})()
    for asked, made in ((torch.float16, torch.bfloat16), (torch.float32, torch.float32)):
        assert trainer.load_vae(None, asked, "").weight.dtype is made
