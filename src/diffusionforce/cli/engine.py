"""`diffusionforce engine`: install, look at and verify the engine for the real models.

A child process does it, because the command line loads no engine; here its records become words.
"""

import argparse
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from diffusionforce.cli.answers import answer_lines
from diffusionforce.cli.output import write_bytes
from diffusionforce.cli.words import memory
from diffusionforce.errors import UserError
from diffusionforce.wire import Failed
from diffusionforce.wire.engine import EngineProgress, EngineRecord, EngineStatus, read_engine_record

EXIT_OK, EXIT_FAILED = 0, 1
_CHILD = "diffusionforce.engines.musubi.command"
_OUTCOMES = {
    "installed": "Installed.",
    "repaired": "Repaired: it was damaged.",
    "was there": "It is installed already; nothing to do.",
}


class EngineRefusalError(UserError):
    """What the child process refused."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `engine` its commands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    install = actions.add_parser("install", help="bring the engine here, or repair it")
    install.add_argument("--from", dest="place", metavar="PLACE", help="a zip, folder or git directory that has it")
    status = actions.add_parser("status", help="say whether it is here, and under which terms it may be used")
    verify = actions.add_parser("verify", help="compare every byte of it with what was pinned")
    for action in (install, status, verify):
        action.add_argument("--json", action="store_true", help="print one JSON record a line")
        action.set_defaults(execute=run, place=None)


def run(options: argparse.Namespace) -> int:
    """Let the child do it and show what it says; exit code 1 if the engine is not right."""
    _check_place(options.place)
    arguments = [options.action, *([f"--from={options.place}"] if options.place is not None else [])]
    last: EngineRecord | None = None
    for line in answer_lines(_CHILD, arguments):
        last = read_engine_record(line)
        if options.json:
            write_bytes(line)
        elif isinstance(last, EngineProgress):
            _show_progress(last)
    if isinstance(last, Failed) and not options.json:
        raise EngineRefusalError(last.sentence, hint=last.hint, detail=last.detail)
    if isinstance(last, EngineStatus) and not options.json:
        _show(last, action=options.action)
    return EXIT_OK if isinstance(last, EngineStatus) and last.state == "intact" else EXIT_FAILED


def _check_place(place: str | None) -> None:
    if place is None:
        return
    if not place.strip():
        raise EngineRefusalError("--from is empty.", hint="Name a zip, a folder or a git directory.")
    if "://" in place:
        raise EngineRefusalError(
            "--from is an address, and takes what is on this computer.",
            hint="Download it, and give the file; or leave --from out.",
        )


def _show_progress(progress: EngineProgress) -> None:
    if not sys.stderr.isatty():
        return
    if progress.stage == "files":
        words = f"{progress.done} of {progress.total} files"
    else:
        words = f"{memory(progress.done)} downloaded"
    sys.stderr.write(f"\r{words:<40}" + ("\n" if progress.stage == "files" and progress.done == progress.total else ""))
    sys.stderr.flush()


def _show(status: EngineStatus, *, action: str) -> None:
    console = Console()
    for line in _lines(status, action=action):
        console.print(line, soft_wrap=True)


def _lines(status: EngineStatus, *, action: str) -> Iterator[Text]:
    """Say what there is, a sentence a line, and under which terms."""
    styles = {"intact": "green", "damaged": "red", "missing": "yellow"}
    engine = f"{status.name} {status.version} ({status.upstream} at {status.commit[:12]})"
    if status.outcome:
        yield Text(_OUTCOMES[status.outcome])
    if status.state == "missing":
        yield Text(f"{engine} is not installed. Install it: diffusionforce engine install", styles["missing"])
    elif status.state == "damaged":
        yield Text(f"{engine} in {status.folder} is damaged:", styles["damaged"])
        for words, names in [("modified", status.modified), ("missing", status.missing), ("extra", status.extra)]:
            yield from (Text(f"  {words}: {name}") for name in names)
        yield Text("Repair it: diffusionforce engine install")
    else:
        looked = "every byte of it compared" if action == "verify" else "as it was pinned"
        yield Text(f"{engine} is in {status.folder}, {looked}: {status.num_files} files.", styles["intact"])
    if status.left_out:
        names = ", ".join(status.left_out[:4]) + (" and more" if len(status.left_out) > 4 else "")
        yield Text(f"Left out, because not the engine's: {names}.", "yellow")
    if action != "verify":
        yield Text(f"Licence: {status.licence}, except:")
        for terms in status.terms:
            yield Text(f"  {terms.folder} (for {', '.join(terms.models)}): {terms.licence}. {terms.words} {terms.url}")
