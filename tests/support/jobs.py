"""Small jobs and runs to test with."""

from pathlib import Path

from PIL import Image

from diffusionforce.job import Job, builtin_profiles, changed, read_profile


def picture_folder(path: Path, *, num_pictures: int = 3) -> Path:
    """Fill a new folder with plain pictures and their captions."""
    path.mkdir(parents=True)
    for index in range(num_pictures):
        Image.new("RGB", (64, 64), (80 * index, 40, 200)).save(path / f"{index}.png")
        (path / f"{index}.txt").write_text(f"Blob, picture {index}", encoding="utf-8")
    return path


def small_job(folder: Path, *, steps: int = 3, dataset_dir: Path | None = None, **changes: object) -> Job:
    """A job of the pocket demo cut down to a few steps and no samples, with its run in `folder`/run.

    Args:
        changes: Further settings, with `__` for the dot: `samples__every_steps=2`.
    """
    settings: dict[str, object] = {
        "training.steps": steps,
        "training.warmup_steps": 0,
        "samples.prompts": [],
        "checkpoints.every_steps": 0,
        "devices.use": ["cpu"],
    }
    settings |= {name.replace("__", "."): value for name, value in changes.items()}
    profile = changed(read_profile(builtin_profiles()["pocket-demo"]), settings, origin="small_job")
    return Job(
        profile_name="pocket-demo",
        profile=profile,
        dataset_dir=dataset_dir or picture_folder(folder / "pictures"),
        run_dir=folder / "run",
    )
