"""The commands of bootstrap.py: make `.venv` with everything that is pinned, then run the demo, the checks or the
installation of the engine for the real models.

Standard library only. Safe to repeat: a stamp inside `.venv`, written last, says what it was made from; a second
run that finds the same stamp installs nothing. A marker that lies there only while pip runs tells an environment
whose making was cut short, which is then made anew.
"""

import argparse
import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from demo import has_display, run_demo
from packages import PLATFORM, SetupError, install, install_torch, say, venv_python, venv_script

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCKS = ROOT / "locks"
GB = 1000**3
# Measured on Linux: 1.6 GB with the CPU build and the test tools, and CUDA adds 4 GB; downloads come on top.
NEEDED_CPU_BYTES = 3 * GB
NEEDED_CUDA_BYTES = 10 * GB
LOCKS_ON_TOP = {"": (), "test": ("test.txt",), "engine": ("musubi.txt", "torchvision.txt")}
"""What each command needs beside the product itself."""


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands and return the exit code.

    Args:
        arguments: The command line without the program's name.
    """
    options, extra = _parser().parse_known_args(list(arguments))
    if extra and options.command == "test":
        _parser().error(f"unrecognized arguments: {' '.join(extra)}")
    try:
        with words_apart(is_data="--json" in extra):
            prepare(on_top="" if options.command == "demo" else options.command)
            if options.command == "test":
                return run_checks()
            if options.command == "engine":
                return install_engine(extra)
            return run_demo(extra, venv=VENV, out=options.out, window=options.window)
    except SetupError as problem:
        sys.stderr.write(f"{problem}\n")
    except KeyboardInterrupt:
        sys.stderr.write("Stopped. Run the same command again to go on.\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bootstrap.py",
        description="Set DiffusionForce up in .venv beside this file. All commands can be repeated.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="{demo,test,engine}")
    demo = commands.add_parser(
        "demo",
        help="install, train the pocket demo, and say where its samples and LoRA are",
        epilog="Further options are handed to 'diffusionforce run', for example --steps 20.",
    )
    demo.add_argument(
        "--no-window", dest="window", action="store_false", help="stay in the terminal even where there is a display"
    )
    demo.add_argument(
        "--out", type=Path, metavar="DIR", help="the run folder to make, instead of one in your data folder"
    )
    demo.set_defaults(window=has_display())
    commands.add_parser("test", help="install with the test tools, then run every check")
    commands.add_parser(
        "engine",
        help="install what the real models need: libraries, and Musubi Tuner",
        epilog="Further options are handed to 'diffusionforce engine install', for example --from FILE.",
    )
    return parser


@contextlib.contextmanager
def words_apart(*, is_data: bool) -> Iterator[None]:
    """Say everything on stderr when stdout is for data: the telemetry, which the run itself writes there."""
    with contextlib.redirect_stdout(sys.stderr) if is_data else contextlib.nullcontext():
        yield


def has_nvidia_card() -> bool:
    """Return whether this machine has an NVIDIA driver, and so presumably a card."""
    if shutil.which("nvidia-smi") or Path("/proc/driver/nvidia/version").exists():
        return True
    return PLATFORM == "win32" and Path(os.environ.get("SYSTEMROOT", ""), "System32", "nvcuda.dll").exists()


def fingerprint(*, on_top: str, nvidia: bool) -> str:
    """Return a text that changes when the environment has to be changed.

    Args:
        on_top: Key of `LOCKS_ON_TOP`.
        nvidia: Whether there is an NVIDIA card.
    """
    digest = hashlib.sha256()
    for part in (platform.python_version(), PLATFORM, platform.machine(), str(ROOT), str(nvidia)):
        digest.update(part.encode() + b"\0")
    for path in [ROOT / "pyproject.toml", *lock_files(on_top=on_top)]:
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def lock_files(*, on_top: str) -> list[Path]:
    """Return the files whose pins are installed."""
    return [LOCKS / name for name in ("torch.txt", "runtime.txt", *LOCKS_ON_TOP[on_top])]


def prepare(*, on_top: str = "") -> None:
    """Bring `.venv` to what is pinned; nothing is done when it is there already.

    Args:
        on_top: What to install beside the product, a key of `LOCKS_ON_TOP`.

    Raises:
        SetupError: It could not be done; the sentence says why.
    """
    nvidia = has_nvidia_card()
    stamp = VENV / "diffusionforce-ready.json"
    wanted = {kind: fingerprint(on_top=kind, nvidia=nvidia) for kind in {"", on_top}}
    present = _read_stamp(stamp)
    is_there = venv_works() and venv_script(VENV, name="diffusionforce").exists()
    if present.get(_name_of(on_top)) == wanted[on_top] and is_there:
        return
    check_disk(NEEDED_CUDA_BYTES if nvidia else NEEDED_CPU_BYTES)
    try:
        make_venv()
        _install_everything(on_top=on_top, nvidia=nvidia)
        # What is on top comes beside the rest, so the product itself is ready too, and what was on top stays.
        kept = _read_stamp(stamp) if present.get(_name_of("")) == wanted[""] else {}
        part = stamp.with_suffix(".part")
        part.write_text(json.dumps(kept | {_name_of(kind): one for kind, one in wanted.items()}), encoding="utf-8")
        part.replace(stamp)
    except OSError as error:
        raise SetupError(f"{error.filename or VENV} cannot be written: {error.strerror}.") from error


def _name_of(on_top: str) -> str:
    """Return the key of the stamp."""
    return on_top or "runtime"


def _read_stamp(stamp: Path) -> dict[str, str]:
    try:
        content = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def check_disk(needed_bytes: int) -> None:
    """Refuse to start on a disk that cannot hold the environment.

    Raises:
        SetupError: There is not enough free space.
    """
    free_bytes = shutil.disk_usage(ROOT).free
    if free_bytes < needed_bytes:
        raise SetupError(
            f"The disk is too full: setting up needs {needed_bytes / GB:.0f} GB and {ROOT} has "
            f"{free_bytes / GB:.1f} GB free. Free some space and run the same command again."
        )


def venv_works() -> bool:
    """Return whether `.venv` has an interpreter of this version that starts and finds pip."""
    python = venv_python(VENV)
    if not python.exists():
        return False
    check = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]!r})"
    try:
        return subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def unfinished_marker() -> Path:
    """Return the file that lies in `.venv` only while packages are being installed."""
    return VENV / "diffusionforce-unfinished"


def make_venv() -> None:
    """Make `.venv`, or make it anew when it is broken, unfinished or of another Python.

    Raises:
        SetupError: Python's venv module cannot do it.
    """
    if venv_works() and not unfinished_marker().exists():
        return
    if VENV.exists():
        say("The environment in .venv is incomplete or of another Python; making it anew.")
        shutil.rmtree(VENV)
    say(f"Setting up {VENV} (Python {platform.python_version()})")
    made = subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        output = made.stdout + made.stderr
        if "ensurepip" in output:
            raise SetupError(
                "This Python lacks its venv module. On Debian and Ubuntu: apt install python3-venv; then run the "
                "same command again."
            )
        last = (output.strip().splitlines() or ["no reason given"])[-1]
        raise SetupError(f"{VENV} could not be made: {last}")


def _install_everything(*, on_top: str, nvidia: bool) -> None:
    python = venv_python(VENV)
    log = VENV / "bootstrap.log"
    unfinished_marker().touch()
    try:
        pinned = ["--no-deps", "--require-hashes"]
        install(python, *pinned, "-r", str(LOCKS / "runtime.txt"), title="packages", log=log)
        _install_build("torch", python, nvidia=nvidia, log=log)
        if on_top == "test":
            install(python, *pinned, "-r", str(LOCKS / "test.txt"), title="test tools", log=log)
        if on_top == "engine":
            install(python, *pinned, "-r", str(LOCKS / "musubi.txt"), title="the engine's libraries", log=log)
            _install_build("torchvision", python, nvidia=nvidia, log=log)
        package = ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
        install(python, *package, title="DiffusionForce", log=log)
    except SetupError:
        # pip undoes what it could not finish, so only a full disk leaves doubts about what is there.
        if shutil.disk_usage(VENV).free > GB // 10:
            unfinished_marker().unlink()
        raise
    unfinished_marker().unlink()


def _install_build(package: str, python: Path, *, nvidia: bool, log: Path) -> None:
    """Install a package of which the build has to suit the machine, unless it is there."""
    text = (LOCKS / f"{package}.txt").read_text(encoding="utf-8")
    version = text.split(f"{package}==")[1].split()[0]
    if not _has_build(package, python, version=version, nvidia=nvidia):
        install_torch(python, version=version, nvidia=nvidia, log=log, package=package)


def _has_build(package: str, python: Path, *, version: str, nvidia: bool) -> bool:
    """Return whether the environment has a package in this version, and not one without CUDA beside a card."""
    question = f"import importlib.metadata as metadata; print(metadata.version({package!r}))"
    answer = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    found, _, build = answer.stdout.strip().partition("+")
    return found == version and not (nvidia and build == "cpu")


def install_engine(extra: Sequence[str]) -> int:
    """Install the engine itself and return the exit code.

    Args:
        extra: Further options of `diffusionforce engine install`.
    """
    return subprocess.call([venv_script(VENV, name="diffusionforce"), "engine", "install", *extra])


def run_checks() -> int:
    """Run every check of the project and return the exit code."""
    return subprocess.call([venv_python(VENV), ROOT / "tools" / "check.py"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
