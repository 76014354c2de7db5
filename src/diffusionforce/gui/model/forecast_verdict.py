"""A forecast in sentences: whether it fits, where it is tightest, what steps aside, and what is left out."""

from diffusionforce.gui.model import words
from diffusionforce.gui.model.forecast_bars import (
    PHASE_MOMENTS,
    PHASE_WORDS,
    PHASES,
    NeedBar,
    all_bars,
    is_on_processor,
    phase_of,
    phases_of,
    short_label,
)
from diffusionforce.wire.forecast import Forecast, Phase


def phase_to_look_at(forecast: Forecast) -> Phase:
    """Return the phase that tells most: training, unless only another one lacks memory."""
    lacking: list[Phase] = [phase for phase in PHASES if any(bar.spare_bytes < 0 for bar in all_bars(forecast, phase))]
    return "training" if "training" in lacking or not lacking else lacking[0]


def tightest(forecast: Forecast) -> tuple[Phase, NeedBar] | None:
    """Return the phase and the card, or RAM, with the least to spare; None where nothing is used.

    A phase that is left out because it does not fit is not looked at.
    """
    used: list[tuple[Phase, NeedBar]] = [
        (phase, bar)
        for phase in phases_of(forecast)
        if phase_of(forecast, phase).fits or forecast.refusal
        for bar in all_bars(forecast, phase)
        if bar.is_used
    ]
    return min(used, key=lambda pair: pair[1].spare_bytes, default=None)


def summary(forecast: Forecast) -> tuple[str, str]:
    """Return tone and sentence about all phases together."""
    found = tightest(forecast)
    if found is None:
        return "info", "Nothing is known of what this training needs."
    phase, bar = found
    amount, moment = words.size(abs(bar.spare_bytes)), PHASE_MOMENTS[phase]
    if bar.spare_bytes < 0:
        return "err", f"{bar.label} lacks {amount} {moment}."
    is_ram = bar.index is None or is_on_processor(forecast)
    left = f"{amount} of RAM" if is_ram else f"{amount} on {bar.label}"
    tone = bar.tone or ("ok" if left_out(forecast) is None else "warn")
    if len(forecast.phases) == 1:
        return tone, f"{PHASE_WORDS[phase]} fits and leaves {left}."
    first = left_out(forecast) or "Every phase fits."
    return tone, f"{first} The tightest moment leaves {left}, {moment}."


def left_out(forecast: Forecast) -> str | None:
    """Return a sentence about phases that do not fit beside the training, None where all do."""
    lacking = [PHASE_WORDS[phase] for phase in phases_of(forecast) if not phase_of(forecast, phase).fits]
    return f"{' and '.join(lacking)} would not fit and are left out." if lacking else None


def lines_of(forecast: Forecast) -> tuple[tuple[str, str], ...]:
    """Return what is to be said under the bars, tone and sentence each, the most telling first."""
    aside = aside_words(forecast)
    said = [summary(forecast), *([("info", aside)] if aside else [])]
    return (*said, *(("info", note) for note in forecast.notes))


def aside_words(forecast: Forecast) -> str:
    """Return in words which blocks step aside while previews are drawn, empty when none do."""
    aside = phase_of(forecast, "sampling").num_aside
    parts = [
        f"{words.count(number, 'block')} of {short_label(card)}"
        for number, card in zip(aside, forecast.rig, strict=False)
        if number
    ]
    return f"{' and '.join(parts)} step aside to RAM while previews are drawn." if parts else ""
