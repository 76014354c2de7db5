"""The zip for a bug report: everything that helps, and nothing that tells whose it is."""

import zipfile
from pathlib import Path

import pytest
from tests.support.jobs import small_job

from diffusionforce.errors import RunFolderError
from diffusionforce.job import write_job
from diffusionforce.runs import RunFolder
from diffusionforce.runs.report import FIRST_BYTES, LAST_BYTES, collect_report, report_name, write_report
from diffusionforce.wire import Sample, encode

PRIVATE = ("anna", "smith", "beach", "hunter", "villa")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run about somebody, which failed."""
    pictures = tmp_path / "Anna Smith" / "villa"
    pictures.mkdir(parents=True)
    (pictures / "Anna at the beach.png").write_bytes(b"")
    job = small_job(tmp_path / "job", dataset_dir=pictures)
    samples = job.profile.samples.model_copy(update={"prompts": ("annasmith at the beach, red dress",)})
    dataset = job.profile.dataset.model_copy(update={"trigger": "annasmith"})
    profile = job.profile.model_copy(
        update={"samples": samples, "dataset": dataset, "title": "Smith lora", "description": "For Anna."}
    )
    root = tmp_path / "2026-01-01-000000-smith-lora"
    folder = RunFolder.create(root, job.model_copy(update={"profile": profile, "profile_name": "smith-lora"}))
    sentence = f"{pictures / 'Anna at the beach.png'} cannot be read."
    folder.write_state(folder.read_state().model_copy(update={"state": "failed", "sentence": sentence}))
    drawn = {"step": 1, "prompt_index": 0, "num_prompts": 1, "seed": 1, "path": "samples/step_1.png", "seconds": 1.0}
    folder.telemetry_path.write_bytes(encode(Sample(prompt="Anna, changed since", **drawn)) + b'{"torn": "anna')
    folder.log_path.write_text(
        f"Loading {root}/checkpoints/annasmith_step_000001.safetensors\n"
        "token=hf_hunterhunterhunter\n"
        'He said "annasmith at the beach, red dress"\n'
        "Anna at the beach.png: no caption\n"
        'Traceback (most recent call last):\n  File "/home/anna/venv/lib/site-packages/torch/nn.py", line 3\n',
        encoding="utf-8",
    )
    (folder.checkpoints_dir / "annasmith.safetensors").write_bytes(b"1234")
    return folder


def test_nothing_private_is_in_it_and_what_helps_is(run: RunFolder, tmp_path: Path) -> None:
    report = collect_report(run, machine="DiffusionForce 1.2.3")
    write_report(report, tmp_path / report_name())
    (path,) = tmp_path.glob("diffusionforce-report-*.zip")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        texts = {name: archive.read(name).decode() for name in names}
    assert names == ["about.txt", "run.json", "job.toml", "telemetry.jsonl", "log.txt", "files.txt"]
    for name, text in texts.items():
        assert not [word for word in (*PRIVATE, str(tmp_path)) if word in text.lower()], name
    assert texts["about.txt"] == "DiffusionForce 1.2.3\n"
    assert "<packages>/torch/nn.py" in texts["log.txt"] and "rank" in texts["job.toml"]
    assert "<prompt 1, 33 characters>" in texts["job.toml"] and "<prompt, 19 characters>" in texts["telemetry.jsonl"]
    assert "4  checkpoints/" in texts["files.txt"]


def test_of_a_long_log_begin_and_end_are_taken(run: RunFolder) -> None:
    run.log_path.write_text("begin\n" + "x y\n" * 500_000 + "end\n", encoding="utf-8")
    (log,) = (file for file in collect_report(run, machine="").files if file.name == "log.txt")
    text = log.content.decode()
    assert text.startswith("begin") and text.endswith("end\n") and "bytes are left out here" in text
    assert len(text) < FIRST_BYTES + LAST_BYTES + 100


def test_files_that_are_broken_or_gone_do_not_stop_it(run: RunFolder, tmp_path: Path) -> None:
    run.job_path.write_text('trigger = "anna\n[', encoding="utf-8")
    run.telemetry_path.write_bytes(b"\xff\xfe{[" + b"[" * 100_000)
    run.log_path.unlink()
    names = [file.name for file in collect_report(run, machine="").files]
    assert names == ["about.txt", "run.json", "job.toml", "telemetry.jsonl", "files.txt"]
    write_job(run.job_path, small_job(tmp_path / "again"))
    (tmp_path / "there.zip").write_bytes(b"")
    with pytest.raises(RunFolderError, match="is there already"):
        write_report(collect_report(run, machine=""), tmp_path / "there.zip")


def test_a_run_whose_state_is_broken_is_packed_all_the_same(run: RunFolder) -> None:
    # Symptom: of the run that needed a report most there was none.
    run.state_path.write_text('{"state": "done", "title": "Anna', encoding="utf-8")
    files = {file.name: file.content.decode() for file in collect_report(run, machine="").files}
    assert files["run.json"].startswith('{"state"') and "log.txt" in files
    assert not [word for word in PRIVATE if word in files["log.txt"].lower()]
