"""The child process behind `diffusionforce engine`: does one thing to the engine and answers in JSON, a record a line.

Window and command line may not load engines; they start `python -m diffusionforce.engines.musubi.command` and read.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from diffusionforce.engines.musubi.installation import Installation, Stage, install
from diffusionforce.engines.musubi.manifest import read_manifest
from diffusionforce.engines.musubi.pin import Pin, engine_dir, read_pin
from diffusionforce.engines.musubi.verification import Differences, compare, read_stamp, verify
from diffusionforce.environment.application import find_application
from diffusionforce.errors import EngineError, UserError
from diffusionforce.runs import storage_error
from diffusionforce.wire import Failed, let_interrupts_through, to_json
from diffusionforce.wire.engine import EngineProgress, EngineStatus, EngineTerms

EXIT_OK, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
_REPORT_INTERVAL_S = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked, and return the exit code: 0, or 1 after `failed`, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["install", "status", "verify"])
    parser.add_argument("--from", dest="place", type=Path)
    options = parser.parse_args(arguments)
    try:
        let_interrupts_through()
        _send(_answer(options.action, options.place))
    except UserError as error:
        _send(Failed(sentence=error.sentence, hint=error.hint, detail=error.detail))
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_OK


def status(pin: Pin, *, installation: Installation | None = None) -> EngineStatus:
    """Return what there is of the engine.

    Args:
        pin: The pinned engine.
        installation: What an installation just came to, if there was one.

    Raises:
        UserError: The folder cannot be read.
    """
    folder, manifest = engine_dir(pin), read_manifest()
    differences = Differences()
    if folder.is_dir():
        try:
            differences, _ = compare(folder, manifest, stamp=read_stamp(folder))
        except OSError as error:
            raise storage_error(error, folder) from error
    return EngineStatus(
        name="Musubi Tuner",
        version=pin.version,
        commit=pin.commit,
        upstream=pin.upstream,
        licence=pin.licence,
        folder=str(folder),
        state="missing" if not folder.is_dir() else "damaged" if differences else "intact",
        outcome=installation.outcome if installation else "",
        num_files=len(manifest.files),
        size_bytes=manifest.size_bytes,
        modified=differences.modified + differences.line_ends,
        missing=differences.missing,
        extra=differences.extra,
        left_out=installation.left_out if installation else (),
        terms=tuple(
            EngineTerms(
                folder=terms.folder,
                licence=terms.licence,
                origin=terms.origin,
                url=terms.url,
                words=terms.words,
                models=terms.models,
            )
            for terms in pin.terms
        ),
    )


def _answer(action: str, place: Path | None) -> EngineStatus:
    pin = read_pin()
    if action == "install":
        return status(pin, installation=_installed(pin, place))
    if action == "verify":
        verify(pin, every_byte=True)
    return status(pin)


def _installed(pin: Pin, place: Path | None) -> Installation:
    """Install the engine: from where the user says, from the archive that the application brought, or from upstream."""
    archive = find_application().engine_archive if place is None else None
    if archive is not None:
        try:
            return install(pin, place=archive, report=_Reporter())
        except EngineError:
            pass  # Damaged, or of another version: what upstream has is verified in the same way.
    return install(pin, place=place, report=_Reporter())


class _Reporter:
    """Passes on how far it is, as often as an eye can follow, and the end of every stage."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, stage: Stage, done: int, total: int) -> None:
        if time.monotonic() >= self._next_s or done == total:
            self._next_s = time.monotonic() + _REPORT_INTERVAL_S
            _send(EngineProgress(stage=stage, done=done, total=total))


def _send(record: BaseModel) -> None:
    sys.stdout.buffer.write(to_json(record) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
