"""Activation checkpointing for blocks in a pipeline, eagerly or as captured CUDA graphs."""
