"""Commands that look and show: profiles, runs, the rig."""

import argparse
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffusionforce.cli.words import change
from diffusionforce.job import builtin_profiles, read_profile
from diffusionforce.rig import examine
from diffusionforce.runs import RunFolder, data_dir, list_runs, runs_root

EXIT_OK, EXIT_PROBLEM = 0, 1
_STATE_STYLES = {"running": "cyan", "done": "green", "stopped": "yellow", "failed": "red", "crashed": "red"}
_FINDING_STYLES = {"problem": "red", "warning": "yellow", "note": "cyan", "good": "green"}


def show_profiles(options: argparse.Namespace) -> int:
    """List the built-in profiles."""
    table = Table("Profile", "Engine", "Steps", "Size", "What for", box=None, pad_edge=False)
    for name, path in builtin_profiles().items():
        profile = read_profile(path)
        size = f"{profile.dataset.width} x {profile.dataset.height}"
        table.add_row(name, profile.model.engine, str(profile.training.steps), size, profile.description)
    Console().print(table)
    return EXIT_OK


def show_runs(options: argparse.Namespace) -> int:
    """List the runs in the data folder; those whose process is gone are shown as crashed."""
    console, runs = Console(), list_runs(runs_root())
    if not runs:
        console.print(f"No runs yet in {runs_root()}.", markup=False, highlight=False, soft_wrap=True)
        return EXIT_OK
    table = Table("State", "Step", "Samples", "Held-out", "Folder", box=None, pad_edge=False)
    for run in runs:
        _add_run(table, run)
    console.print(table)
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


def _add_run(table: Table, run: RunFolder) -> None:
    state = run.reconciled_state()
    table.add_row(
        Text(state.state, style=_STATE_STYLES[state.state]),
        f"{state.step}/{state.num_steps}",
        str(state.num_samples),
        change(state.held_out_loss),
        Text(run.root.name, no_wrap=True),
    )
