"""LoRA on the linears of the blocks: put on, taken off, saved, loaded.

A linear with weights W gets a second path, x -> up(down(x)) * alpha / rank, which starts as nothing because `up`
starts at zero. Only the two small matrices are trained.

Files use the names that other tools read: `diffusion_model.blocks.0.attn.qkv.lora_A.weight` and `.lora_B.weight`,
with the scale in `.alpha`.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from diffusionforce.engines.pocket.files import FAMILY
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.errors import WeightsError
from diffusionforce.job import write_whole
from diffusionforce.runs import storage_error

KEY_PREFIX = "diffusion_model."
TARGETS = ("attn.qkv", "attn.proj", "mlp.gate_up", "mlp.down")
"""The linears of each block that get a LoRA."""
_LARGEST_RANK = 4096


class LoraLinear(nn.Module):
    """A frozen linear with a trained low-rank path beside it.

    Args:
        base: The linear. The LoRA's matrices are made on its device, float32.
        rank: Width of the path.
        alpha: The path's output is scaled by alpha / rank.
        dropout: Share of the path's inputs dropped while training.
        generator: On the CPU; the first values of `lora_A` come from it.
    """

    def __init__(self, base: nn.Linear, *, rank: int, alpha: float, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.dropout = dropout
        self.enabled = True
        device = base.weight.device
        bound = 1 / math.sqrt(base.in_features)
        down = torch.empty(rank, base.in_features).uniform_(-bound, bound, generator=generator)
        self.lora_A = nn.Parameter(down.to(device))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank, device=device))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        out = self.base(x)
        if not self.enabled:
            return out
        dropped = F.dropout(x, self.dropout, self.training) if self.dropout else x
        return out + F.linear(F.linear(dropped, self.lora_A), self.lora_B) * self.scale


@dataclass(frozen=True, kw_only=True)
class LoraNotes:
    """What a LoRA file says about itself, for people and for loaders."""

    trigger: str = ""
    step: int = 0
    profile_name: str = ""
    dataset: str = ""
    product_version: str = ""

    def as_metadata(self) -> dict[str, str]:
        """As strings, the only kind of value that safetensors metadata has."""
        return {
            "trigger": self.trigger,
            "steps": str(self.step),
            "profile": self.profile_name,
            "dataset": self.dataset,
            "product": f"DiffusionForce {self.product_version}".strip(),
        }


class Lora:
    """The LoRA of one transformer.

    Attributes:
        rank: Rank of every matrix pair.
        alpha: Scale numerator.
        layers: Name of each linear, for example `blocks.0.attn.qkv`, and its LoRA.
    """

    def __init__(self, layers: Mapping[str, LoraLinear], *, rank: int, alpha: float) -> None:
        self.layers = dict(layers)
        self.rank = rank
        self.alpha = alpha

    @classmethod
    def attach(
        cls, transformer: PocketTransformer, *, rank: int, alpha: float, dropout: float = 0.0, seed: int = 0
    ) -> "Lora":
        """Put a fresh LoRA, which changes nothing yet, on every target of every block.

        Place the blocks on their devices first: each LoRA is made where its linear is.

        Args:
            transformer: The frozen base model; changed in place.
            rank: Rank of every pair of matrices.
            alpha: Scale numerator.
            dropout: Share of inputs dropped while training.
            seed: Of the first values.
        """
        generator = torch.Generator().manual_seed(seed)
        layers: dict[str, LoraLinear] = {}
        for index, block in enumerate(transformer.blocks):
            for target in TARGETS:
                parent_name, _, name = target.rpartition(".")
                parent = block.get_submodule(parent_name)
                base = parent.get_submodule(name)
                assert isinstance(base, nn.Linear), f"blocks.{index}.{target} has a LoRA already"
                layer = LoraLinear(base, rank=rank, alpha=alpha, dropout=dropout, generator=generator)
                setattr(parent, name, layer)
                layers[f"blocks.{index}.{target}"] = layer
        return cls(layers, rank=rank, alpha=alpha)

    def detach(self, transformer: PocketTransformer) -> None:
        """Take the LoRA off again: the transformer is then as it was before `attach`."""
        for name, layer in self.layers.items():
            parent_name, _, own_name = name.rpartition(".")
            setattr(transformer.get_submodule(parent_name), own_name, layer.base)

    def parameters(self) -> list[nn.Parameter]:
        """All trained matrices, in the order of the layers."""
        return [matrix for _, matrix in self.named_matrices()]

    def named_matrices(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Name and value of all trained matrices, like `blocks.0.attn.qkv.lora_A`, in the order of the layers."""
        for name, layer in self.layers.items():
            yield f"{name}.lora_A", layer.lora_A
            yield f"{name}.lora_B", layer.lora_B

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Let the base model speak alone until the block ends."""
        for layer in self.layers.values():
            layer.enabled = False
        try:
            yield
        finally:
            for layer in self.layers.values():
                layer.enabled = True

    def tensors(self) -> dict[str, Tensor]:
        """What goes into a file: matrices as bfloat16 and scales, on the CPU."""
        tensors: dict[str, Tensor] = {}
        for name, layer in self.layers.items():
            tensors[f"{KEY_PREFIX}{name}.lora_A.weight"] = _stored(layer.lora_A)
            tensors[f"{KEY_PREFIX}{name}.lora_B.weight"] = _stored(layer.lora_B)
            tensors[f"{KEY_PREFIX}{name}.alpha"] = torch.tensor(self.alpha)
        return tensors

    def save(self, path: Path, notes: LoraNotes) -> int:
        """Write the LoRA file, whole or not at all.

        Args:
            path: Where to; an existing file is replaced.
            notes: What the file says about itself.

        Returns:
            Size of the file in bytes.

        Raises:
            UserError: The disk is full or refuses.
        """
        shape = {"model_family": FAMILY, "rank": str(self.rank), "alpha": str(self.alpha), "format": "pt"}
        content = save(self.tensors(), shape | notes.as_metadata())
        try:
            write_whole(path, content)
        except OSError as error:
            raise storage_error(error, path) from error
        return len(content)


def load_lora(transformer: PocketTransformer, path: Path) -> Lora:
    """Put a saved LoRA on a transformer that has none.

    Raises:
        WeightsError: The file is missing, damaged, or not a LoRA of the pocket model. The transformer is then
            unchanged.
    """
    tensors, metadata = _read(path)
    rank, alpha = _shape_of(path, metadata)
    lora = Lora.attach(transformer, rank=rank, alpha=alpha)
    try:
        _require_same_keys(path, lora.tensors(), tensors)
    except WeightsError:
        lora.detach(transformer)
        raise
    with torch.no_grad():
        for name, layer in lora.layers.items():
            layer.lora_A.copy_(tensors[f"{KEY_PREFIX}{name}.lora_A.weight"])
            layer.lora_B.copy_(tensors[f"{KEY_PREFIX}{name}.lora_B.weight"])
    return lora


def _stored(matrix: Tensor) -> Tensor:
    return matrix.detach().to("cpu", torch.bfloat16).contiguous()


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    if not path.is_file():
        raise WeightsError(f"There is no LoRA file {path}.", hint="Check the path.")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise WeightsError(
            f"The LoRA file {path} is damaged or cut short.", hint="Take an earlier checkpoint.", detail=str(error)
        ) from error


def _shape_of(path: Path, metadata: Mapping[str, str]) -> tuple[int, float]:
    """Rank and alpha as the metadata state them."""
    try:
        if metadata["model_family"] != FAMILY:
            raise WeightsError(
                f"{path} is a LoRA of {metadata['model_family']}, not of the pocket model.",
                hint="Choose a LoRA that was trained with a pocket profile.",
            )
        rank, alpha = int(metadata["rank"]), float(metadata["alpha"])
        if not 1 <= rank <= _LARGEST_RANK:
            raise ValueError(f"rank {rank}")
        return rank, alpha
    except (KeyError, ValueError) as error:
        raise WeightsError(
            f"{path} does not say that it is a LoRA of the pocket model.",
            hint="Choose a LoRA that was trained with a pocket profile.",
            detail=repr(error),
        ) from error


def _require_same_keys(path: Path, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    missing = sorted(expected.keys() - found.keys())
    unexpected = sorted(found.keys() - expected.keys())
    misshapen = sorted(name for name, tensor in expected.items() if name in found and found[name].shape != tensor.shape)
    if missing or unexpected or misshapen:
        named = [f"missing: {name}" for name in missing] + [f"not known: {name}" for name in unexpected]
        named += [f"of another shape: {name}" for name in misshapen]
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        raise WeightsError(
            f"{path} does not fit the pocket model ({'; '.join(named[:3])}{more}).",
            hint="Choose a LoRA that was trained with a pocket profile.",
            detail="\n".join(named),
        )
