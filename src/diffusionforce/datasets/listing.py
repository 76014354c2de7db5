"""The files of a dataset folder by name, before anything is read of them."""

from pathlib import Path

from diffusionforce.errors import DatasetError

__all__ = ["folder_files", "is_utf8", "readable_path", "require_utf8"]


def folder_files(root: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of a folder in order of name, and those apart whose name is not UTF-8 text.

    Files whose name begins with a dot belong to the system, like the `._x.png` that macOS leaves, and are passed over.

    Raises:
        DatasetError: The folder is not there or cannot be read.
    """
    require_utf8(root)
    try:
        found = sorted(path for path in root.iterdir() if path.is_file() and not path.name.startswith("."))
    except FileNotFoundError:
        raise DatasetError(
            f"The dataset folder {root} is not there.", hint="Check the path. Was it moved or renamed?"
        ) from None
    except NotADirectoryError:
        raise DatasetError(f"{root} is a file, not a folder.", hint="Name the folder that it lies in.") from None
    except OSError as error:
        raise DatasetError(f"The dataset folder {root} cannot be read: {error.strerror}.") from error
    return [path for path in found if is_utf8(path)], [path for path in found if not is_utf8(path)]


def require_utf8(root: Path) -> None:
    """Refuse a folder whose path cannot be written to a file.

    Raises:
        DatasetError: Its path is not UTF-8 text.
    """
    if not is_utf8(root):
        raise DatasetError(
            f"The path of the dataset folder {readable_path(root)} is not UTF-8 text.", hint="Rename the folder."
        )


def is_utf8(path: Path) -> bool:
    """Tell whether a path can be written to a file; Python stands odd bytes of a name in for by half characters."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def readable_path(path: Path) -> str:
    return str(path).encode(errors="backslashreplace").decode()
