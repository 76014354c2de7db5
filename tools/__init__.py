"""Programs for whoever works on DiffusionForce; nothing that is installed with it."""
