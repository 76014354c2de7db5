"""The choice of a command, and the one place where an error becomes words for the terminal."""

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from diffusionforce.cli import EXIT_INTERRUPTED, benches, loaded, window
from diffusionforce.cli.output import make_streams_fit, silence, write_bytes
from diffusionforce.errors import UserError
from diffusionforce.runs import is_disk_full, shortened
from diffusionforce.wire import Failed, encode

EXIT_FAILED, EXIT_BUG = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0: done, stopped or shown. 1: a problem to act on. 2: a bug of ours. 130: Ctrl-C ended us, or, pressed three
    times, the trainer.

    Args:
        arguments: What follows the program's name; None takes it from the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--selftest"]:  # As the program for Windows is called, which otherwise opens the window.
        given[0] = "selftest"
    make_streams_fit()
    try:
        code = _execute(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        silence(sys.stdout)  # Whoever read our output has read enough.
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except UserError as error:
        problem, code = error, EXIT_FAILED
    except OSError as error:
        problem, code = _in_words(error), EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the command line's one door: every end is told.
        problem, code = _bug(error), EXIT_BUG
    _tell(problem, as_json="--json" in given, with_detail=code == EXIT_BUG)
    return code


def _execute(given: Sequence[str]) -> int:
    if given[:1] == ["bench"] and given[1:2] and given[1] in benches.BENCHES:
        return benches.run(given[1:])  # Its arguments are its own; argparse would claim those that look like options.
    parser = window.parser() if given[:1] == ["gui"] else loaded("diffusionforce.cli.commands").parser()
    options = parser.parse_args(given)
    return options.execute(options)


def _in_words(error: OSError) -> UserError:
    """Return the user error for a file, or our output, that the system refuses."""
    detail = "".join(traceback.format_exception(error))
    if error.filename is None and is_disk_full(error):  # Files are named.
        silence(sys.stdout)
        return UserError(f"The output cannot be written: {error.strerror}.", detail=detail)
    if isinstance(error.filename, str | os.PathLike):
        name = shortened(Path(error.filename))
        return UserError(f"{name} cannot be used: {error.strerror}.", hint="Check the path.", detail=detail)
    return UserError(f"The system refused something that we need: {error.strerror or error}.", detail=detail)


def _bug(error: Exception) -> UserError:
    words = (str(error).strip().splitlines() or ["no message"])[0][:200]
    return UserError(
        f"This is a bug in DiffusionForce ({type(error).__name__}: {words}).",
        hint="Please report it, with the detail.",
        detail="".join(traceback.format_exception(error)),
    )


def _tell(error: UserError, *, as_json: bool, with_detail: bool) -> None:
    if as_json:
        write_bytes(encode(Failed(sentence=error.sentence, hint=error.hint, detail=error.detail)))
    else:
        lines = (error.detail.rstrip() if with_detail else "", error.sentence, error.hint)
        with contextlib.suppress(OSError):  # There is no further place to tell it.
            sys.stderr.write("".join(f"{line}\n" for line in lines if line))
            sys.stderr.flush()
