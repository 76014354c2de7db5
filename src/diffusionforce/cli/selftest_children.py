"""What of the self-test starts other processes: the window's libraries, the environment, and a training."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import psutil

from diffusionforce.cli.selftest_check import Note, Plan, Problem, Skipped
from diffusionforce.cli.selftest_system import FOREIGN_NAME
from diffusionforce.desktop import children
from diffusionforce.job import builtin_profiles, changed, read_profile, write_profile
from diffusionforce.rig import torch_facts
from diffusionforce.wire import child_environment, module_command
from diffusionforce.wire.interpreter import own_python

QT_S, TRAINING_S, END_S = 120.0, 900.0, 15.0
SHORT = {
    "training.steps": 2,
    "training.warmup_steps": 0,
    "samples.prompts": ["a fox in the snow"],
    "samples.before_training": False,
    "samples.num_steps": 4,
}
"""What is changed in the demo's profile."""
_SAYS = """
import json, os, sys
os.chdir(sys.argv[1])
sys.stdout.write(json.dumps([sys.flags.utf8_mode, os.getcwd(), sys.stdin.read()], ensure_ascii=False))
"""
_PARENT = """
import sys
from diffusionforce.desktop import children
child = children.start([sys.executable, "-c", "import time; time.sleep(600)"], ends_with_us=True)
print(child.pid, flush=True)
sys.stdin.read()
"""


def plans(*, quick: bool) -> list[Plan]:
    """Return these checks, in order.

    Args:
        quick: Leave the training out.
    """
    return [
        Plan(name="Child processes", look=utf8_child),
        Plan(name="Children that end with us", look=ending_child),
        Plan(name="Libraries of the window", look=window_libraries),
        Plan(name="Training environment", look=environment),
        Plan(name="Training of two steps", look=_left_out if quick else training),
        Plan(name="Training on the cards", look=_left_out if quick else training_on_cards),
    ]


def utf8_child() -> str:
    """A child in a folder of foreign name reads and writes UTF-8."""
    with tempfile.TemporaryDirectory(prefix="selftest-") as place:
        folder = Path(place) / FOREIGN_NAME
        folder.mkdir()
        ended = children.run([own_python(), "-c", _SAYS, str(folder)], given=FOREIGN_NAME.encode(), timeout_s=QT_S)
        if ended.returncode != 0:
            raise Problem(f"A child ended with exit code {ended.returncode}: {_last_line(ended.stderr)}")
        mode, where, read = json.loads(ended.stdout)
        if (mode, Path(where).name, read) != (1, FOREIGN_NAME, FOREIGN_NAME):
            raise Problem(f"A child garbles names: {mode}, {where!r}, {read!r}")
    return "In UTF-8, in a folder of foreign name."


def ending_child() -> str:
    """A child whose parent is killed does not stay behind."""
    with children.start(
        [own_python(), "-c", _PARENT], stdin=children.PIPE, stdout=children.PIPE, ends_with_us=True
    ) as parent:
        assert parent.stdout is not None
        line = parent.stdout.readline().strip()
        if not line.isdigit():
            raise Problem("A child could not start one of its own.")
        process = psutil.Process(int(line))
        parent.kill()
        gone, _ = psutil.wait_procs([process], timeout=END_S)
    if gone:
        return "None stays behind."
    process.kill()
    raise Note("The system does not end children of a program that was killed; they end by themselves later.")


def window_libraries() -> str:
    """Qt finds its plugins, in a process of its own: one that is broken may take the process along."""
    variables = child_environment()
    if sys.platform == "linux" and not any(variables.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        variables["QT_QPA_PLATFORM"] = "offscreen"
    command = module_command("diffusionforce.gui.self_check")
    ended = children.run(command, environment=variables, timeout_s=QT_S)
    lines = ended.stdout.decode(errors="replace").splitlines()
    if ended.returncode != 0 or not lines:
        raise Problem(f"The window's libraries do not load: {_last_line(ended.stderr)}")
    facts = json.loads(lines[-1])
    if facts["problems"]:
        raise Problem(" ".join(facts["problems"]))
    return str(facts["said"])


def environment() -> str:
    """PyTorch, where trainings would run."""
    facts = torch_facts(timeout_s=QT_S)
    if facts.failure:
        raise Note(facts.failure) if "not set up" in facts.failure else Problem(facts.failure)
    with_cards = f"sees {facts.num_devices} cards" if facts.cuda_available else "uses the processor"
    return f"PyTorch {facts.version} {with_cards}."


def training() -> str:
    """Two steps of the demo through the real trainer, on the processor, in a folder of foreign name."""
    if torch_facts(timeout_s=QT_S).failure:
        raise Skipped("Without PyTorch nothing can be trained.")
    return _trained("cpu")


def training_on_cards() -> str:
    """The same on every card that PyTorch uses, split over them where there are several."""
    num_cards = torch_facts(timeout_s=QT_S).num_devices
    if not num_cards:
        raise Skipped("PyTorch uses no card here.")
    devices = ",".join(f"cuda:{index}" for index in range(num_cards))
    return f"{devices}: {_trained(devices)}"


def _trained(devices: str) -> str:
    """Train two steps of the demo, and say what came of it.

    Args:
        devices: As `run --devices` takes them.
    """
    with tempfile.TemporaryDirectory(prefix="selftest-", ignore_cleanup_errors=True) as place:
        run_dir, begin_s = Path(place) / FOREIGN_NAME, time.monotonic()
        profile = changed(read_profile(builtin_profiles()["pocket-demo"]), SHORT, origin="selftest")
        write_profile(Path(place) / "short.toml", profile)
        arguments = ["run", str(Path(place) / "short.toml"), "--devices", devices, "--out", str(run_dir), "--json"]
        ended = children.run(
            module_command("diffusionforce.cli", *arguments), environment=child_environment(), timeout_s=TRAINING_S
        )
        kinds = [_kind(line) for line in ended.stdout.splitlines()]
        if ended.returncode != 0 or kinds[-1:] != ["done"] or not any(run_dir.rglob("*.safetensors")):
            raise Problem(f"It ended with exit code {ended.returncode}: {_last_line(ended.stderr)}")
        seconds = time.monotonic() - begin_s
        return f"{kinds.count('step')} steps and {kinds.count('sample')} preview in {seconds:.0f} s."


def _left_out() -> str:
    raise Skipped("Left out, as asked.")


def _kind(line: bytes) -> str:
    try:
        return str(json.loads(line).get("kind", ""))
    except (ValueError, AttributeError):
        return ""


def _last_line(errors: bytes) -> str:
    lines = errors.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"no word ({os.name})"
