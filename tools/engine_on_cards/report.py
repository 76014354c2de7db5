"""What a row came to, as numbers and as lines for `docs/performance.md`."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

GIB = 2**30
_NUM_WARM_UP = 2
"""Steps that are not counted: the first ones allocate and choose kernels."""


def median_s(steps_s: Sequence[float]) -> float | None:
    """The median step without the first ones; None where none is left."""
    counted = steps_s[_NUM_WARM_UP:]
    return statistics.median(counted) if counted else None


def summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that matter, out of what the runs noted.

    Args:
        found: The runs of a row by name: `product`, `resumed`, and `alone`, which has several.
    """
    answer: dict[str, Any] = {}
    product, product_s = found.get("product"), None
    if product:
        answer["product_s"] = product_s = median_s(product["steps_s"])
        answer["product_peaks_gib"] = {name: peak / GIB for name, peak in product["peaks_bytes"].items()}
    alone = {one["words"]: median_s(one.get("steps_s", ())) for one in found.get("alone", ())}
    answer["alone_s"] = alone
    best = min((seconds for seconds in alone.values() if seconds), default=None)
    if best and product_s:
        answer["times_as_fast"] = best / product_s
    resumed = found.get("resumed")
    if product and resumed and resumed["losses"]:
        first = resumed["first_step"] - product["first_step"]
        pairs = list(zip(product["losses"][first:], resumed["losses"], strict=False))
        answer["resumed_at"] = resumed["first_step"]
        answer["losses_differ_by"] = max((abs(a - b) / abs(a) for a, b in pairs), default=None)
    return answer


def lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    """The same for people, a line at a time."""
    known = summary(found)
    for way in ("product", "graphs"):
        if way in found:
            yield from _about_run(f"{name}, {way}", found[way])
    if "resumed" in found:
        yield f"  resumed at step {known.get('resumed_at')}: losses differ by {known.get('losses_differ_by')}"
        for said in found["resumed"].get("said", ()):
            yield f"  {said['kind']}: {said.get('sentence', '')} {said.get('detail', '')[-600:]}"
    for one in found.get("alone", ()):
        peaks = one.get("peaks_bytes") or [0]
        yield (
            f"  alone, {one['words']}: {_shown(known['alone_s'][one['words']])} s a step, {one.get('ended')}, "
            f"{max(peaks) / GIB:.2f} GiB held; losses {_numbers(one.get('losses', ()))}"
        )
    if "times_as_fast" in known:
        yield f"  the product is {known['times_as_fast']:.3f} times as fast"
    yield "  walls: " + ", ".join(f"{run} {_wall(value):.0f} s" for run, value in found.items())


def _about_run(name: str, run: Mapping[str, Any]) -> Iterator[str]:
    yield f"{name}: {run.get('plan', 'no plan')}, mode {run.get('mode')}, blocks {run.get('blocks')}"
    samples = ", ".join(f"step {one['step']} in {one['seconds']:.1f} s" for one in run["samples"])
    yield f"  samples: {samples or 'none'}; files: {[one['path'] for one in run['checkpoints']]}"
    peaks = ", ".join(f"{device} {peak / GIB:.2f} GiB" for device, peak in run["peaks_bytes"].items())
    yield f"  peaks: {peaks}; busy {run.get('busy')}; planned {run.get('planned_s')} s a step"
    yield f"  {_shown(median_s(run['steps_s']))} s a step, {len(run['steps_s'])} steps"
    yield f"  losses: {_numbers(run['losses'])}"
    for said in run.get("said", ()):
        yield f"  {said['kind']}: {said.get('sentence', '')} {said.get('hint', '')} {said.get('detail', '')[-600:]}"


def _wall(value: Any) -> float:
    if isinstance(value, list):
        return sum(one["wall_s"] for one in value)
    return value["wall_s"] if isinstance(value, Mapping) else float(value)


def _shown(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds:.3f}"


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)
