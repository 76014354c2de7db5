"""Runs a step by a schedule, through a model whose code knows nothing of it."""
