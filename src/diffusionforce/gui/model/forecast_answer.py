"""What a forecasting process left behind: a forecast, its own words on why there is none, or silence."""

import json
import re

from diffusionforce.errors import UserError
from diffusionforce.wire import Failed
from diffusionforce.wire.forecast import Forecast, read_forecast

NUM_LAST_LINES = 30
_COMMAND = re.compile(r"\w[\w ]*: diffusionforce engine install")
"""A hint that is nothing but a command, for which the window has a button."""


def read_answer(output: bytes, log: str, *, exit_code: int) -> Forecast | UserError:
    """Return the forecast in what a process wrote, or the problem that kept it from making one.

    Args:
        output: Its standard output: one JSON object, a forecast or a `failed` record.
        log: Its standard error.
        exit_code: How it ended.
    """
    text = output.decode(errors="replace").strip()
    for candidate in (text, *reversed(text.splitlines())):
        answer = _answer_in(candidate)
        if answer is not None:
            return answer
    last_lines = log.splitlines()[-NUM_LAST_LINES:]
    return UserError(
        f"The forecast ended without an answer, with code {exit_code}.",
        hint="Training can start all the same. The detail below is for a bug report.",
        detail="\n".join(last_lines),
    )


def too_slow(limit_s: float) -> UserError:
    """Return the problem of a process that did not answer in time."""
    return UserError(
        f"The forecast took longer than {limit_s:.0f} s and was given up.",
        hint="Training can start all the same. Try again when the computer is less busy.",
    )


def _answer_in(text: str) -> Forecast | UserError | None:
    try:
        record = json.loads(text)
    except ValueError:
        return None
    kind = record.get("kind") if isinstance(record, dict) else None
    try:
        if kind == "forecast":
            return read_forecast(text)
        if kind == "failed":
            failed = Failed.model_validate(record)
            hint = "" if _COMMAND.fullmatch(failed.hint) else failed.hint
            return UserError(failed.sentence, hint=hint, detail=failed.detail)
    except ValueError as error:
        return UserError(
            "The forecast cannot be read: it comes from another version.",
            hint="Install DiffusionForce again, into a fresh environment.",
            detail=str(error),
        )
    return None
