"""The steps of the check: install, start, be refused, set up, train, upgrade, repair, uninstall.

A user called jürgen漢 does it. What Wine 8 lacks is put into its prefix and into the copy that was installed there; the
set-up program itself is the one that is released. Each step prints what was seen, and says when it was not as it
should be.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from installer.places import DIST, WORK, version
from installer.problems import BuildError
from installer.unpacking import unpack_zip
from installer.wine import training, wizards
from installer.wine.check import (
    UNINSTALL_KEY,
    Check,
    close_window,
    expect_refusal,
    run_python,
    wait_for,
    window_ids,
    windows_path,
)
from installer.wine.media import NEXT_VERSION, further_setups, place_medium
from installer.wine.prefix import USER, Prefix

REFUSED_RUNNING, REFUSED_SPACE = 5, 4


def install(check: Check) -> None:
    """Install silently."""
    prefix = check.prefix
    ended = prefix.run(check.setup, "/S", limit_s=400)
    files = sum(path.is_file() for path in prefix.program_folder.rglob("*"))
    check.expect(ended.code == 0, f"silent installation: code {ended.code}, {ended.seconds:.1f} s, {files} files")
    links = prefix.find("DiffusionForce.lnk")
    check.expect(len(links) == 2, f"{len(links)} links, in the Start menu and on the desktop")
    values = prefix.registry(UNINSTALL_KEY)
    check.expect(values.get("DisplayVersion") == version(), f"registered as version {values.get('DisplayVersion')}")
    place = values.get("InstallLocation", "").partition("AppData")[2]  # `reg` cannot print the user's name.
    check.expect(place == "\\Local\\Programs\\DiffusionForce", f"installed in AppData{place} of the user")
    prefix.prepare_program()


def look_at_wizard(check: Check) -> None:
    """Look at the first page of the set-up program."""
    process = check.prefix.start(check.setup)
    time.sleep(12)
    check.prefix.picture(check.out / "0-wizard-repair.png")
    process.kill()
    check.prefix.end_programs()
    check.expect(
        (check.out / "0-wizard-repair.png").stat().st_size > 10_000, "a picture of the wizard, which offers to repair"
    )


def start(check: Check) -> None:
    """Open the window as a user does, and try what may not be done while it is open."""
    prefix, program = check.prefix, check.prefix.program_folder / "DiffusionForce.exe"
    started_s = time.monotonic()
    process = prefix.start(program)
    seen = wait_for(lambda: bool(window_ids(prefix)), limit_s=120)
    check.expect(seen, f"the window is there after {time.monotonic() - started_s:.1f} s, its first start")
    time.sleep(8)
    prefix.picture(check.out / "1-window.png")
    again = prefix.run(program, limit_s=60)
    check.expect(
        again.code == 0 and len(window_ids(prefix)) == 1, f"a second start: code {again.code}, still one window"
    )
    expect_refusal(check, "setup while it is open", prefix.run(check.setup, "/S"), REFUSED_RUNNING)
    uninstaller = prefix.program_folder / "Uninstall.exe"
    refused = prefix.run(uninstaller, "/S", f"_?={windows_path(prefix, prefix.program_folder)}")
    expect_refusal(check, "uninstalling while it is open", refused, REFUSED_RUNNING)
    close_window(check, process)
    started_s = time.monotonic()
    process = prefix.start(program)
    seen = wait_for(lambda: bool(window_ids(prefix)), limit_s=120)
    check.expect(seen, f"the window is there after {time.monotonic() - started_s:.1f} s, its second start")
    close_window(check, process)


def refuse_small_disk(check: Check) -> None:
    """Ask for more space than there is."""
    stamp = (check.prefix.program_folder / "build.json").read_bytes()
    expect_refusal(check, "a drive that is too small", check.prefix.run(check.too_large, "/S"), REFUSED_SPACE)
    check.expect((check.prefix.program_folder / "build.json").read_bytes() == stamp, "nothing was changed by that")


def use_command_line(check: Check) -> None:
    """Use the command line of the installed program."""
    answer = run_python(check, "-m", "diffusionforce.cli", "--version")
    check.expect(version() in answer.text, f"diffusionforce --version: {answer.text.strip()}")
    answer = run_python(check, "-m", "diffusionforce.cli", "check", "demo:loranne")
    check.expect(answer.code == 0, f"diffusionforce check demo:loranne: code {answer.code}, {answer.seconds:.1f} s")


def upgrade(check: Check) -> None:
    """Install a newer version over it."""
    prefix = check.prefix
    stale, own = prefix.program_folder / "python" / "stale.txt", prefix.program_folder / "my own file.txt"
    kept = prefix.data_folder / "profiles" / "mine.toml"
    kept.parent.mkdir(parents=True, exist_ok=True)
    for path in (stale, own, kept):
        path.write_text("user", encoding="utf-8")
    ended = prefix.run(check.upgrade, "/S", limit_s=400)
    check.expect(ended.code == 0, f"upgrade to {NEXT_VERSION}: code {ended.code}, {ended.seconds:.1f} s")
    check.expect(not stale.exists(), "a file of the old version is gone")
    check.expect(own.exists() and kept.exists(), "the user's own files are there, beside the program and in the data")
    values = prefix.registry(UNINSTALL_KEY)
    check.expect(values.get("DisplayVersion") == NEXT_VERSION, f"registered as version {values.get('DisplayVersion')}")
    left = [path.name for path in prefix.program_folder.iterdir() if path.name.endswith(".old")]
    check.expect(not left, "nothing that was put aside is left")


def repair(check: Check) -> None:
    """Damage the program, and run the same set-up program again."""
    prefix = check.prefix
    library = prefix.program_folder / "python" / "python312.dll"
    library.unlink()
    broken = prefix.run(prefix.program_folder / "DiffusionForce.exe", "--version", DIFFUSIONFORCE_NO_DIALOG="1")
    ended = prefix.run(check.upgrade, "/S", limit_s=400)
    prefix.prepare_program()
    mended = prefix.run(prefix.program_folder / "DiffusionForce.exe", "--version")
    check.expect(broken.code != 0, f"without python312.dll it does not start: code {broken.code}")
    check.expect(
        ended.code == 0 and mended.code == 0,
        f"the set-up program repairs it: code {ended.code}, {ended.seconds:.1f} s; it starts with code {mended.code}",
    )


def say_what_is_missing(check: Check) -> None:
    """Take Python away, and look at what the launcher says."""
    prefix = check.prefix
    python = prefix.program_folder / "python"
    python.rename(python.with_name("elsewhere"))
    process = prefix.start(prefix.program_folder / "DiffusionForce.exe")
    seen = wait_for(lambda: bool(window_ids(prefix)), limit_s=60)
    time.sleep(2)
    prefix.picture(check.out / "2-python-missing.png")
    check.expect(seen and process.poll() is None, "without Python a message stays on the screen")
    prefix.end_programs()
    process.wait(30)
    python.with_name("elsewhere").rename(python)


def run_portable(check: Check) -> None:
    """Unpack the portable zip somewhere and start it."""
    prefix = check.prefix
    folder = prefix.drive_c / "Träger 漢字"
    unpack_zip(check.portable, target=folder)
    (program,) = folder.glob("*/DiffusionForce.exe")
    shutil.copy(Path(__file__).with_name("sitecustomize.py"), program.parent / "python" / "Lib" / "site-packages")
    ended = prefix.run(program, "--version")
    check.expect(ended.code == 0, f"the portable program in {folder.name!r}: code {ended.code}")
    shutil.rmtree(folder)


def uninstall(check: Check) -> None:
    """Uninstall silently."""
    prefix = check.prefix
    before = sorted(path.name for path in prefix.data_folder.iterdir())
    ended = prefix.run(prefix.program_folder / "Uninstall.exe", "/S")
    # It copies itself elsewhere to be able to delete itself, and goes on there.
    wait_for(lambda: not (prefix.program_folder / "Uninstall.exe").exists(), limit_s=120)
    left = sorted(path.name for path in prefix.program_folder.rglob("*")) if prefix.program_folder.exists() else []
    check.expect(ended.code == 0, f"silent removal: code {ended.code}")
    check.expect(left == ["my own file.txt"], f"in the program's folder only the user's own file is left: {left}")
    after = sorted(path.name for path in prefix.data_folder.iterdir())
    check.expect(before == after, f"the data are untouched: {', '.join(after)}")
    check.expect(not prefix.find("DiffusionForce.lnk"), "both links are gone")
    check.expect(not prefix.registry(UNINSTALL_KEY), "nothing is registered any more")


STEPS: tuple[tuple[str, Callable[[Check], None]], ...] = (
    ("install", install),
    ("wizard", look_at_wizard),
    ("start", start),
    ("small disk", refuse_small_disk),
    ("command line", use_command_line),
    ("train in the window", training.train_in_window),
    ("clip", training.open_clip),
    ("engine", training.install_engine),
    ("self-test", training.self_test),
    ("upgrade", upgrade),
    ("repair", repair),
    ("message", say_what_is_missing),
    ("portable", run_portable),
    ("uninstall", uninstall),
    ("install by the wizard", wizards.install),
    ("uninstall with the environment", wizards.uninstall),
)


def main(arguments: Sequence[str]) -> int:
    """Go through the steps and return the exit code."""
    parser = argparse.ArgumentParser(prog="installer/wine_check.py", description="Try the set-up program under Wine.")
    parser.add_argument("--dist", type=Path, default=DIST, metavar="DIR", help="where the build is (dist)")
    parser.add_argument("--steps", type=int, default=0, help="steps of the demo; 0 trains it as it is")
    parser.add_argument("--prompts", type=int, default=4, help="pictures of each round of samples")
    parser.add_argument("--only", default="", help="comma-separated steps; all when left out")
    options = parser.parse_args(list(arguments))
    out = options.dist / "wine-check"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    name = f"DiffusionForce-{version()}"
    prefix = Prefix(WORK / "wine")
    try:
        # Set up from a folder with wheels beside it, as the offline zip is unpacked.
        medium = WORK / "medium"
        parts = place_medium(options.dist / f"{name}-setup.exe", folder=medium)
        later, huge = further_setups(WORK / "first" / "payload", folder=WORK / "further")
        check = Check(
            prefix=prefix,
            setup=medium / f"{name}-setup.exe",
            upgrade=later,
            too_large=huge,
            portable=options.dist / f"{name}-win64-portable.zip",
            out=out,
            num_steps=options.steps,
            num_prompts=options.prompts,
        )
        for part in parts:
            check.say(f"packed for computers without a network: {part.name}, {part.stat().st_size:,} bytes")
        return go_through(check, only=frozenset(filter(None, options.only.split(","))))
    except BuildError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    finally:
        prefix.close()


def go_through(check: Check, *, only: frozenset[str]) -> int:
    """Do the steps, write the report, and return the exit code."""
    started_s = time.monotonic()
    check.prefix.make()
    check.say(f"Wine prefix of {USER}: {time.monotonic() - started_s:.0f} s")
    for title, step in STEPS:
        if only and title not in only:
            continue
        step_s = time.monotonic()
        check.say(title)
        try:
            step(check)
        except BuildError as problem:
            check.expect(False, str(problem))
        # What a step left running is not to be seen in the next one.
        check.prefix.end_programs()
        check.say(f"   {time.monotonic() - step_s:.0f} s")
    check.say(f"{len(check.problems)} problems, {time.monotonic() - started_s:.0f} s")
    (check.out / "report.txt").write_text("\n".join(check.lines) + "\n", encoding="utf-8")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
