"""A run that goes on from another shows what there was before, and the older one says who went on."""

import shutil
from pathlib import Path

import pytest
from tests.gui import recorded

from diffusionforce.gui.model import again, comparison, history, outcome, queue_times, run_chain
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.job import read_job, write_job
from diffusionforce.runs import RunFolder, manifest_of, write_checkpoint
from diffusionforce.wire import Done, Stopped


@pytest.fixture
def chain(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Three runs: one that was stopped, one that went on from its step 100 and was stopped, one from there on."""
    roots = tuple(tmp_path / "runs" / f"2026-01-0{day}-100000-pocket-demo" for day in (1, 2, 3))
    for index, root in enumerate(roots):
        folder = recorded.run_folder(root, end="stopped", upto=(120, 220, 290)[index])
        job = read_job(folder.job_path)
        step = (100, 200, 280)[index]
        state = folder.checkpoints_dir / f"a_step_{step:06d}-state"
        write_checkpoint(state, manifest_of(job, step=step), {"state.safetensors": b""})
        if index:
            before = RunFolder(roots[index - 1]).checkpoints_dir / f"a_step_{(100, 200)[index - 1]:06d}-state"
            write_job(folder.job_path, job.model_copy(update={"resume": before}))
    return roots[0], roots[1], roots[2]


def test_what_there_was_before_is_found_back_to_the_first_run(chain: tuple[Path, Path, Path]):
    first, second, third = chain
    job = read_job(RunFolder(third).job_path)
    runs = run_chain.earlier_runs(job)
    assert [run.root for run in runs] == [first, second]
    # What a run did after the step from which the next one went on is no part of it.
    assert [run.losses[-1][0] for run in runs] == [100, 200]
    assert {sample.step for sample in runs[0].samples} == {0, 100}
    model = RunModel(job, begun_at=run_chain.begun_at(job))
    model.take_earlier(runs)
    assert model.step == 200 and model.samples.path(third, 0, 0) is not None
    assert model.samples.steps[0] == 0 and model.training_s == model.earlier_s > 0


def test_a_run_that_is_gone_ends_the_chain(chain: tuple[Path, Path, Path]):
    first, _, third = chain
    RunFolder(first).job_path.unlink()
    assert [run.root for run in run_chain.earlier_runs(read_job(RunFolder(third).job_path))] == [chain[1]]


def test_a_run_that_another_went_on_from_says_so_and_offers_it_no_more(chain: tuple[Path, Path, Path]):
    # Symptom: the older of three rows with one name still offered to be resumed, as if nobody had.
    third, second, first = history.read_history(chain[0].parent)
    assert second.when and first.facts() == f"step 120 of 300 · was continued {second.when}"
    assert [run.can_resume for run in (first, second, third)] == [False, False, True]
    model = RunModel(recorded.job(first.root))
    model.feed(Stopped(step=120))
    found = again.successor(model, first.root)
    assert found is not None and (found.root, found.when) == (second.root, "2 Jan 10:00")
    assert again.successor(model, third.root) is None


def test_a_run_that_failed_before_its_first_step_has_continued_nothing(chain: tuple[Path, Path, Path]):
    folder = RunFolder(chain[2])
    folder.write_state(folder.read_state().model_copy(update={"state": "failed", "step": 0}))
    assert run_chain.continued_by(chain[1]) is None
    assert history.read_history(chain[0].parent)[1].can_resume


def test_a_resumed_run_is_compared_from_its_first_step(chain: tuple[Path, Path, Path]):
    # Symptom: the history said "step 196 of 300" of a run, and the comparison "86 steps".
    compared = comparison.read_run(chain[1], "A")
    assert compared.losses.steps[:3] == [1, 2, 3]
    assert 0 in compared.samples.drawn_steps


def test_a_run_that_was_killed_before_it_saved_goes_on_from_where_it_began(chain: tuple[Path, Path, Path]):
    # Symptom: nothing offered to go on any more, neither this run, which had saved nothing, nor the one before it.
    root = chain[0].parent / "2026-01-04-100000-pocket-demo"
    folder = recorded.run_folder(root, end="crashed", upto=285)
    state = RunFolder(chain[2]).checkpoints_dir / "a_step_000280-state"
    write_job(folder.job_path, read_job(folder.job_path).model_copy(update={"resume": state}))
    shutil.rmtree(folder.checkpoints_dir)
    killed, before, *_ = history.read_history(root.parent)
    assert killed.root == root and killed.can_resume and not before.can_resume
    assert [(saved.path, saved.step) for saved in killed.states] == [(state, 280)]
    assert "the checkpoint of step 280 that it began with" in killed.state.sentence
    assert "It can go on from step 280." in killed.state.hint
    result = outcome.of_state(killed.state)
    model = RunModel(read_job(folder.job_path))
    assert result is not None
    model.end(result)
    assert again.continuation(model, root) == again.Continuation(state=state, step=280)
    (state / "checkpoint.json").unlink()
    assert again.continuation(model, root) is None


def test_the_time_of_a_run_that_went_on_is_not_told_as_that_of_all_its_steps(chain: tuple[Path, Path, Path]):
    # Symptom: "300 steps in 3 min 17 s" was told of a run that had made the last 150 of them in that time.
    job = read_job(RunFolder(chain[1]).job_path)
    earlier = run_chain.earlier_runs(job)
    earlier[-1].steps_s = 222.0
    own = "This run made 200 steps in 3 min 17 s, previews and pauses included."
    model = RunModel(job, begun_at=run_chain.begun_at(job))
    model.feed(Done(step=300, lora="a", seconds=197))
    assert model.outcome is not None and model.outcome.sentence == own
    model.steps_s = 197.0
    model.take_earlier(earlier)
    assert model.outcome.sentence == f"All 300 steps took 6 min 59 s of training. {own}"
    state = RunFolder(chain[1]).read_state().model_copy(update={"state": "done", "step": 300, "held_out_loss": None})
    past = history.PastRun(root=chain[1], state=state, picture=None, begun_at=100)
    assert past.facts() == "300 steps · 200 steps of them here, in 2 min 4 s"
    assert queue_times.expected_s(recorded.job(chain[1]), [past]) == pytest.approx(124 / 200 * 300)
