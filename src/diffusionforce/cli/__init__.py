"""The command line, `diffusionforce`: starts the same trainer process as the window and never loads torch itself."""

from diffusionforce.cli.app import main

__all__ = ["main"]
