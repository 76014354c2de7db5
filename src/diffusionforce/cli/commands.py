"""All commands and their arguments."""

import argparse

import diffusionforce
from diffusionforce.cli import (
    checking,
    engine,
    environment,
    forecasting,
    listing,
    lora,
    models,
    reporting,
    running,
    selftest,
    window,
)
from diffusionforce.cli.arguments import add_plan_arguments
from diffusionforce.cli.benches import BENCHES
from diffusionforce.cli.parsing import Parser

_RUN = """Train a LoRA. Ctrl-C stops after the step and keeps what there is; again, it breaks the step off; a third
time, it ends the trainer at once. Exit code: 0 done or stopped, 1 a problem, 2 a bug, 130 ended at once."""

_FORECAST = """Say what caching, training and sampling will need of each card and of RAM, and which ways to train there
are, the fastest that fits on top. Nothing is loaded or trained, and no graphics card is needed. Exit code: 0 it fits, 1
it does not, or a problem, 2 a bug."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each command's function is in `execute`."""
    top = Parser(prog="diffusionforce", description="Train a LoRA of a diffusion transformer over your graphics cards.")
    top.add_argument("--version", action="version", version=f"DiffusionForce {diffusionforce.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="train", description=_RUN)
    run.add_argument(
        "profile", nargs="?", metavar="PROFILE", help="a profile, built in or your own, or the path of a .toml file"
    )
    run.add_argument("--dataset", metavar="DIR", help="folder of pictures with a .txt caption beside each")
    run.add_argument("--trigger", metavar="WORD", help="the word in your captions that calls your subject")
    run.add_argument("--steps", metavar="N", help="optimiser steps, instead of the profile's")
    run.add_argument("--resume", metavar="RUN", help="go on from where this run saved its state, in a new run folder")
    run.add_argument(
        "--from", metavar="STEP", dest="from_step", help="with --resume: from the checkpoint of this step, not the last"
    )
    run.add_argument("--again", metavar="RUN", help="do what this run did from the beginning, in a new run folder")
    add_plan_arguments(run)
    run.add_argument("--out", metavar="DIR", help="the run folder to make, instead of one in your data folder")
    run.add_argument("--devices", metavar="LIST", help="auto, cpu, or cards in order, like cuda:0,cuda:1")
    run.add_argument(
        "--when-alone",
        choices=["go-on", "stop"],
        default="go-on",
        help="what the training does once this program is gone: go on, or save and stop",
    )
    run.add_argument("--json", action="store_true", help="print the telemetry, one JSON record a line")
    run.set_defaults(execute=running.run)

    forecasting.add_arguments(commands.add_parser("forecast", help="say what a training needs", description=_FORECAST))

    checking.add_arguments(
        commands.add_parser("check", help="look for what is wrong with a dataset", description=checking.DESCRIPTION)
    )

    profiles = commands.add_parser("profiles", help="list the built-in profiles and your own")
    profiles.set_defaults(execute=listing.show_profiles)

    runs = commands.add_parser("runs", help="list the runs in your data folder, the newest first")
    runs.add_argument("--json", action="store_true", help="print one JSON record a run")
    runs.set_defaults(execute=listing.show_runs)

    reporting.add_arguments(
        commands.add_parser("report", help="make a zip of a run for a bug report", description=reporting.DESCRIPTION)
    )

    doctor = commands.add_parser("doctor", help="look at the machine and say what works and what to do")
    doctor.add_argument("--json", action="store_true", help="print the findings as one JSON record")
    doctor.set_defaults(execute=listing.show_rig)

    selftest.add_arguments(
        commands.add_parser(
            "selftest", help="try all that the program needs, and report", description=selftest.DESCRIPTION
        )
    )

    environment.add_arguments(
        commands.add_parser("env", help="build the environment for training", description=environment.DESCRIPTION)
    )

    engine.add_arguments(commands.add_parser("engine", help="install the engine for the real models, and look at it"))

    models.add_arguments(
        commands.add_parser("models", help="show, find and download models", description=models.DESCRIPTION)
    )

    lora.add_arguments(commands.add_parser("lora", help="look at LoRA files"))

    window.add_arguments(commands.add_parser("gui", help="open the window"))

    bench = commands.add_parser("bench", help="measure on this machine", description="Measure on this machine.")
    benches = bench.add_subparsers(metavar="BENCH", required=True)
    for name, (_, what) in BENCHES.items():
        benches.add_parser(name, help=what)
    return top
