"""10: the autoencoder of samples rests in RAM, and works on a device of its own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from diffusionforce.hooks.musubi.tiles import Tiles
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer, method
from diffusionforce.hooks.seam import Seam
from diffusionforce.pipeline.nesting import list_tensors, map_tensors

_ENCODES = ("encode", "encode_pixels_to_latents")
_DECODES = ("decode", "decode_to_pixels", "decoder")
"""What trainers call; that of Ideogram 4 calls a part of it."""


class Autoencoder(EngineTrainer):
    """Puts something between the trainer, which moves the autoencoder to and fro, and the autoencoder."""

    def load_vae(self, args: Any, vae_dtype: Any, vae_path: str) -> Any:
        """Load it; a processor decodes in float32, which the autocast of a card does not reach."""
        device = self.assignment.decoder_device
        dtype = torch.float32 if device.type == "cpu" else vae_dtype
        inner = super().load_vae(args, vae_dtype=dtype, vae_path=vae_path)
        if device.type == "cpu":
            inner.to(torch.float32)
        return SettledAutoencoder(inner, device, _format_of(inner), tiles=self.assignment.decoder_tiles)


class SettledAutoencoder:
    """An autoencoder that rests in RAM and works on one device, to which it brings what it is given.

    Latents go back to where their pixels were, because trainers put them beside others there. Decoded pixels stay: they
    are large, and go to RAM from here.

    Args:
        inner: The engine's; not all families' are modules.
        device: Where it works.
        dtype: Number format of its weights.
        tiles: In which it works; None works on the whole.
    """

    def __init__(self, inner: Any, device: torch.device, dtype: torch.dtype, *, tiles: Tiles | None = None) -> None:
        self._inner = inner
        self._tiles = tiles
        self.dtype = dtype
        self.device = device
        inner.to(torch.device("cpu"))

    def to(self, *args: Any, **kwargs: Any) -> "SettledAutoencoder":
        """Stay."""
        return self

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        tiles = self._tiles
        if name in _ENCODES:
            return self._returned(self._brought(partial(tiles.encode, found) if tiles is not None else found))
        if name in _DECODES:
            return self._brought(partial(tiles.decode, found) if tiles is not None else found)
        return found

    def _returned(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            device = list_tensors((args, kwargs))[0].device
            return map_tensors(function(*args, **kwargs), lambda tensor: tensor.to(device))

        return call

    def _brought(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = map_tensors((args, kwargs), self._here)
            self._inner.to(self.device)
            try:
                with torch.autocast("cpu", enabled=False):
                    return function(*args, **kwargs)
            except BaseException:
                self._forget_features()
                raise
            finally:
                self._inner.to(torch.device("cpu"))

        return call

    def _forget_features(self) -> None:
        """Let go what a call that failed half-way had kept for its next frames.

        Video autoencoders keep features of one frame for the next, and let them go when a call begins or ends:
        gigabytes would stay on the card, which the training does not have.
        """
        for holder in (self._inner, getattr(self._inner, "model", None)):
            clear_cache = getattr(holder, "clear_cache", None)
            if callable(clear_cache):
                clear_cache()

    def _here(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self.device, self.dtype) if tensor.is_floating_point() else tensor.to(self.device)


def _format_of(inner: Any) -> torch.dtype:
    """Number format of its weights: several trainers load it in one of their own, whatever they are told."""
    return inner.dtype if hasattr(inner, "dtype") else next(inner.parameters()).dtype


HOOK = Seam(
    number=10,
    name="autoencoder",
    overrides=(
        method("load_vae", "a5cd2accf86338624305324e01290235a94e7aa535dea4dc58f90a38a978a59e"),
        method("_prepare_sampling", "cdfd1b1f9c793826c0f419c1d798cda1d6821ccbe976a91adba350b62fbc404b"),
    ),
    reason="The autoencoder comes to the training device for every sample.",
    prevents="Beside the blocks that train there the first card has no room for it; on a processor it fails, because "
    "its weights are bfloat16 and what it gets is not.",
    upstream_revision=REVISION,
    mixin=Autoencoder,
)
