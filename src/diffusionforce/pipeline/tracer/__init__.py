"""How much memory a model needs, read from its own code on fake tensors."""
