"""Measure one row; see the package."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tools.engine_on_cards.report import lines, summary
from tools.engine_on_cards.rows import ROWS
from tools.engine_on_cards.running import Bench

PARTS = ("rig", "weights", "product", "graphs", "resumed", "alone")


def main() -> int:
    """Measure, write down, and say what was found."""
    options = _parser().parse_args()
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    row = ROWS[options.row]
    saves_at = options.saves_at or (4 if options.tiny else 8)
    bench = Bench(
        name=options.row,
        row=row,
        folder=folder,
        tiny=options.tiny,
        num_steps=options.steps or (6 if options.tiny else 20),
        saves_at=saves_at,
        alone_steps=options.alone_steps,
    )
    ways = [int(word) for word in options.alone.split(",")] if options.alone else list(row.swaps)
    found = _known(folder / f"{options.row}.json")
    for part in options.parts.split(","):
        if part == "rig":
            found[part] = bench.measure_cards()
        elif part == "weights":
            found[part] = bench.make_weights()
        elif part == "alone":
            found.setdefault(part, [])
            for at_a_time in ways:
                found[part].append(bench.alone(at_a_time, flags=options.flags.split()))
                _keep(folder, options.row, found)
        else:
            found[part] = getattr(bench, part)()
        _keep(folder, options.row, found)
    for line in lines(options.row, found):
        sys.stdout.write(line + "\n")
    return 0


def _known(path: Path) -> dict[str, Any]:
    """What earlier calls found."""
    if not path.exists():
        return {}
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {part: known[part] for part in PARTS if part in known}


def _keep(folder: Path, name: str, found: dict[str, Any]) -> None:
    """Write down what is known so far: the time on a machine may end at any moment."""
    text = json.dumps({**found, "summary": summary(found)}, indent=1)
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    (folder / f"{name}.md").write_text("\n".join(lines(name, found)) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.engine_on_cards", description=__doc__)
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--folder", required=True, help="everything goes there; what is there already is used")
    usual = "weights,product,resumed,alone"
    parser.add_argument("--parts", default=usual, help=f"what to do, in order, out of: {', '.join(PARTS)}")
    parser.add_argument("--tiny", action="store_true", help="small sizes on the processor")
    parser.add_argument("--steps", type=int, default=0, help="steps of the product's run")
    parser.add_argument("--saves-at", type=int, default=0, help="the step of its samples and its state")
    parser.add_argument("--alone", default="", help="pictures at a time of the engine's own runs, like 4,1")
    parser.add_argument("--alone-steps", type=int, default=8, help="steps of the engine's own runs")
    parser.add_argument("--flags", default="", help="further options of the engine's own runs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
