"""A forecast drawn in the terminal: a table for each card, a line for RAM, and the ways to train."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from diffusionforce.cli.arguments import as_options
from diffusionforce.cli.words import duration, memory
from diffusionforce.job import Profile
from diffusionforce.wire.forecast import CardNeed, Forecast, ForecastCard, StageNeed, Way

_PARTS = {
    "weights_bytes": "weights",
    "trained_bytes": "LoRA",
    "optimizer_bytes": "optimiser",
    "gradient_bytes": "gradients",
    "activation_bytes": "activations",
    "temporary_bytes": "temporary",
    "paging_bytes": "paging",
    "constant_bytes": "constant",
}
_WORDS_WIDTH = max(map(len, _PARTS.values())) + 2
_TIMES = {
    "measured": "measured on these cards",
    "catalogue": "computed from data sheets",
    "unknown": "not known",
}


def show_forecast(forecast: Forecast, profile: Profile, *, console: Console, with_all_ways: bool = False) -> None:
    """Draw a forecast.

    Args:
        forecast: What to draw.
        profile: What it is a forecast of.
        console: Where to.
        with_all_ways: List every way to train, not only the best of each kind and number format.
    """
    here = "this computer" if forecast.is_here else "a rig out of the catalogue"
    _say(console, Text(f"{forecast.title} on {here}", style="bold"))
    shown = forecast.recommended
    if shown is not None:
        _say(console, f"Recommended: {shown.words}{_speed(shown)}.")
    elif forecast.ways:
        nothing = "As asked for it cannot be trained" if any(way.fits for way in forecast.ways) else "Nothing fits"
        _say(console, f"{nothing}; shown is what comes closest: {forecast.ways[forecast.shown_way].words}.")
    for index, card in enumerate(forecast.rig):
        console.print()
        _show_card(forecast, index, card, console=console)
    console.print()
    _show_ram(forecast, profile, console=console)
    console.print()
    _show_ways(forecast, list(forecast.ways) if with_all_ways else _best_of_each(forecast), console=console)
    for sentence in forecast.refusal:
        _say(console, Text(sentence, style="red"))
    if forecast.ways_out:
        _say(console, "What would help:")
        for way_out in forecast.ways_out:
            _say(console, f"  {way_out}")
    if forecast.changes:
        _say(console, "Ready to be taken:" if forecast.refusal else "Samples would fit with:")
        for change in forecast.changes:
            _say(console, f"  {as_options(change.settings)}   ({change.words.partition(' (')[0]})")
    for note in forecast.notes:
        _say(console, Text(note, style="dim"))


def _show_card(forecast: Forecast, index: int, card: ForecastCard, *, console: Console) -> None:
    taken = [f"{memory(card.reserve_bytes)} kept free"]
    taken += [f"{memory(card.lost_bytes)} lost between tensors"] if card.lost_bytes else []
    taken += [f"{memory(card.taken_bytes)} taken by others"] if card.taken_bytes else []
    _say(
        console,
        f"{card.label}: {memory(card.total_bytes)}, {memory(card.usable_bytes)} for this ({', '.join(taken)})",
    )
    needs = [phase.cards[index] for phase in forecast.phases]
    rows = [("", [Text(phase.phase) for phase in forecast.phases])]
    rows += [
        (f"  {words}", [_cell(getattr(need, name)) for need in needs])
        for name, words in _PARTS.items()
        if any(getattr(need, name) for need in needs)
    ]
    rows.append(("  together", [_cell(need.peak_bytes, style="bold") for need in needs]))
    rows.append(("  to spare", [_spare(need, card) for need in needs]))
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(len(needs))]
    for words, cells in rows:
        line = Text(words.ljust(_WORDS_WIDTH))
        for cell, width in zip(cells, widths, strict=True):
            line.append(" " * (3 + width - len(cell)))
            line.append_text(cell)
        # No table of rich's: it cuts numbers off in a narrow terminal.
        _say(console, line)


def _cell(size_bytes: int, *, style: str = "") -> Text:
    return Text(("< 1 MB" if size_bytes < 1 << 20 else memory(size_bytes)) if size_bytes else "-", style=style)


def _spare(need: CardNeed, card: ForecastCard) -> Text:
    spare_bytes = card.usable_bytes - need.peak_bytes
    if spare_bytes < 0:
        return Text(f"{memory(-spare_bytes)} too little", style="red")
    return Text(memory(spare_bytes), style="green")


def _show_ram(forecast: Forecast, profile: Profile, *, console: Console) -> None:
    needs = ", ".join(f"{phase.phase} {memory(phase.ram_bytes)}" for phase in forecast.phases if phase.ram_bytes)
    lockable = f", {memory(forecast.ram_usable_bytes)} of it for blocks" if forecast.ram_usable_bytes else ""
    _say(console, f"RAM: {memory(forecast.ram_total_bytes)}{lockable}; {needs or 'next to none is needed'}.")
    for phase in forecast.phases:
        if phase.words:
            time = _sample_time(phase.step_s, profile) if phase.phase == "sampling" and phase.fits else ""
            _say(console, Text(f"  {phase.phase}: {phase.words}{time}", style="dim"))
        for stage in phase.stages:
            _say(console, Text(f"    {stage.words}: {_place(forecast, stage)}", style="dim"))
        for num_blocks, card in zip(phase.num_aside, forecast.rig, strict=False):
            if num_blocks:
                _say(console, f"  {num_blocks} blocks of {card.label} step aside to RAM while samples are made.")


def _place(forecast: Forecast, stage: StageNeed) -> str:
    """Where something runs, and what it takes there."""
    labels = {card.device: card.label for card in forecast.rig}
    missing = f", {memory(stage.missing_bytes)} too little" if stage.missing_bytes else ""
    return f"{memory(stage.need.peak_bytes)} of {labels.get(stage.device, 'RAM, on the processor')}{missing}"


def _sample_time(step_s: float | None, profile: Profile) -> str:
    if step_s is None:
        return ""
    each_s, number = step_s * profile.samples.num_steps, profile.num_samples
    return f", about {duration(each_s)} for each of {number} samples, {duration(each_s * number)} in all"


def _best_of_each(forecast: Forecast) -> list[Way]:
    """The first way of each kind and number format; of what is shown above, that one."""
    best: dict[tuple[str, str], Way] = {}
    for way in sorted(forecast.ways, key=lambda way: way is not forecast.ways[forecast.shown_way]):
        best.setdefault((way.kind, way.weights), way)
    return [way for way in forecast.ways if any(way is chosen for chosen in best.values())]


def _show_ways(forecast: Forecast, ways: Sequence[Way], *, console: Console) -> None:
    _say(console, f"Ways to train, best first (times {_TIMES[forecast.times]}):")
    labels = {card.device: card.label for card in forecast.rig}
    for way in ways:
        number = forecast.ways.index(way) + 1
        mark, style = ("*", "green") if way.recommended else ("-", "" if way.fits else "dim")
        _say(console, Text(f"{mark} {number}: {way.words}{_speed(way)}. {way.reason}", style=style))
        if way.recommended or not way.fits:
            for card in way.cards:
                paged = f", {card.num_paged} of them in RAM" if card.num_paged else ""
                _say(
                    console,
                    Text(
                        f"    {labels[card.device]}: {card.num_blocks} blocks{paged}, {memory(card.needed_bytes)}",
                        style="dim",
                    ),
                )

    if len(ways) < len(forecast.ways):
        _say(console, Text(f"  and {len(forecast.ways) - len(ways)} slower or larger ones, see --all", style="dim"))


def _speed(way: Way) -> str:
    if way.step_s is None or not way.fits:
        return ""
    return f", {duration(way.step_s) if way.step_s >= 1 else f'{way.step_s:.2g} s'} a step"


def _say(console: Console, line: Text | str) -> None:
    console.print(line if isinstance(line, Text) else Text(line), soft_wrap=True)
