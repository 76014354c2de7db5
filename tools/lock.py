"""Write the lock files: `python tools/lock.py` resolves pyproject.toml anew for every system and Python we support.

PyTorch is installed by itself: `torch.txt` holds its version, `runtime.txt` all else that the product needs (with what
PyTorch needs on any machine, but without the CUDA packages, which come with a CUDA build). `test.txt` has what the
checks need on top, `musubi.txt` what the engine for the real models does; `torchvision.txt` holds the version of its
library that has to be built like PyTorch. The hashes make an altered download an error.

`python tools/lock.py musubi` resolves only what is named anew, beside the runtime pins as they are.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from diffusionforce.environment.locked import blocks_of

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "locks"
# PyTorch, what only its CUDA builds need (those bring it themselves), and what is for browsers only.
LEFT_OUT = re.compile(r"^(torch==|torchvision==|nvidia-(?!ml-py)|cuda-|triton)|sys_platform == 'emscripten'")
EXTRAS = ("test", "musubi")
"""Of pyproject.toml, with a file each for what they add."""
# Needed by set-up itself: uv fetches the right PyTorch build, setuptools installs this package.
SETUP_TOOLS = ("setuptools>=77", "uv>=0.9")
HEADER = "# Made by tools/lock.py from pyproject.toml; do not edit.\n"


def main(arguments: Sequence[str]) -> int:
    """Resolve, and write the lock files.

    Args:
        arguments: The extras to resolve, beside the runtime pins as they are; none resolves everything.
    """
    if not arguments:
        _write("runtime.txt", resolve(extras=()))
    for extra in arguments or EXTRAS:
        _write(f"{extra}.txt", _on_top(extra))
    return 0


def _on_top(extra: str) -> dict[str, str]:
    """Return what an extra adds to the runtime pins, which it may not change."""
    runtime = LOCKS / "runtime.txt"
    known = blocks_of(runtime.read_text(encoding="utf-8"))
    found = resolve(extras=(extra,), constraints=runtime)
    # Needed on more systems than before, a package keeps its version and gets a second line.
    versions = {name.partition(" ;")[0] for name in found}
    changed = [name for name in known if name.partition(" ;")[0] not in versions]
    if changed:
        raise SystemExit(f"The extra {extra} changes runtime pins: {', '.join(changed)}")
    return {name: block for name, block in found.items() if name not in known}


def _write(name: str, pins: dict[str, str]) -> None:
    (LOCKS / name).write_text(HEADER + "".join(pins.values()), encoding="utf-8")
    sys.stdout.write(f"{name}: {len(pins)} pins\n")


def resolve(*, extras: tuple[str, ...], constraints: Path | None = None) -> dict[str, str]:
    """Return requirement lines with their hashes, keyed by the line's pin and marker.

    Args:
        extras: Extras of pyproject.toml to include.
        constraints: A lock file whose versions are taken where one of its packages is needed.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command += [argument for extra in extras for argument in ("--extra", extra)]
    command += ["--constraint", str(constraints)] if constraints is not None else []
    command += [str(ROOT / "pyproject.toml"), "-"]
    by_hand = [_pin("torch.txt"), *([_pin("torchvision.txt")] if "musubi" in extras else [])]
    wanted = "\n".join((*SETUP_TOOLS, *by_hand))
    output = subprocess.run(command, input=wanted, capture_output=True, text=True, check=False)
    if output.returncode != 0:
        raise SystemExit(output.stderr)
    return {pin: block for pin, block in blocks_of(output.stdout).items() if not LEFT_OUT.search(pin)}


def _pin(name: str) -> str:
    """Return the pin of a file that is kept by hand."""
    return (LOCKS / name).read_text(encoding="utf-8").splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
