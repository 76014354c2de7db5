"""Run folders: one folder a run, with its state in a file that is never half written. There is no database."""

from diffusionforce.runs.folder import RunFolder, is_process_alive, read_telemetry
from diffusionforce.runs.home import data_dir, runs_root
from diffusionforce.runs.places import claimed_run_dir, list_runs, new_run_dir
from diffusionforce.runs.queue import QueuedRun, RunQueue
from diffusionforce.runs.state import RunComparison, RunDevice, RunHeldOut, RunState, utc_now
from diffusionforce.runs.storage import is_disk_full, shortened, storage_error

__all__ = [
    "QueuedRun",
    "RunComparison",
    "RunDevice",
    "RunFolder",
    "RunHeldOut",
    "RunQueue",
    "RunState",
    "claimed_run_dir",
    "data_dir",
    "is_disk_full",
    "is_process_alive",
    "list_runs",
    "new_run_dir",
    "read_telemetry",
    "runs_root",
    "shortened",
    "storage_error",
    "utc_now",
]
