"""A disk that fails, or a process that dies, at one chosen file operation.

Files are opened, written and moved by many libraries, and each operation may be the one at which the disk is full or
the process is killed. Here those of Python are counted in this process, and at a chosen one something happens. What
libraries do without Python, such as reading weights, is not seen.
"""

import builtins
import io
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

_PATH_OPERATIONS = (
    "open",
    "stat",
    "lstat",
    "mkdir",
    "rmdir",
    "unlink",
    "remove",
    "rename",
    "replace",
    "scandir",
    "listdir",
    "truncate",
    "utime",
    "chmod",
)
_READING = frozenset({"stat", "lstat", "scandir", "listdir", "read", "close"})


class Fault(BaseModel):
    """What is to happen, and when.

    Attributes:
        root: Only operations on what lies in here count.
        at: Number of the operation, from 1; 0 is never.
        error_number: What the system answers; None kills the process instead.
        stays: Whether everything that writes fails from then on, as on a full disk.
        only: Counts only operations on paths that contain this.
        site: Counts only operations that are recorded as this; empty counts all.
        record: Where a line is written for every operation, to know what there is; empty for nowhere.
    """

    root: str
    at: int = 0
    error_number: int | None = None
    stays: bool = False
    only: str = ""
    site: str = ""
    record: str = ""


class FaultyDisk:
    """Counts file operations, and lets one of them fail."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._count = 0
        self._has_failed = False
        self._record = os.open(fault.record, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if fault.record else None
        self._write = os.write
        self._half: Callable[[], object] = lambda: None

    def install(self) -> None:
        """Put this in the place of Python's own operations, for the rest of the process's life."""
        for name in _PATH_OPERATIONS:
            setattr(os, name, self._counted(name, getattr(os, name)))
        for name in ("write", "fsync", "read"):
            setattr(os, name, self._counted_on_descriptor(name, getattr(os, name)))
        disk, plain = self, io.FileIO

        class CountedFile(plain):
            def __init__(self, file: Any, mode: str = "r", closefd: bool = True, opener: Any = None) -> None:
                if not isinstance(file, int):
                    disk.note("open", file)
                super().__init__(file, mode, closefd, opener)

            def write(self, content: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
                disk.note("write", self.name, half=lambda: plain.write(self, bytes(content)[: len(content) // 2]))
                return super().write(content)

            def readall(self) -> bytes:
                disk.note("read", self.name)
                return super().readall()

            def readinto(self, buffer: Any) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride]
                disk.note("read", self.name)
                return super().readinto(buffer)

            def truncate(self, size: int | None = None) -> int:
                disk.note("truncate", self.name)
                return super().truncate(size)

        def opened(
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            closefd: bool = True,
            opener: Any = None,
        ) -> Any:
            if isinstance(file, int) or not disk.is_inside(file):
                return plain_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = CountedFile(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            if buffering == 0:
                return raw
            kind = (
                io.BufferedRandom if "+" in mode else io.BufferedWriter if set(mode) & set("wxa") else io.BufferedReader
            )
            buffered = kind(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        plain_open = builtins.open
        builtins.open = io.open = opened  # pyright: ignore[reportAttributeAccessIssue]
        io.FileIO = CountedFile  # pyright: ignore[reportAttributeAccessIssue]

    def is_inside(self, path: Any) -> bool:
        """Whether operations on a path count."""
        return self._absolute(path).startswith(self._fault.root)

    def note(self, operation: str, path: Any, *, half: Callable[[], object] = lambda: None) -> None:
        """Count an operation, and let it fail if its turn has come.

        Args:
            operation: Its name.
            path: What it is on: a path, or a descriptor.
            half: Does half of it, for what can be half done.

        Raises:
            OSError: It fails.
        """
        name = self._absolute(path)
        inside = name.removeprefix(self._fault.root)
        if not name.startswith(self._fault.root) or self._fault.only not in inside:
            return
        site = f"{operation} {site_of(inside)}"
        if self._fault.site not in {"", site} and not self._has_failed:
            return
        self._count += 1
        if self._record is not None:
            self._write(self._record, f"{site}\n".encode())
        goes_on = self._has_failed and self._fault.stays and operation not in _READING
        if self._count != self._fault.at and not goes_on:
            return
        self._has_failed = True
        half()
        if self._fault.error_number is None:
            os.kill(os.getpid(), signal.SIGKILL)
            return
        raise OSError(self._fault.error_number, os.strerror(self._fault.error_number), name)

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Any = ".", *rest: Any, **named: Any) -> Any:
            folder = named.get("dir_fd", named.get("src_dir_fd"))
            self.note(name, path if folder is None else f"{self._absolute(folder)}/{os.fspath(path)}")
            return function(path, *rest, **named)

        return counted

    def _counted_on_descriptor(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(descriptor: int, *rest: Any) -> Any:
            half = (lambda: function(descriptor, rest[0][: len(rest[0]) // 2])) if name == "write" else (lambda: None)
            self.note(name, descriptor, half=half)
            return function(descriptor, *rest)

        return counted

    def _absolute(self, path: Any) -> str:
        if isinstance(path, int):
            try:
                return _readlink(f"/proc/self/fd/{path}")
            except OSError:
                return ""
        try:
            text = os.fspath(path)
        except TypeError:
            return ""
        text = os.fsdecode(text)
        return text if text.startswith("/") else f"{Path.cwd()}/{text}"


_readlink = os.readlink


def site_of(path: str) -> str:
    """A path with what differs from run to run left out."""
    return re.sub(r"\d+", "#", re.sub(r"\.[0-9a-f]{8}\.part", ".part", path))


class Request(BaseModel):
    """What the fork server is asked for: a trainer process.

    Attributes:
        job_file: Its job.
        out: File for its standard output.
        err: File for its standard error.
        home: The data folder.
        fault: What is to happen to it.
    """

    kind: Literal["train"] = "train"
    job_file: Path
    out: Path
    err: Path
    home: Path
    fault: Fault | None = None
