"""Commands that look and show: profiles, runs, the rig."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffusionforce.cli.words import change, named_run
from diffusionforce.errors import ProfileError, RunFolderError
from diffusionforce.job import builtin_profiles, own_profiles, read_profile
from diffusionforce.rig import examine
from diffusionforce.runs import RunFolder, RunHeldOut, RunState, data_dir, list_runs, runs_root, unreadable_runs
from diffusionforce.wire import to_json

EXIT_OK, EXIT_PROBLEM = 0, 1
UNREADABLE = "unreadable"
"""The state of a run whose `run.json` cannot be read."""
_STATE_STYLES = {"running": "cyan", "done": "green", "stopped": "yellow", "failed": "red", "crashed": "red"}
_FINDING_STYLES = {"problem": "red", "warning": "yellow", "note": "cyan", "good": "green"}


class RunRecord(BaseModel):
    """One run in `runs --json`; `lora` is relative to `dir`."""

    kind: Literal["run"] = "run"
    name: str
    dir: str
    state: str
    step: int
    num_steps: int
    held_out_loss: RunHeldOut | None
    lora: str


def show_profiles(options: argparse.Namespace) -> int:
    """List the built-in profiles, and the user's own below them."""
    table = Table("Profile", "Engine", "Steps", "Size", "What for", box=None, pad_edge=False)
    for name, path in builtin_profiles().items():
        profile = read_profile(path)
        size = f"{profile.dataset.width} x {profile.dataset.height}"
        table.add_row(name, profile.model.engine, str(profile.training.steps), size, profile.description)
    for name, path in own_profiles().items():
        try:
            profile = read_profile(path)
        except ProfileError as error:
            table.add_row(Text(name), "-", "-", "-", Text(f"Cannot be read. {error.sentence}"))
            continue
        size = f"{profile.dataset.width} x {profile.dataset.height}"
        what = Text(f"{profile.title}, your own. {profile.description}")
        table.add_row(Text(name), profile.model.engine, str(profile.training.steps), size, what)
    Console().print(table)
    return EXIT_OK


def show_runs(options: argparse.Namespace) -> int:
    """List the runs in the data folder; those whose process is gone are shown as crashed."""
    root = runs_root()
    found, broken = list(_runs_with_states(root)), unreadable_runs(root)
    if options.json:
        records = [*(_record(run, state) for run, state in found), *map(_unreadable_record, broken)]
        for record in records:
            sys.stdout.buffer.write(to_json(record) + b"\n")
        sys.stdout.buffer.flush()
        return EXIT_OK
    lines = [Text(f"Runs in {root}, the newest first:" if found or broken else f"No runs yet in {root}.")]
    lines += _rows(found)
    lines += [line for run in broken for line in _unreadable_rows(run)]
    lines.append(Text("Runs that were made elsewhere with --out are not listed.", style="dim"))
    console = Console()
    for line in lines:
        console.print(line, soft_wrap=True)  # No table: it shortens names in a narrow terminal.
    return EXIT_OK


def show_rig(options: argparse.Namespace) -> int:
    """Say what was found out about this machine; exit code 1 if something stops training on its cards."""
    report = examine(disk_path=data_dir())
    if options.json:
        sys.stdout.buffer.write(report.to_json().encode() + b"\n")
    else:
        machine, console = report.machine, Console()
        lines = [machine.system, f"Python {machine.python_version}", machine.processor, f"{machine.num_cores} cores"]
        console.print(Text(", ".join(filter(None, lines))), soft_wrap=True)
        for finding in report.findings:
            style = _FINDING_STYLES[finding.severity]
            console.print(Text.assemble((f"{finding.severity:>8}  ", style), finding.sentence), soft_wrap=True)
            if finding.hint:
                console.print(Text(f"{'':>8}  {finding.hint}", style="dim"), soft_wrap=True)
    return EXIT_PROBLEM if any(finding.severity == "problem" for finding in report.findings) else EXIT_OK


def _runs_with_states(root: Path) -> Iterator[tuple[RunFolder, RunState]]:
    for run in list_runs(root):
        with contextlib.suppress(RunFolderError):  # It was removed between the two looks.
            yield run, run.reconciled_state()


def _record(run: RunFolder, state: RunState) -> RunRecord:
    return RunRecord(
        name=run.root.name,
        dir=str(run.root),
        state=state.state,
        step=state.step,
        num_steps=state.num_steps,
        held_out_loss=state.held_out_loss,
        lora=state.lora,
    )


def _unreadable_record(run: RunFolder) -> RunRecord:
    return RunRecord(
        name=run.root.name,
        dir=str(run.root),
        state=UNREADABLE,
        step=0,
        num_steps=0,
        held_out_loss=None,
        lora=run.newest_checkpoint(),
    )


def _unreadable_rows(run: RunFolder) -> list[Text]:
    """Return the line for a run whose state cannot be read, and what can be done with it."""
    name = named_run(run.root)
    told = (
        f"Its run.json is broken, or a newer version wrote it. What it saved is still there; for a bug report: "
        f"diffusionforce report {name}"
    )
    return [Text.assemble((UNREADABLE, "red"), f"  {run.root.name}"), Text(f"  {told}", style="dim")]


def _rows(found: list[tuple[RunFolder, RunState]]) -> list[Text]:
    """Return a line for each run: state, steps, samples, held-out loss, folder."""
    cells = [_cells(state) for _, state in found]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows: list[Text] = []
    for (run, state), row in zip(found, cells, strict=True):
        first, *others = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        rows.append(
            Text.assemble((first, _STATE_STYLES[state.state]), *(f"  {cell}" for cell in [*others, run.root.name]))
        )
    return rows


def _cells(state: RunState) -> tuple[str, ...]:
    samples = f"{state.num_samples} sample{'' if state.num_samples == 1 else 's'}"
    return state.state, f"{state.step}/{state.num_steps}", samples, change(state.held_out_loss) or "-"
