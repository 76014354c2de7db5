"""Run folders: one folder a run, with its state in a file that is never half written. There is no database."""

from diffusionforce.runs.checkpoints import (
    CheckpointManifest,
    SavedState,
    list_states,
    manifest_of,
    newest_good,
    read_checked,
    read_manifest,
    require_resumable,
    require_whole,
    whole_states,
)
from diffusionforce.runs.differing import differing_settings
from diffusionforce.runs.folder import RunFolder, read_telemetry
from diffusionforce.runs.home import data_dir, runs_root
from diffusionforce.runs.places import claimed_run_dir, list_runs, new_run_dir, unreadable_runs
from diffusionforce.runs.processes import is_process_alive
from diffusionforce.runs.queue import QueuedRun, RunQueue
from diffusionforce.runs.sealing import new_checkpoint, remove_checkpoint, write_checkpoint
from diffusionforce.runs.state import RunComparison, RunDevice, RunHeldOut, RunState, utc_now
from diffusionforce.runs.storage import is_disk_full, shortened, storage_error

__all__ = [
    "CheckpointManifest",
    "QueuedRun",
    "RunComparison",
    "RunDevice",
    "RunFolder",
    "RunHeldOut",
    "RunQueue",
    "RunState",
    "SavedState",
    "claimed_run_dir",
    "data_dir",
    "differing_settings",
    "is_disk_full",
    "is_process_alive",
    "list_runs",
    "list_states",
    "manifest_of",
    "new_checkpoint",
    "new_run_dir",
    "newest_good",
    "read_checked",
    "read_manifest",
    "read_telemetry",
    "remove_checkpoint",
    "require_resumable",
    "require_whole",
    "runs_root",
    "shortened",
    "storage_error",
    "unreadable_runs",
    "utc_now",
    "whole_states",
    "write_checkpoint",
]
