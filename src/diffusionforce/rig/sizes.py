"""Sizes of memory and disks in the words that people buy them by."""

GIB = 1024**3


def in_gb(num_bytes: int) -> str:
    """Return a size as text like `15.7 GB`, in the gigabytes of 2^30 bytes that graphics cards are sold by."""
    size = num_bytes / GIB
    return f"{size:.0f} GB" if size >= 100 or abs(size - round(size)) < 0.05 else f"{size:.1f} GB"
