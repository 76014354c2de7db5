"""What the engine's programs run beside the transformer, traced: on pictures, on captions, on finished samples."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from diffusionforce.engines.musubi.traced.autoencoders import AUTOENCODERS
from diffusionforce.engines.musubi.traced.encoders import IMAGE_ENCODERS, TEXT_ENCODERS
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.pipeline.tracer.trace import trace_call


def trace_of(values: Mapping[str, Any], *, source: Path) -> CallTrace:
    """Trace one call.

    Args:
        values: What is called on what, as `engines.musubi.side_models` names it.
        source: The engine's folder on the import path.
    """
    given = {name: value for name, value in values.items() if name != "of"}
    found = {"pictures": _pictures, "captions": _captions, "decoding": _decoding}[values["of"]](given, source)
    share = AUTOENCODERS[values["autoencoder"]].convolutions_share if "autoencoder" in values else 0.0
    return replace(found, peak_bytes=round(found.peak_bytes * (1 + share)))


def _pictures(values: dict[str, Any], source: Path) -> CallTrace:
    """The autoencoder on a picture or clip, and the image encoder on what was made of it."""
    autoencoder = AUTOENCODERS[values.pop("autoencoder")]
    reads_twice, reader = values.pop("reads_twice"), IMAGE_ENCODERS.get(values.pop("image_encoder"))

    def make() -> nn.Module:
        readers = [reader.make(source)] if reader is not None else []
        return nn.ModuleList([autoencoder.make(source), *readers])

    def call(models: Any, pixels: torch.Tensor) -> Any:
        with autoencoder.as_called():
            found = [autoencoder.encode(models[0], pixels)]
            if reads_twice:
                found.append(autoencoder.encode(models[0], torch.empty_like(pixels)))
        if reader is not None:
            found.append(reader.call(models[1], reader.picture()))
        return found

    return trace_call(make, lambda _device: autoencoder.pixels_of(**values), call)


def _captions(values: dict[str, Any], source: Path) -> CallTrace:
    """Text encoders that are held together, one after another on a caption."""
    encoders = [TEXT_ENCODERS[name] for name in values["text_encoders"]]

    def call(models: Any, captions: list[torch.Tensor]) -> Any:
        pairs = zip(models, encoders, captions, strict=True)
        return [encoder.call(model, caption) for model, encoder, caption in pairs]

    return trace_call(
        lambda: nn.ModuleList(encoder.make(source) for encoder in encoders),
        lambda _device: [encoder.caption() for encoder in encoders],
        call,
    )


def _decoding(values: dict[str, Any], source: Path) -> CallTrace:
    """The autoencoder on a latent."""
    autoencoder = AUTOENCODERS[values.pop("autoencoder")]

    def call(model: Any, latent: torch.Tensor) -> Any:
        with autoencoder.as_called():
            return autoencoder.decode(model, latent)

    make = autoencoder.make_to_decode or autoencoder.make
    return trace_call(lambda: make(source), lambda _device: autoencoder.latent_of(**values), call)
