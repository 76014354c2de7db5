"""`diffusionforce bench pipeline`: ways to train a model on the cards that are here, side by side."""
