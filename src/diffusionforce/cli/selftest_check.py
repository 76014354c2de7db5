"""One check of the self-test: what it is called, what it does, and how it went."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from diffusionforce.errors import UserError

Outcome = Literal["ok", "failed", "note", "skipped"]
"""`note`: not as it could be, and nothing of ours. `skipped`: there is no such thing on this system."""


class Problem(Exception):  # noqa: N818 - what a check found
    """A check that found something wrong.

    Args:
        said: What, in a sentence.
    """


class Note(Problem):
    """Something that is not as it could be, and that we need not change."""


class Skipped(Problem):
    """There is no such thing on this system."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A check that is to be carried out."""

    name: str
    look: Callable[[], str]
    """Returns what was found, in a sentence, or raises a `Problem`."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check that was carried out."""

    name: str
    outcome: Outcome
    said: str
    seconds: float
    detail: str = ""


def carried_out(plan: Plan) -> Check:
    """Carry out a check; whatever it raises is how it went."""
    begin_s, detail = time.monotonic(), ""
    outcome: Outcome = "ok"
    try:
        said = plan.look()
    except Problem as problem:
        outcome = "note" if isinstance(problem, Note) else "skipped" if isinstance(problem, Skipped) else "failed"
        said = str(problem)
    except UserError as error:
        outcome, said, detail = "failed", str(error), error.detail
    except Exception as error:  # noqa: BLE001 - a check that breaks is what the report is for.
        outcome, said = "failed", f"{type(error).__name__}: {error}"
        detail = "".join(traceback.format_exception(error))
    return Check(name=plan.name, outcome=outcome, said=said, seconds=time.monotonic() - begin_s, detail=detail)
