"""The models of the rows: their classes without contents, their small sizes, and what stands for a text encoder.

The engine is on the import path when any of this is called, in a process that does nothing else.
"""

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import nn

from diffusionforce.engines.musubi import families
from diffusionforce.engines.musubi.families import Family

TEXT_TOKENS = 512
_TINY_TOKENS = 16
_WAN_TEXT_WIDTH = 4096
_TINY_WAN = {"dim": 96, "ffn_dim": 192, "freq_dim": 64, "num_heads": 4, "text_len": _TINY_TOKENS}
_TINY_WAN_AUTOENCODER_WIDTH = 8
_TINY_FLUX2 = {"context_in_dim": 48, "hidden_size": 64, "num_heads": 2, "depth": 2, "axes_dim": [8, 8, 8, 8]}
_TINY_FLUX2_AUTOENCODER_WIDTH = 32


class Kind(Protocol):
    """The models of one script of the engine."""

    def shrink(self, version: str, num_blocks: int) -> None:
        """Make the engine's sizes small."""
        ...

    def transformer(self, version: str) -> nn.Module:
        """The transformer."""
        ...

    def autoencoder(self) -> nn.Module:
        """The autoencoder."""
        ...

    def replace_encoder(self) -> None:
        """Let something stand for the text encoder, which gives random numbers for a text, always the same."""
        ...


def looked_for(family: Family, role: str) -> Mapping[str, torch.Size]:
    """Tensors by which the product knows the file of a role; what is in them is never read."""
    file = next(one for one in family.files if one.role == role)
    assert file.signature is not None
    return {name: torch.Size(shape) for name, shape in file.signature.tensors.items()}


def _module(name: str) -> Any:
    return importlib.import_module(f"musubi_tuner.{name}")


def _said(text: str, *, num_tokens: int, width: int) -> torch.Tensor:
    """(num_tokens, width) fp32 in RAM, out of the text alone."""
    return torch.randn(num_tokens, width, generator=torch.Generator().manual_seed(sum(text.encode())))


class WanKind:
    """Wan 2.1 and 2.2."""

    def shrink(self, version: str, num_blocks: int) -> None:
        """Make the engine's sizes small."""
        configs = _module("wan.configs").WAN_CONFIGS
        configs[version].update(_TINY_WAN, num_layers=num_blocks)
        configs["t2v-14B"].update(text_len=_TINY_TOKENS)  # Captions are prepared by this one for all of them.
        autoencoder = _module("wan.modules.vae")
        usual = autoencoder._video_vae

        def small(*args: Any, **kwargs: Any) -> Any:
            return usual(*args, **kwargs, dim=_TINY_WAN_AUTOENCODER_WIDTH, num_res_blocks=1)

        autoencoder._video_vae = small

    def transformer(self, version: str) -> nn.Module:
        """The transformer."""
        config = _module("wan.configs").WAN_CONFIGS[version]
        names = ("dim", "ffn_dim", "freq_dim", "num_heads", "num_layers", "text_len", "in_dim", "out_dim", "eps")
        return _module("wan.modules.model").WanModel(
            model_type="t2v",
            model_version="2.2" if config.v2_2 else "2.1",
            attn_mode="torch",
            **{name: config[name] for name in names},
        )

    def autoencoder(self) -> nn.Module:
        """The autoencoder."""
        module = _module("wan.modules.vae")
        sizes: dict[str, Any] = {"z_dim": 16, "dim": 96, "dim_mult": [1, 2, 4, 4], "num_res_blocks": 2}
        if module._video_vae.__name__ == "small":
            sizes |= {"dim": _TINY_WAN_AUTOENCODER_WIDTH, "num_res_blocks": 1}
        return module.WanVAE_(**sizes, attn_scales=[], temperal_downsample=[False, True, True], dropout=0.0)

    def replace_encoder(self) -> None:
        """Let something stand for the text encoder."""

        class Encoder:
            def __init__(self, *, text_len: int, **_: Any) -> None:
                self._num_tokens = text_len // 2

            def __call__(self, texts: list[str], device: torch.device) -> list[torch.Tensor]:
                return [_said(text, num_tokens=self._num_tokens, width=_WAN_TEXT_WIDTH).to(device) for text in texts]

        for name in ("wan_train_network", "wan_cache_text_encoder_outputs"):
            _module(name).T5EncoderModel = Encoder


class Flux2Kind:
    """FLUX.2."""

    def shrink(self, version: str, num_blocks: int) -> None:
        """Make the engine's sizes small."""
        infos = _module("flux_2.flux2_utils").FLUX2_MODEL_INFO
        info = infos[version]
        sizes = {**_TINY_FLUX2, "depth_single_blocks": num_blocks - cast(int, _TINY_FLUX2["depth"])}
        infos[version] = dataclasses.replace(info, params=dataclasses.replace(info.params, **sizes))
        models = _module("flux_2.flux2_models")
        usual = models.AutoEncoderParams
        models.AutoEncoderParams = lambda: usual(ch=_TINY_FLUX2_AUTOENCODER_WIDTH)

    def transformer(self, version: str) -> nn.Module:
        """The transformer."""
        params = _module("flux_2.flux2_utils").FLUX2_MODEL_INFO[version].params
        return _module("flux_2.flux2_models").Flux2(params, "torch")

    def autoencoder(self) -> nn.Module:
        """The autoencoder."""
        models = _module("flux_2.flux2_models")
        return models.AutoEncoder(models.AutoEncoderParams())

    def replace_encoder(self) -> None:
        """Let something stand for the text encoder."""
        utils = _module("flux_2.flux2_utils")

        class Encoder:
            dtype = torch.bfloat16

            def __init__(self, width: int, device: Any) -> None:
                self._width, self._device = width, device

            def __call__(self, texts: list[str]) -> torch.Tensor:
                said = [_said(text, num_tokens=TEXT_TOKENS, width=self._width) for text in texts]
                return torch.stack(said).to(self._device, torch.bfloat16)

        def load(info: Any, path: str, dtype: Any, device: Any, **_: Any) -> Encoder:
            return Encoder(info.params.context_in_dim, device)

        utils.load_text_embedder = load


@dataclass(frozen=True, kw_only=True)
class Model:
    """A family, and how it is made here."""

    family: Family
    kind: Kind

    @property
    def version(self) -> str:
        """The engine's name of it."""
        assert self.family.version is not None
        return str(self.family.version[1])


_KINDS: Mapping[str, Callable[[], Kind]] = {"wan_train_network": WanKind, "flux_2_train_network": Flux2Kind}


def model_of(family_name: str) -> Model:
    """The model of a family."""
    family = families.find_family(family_name)
    return Model(family=family, kind=_KINDS[family.trainer.train]())


def shrink(model: Model, *, num_blocks: int) -> None:
    """Make a model small for this process: in the engine, and in what the product knows of its files."""
    model.kind.shrink(model.version, num_blocks)
    files = tuple(dataclasses.replace(file, signature=None) for file in model.family.files)
    known = cast(dict[str, Family], families.FAMILIES)
    known[model.family.name] = dataclasses.replace(model.family, files=files)
