"""`python -m diffusionforce`: the command line where the `diffusionforce` program is not on the path."""

import sys

from diffusionforce.cli import main

if __name__ == "__main__":
    sys.exit(main())
