"""Numbers as people say them: durations, sizes, counts. For display only, never for files."""

import math

_UNITS = ("B", "KB", "MB", "GB", "TB")


def duration(seconds: float) -> str:
    """Return a duration with one or two units: `45 s`, `4 min 10 s`, `50 min`, `1 h 25 min`, `2 d 3 h`."""
    if not math.isfinite(seconds) or seconds < 0:
        return "–"
    total = round(seconds)
    if total < 60:
        return f"{total} s" if total or not seconds else f"{seconds:.1f} s"
    minutes, rest_s = divmod(total, 60)
    if minutes < 10 and rest_s:
        return f"{minutes} min {rest_s} s"
    if minutes < 60:
        return f"{round(total / 60)} min" if round(total / 60) < 60 else "1 h"
    hours, minutes = divmod(round(total / 60), 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(round(total / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def size(num_bytes: float) -> str:
    """Return an amount of bytes with a unit, in steps of 1024: `1.2 MB`, `164 MB`, `14.6 GB`."""
    value, unit = float(num_bytes), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or value >= 100 or value == round(value) else 1
    return f"{value:,.{digits}f} {_UNITS[unit]}"


def exact_size(num_bytes: float) -> str:
    """Return an amount of bytes with one digit more than `size` gives: `14.62 GB`, `163.8 MB`."""
    value, unit = float(num_bytes), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:,.{2 if unit >= 3 else 1 if unit else 0}f} {_UNITS[unit]}"


def round_size(num_bytes: float) -> str:
    """Return the size of a card or of RAM as people call it: 15.99 GB are `16 GB`."""
    value, unit = float(num_bytes), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if abs(value - round(value)) < 0.15 else f"{value:.1f} {_UNITS[unit]}"


def amount_of(used_bytes: float, total_bytes: float) -> str:
    """Return `14.6 / 16 GB`: both numbers in the unit of the total."""
    unit, divisor = 0, 1.0
    while total_bytes / divisor >= 1000 and unit < len(_UNITS) - 1:
        unit, divisor = unit + 1, divisor * 1024
    used, total = used_bytes / divisor, total_bytes / divisor
    digits = 0 if total >= 100 else 1
    whole = f"{total:.0f}" if abs(total - round(total)) < 0.15 else f"{total:.1f}"
    return f"{used:.{digits}f} / {whole} {_UNITS[unit]}"


def count(number: int, singular: str, plural: str = "") -> str:
    """Return `1 picture`, `12 pictures`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def small_number(value: float) -> str:
    """Return a number with three digits that matter, and no exponent: `0.0001`, `0.0000875`."""
    if not math.isfinite(value):
        return "not a number"
    if not value:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """Return a share from 0 to 1 as `42 %`."""
    return f"{share:.0%}".replace("%", " %")


def loss(value: float | None) -> str:
    """Return a loss with the digits that matter: `0.121`, `0.0376`, `12.4`."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "not a number"
    if value == 0:
        return "0"
    places = max(1, min(6, 2 - math.floor(math.log10(abs(value)))))
    return f"{value:.{places}f}"


def ranges(numbers: tuple[int, ...]) -> str:
    """Return block numbers with neighbours drawn together: `0–4`, `0–2 and 6`; `none` for nothing.

    They are counted from 0, like everywhere that a block has a number: logs, errors and the names in LoRA files.
    """
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    parts = [f"{a}" if a == b else f"{a}–{b}" for a, b in spans]
    if len(parts) > 4:
        parts = [*parts[:3], f"{len(parts) - 3} more"]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0] if parts else "none"


def ago(seconds: float) -> str:
    """Return how long ago something was, coarsely: `just now`, `4 min ago`."""
    return "just now" if seconds < 45 else f"{duration(max(60.0, round(seconds / 60) * 60))} ago"
