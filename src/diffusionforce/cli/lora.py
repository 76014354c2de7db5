"""`diffusionforce lora`: what a LoRA file is, whether ComfyUI loads all of it, and a file of which it does."""

import argparse
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from diffusionforce.cli.models import relay
from diffusionforce.cli.parsing import UsageError
from diffusionforce.cli.words import memory, printable
from diffusionforce.wire.weights import LoraInfo

EXIT_OK, EXIT_FAILED = 0, 1
_STYLES = {"loads": "green", "loses layers": "red", "does not load": "red", "not known": "yellow"}
_MAX_METADATA = 40
_POCKET = "pocket"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `lora` its commands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="say which model a LoRA is for, and whether ComfyUI loads it")
    info.add_argument("file", metavar="FILE", help="a .safetensors file")
    info.add_argument("--json", action="store_true", help="print one JSON record")
    info.set_defaults(execute=run)
    convert = actions.add_parser("convert", help="write a LoRA under the names that ComfyUI knows, if it needs others")
    convert.add_argument("file", metavar="FILE", help="a .safetensors file")
    convert.add_argument("target", metavar="TARGET", nargs="?", help="the file to write, instead of one beside it")
    convert.add_argument("--json", action="store_true", help="print one JSON record")
    convert.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Look at the file, or write another; exit code 1 if it cannot be read, or be converted."""
    for name in ("file", "target"):
        if getattr(options, name, None) is not None and not getattr(options, name).strip():
            raise UsageError(f"{name.upper()} is empty.", hint="Name a .safetensors file.")
    target = [options.target] if options.action == "convert" and options.target else []
    child_action = "convert" if options.action == "convert" else "lora"
    info = relay([child_action, "--", options.file, *target], as_json=options.json)
    if isinstance(info, LoraInfo) and not options.json:
        console = Console()
        for line in _lines(info):
            line.plain = printable(line.plain)  # Much of it stands in a file that somebody else made.
            console.print(line, soft_wrap=True)
    return EXIT_OK if isinstance(info, LoraInfo) else EXIT_FAILED


def _lines(info: LoraInfo) -> Iterator[Text]:
    """Say what it is, a sentence a line."""
    base = "the pocket model" if info.base_model == _POCKET else info.base_model
    for_model = ", ".join(info.titles) or base or "a model that is not known here"
    yield Text(f"{info.path}: {info.algorithm} for {for_model}, {memory(info.size_bytes)}, {info.precision}.", "bold")
    of_all = f" of {info.num_expected}" if info.num_expected else ""
    alphas = f", alpha {_joined(info.alphas)}" if info.alphas else ""
    yield Text(f"Rank {_joined(info.ranks) or 'not known'}{alphas}, {info.num_modules}{of_all} layers.")
    if info.step is not None:
        yield Text(f"Trained for {info.step:,} steps.")
    if info.unknown_modules:
        yield Text(f"Layers that the model does not have: {', '.join(info.unknown_modules)}.", "red")
    yield Text(_comfy_words(info), _STYLES[info.comfy])
    for name, value in list(info.metadata.items())[:_MAX_METADATA]:
        shown = value if len(value) <= 100 else f"{value[:100]}…"
        yield Text(f"  {name}: {shown}", "dim")


def _comfy_words(info: LoraInfo) -> str:
    if info.base_model == _POCKET:
        return "ComfyUI does not know the pocket model, which is there for trying things out."
    words = {
        "loads": "ComfyUI loads all of its layers.",
        "loses layers": f"ComfyUI passes over {info.comfy_lost} of its {info.num_modules} layers.",
        "does not load": "ComfyUI finds none of its layers.",
        "not known": "Whether ComfyUI loads it is not known.",
    }
    return f"{words[info.comfy]} {info.comfy_words}".strip()


def _joined(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
