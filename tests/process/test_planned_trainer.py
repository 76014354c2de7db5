"""The trainer as a process that forecasts, plans and compares; cards, plan and engine are pretended."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.jobs import small_job
from tests.support.planned_runs import GIB, LABELS, RIG
from tests.support.trainer_process import ROOT

from diffusionforce.job import Job, write_job
from diffusionforce.runs import RunFolder
from diffusionforce.ugpum.learned import Lesson, Lessons
from diffusionforce.wire import Compared, Failed, Hello, Message, Planned, StreamDecoder, child_environment


def trained(job: Job, home: Path, *, deeds: str = "") -> tuple[list[Message], int]:
    """All that a trainer process says of a job, and its exit code."""
    job_file = home / "job.toml"
    write_job(job_file, job)
    child = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "tests.support.planned_runs", str(job_file)],
        cwd=ROOT,
        env=child_environment() | {"FAKE_PLAN": deeds, "DIFFUSIONFORCE_HOME": str(home), "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    decoder = StreamDecoder()
    return [*decoder.feed(child.stdout), *decoder.end()], child.returncode


def of_kind(messages: list[Message], kind: type) -> list[Any]:
    return [message for message in messages if isinstance(message, kind)]


def lesson_of(job: Job, home: Path) -> Lesson | None:
    return Lessons(home / "lessons").find(job.profile_name, job.profile, rig=RIG)


def test_a_run_as_planned_says_so_at_the_second_step_and_at_the_end(tmp_path: Path):
    job = small_job(tmp_path, steps=4)
    messages, code = trained(job, tmp_path)
    assert code == 0
    assert isinstance(messages[0], Hello)
    (planned,) = of_kind(messages, Planned)
    assert (planned.words, planned.mode, planned.step_s) == ("split, bf16 weights, 4 micro-batches", "C", 0.5)
    assert [(one.budget_bytes, one.planned_bytes, one.num_aside) for one in planned.devices] == [
        (20 * GIB, 12 * GIB, 0),
        (10 * GIB, 8 * GIB, 4),
    ]
    first, last = of_kind(messages, Compared)
    assert (first.step, last.step, last.causes) == (2, 4, ())
    run = RunFolder.open(job.run_dir)
    assert "GPU 1 (RTX 3060): 8 GB planned, at most 10 GB." in run.log_path.read_text(encoding="utf-8")
    comparison = run.read_state().comparison
    assert comparison is not None
    assert [(one.label, one.planned_bytes, one.seen_bytes) for one in comparison.devices] == [
        (LABELS[0], 12 * GIB, 12 * GIB),
        (LABELS[1], 8 * GIB, 8 * GIB),
    ]
    assert (comparison.planned_s, comparison.seen_s) == (0.5, 0.5)
    assert lesson_of(job, tmp_path) == Lesson(extra_bytes=(0, 0), step_factor=1.0, num_runs=1)


def test_a_slower_run_says_why_and_teaches_the_next_forecast(tmp_path: Path):
    job = small_job(tmp_path, steps=3)
    messages, _ = trained(job, tmp_path, deeds="slow")
    causes = of_kind(messages, Compared)[0].causes
    assert causes == (
        "A step took 1 s, planned were 0.5 s, 100 % longer: the cards were known from their data sheets only.",
    )
    lesson = lesson_of(job, tmp_path)
    assert lesson is not None and lesson.step_factor == 2.0


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path):
    job = small_job(tmp_path)
    messages, code = trained(job, tmp_path, deeds="refused")
    assert code == 1
    (failed,) = messages
    assert isinstance(failed, Failed)
    assert failed.sentence == "This needs 2 GB more on GPU 1 (RTX 3060)."
    assert failed.hint == "What would help:\n- fp8 weights (fits, 0.6 s a step)"
    assert not job.run_dir.exists()


def test_a_run_without_memory_ends_with_what_would_help(tmp_path: Path):
    job = small_job(tmp_path, steps=4, training__gradient_checkpointing=False)
    messages, code = trained(job, tmp_path, deeds="memory")
    failed = messages[-1]
    assert code == 1 and isinstance(failed, Failed)
    assert failed.sentence == "GPU 1 (RTX 3060) ran out of memory in the backward pass of step 3."
    # Half a gigabyte, which smaller pictures save, is less than what was wanted.
    assert failed.hint.splitlines() == [
        "The LoRA of step 2 is saved.",
        "Any of these makes room:",
        "- training.gradient_checkpointing = true: activations recomputed in the backward pass (2 GB less on GPU 1 "
        "(RTX 3060))",
    ]
    assert [change.settings for change in failed.changes] == [{"training.gradient_checkpointing": True}]
    assert RunFolder.open(job.run_dir).read_state().sentence == failed.sentence
    # The training held 9.5 GB of the card and wanted one more, where 8 were planned.
    assert lesson_of(job, tmp_path) == Lesson(extra_bytes=(0, 5 * GIB // 2), step_factor=1.0, num_runs=1)


def test_memory_that_another_program_took_is_no_lesson(tmp_path: Path):
    # The lesson would count that program's memory in for ever, and refuse the next run.
    job = small_job(tmp_path, steps=4)
    messages, _ = trained(job, tmp_path, deeds="foreign")
    failed = messages[-1]
    assert isinstance(failed, Failed)
    assert failed.hint.splitlines()[1:] == [
        "Another program took memory of GPU 1 (RTX 3060) that was free at the start: close it, and start again."
    ]
    assert lesson_of(job, tmp_path) is None
