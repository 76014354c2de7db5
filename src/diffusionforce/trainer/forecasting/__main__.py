"""`python -m diffusionforce.trainer.forecasting JOB_FILE [--rig NAMES [--ram GB] | --measure]`.

Forecasts one job.

Prints one JSON object: a `forecast`, also where it says that nothing fits, or a `failed` record. Exit codes: 0 a
forecast, 1 a problem to act on, 2 a bug of ours.
"""

import argparse
import importlib
import io
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from diffusionforce.job import Job, read_job
from diffusionforce.trainer.endings import EXIT_OK, failure
from diffusionforce.trainer.forecasting.joining import forecast_job
from diffusionforce.trainer.forecasting.rigs import IMAGINED_RAM_GIB, Rig, rig_here, rig_imagined
from diffusionforce.trainer.forecasting.traces import Traces
from diffusionforce.trainer.streams import take_stdout, write_all
from diffusionforce.wire.interpreter import require_torch
from diffusionforce.wire.text import to_json


def main(arguments: Sequence[str], *, out: io.FileIO) -> int:
    """Forecast a job, write the answer, and return the exit code.

    Args:
        arguments: What follows the module's name.
        out: Takes the answer; whatever libraries print must not come into it.
    """
    options = _parser().parse_args(arguments)
    try:
        require_torch()
        job = read_job(options.job_file)
        rig = _rig(job, options)
        traces = Traces(may_start_light=not options.measure)
        answer, code = forecast_job(job, rig=rig, traces=traces).forecast, EXIT_OK
    except Exception as error:  # noqa: BLE001 - this process's one door: every end is told.
        answer, code = failure(error, place=options.job_file.parent, step=None)
    write_all(out.fileno(), to_json(answer) + b"\n")
    return code


def _rig(job: Job, options: argparse.Namespace) -> Rig:
    use, memory = job.profile.devices.use, job.profile.memory
    if options.rig:
        return rig_imagined(options.rig, devices=use, memory=memory, ram_gib=options.ram)
    rig = rig_here(use, memory=memory)
    if not options.measure or not rig.on_cards:
        return rig
    importlib.import_module("diffusionforce.trainer.forecasting.measuring").measure_rig(rig)
    return rig_here(use, memory=memory)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="diffusionforce.trainer.forecasting")
    parser.add_argument("job_file", type=Path)
    parser.add_argument("--rig", default="", help="cards of a rig that is not here")
    parser.add_argument("--ram", type=float, default=IMAGINED_RAM_GIB, help="its RAM in GB")
    parser.add_argument("--measure", action="store_true", help="measure the cards here first")
    return parser


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    sys.exit(main(sys.argv[1:], out=take_stdout()))
