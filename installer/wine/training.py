"""What is tried once PyTorch is there: the demo in the window, a clip, the engine, the self-test."""

import json
import shutil
from pathlib import Path

from installer.wine.check import Check, run_python


def train_in_window(check: Check) -> None:
    """Set the training environment up and train the demo, in the window."""
    prefix = check.prefix
    wheels = prefix.program_folder / "wheels"
    check.expect(len(list(wheels.glob("*.whl"))) > 50, f"{len(list(wheels.glob('*.whl')))} wheels came with setup")
    pictures = prefix.drive_c / "pictures"
    pictures.mkdir(exist_ok=True)
    script = Path(__file__).with_name("drive_window.py")
    arguments = (str(script), "C:\\pictures", str(check.num_steps), str(check.num_prompts))
    ended = run_python(check, *arguments, limit_s=7200)
    for picture in sorted(pictures.glob("*.png")):
        shutil.copy(picture, check.out / f"window-{picture.name}")
    record = pictures / "driven.json"
    driven = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {"problem": ended.text[-1500:]}
    for words, value in driven.items():
        check.say(f"         {words}: {value}")
    check.expect(not driven["problem"], f"the window was driven to the end, code {ended.code}, {ended.seconds:.0f} s")
    check.expect(driven.get("environment") == "ready", f"the training environment is {driven.get('environment')}")
    check.expect(driven.get("outcome") == "done", f"the demo ended as {driven.get('outcome')!r}")
    runs = sorted((prefix.data_folder / "runs").glob("*"))
    weights = [path for run in runs for path in run.rglob("*.safetensors")]
    samples = [path for run in runs for path in run.rglob("samples/*.png")]
    check.expect(
        bool(weights and samples), f"{len(weights)} LoRA files and {len(samples)} samples lie in the run's folder"
    )
    for sample in samples[-2:]:
        shutil.copy(sample, check.out / f"sample-{sample.name}")


def open_clip(check: Check) -> None:
    """Open a clip in the Python of the window, which has no decoder of its own."""
    script = Path(__file__).with_name("open_clip.py")
    ended = run_python(check, str(script), "C:\\pictures\\clip.mp4")
    check.expect(ended.code == 0 and "\\cache\\decoder\\" in ended.text, f"a clip is opened: {ended.text.strip()}")


def install_engine(check: Check) -> None:
    """Bring the engine from the archive in the program's folder, where one was shipped."""
    if not (check.prefix.program_folder / "engine" / "musubi-tuner.zip").is_file():
        check.say("   not tried: this build ships no engine")
        return
    for action in ("install", "verify"):
        ended = run_python(check, "-m", "diffusionforce.cli", "engine", action, limit_s=400)
        words = " ".join(ended.text.split())
        check.expect(ended.code == 0, f"engine {action}: code {ended.code}, {ended.seconds:.0f} s; {words[-160:]}")


def self_test(check: Check) -> None:
    """Let the program test itself, by the launcher as a tester would call it."""
    prefix = check.prefix
    ended = prefix.run(prefix.program_folder / "DiffusionForce.exe", "--selftest", limit_s=1800)
    report = prefix.data_folder / "selftest.txt"
    text = report.read_text(encoding="utf-8") if report.is_file() else "no report"
    for line in text.splitlines():
        check.say(f"         {line}")
    check.expect(ended.code == 0 and report.is_file(), f"the self-test: code {ended.code}, {ended.seconds:.0f} s")
    if report.is_file():
        shutil.copy(report, check.out)
