"""The base weights on disk, and a model made from them or a sentence that says why not.

One safetensors file holds the transformer and the text encoder. Its metadata carry the sizes, so that a file of
another model is recognised before a tensor is read, and a file that was cut short by a full disk or a broken
download is told apart from one that is simply not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.files import FAMILY, shipped_weights
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.text import TextEncoder
from diffusionforce.errors import WeightsError

_TRANSFORMER = "transformer."
_TEXT_ENCODER = "text_encoder."
_GET_AGAIN = "Install DiffusionForce again to bring the file back."
_NAME_ANOTHER = (
    "Name another file under model.weights in the profile, or leave it empty to use the weights that come with "
    "DiffusionForce."
)


@dataclass(frozen=True, kw_only=True)
class PocketModel:
    """The base model: float32, on the CPU, frozen, in evaluation mode."""

    transformer: PocketTransformer
    text_encoder: TextEncoder


def load_base(path: Path | None = None) -> PocketModel:
    """Load the base model.

    Args:
        path: A weights file; None takes the one that comes with DiffusionForce.

    Raises:
        WeightsError: The file is missing, cut short, damaged, or of another model.
    """
    path = path or shipped_weights()
    config, tensors = _read(path)
    transformer, text_encoder = PocketTransformer(config), TextEncoder(config)
    parts: dict[str, nn.Module] = {_TRANSFORMER: transformer, _TEXT_ENCODER: text_encoder}
    _require_same_keys(path, parts, tensors)
    for prefix, module in parts.items():
        own = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
        module.load_state_dict(own)
        module.eval().requires_grad_(False)
    return PocketModel(transformer=transformer, text_encoder=text_encoder)


def encode_base(transformer: PocketTransformer, text_encoder: TextEncoder, *, notes: Mapping[str, str]) -> bytes:
    """The bytes of a weights file, bfloat16.

    Args:
        transformer: The trained transformer.
        text_encoder: The text encoder trained with it.
        notes: Further metadata, for people to read.
    """
    tensors: dict[str, Tensor] = {}
    for prefix, module in ((_TRANSFORMER, transformer), (_TEXT_ENCODER, text_encoder)):
        for name, value in module.state_dict().items():
            tensors[prefix + name] = value.detach().to("cpu", torch.bfloat16).contiguous()
    return save(tensors, {"family": FAMILY, "config": transformer.config.to_json(), **notes})


def check_weights(path: Path) -> PocketConfig:
    """Refuse a file that is plainly no pocket base, by its header alone; tensors are not read.

    Returns:
        The sizes of the model in it.

    Raises:
        WeightsError: The file is missing, cut short, or of another model.
    """
    try:
        with safe_open(_existing(path), framework="pt") as file:
            return _config_of(path, file.metadata())
    except (SafetensorError, OSError) as error:
        raise _damaged(path, error) from error


def _read(path: Path) -> tuple[PocketConfig, dict[str, Tensor]]:
    try:
        with safe_open(_existing(path), framework="pt") as file:
            config = _config_of(path, file.metadata())
            return config, {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118  (not a dict)
    except (SafetensorError, OSError) as error:
        raise _damaged(path, error) from error


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise WeightsError(f"The weights of the pocket model are missing: there is no file {path}.", hint=_hint(path))
    return path


def _hint(path: Path) -> str:
    """Say how to come by good weights: ours come with the program, others from whoever named them."""
    return _GET_AGAIN if path == shipped_weights() else _NAME_ANOTHER


def _config_of(path: Path, metadata: Mapping[str, str] | None) -> PocketConfig:
    if not metadata or metadata.get("family") != FAMILY or "config" not in metadata:
        raise WeightsError(f"{path} does not hold the pocket model.", hint=_hint(path))
    return PocketConfig.from_json(metadata["config"])


def _damaged(path: Path, error: Exception) -> WeightsError:
    return WeightsError(f"The weights in {path} are damaged or cut short.", hint=_hint(path), detail=str(error))


def _require_same_keys(path: Path, parts: Mapping[str, nn.Module], tensors: Mapping[str, Tensor]) -> None:
    expected = {
        prefix + name: value.shape for prefix, module in parts.items() for name, value in module.state_dict().items()
    }
    missing = sorted(expected.keys() - tensors.keys())
    unexpected = sorted(tensors.keys() - expected.keys())
    misshapen = sorted(
        f"{name} is {tuple(tensors[name].shape)}, not {tuple(shape)}"
        for name, shape in expected.items()
        if name in tensors and tensors[name].shape != shape
    )
    if missing or unexpected or misshapen:
        raise WeightsError(
            f"{path} does not fit the pocket model: {len(missing)} tensors are missing, {len(unexpected)} are not "
            f"known and {len(misshapen)} have another shape.",
            hint=_hint(path),
            detail=f"missing: {missing}\nunknown: {unexpected}\nshape: {misshapen}",
        )
