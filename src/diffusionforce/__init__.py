"""DiffusionForce: train a LoRA of a diffusion transformer over two graphics cards, in one process."""

__version__ = "0.1.0"
