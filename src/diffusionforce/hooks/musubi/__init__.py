"""The hooks on Musubi Tuner, one module for each assumption that it makes about the computer it runs on.

Most are overrides of its trainer class (`Seam`), written for the one revision that is installed. What a job needs of
them is in `catalogue`; `docs/hooks.md` is made from the same list.
"""
