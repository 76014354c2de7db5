"""The gate for binaries of others: signed by whom we expect, or not taken.

Python for Windows comes out of a package that somebody else put together, so a pinned hash only says that it is the
same as last time. The signature says who built each binary. A signature that is there and does not hold stops the
build wherever it is; a missing one does so only where a signer is expected.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from installer.problems import BuildError

BINARIES = (".exe", ".dll", ".pyd")
PYTHON_SIGNERS = frozenset(
    {"Python Software Foundation", "Microsoft Corporation", "Microsoft Windows Software Compatibility Publisher"}
)
UV_SIGNERS = frozenset({"OpenAI OpCo, LLC", "Astral Software Inc."})
"""uv's makers were taken over, and its newer releases are signed by the new owner."""
QT_SIGNERS = frozenset({"The QT Company Oy", "The Qt Company Oy"})
OURS = frozenset({"DiffusionForce.exe"})


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a binary's signature says."""

    state: str
    """`valid`, `none`, or why it does not hold."""
    signer: str = ""
    """The common name of who signed, where a valid signature is there."""

    @property
    def words(self) -> str:
        """For the listing."""
        return (
            f"signed by {self.signer}" if self.state == "valid" else {"none": "not signed"}.get(self.state, self.state)
        )


def expected_signers(name: str) -> frozenset[str]:
    """Return who may have signed a file; empty where a signature is not asked for.

    Args:
        name: The file's path inside the payload, with slashes.
    """
    path = PurePosixPath(name)
    if path.name in OURS:
        return frozenset()
    if name == "uv.exe":
        return UV_SIGNERS
    if "site-packages" not in path.parts:
        return PYTHON_SIGNERS
    package = path.parts[path.parts.index("site-packages") + 1]
    return QT_SIGNERS if package in {"PySide6", "shiboken6"} else frozenset()


def read_signature(content: bytes) -> Signature:
    """Verify the signature inside a binary, up to a root that Microsoft trusts.

    signify is in the build's own environment only, so it is loaded when it is used.
    """
    signify: Any = importlib.import_module("signify.authenticode")
    opened = signify.AuthenticodeFile.from_stream(BytesIO(content))
    result, error = opened.explain_verify()
    if result.name == "NOT_SIGNED":
        return Signature(state="none")
    if result.name != "OK":
        return Signature(state=f"a signature that does not hold ({result.name}: {error})")
    signed = next(iter(opened.iter_embedded_signatures()))
    serial = signed.signer_info.serial_number
    (certificate,) = {one.subject.dn: one for one in signed.certificates if one.serial_number == serial}.values()
    return Signature(state="valid", signer=common_name(certificate.subject.dn))


def common_name(distinguished: str) -> str:
    r"""Return the common name of a text like `CN=OpenAI OpCo\, LLC, O=...`."""
    name = distinguished.partition("CN=")[2].replace("\\,", "\0").partition(",")[0]
    return name.replace("\0", ",")


def check(signatures: Mapping[str, Signature]) -> None:
    """Stop when a binary is not by whom it should be.

    Args:
        signatures: By path inside the payload.

    Raises:
        BuildError: At least one is not; all of them are named.
    """
    problems: list[str] = []
    for name, signature in sorted(signatures.items()):
        allowed = expected_signers(name)
        if signature.state not in {"valid", "none"} or (allowed and signature.signer not in allowed):
            problems.append(
                f"{name}: {signature.words}" + (f"; expected {' or '.join(sorted(allowed))}" if allowed else "")
            )
    if problems:
        raise BuildError("Binaries are not signed as they should be:\n  " + "\n  ".join(problems))


def signatures_of(payload: Path) -> dict[str, Signature]:
    """Return the signature of every binary in a folder, by path inside it, with slashes."""
    files = sorted(path for path in payload.rglob("*") if path.suffix.lower() in BINARIES)
    return {path.relative_to(payload).as_posix(): read_signature(path.read_bytes()) for path in files}
