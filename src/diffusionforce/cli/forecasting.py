"""`diffusionforce forecast`: what a training would need, from a child process that runs the model's code on nothing."""

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from diffusionforce.cli.arguments import add_plan_arguments, user_path, with_devices, with_settings
from diffusionforce.cli.forecast_tables import show_forecast
from diffusionforce.cli.output import waiting, write_answer
from diffusionforce.cli.running import job_of
from diffusionforce.datasets.intakes import intake_of
from diffusionforce.desktop import children
from diffusionforce.errors import ProfileError, UserError
from diffusionforce.job import Job, dataset_folder, find_profile, loaded_toml, read_job, read_profile, write_job
from diffusionforce.job.files import DEMO_PREFIX
from diffusionforce.wire import Failed, child_environment, forecast_command
from diffusionforce.wire.forecast import Forecast, read_answer

EXIT_FITS, EXIT_REFUSED, EXIT_BUG = 0, 1, 2
THIS_RIG, PROCESSOR = "this", "cpu"
_SMALLEST_RAM_GIB, _LARGEST_RAM_GIB = 1, 16384


class ForecastError(UserError):
    """A forecast that could not be made."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `forecast` its arguments."""
    parser.add_argument("profile", metavar="PROFILE", help="as for run; or a job.toml, or a run folder that holds one")
    parser.add_argument("--dataset", metavar="DIR", help="folder of pictures with a .txt caption beside each")
    parser.add_argument("--devices", metavar="LIST", help="auto, cpu, or cards in order, like cuda:0,cuda:1")
    add_plan_arguments(parser)
    parser.add_argument(
        "--rig", metavar="NAMES", help='cards to plan for, like "RTX 5080, RTX 4060 Ti 16GB x4"; this is what is here'
    )
    parser.add_argument("--ram", metavar="GB", help="RAM of the rig that --rig names")
    parser.add_argument("--measure", action="store_true", help="measure the cards here first, once for good")
    parser.add_argument("--all", action="store_true", help="list every way to train, not only the best of each kind")
    parser.add_argument("--json", action="store_true", help="print the forecast as one JSON record")
    parser.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Make a forecast, show it, and return the exit code.

    Raises:
        UserError: The arguments are refused, or no forecast can be made.
    """
    rig = "" if options.rig is None or options.rig.strip().lower() == THIS_RIG else _rig(options.rig)
    ram_gib = _ram_gib(options, has_rig=bool(rig))
    if options.measure and rig:
        raise ProfileError("--measure is for the cards that are here.", hint="Leave --rig out.")
    if rig and (options.devices or "").strip() == PROCESSOR:
        raise ProfileError("--rig names cards, and --devices the processor.", hint="Leave one of them out.")
    with tempfile.TemporaryDirectory(prefix="diffusionforce-") as folder:
        job_file = Path(folder, "forecast.job.toml")
        job = _job(options, no_dataset=Path(folder, "no pictures"))
        _require_pictures(job, no_dataset=Path(folder, "no pictures"))
        write_job(job_file, job)
        with waiting(f"Forecasting {job.profile.title}"):
            command = forecast_command(job_file, rig=rig, ram_gib=ram_gib, measures=options.measure)
            answer, line, code = _answer(command)
    if isinstance(answer, Failed):
        if code != EXIT_BUG:
            raise ForecastError(answer.sentence, hint=answer.hint, detail=answer.detail)
        _tell_bug(answer, line, as_json=options.json)
        return EXIT_BUG
    if options.json:
        write_answer(line)
    else:
        show_forecast(answer, job.profile, console=Console(highlight=False), with_all_ways=options.all)
    return EXIT_REFUSED if answer.refusal else EXIT_FITS


def _answer(command: list[str]) -> tuple[Forecast | Failed, bytes, int]:
    """Let the child answer; returns what it said, the same as it said it, and its exit code.

    Raises:
        ForecastError: It died without an answer.
    """
    child = children.run(command, environment=child_environment())
    lines = [line for line in child.stdout.splitlines(keepends=True) if line.strip()]
    line = lines[-1] if lines else b""
    try:
        return read_answer(line), line, child.returncode
    except ValueError as error:
        log = child.stderr.decode(errors="replace").strip()
        raise ForecastError(
            f"The forecast ended without an answer (exit code {child.returncode}).",
            hint="Run `diffusionforce doctor` to check the installation.",
            detail=log or str(error),
        ) from error


def _tell_bug(failed: Failed, line: bytes, *, as_json: bool) -> None:
    if as_json:
        write_answer(line)
    else:
        sys.stderr.write(f"{failed.detail.rstrip()}\n{failed.sentence}\n{failed.hint}\n")


def _job(options: argparse.Namespace, *, no_dataset: Path) -> Job:
    """The job that is meant; a profile without a dataset is forecast for the sizes that it names."""
    job = _written_job(options.profile)
    if job is not None:
        return _with_options(job, options)
    as_for_run = argparse.Namespace(**{**vars(options), "steps": None, "trigger": None, "out": str(no_dataset)})
    if options.dataset is None and not read_profile(find_profile(options.profile)).dataset.folder:
        as_for_run.dataset = str(no_dataset)
    return job_of(as_for_run)


def _require_pictures(job: Job, *, no_dataset: Path) -> None:
    """Refuse a folder that was named and has nothing to train on; a forecast may do without one."""
    # Not above: commands that train nothing start without Pillow and NumPy.
    from diffusionforce.datasets import read_folder  # noqa: PLC0415

    if job.dataset_dir != no_dataset:
        read_folder(job.dataset_dir, decode=False, intake=intake_of(job.profile))


def _written_job(name: str) -> Job | None:
    """The job in a job file or run folder; None if the name is a profile's."""
    path = Path(name)
    path = path / "job.toml" if path.is_dir() else path
    try:
        if path.suffix != ".toml" or "profile" not in loaded_toml(path):
            return None
    except (OSError, ValueError):
        return None  # Whoever reads profiles says what is wrong with it.
    return read_job(path)


def _with_options(job: Job, options: argparse.Namespace) -> Job:
    profile = with_settings(with_devices(job.profile, options.devices), options.settings)
    job = job.model_copy(update={"profile": profile, "way": job.way if options.way is None else options.way})
    if options.dataset is not None:
        named: str = options.dataset
        path = dataset_folder(named if named.startswith(DEMO_PREFIX) else str(user_path(named, option="--dataset")))
        job = job.model_copy(update={"dataset_dir": path, "held_out_dir": None})
    return job


def _rig(text: str) -> str:
    if not text.strip():
        raise ProfileError("--rig is empty.", hint='Name cards, like "RTX 5080, RTX 4060 Ti 16GB", or write this.')
    return text


def _ram_gib(options: argparse.Namespace, *, has_rig: bool) -> float | None:
    if options.ram is None:
        return None
    if not has_rig:
        raise ProfileError("--ram goes with --rig NAMES.", hint="The RAM of this computer is read from it.")
    try:
        ram_gib = float(options.ram)
    except ValueError:
        ram_gib = 0.0
    if not _SMALLEST_RAM_GIB <= ram_gib <= _LARGEST_RAM_GIB:
        raise ProfileError(
            f"--ram is {options.ram!r}.",
            hint=f"Write a number of GB from {_SMALLEST_RAM_GIB} to {_LARGEST_RAM_GIB}, like 64.",
        )
    return ram_gib
