"""The engines that train: `pocket`, our own tiny model, and `musubi`, the real ones."""
