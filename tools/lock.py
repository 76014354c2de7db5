"""Write the lock files: `python tools/lock.py` resolves pyproject.toml anew for every system and Python we support.

Three files, because PyTorch is installed by itself: `torch.txt` holds its version, `runtime.txt` all else that the
product needs (with what PyTorch needs on any machine, but without the CUDA packages, which come with a CUDA build),
`test.txt` what the checks need on top. The hashes make an altered download an error.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "locks"
# PyTorch, what only its CUDA builds need (those bring it themselves), and what is for browsers only.
LEFT_OUT = re.compile(r"^(torch==|nvidia-(?!ml-py)|cuda-|triton)|sys_platform == 'emscripten'")
# Needed by set-up itself: uv fetches the right PyTorch build, setuptools installs this package.
SETUP_TOOLS = ("setuptools>=77", "uv>=0.9")
HEADER = "# Made by tools/lock.py from pyproject.toml; do not edit.\n"


def main() -> int:
    """Resolve, and write the lock files."""
    torch = (LOCKS / "torch.txt").read_text(encoding="utf-8").splitlines()[-1]
    runtime = resolve(torch, extras=())
    test = resolve(torch, extras=("test",))
    (LOCKS / "runtime.txt").write_text(HEADER + "".join(runtime.values()), encoding="utf-8")
    added = {name: block for name, block in test.items() if name not in runtime}
    (LOCKS / "test.txt").write_text(HEADER + "".join(added.values()), encoding="utf-8")
    changed = [name for name in runtime if runtime[name] != test.get(name)]
    if changed:
        sys.stderr.write(f"The test tools change runtime pins: {', '.join(changed)}\n")
        return 1
    sys.stdout.write(f"{len(runtime)} runtime pins, {len(added)} more for tests\n")
    return 0


def resolve(torch: str, *, extras: tuple[str, ...]) -> dict[str, str]:
    """Return requirement lines with their hashes, keyed by the line's pin and marker.

    Args:
        torch: The pin of PyTorch, for example `torch==2.13.0`.
        extras: Extras of pyproject.toml to include.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    command += [argument for extra in extras for argument in ("--extra", extra)]
    command += [str(ROOT / "pyproject.toml"), "-"]
    wanted = "\n".join((*SETUP_TOOLS, torch))
    output = subprocess.run(command, input=wanted, capture_output=True, text=True, check=False)
    if output.returncode != 0:
        raise SystemExit(output.stderr)
    blocks = re.findall(r"^\S.*\n(?:[ \t].*\n)*", output.stdout, re.M)
    pins = {block.partition("\\")[0].strip(): block for block in blocks}
    return {pin: block for pin, block in pins.items() if not LEFT_OUT.search(pin)}


if __name__ == "__main__":
    sys.exit(main())
