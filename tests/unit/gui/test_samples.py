import time
from pathlib import Path

import pytest

from diffusionforce.gui.model.samples import SampleTable
from diffusionforce.wire import Sample


def sample(step: int, index: int, *, path: str = "") -> Sample:
    prompt = ("a cat", "LoRAnne, waving")[index]
    path = path or f"samples/{step}-{index}.png"
    return Sample(step=step, prompt_index=index, num_prompts=2, prompt=prompt, seed=7, path=path, seconds=1)


@pytest.fixture
def table() -> SampleTable:
    made = SampleTable()
    made.expect(("a cat", "LoRAnne, waving"), trigger="LoRAnne", due=(0, 100, 200))
    return made


def test_the_places_are_there_before_the_pictures(table: SampleTable):
    assert [row.prompt for row in table.rows] == ["a cat", "LoRAnne, waving"]
    assert table.steps == [0, 100, 200]
    assert table.drawn_steps == set()
    assert table.latest(Path("/runs/one")) == (0, [])


def test_a_column_grows_until_every_prompt_has_its_picture(table: SampleTable):
    table.start_column(0)
    assert table.pending_step == 0
    table.add(sample(0, 0))
    assert table.pending_step == 0
    assert table.done_steps == []
    table.add(sample(0, 1))
    assert table.pending_step is None
    assert table.done_steps == [0]


def test_the_newest_column_may_be_half_full(table: SampleTable):
    for index in (0, 1):
        table.add(sample(0, index))
    table.add(sample(100, 0))
    step, latest = table.latest(Path("/runs/one"))
    assert step == 100
    assert latest == [Path("/runs/one/samples/100-0.png"), None]


def test_samples_of_the_run_before_stand_first_and_lie_in_its_folder(table: SampleTable):
    own, before = Path("/runs/two"), Path("/runs/one")
    for index in (0, 1):
        table.add(sample(100, index))
    table.start_column(200)
    table.add_before([sample(step, index) for step in (0, 100) for index in (0, 1)], before)
    assert table.steps == [0, 100, 200] and table.pending_step == 200
    # What both made is this run's.
    assert [table.path(own, 0, step) for step in (0, 100)] == [before / "samples/0-0.png", own / "samples/100-0.png"]


def test_the_end_of_the_run_takes_the_empty_columns_away(table: SampleTable):
    for index in (0, 1):
        table.add(sample(0, index))
    table.start_column(100)
    table.finish()
    assert table.steps == [0]


def test_prompts_without_the_trigger_are_told_apart_whatever_the_case(table: SampleTable):
    assert [table.lacks_trigger(row) for row in table.rows] == [True, False]
    table.trigger = "loranne"
    assert not table.lacks_trigger(table.rows[1])
    table.trigger = ""
    assert not table.lacks_trigger(table.rows[0])


def test_a_path_that_leaves_the_run_folder_is_refused(table: SampleTable, tmp_path: Path):
    table.add(sample(0, 0))
    table.add(sample(0, 1, path="../../secret.png"))
    assert table.path(tmp_path, 0, 0) == tmp_path.resolve() / "samples/0-0.png"
    assert table.path(tmp_path, 1, 0) is None
    assert table.path(tmp_path, 5, 0) is None
    assert table.path(tmp_path, 0, 100) is None


def test_a_prompt_that_is_changed_on_the_way_gets_a_row_of_its_own(table: SampleTable):
    # Else one row would show pictures of two prompts, and nobody could tell what the training changed.
    for index in (0, 1):
        table.add(sample(0, index))
    changed = sample(100, 0).model_copy(update={"prompt": "a dog", "num_prompts": 1})
    table.add(changed)
    assert [row.prompt for row in table.rows] == ["a cat", "LoRAnne, waving", "a dog"]
    assert table.rows[0].paths.keys() == {0} and table.rows[2].paths.keys() == {100}
    assert table.done_steps == [0, 100] and table.pending_step is None
    assert table.progress(100) == (1, 1)


def test_a_sample_that_is_drawn_again_counts_once(table: SampleTable):
    for index in (0, 0, 1):
        table.add(sample(0, index))
    assert table.num_samples == 2 and table.done_steps == [0]


@pytest.mark.parametrize("path", ["/etc/passwd", "a/../../b.png", "C:/b.png", "..\\b.png", "\\\\host\\b.png"])
def test_paths_of_both_systems_are_looked_through(table: SampleTable, tmp_path: Path, path: str):
    table.add(sample(0, 0, path=path))
    assert table.path(tmp_path, 0, 0) is None


def test_ten_thousand_samples_are_asked_for_in_no_time(table: SampleTable):
    for step in range(5000):
        for index in (0, 1):
            table.add(sample(step, index))
    table.steps  # noqa: B018 - worked out once.
    start_s = time.perf_counter()
    for _ in range(1000):
        assert len(table.steps) == 5000 and table.num_samples == 10_000
    assert time.perf_counter() - start_s < 0.2
