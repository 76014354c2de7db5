"""Kinds of files by the ending of their names, and sizes at which a picture is odd."""

PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".avif"})
CLIP_SUFFIXES = frozenset({".mp4", ".mov", ".webm", ".mkv", ".avi", ".m4v"})
CONVERTIBLE_SUFFIXES = frozenset({".gif"})
"""Pictures that are not trained on, and that Pillow reads, so that they can be saved as PNG."""
OTHER_MEDIA_SUFFIXES = frozenset({".gif", ".heic", ".heif", ".svg", ".psd", ".jxl"}) | CLIP_SUFFIXES
"""Pictures and clips that a model of pictures is not trained on; they are named instead of ignored."""
MIN_SIDE_PX = 64
"""Pictures whose shorter side has less teach blur."""
MAX_SIDE_RATIO = 4
"""Of pictures that are longer than this, most is cut off."""
