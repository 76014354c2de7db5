"""`python -m diffusionforce.trainer.forecasting (JOB_FILE | -) [--rig NAMES [--ram GB] | --measure]`.

Forecasts one job; with `-` one after another, as they come in lines of its input (see `standby`).

Prints one JSON object a job: a `forecast`, also where it says that nothing fits, a `failed` record, or `given_up`. Exit
codes: 0 a forecast, 1 a problem to act on, 2 a bug of ours.
"""

import argparse
import importlib
import io
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from diffusionforce.job import Job, read_job
from diffusionforce.trainer.endings import EXIT_OK, failure
from diffusionforce.trainer.forecasting.joining import forecast_job
from diffusionforce.trainer.forecasting.rigs import IMAGINED_RAM_GIB, Rig, rig_here, rig_imagined
from diffusionforce.trainer.forecasting.standby import (
    GivenUpError,
    Order,
    OrderedTraces,
    Orders,
    lines_of,
    look_of_code,
    pieces_of_forecasts,
    serve,
)
from diffusionforce.trainer.streams import take_stdin, take_stdout, write_all
from diffusionforce.wire import JOBS_IN_INPUT, Failed
from diffusionforce.wire.forecast import Forecast, GivenUp
from diffusionforce.wire.interpreter import require_torch
from diffusionforce.wire.text import to_json


def main(arguments: Sequence[str], *, out: io.FileIO, given: int | None = None) -> int:
    """Forecast a job, or one after another, write the answers, and return the exit code.

    Args:
        arguments: What follows the module's name.
        out: Takes the answers; whatever libraries print must not come into it.
        given: Descriptor of the input, where jobs come from there.
    """
    options = _parser().parse_args(arguments)
    if given is None:
        answer, code = _answered(options, Order(options.job_file))
        _write(answer, out)
        return code
    orders, look = Orders(), look_of_code()
    threading.Thread(target=lambda: orders.read(lines_of(given)), name="orders", daemon=True).start()
    return serve(
        orders,
        forecast=lambda order: _answered(options, order),
        tell=lambda answer: _write(answer, out),
        # To measure, PyTorch has to be there as a whole.
        pieces=[] if options.measure else pieces_of_forecasts(),
        is_outdated=lambda: look_of_code() != look,
    )


def _answered(options: argparse.Namespace, order: Order) -> tuple[Forecast | Failed, int]:
    try:
        require_torch()
        job = read_job(order.job_file)
        rig = _rig(job, options)
        traces = OrderedTraces(order, may_start_light=not options.measure)
        return forecast_job(job, rig=rig, traces=traces).forecast, EXIT_OK
    except GivenUpError:
        raise
    except Exception as error:  # noqa: BLE001 - this process's one door: every end is told.
        return failure(error, place=order.job_file.parent, step=None)


def _write(answer: Forecast | Failed | GivenUp, out: io.FileIO) -> None:
    write_all(out.fileno(), to_json(answer) + b"\n")


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
    parser.add_argument("job_file", type=Path, help=f"the job; {JOBS_IN_INPUT}: jobs come as lines of the input")
    parser.add_argument("--rig", default="", help="cards of a rig that is not here")
    parser.add_argument("--ram", type=float, default=IMAGINED_RAM_GIB, help="its RAM in GB")
    parser.add_argument("--measure", action="store_true", help="measure the cards here first")
    return parser


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    has_jobs = JOBS_IN_INPUT in sys.argv[1:]
    exit_code = main(sys.argv[1:], out=take_stdout(), given=take_stdin() if has_jobs else None)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # Python would take PyTorch apart piece by piece, half a second in which somebody waits for our end.
    os._exit(exit_code)
