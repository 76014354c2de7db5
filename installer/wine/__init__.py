"""For trying the set-up program under Wine. Nothing of this folder is ever shipped, and `payload.py` looks for it."""
