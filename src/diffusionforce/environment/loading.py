"""Loads the modules that are named, one after the other, and says of each that it comes next; and what PyTorch is for.

Run as a file by the environment's Python, whatever that has: the name before the end of the process is the one that
ended it.
"""

import importlib
import sys

PREFIX, CUDA_PREFIX = "loading ", "built for CUDA "


def main(names: list[str]) -> None:
    """Load modules by their names."""
    for name in names:
        sys.stdout.write(f"{PREFIX}{name}\n")
        sys.stdout.flush()
        module = importlib.import_module(name)
        if name == "torch":
            sys.stdout.write(f"{CUDA_PREFIX}{module.version.cuda or ''}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
