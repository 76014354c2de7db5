"""Split + swap: blocks that stay in RAM and are brought in ahead of their turn."""
