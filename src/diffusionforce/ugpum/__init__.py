"""UGPUM, unified GPU memory: how much of each card a training may use, and what a plan lacks. Plain Python."""

from diffusionforce.ugpum.budget import Budget, Shortfall, budgets, reserve_bytes, shortfalls

__all__ = ["Budget", "Shortfall", "budgets", "reserve_bytes", "shortfalls"]
