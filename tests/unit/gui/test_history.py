"""What the queue and the history say about runs, without a window."""

import shutil
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from tests.gui import recorded

from diffusionforce.errors import RunFolderError
from diffusionforce.gui.model import comparison, history, queue_times
from diffusionforce.job import read_job, write_job
from diffusionforce.runs import RunFolder, manifest_of, write_checkpoint
from diffusionforce.runs.labels import RunLabel, write_label


def done(root: Path, **changes: object) -> history.PastRun:
    """A run of 300 steps that took 124 s."""
    state = recorded.run_folder(root, end="done").read_state().model_copy(update=changes)
    return history.PastRun(root=root, state=state, picture=None)


def test_runs_that_wait_are_timed_by_earlier_runs_of_their_profile(tmp_path: Path):
    past = [done(tmp_path / "a"), done(tmp_path / "b", profile_name="other", step=1)]
    jobs = [recorded.job(tmp_path, steps=steps) for steps in (300, 600)]
    times = queue_times.waiting_times(jobs, past, busy_s=60.0)
    assert [(time.start_s, time.length_s) for time in times] == [(60.0, 124.0), (184.0, 248.0)]
    now = datetime(2026, 1, 2, 10, 0)
    assert times[1].words(now) == "starts about 10:03 · about 4 min 8 s"
    assert queue_times.all_done_words(times, now=now) == "2 runs waiting. All done about 10:07."


def test_what_is_not_known_is_not_claimed(tmp_path: Path):
    jobs = [recorded.job(tmp_path), recorded.job(tmp_path)]
    times = queue_times.waiting_times(jobs, [], busy_s=0.0)
    assert [time.words(datetime(2026, 1, 2)) for time in times] == ["starts next", "starts after those before"]
    assert queue_times.all_done_words(times, now=datetime(2026, 1, 2)) == "2 runs waiting."
    assert queue_times.waiting_times(jobs, [done(tmp_path / "a")], busy_s=None)[0].start_s is None


def test_the_history_knows_pictures_clips_and_saved_states(tmp_path: Path):
    folder = recorded.run_folder(tmp_path / "runs" / "run", end="stopped", upto=120)
    (folder.root / "samples" / "z.mp4").write_bytes(b"")
    job = recorded.job(folder.root)
    for step in (100, 300):  # After the last one nothing is left to do.
        state = folder.root / "checkpoints" / f"a_step_{step:06d}-state"
        write_checkpoint(state, manifest_of(job, step=step), {"state.safetensors": b""})
    (folder.root / "checkpoints" / "a_step_000110-state").mkdir()  # Not whole.
    (run,) = history.read_history(tmp_path / "runs")
    assert run.picture == folder.root / "samples" / "z.mp4"
    assert run.can_resume
    assert [history.state_words(state) for state in run.states] == ["Continue from step 100"]
    assert run.facts() == "step 120 of 300"
    assert (run.name, run.dataset) == ("Pocket demo · loranne", "loranne")
    assert run.settings == "rank 16 · 256 px · 300 steps"
    folder.job_path.unlink()
    assert history.read_history(tmp_path / "runs")[0].name == "Pocket demo"


def test_a_run_is_shown_by_the_first_prompt_of_its_newest_previews(tmp_path: Path):
    # Symptom: every run looked alike, by its last prompt, which shows that what is not trained stays as it is.
    folder = recorded.run_folder(tmp_path / "runs" / "run", end="stopped", upto=120)
    for step, prompt in ((0, 0), (150, 0), (150, 3), (99, 0)):
        (folder.root / "samples" / f"step_{step:06d}_prompt_{prompt:02d}.png").write_bytes(b"")
    (run,) = history.read_history(tmp_path / "runs")
    assert run.picture == folder.root / "samples" / "step_000150_prompt_00.png"


def runs(tmp_path: Path) -> list[comparison.ComparedRun]:
    first = recorded.run_folder(tmp_path / "one", end="done").root
    second = recorded.run_folder(tmp_path / "two", end="stopped", upto=120, steps=200).root
    return comparison.read_runs([first, second])


def test_settings_that_differ_come_first(tmp_path: Path):
    rows = comparison.setting_rows(runs(tmp_path))
    differing = [(row.name, row.values) for row in rows if row.differs]
    assert differing == [("Training · Steps", ("300", "200"))]
    assert rows[0].differs and not rows[-1].differs


def test_samples_are_matched_by_prompt_and_step(tmp_path: Path):
    compared = runs(tmp_path)
    assert comparison.common_steps(compared) == [0, 100]
    newest = comparison.sample_rows(compared, step=None)
    assert [found[0] for found in newest[0].pictures if found] == [300, 100]
    at_100 = comparison.sample_rows(compared, step=100)
    assert all(found is not None and found[1].is_file() for row in at_100 for found in row.pictures)
    assert comparison.sample_rows(compared, step=300)[0].pictures[1] is None


def called(root: Path, word: str) -> Path:
    """Return a run whose subject has another name, in its job and in its prompts."""
    folder = recorded.run_folder(root, end="done")
    for path in (folder.job_path, folder.telemetry_path):
        path.write_bytes(path.read_bytes().replace(b"LoRAnne", word.encode()))
    return folder.root


def test_runs_with_other_trigger_words_are_compared_prompt_by_prompt(tmp_path: Path):
    # Symptom: every prompt of two characters stood in two rows, each with one picture, and nothing said why.
    first, second, third = (
        called(tmp_path / "a", "LoRAnne"),
        called(tmp_path / "b", "Zorbl"),
        called(tmp_path / "c", ""),
    )
    assert comparison.trigger_words(comparison.read_runs([first, first])) == ""
    compared = comparison.read_runs([first, second])
    assert comparison.trigger_words(compared).startswith("The trigger words differ: A LoRAnne, B Zorbl.")
    rows = comparison.sample_rows(compared, step=300)
    assert [row.prompt for row in rows][:2] == [
        "LoRAnne / Zorbl, waving, on a beach, smiling",
        "close-up of LoRAnne / Zorbl, in the snow, happy",
    ]
    assert len(rows) == 4 and all(picture is not None for row in rows for picture in row.pictures)
    assert "B none" in comparison.trigger_words(comparison.read_runs([first, third]))


def test_a_run_without_its_job_can_be_compared(tmp_path: Path):
    folder = RunFolder(recorded.run_folder(tmp_path / "one", end="done").root)
    folder.job_path.unlink()
    compared = [comparison.read_run(folder.root, "A"), *runs(tmp_path / "more")]
    rows = comparison.setting_rows(compared)
    assert all(row.values[0] == comparison.NOT_KNOWN for row in rows)


def test_only_runs_that_changed_are_read_again(tmp_path: Path):
    root = tmp_path / "runs"
    folder = recorded.run_folder(root / "a", end="done")
    recorded.run_folder(root / "b", end="stopped", upto=120)
    first = history.read_history(root)
    write_label(folder.root, RunLabel(name="Named"))
    second = history.read_history(root, first)
    by_name = {run.root.name: run for run in second}
    assert by_name["a"].name == "Named"
    assert any(by_name["b"] is run for run in first)


def test_a_checkpoint_that_was_deleted_is_not_offered_any_more(tmp_path: Path):
    # Symptom: "Continue" stayed in a row that was read before, and led to a run that failed.
    root = tmp_path / "runs"
    one, later = (recorded.run_folder(root / name, end="stopped", upto=120) for name in ("a", "b"))
    state = one.checkpoints_dir / "a_step_000100-state"
    write_checkpoint(state, manifest_of(recorded.job(one.root), step=100), {"state.safetensors": b"x"})
    write_job(later.job_path, read_job(later.job_path).model_copy(update={"resume": state}))

    def offered(known: list[history.PastRun]) -> tuple[list[history.PastRun], dict[str, int]]:
        found = history.read_history(root, known)
        return found, {run.root.name: len(run.states) for run in found}

    known, num = offered([])
    assert num == {"a": 1, "b": 1}, "a run that saved none goes on from the one with which it began"
    (state / "state.safetensors").rename(tmp_path / "aside")
    known, num = offered(known)
    assert num == {"a": 0, "b": 0}
    (tmp_path / "aside").rename(state / "state.safetensors")
    known, num = offered(known)
    assert num == {"a": 1, "b": 1}
    shutil.rmtree(one.root)
    assert offered(known)[1] == {"b": 0}


def test_a_run_that_goes_on_is_not_asked_about_but_refused(tmp_path: Path):
    run = done(tmp_path / "a")
    folder = RunFolder(run.root)
    own = psutil.Process()
    folder.write_state(
        run.state.model_copy(update={"state": "running", "pid": own.pid, "process_started_s": own.create_time()})
    )
    with pytest.raises(RunFolderError, match="Pocket demo is still being trained"):
        history.delete_words(run)


def test_previews_that_would_go_are_counted_when_it_is_asked(tmp_path: Path):
    run = done(tmp_path / "a", num_samples=99)
    num_samples = len(list((run.root / "samples").iterdir()))
    assert f"among them {num_samples} preview" in history.delete_words(run)


def test_a_run_that_goes_on_takes_the_steps_that_are_left(tmp_path: Path):
    past = [done(tmp_path / "a")]
    job = recorded.job(tmp_path).model_copy(update={"resume": tmp_path / "a" / "checkpoints" / "a_step_000150-state"})
    assert queue_times.resume_step(job, past) == 150
    assert queue_times.expected_s(job, past) == 62.0


def test_no_time_is_told_for_a_queue_that_waits_to_be_started(tmp_path: Path):
    jobs, now = [recorded.job(tmp_path), recorded.job(tmp_path)], datetime(2026, 1, 2, 10, 0)
    times = queue_times.waiting_times(jobs, [done(tmp_path / "a")], busy_s=0.0, waits_for=queue_times.WAITS_FOR_START)
    assert [time.words(now) for time in times] == [
        "waits for “Start the queue” · about 2 min 4 s",
        "starts after those before · about 2 min 4 s",
    ]
    assert queue_times.all_done_words(times, now=now) == "2 runs waiting."


def test_a_run_whose_state_cannot_be_read_is_listed_and_says_so(tmp_path: Path):
    # Symptom: it vanished from the history, as if its files were gone.
    recorded.run_folder(tmp_path / "runs" / "good", end="done")
    broken = recorded.run_folder(tmp_path / "runs" / "broken", end="stopped")
    broken.state_path.write_text("{", encoding="utf-8")
    first, second = history.read_history(tmp_path / "runs")
    assert (first.root, first.name, first.is_unreadable) == (broken.root, "broken", True)
    assert first.facts() == history.UNREADABLE and first.picture is not None
    assert not first.can_resume and not first.is_going and first.seconds is None
    assert second.name == "Pocket demo · loranne" and not second.is_unreadable
