"""Building what people download: DiffusionForce for Windows, as a set-up program and as a zip.

`build.py` is the command. It runs on Linux, because everything that it needs is there: a compiler for Windows (mingw),
a maker of set-up programs (NSIS), and Wine to try the result. Nothing here is part of the product.
"""
