from pathlib import Path
from typing import Any

import pytest
from tests.gui import recorded
from tests.support.forecasts import forecast, gib, refused

from diffusionforce.errors import UserError
from diffusionforce.gui.model.forecast_answer import read_answer
from diffusionforce.gui.model.forecast_desk import MAX_KEPT, ForecastDesk, Machine, key_of
from diffusionforce.job import Job, changed
from diffusionforce.wire import Failed
from diffusionforce.wire.forecast import Forecast


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return recorded.job(tmp_path / "run")


def key(job: Job, *, machine: str = "", num_pictures: int = 12, **edits: Any) -> str:
    profile = changed(job.profile, {name.replace("__", "."): value for name, value in edits.items()}, origin="test")
    return key_of(job.model_copy(update={"profile": profile}), machine=machine, num_pictures=num_pictures)


def test_a_choice_that_was_never_seen_needs_a_forecast():
    desk = ForecastDesk()
    assert desk.want("a")
    assert desk.status.is_checking
    assert desk.status.forecast is None
    assert not desk.want("a"), "it is wanted already"


def test_a_known_forecast_is_shown_at_once():
    desk = ForecastDesk()
    desk.want("a")
    desk.answer("a", forecast())
    desk.want("b")
    assert not desk.want("a")
    assert desk.status.current == forecast()
    assert not desk.status.is_checking


def test_the_former_forecast_stays_in_sight_while_another_is_made():
    desk = ForecastDesk()
    desk.want("a")
    desk.answer("a", forecast())
    desk.want("b")
    assert desk.status.is_checking
    assert desk.status.forecast == forecast()
    assert desk.status.current is None, "it does not belong to this choice"


def test_a_late_answer_is_kept_but_not_shown():
    desk = ForecastDesk()
    desk.want("a")
    desk.want("b")
    desk.answer("a", refused())
    assert desk.status.is_checking
    assert not desk.want("a")
    assert desk.status.is_refused


def test_a_late_failure_is_not_shown():
    desk = ForecastDesk()
    desk.want("a")
    desk.want("b")
    desk.answer("a", UserError("No."))
    assert desk.status.problem is None


def test_a_failure_is_told_and_can_be_tried_again():
    desk = ForecastDesk()
    desk.want("a")
    desk.answer("a", UserError("The weights are not there.", hint="Download them."))
    assert desk.status.problem is not None
    assert not desk.status.is_checking
    desk.again()
    assert desk.status.is_checking
    assert desk.status.problem is None
    desk.answer("a", forecast())
    assert desk.status.current is not None


def test_a_failure_is_forgotten_with_its_choice():
    desk = ForecastDesk()
    desk.want("a")
    desk.answer("a", UserError("No."))
    desk.want("b")
    assert desk.want("a"), "it is tried again"


def test_no_choice_shows_nothing():
    desk = ForecastDesk()
    desk.want("a")
    desk.answer("a", forecast())
    assert not desk.want("")
    assert desk.status.forecast is None


def test_while_a_choice_is_made_the_former_forecast_stays_in_sight():
    # Symptom: the bars vanished and came back with every change of the dataset.
    desk = ForecastDesk()
    desk.want("a")
    desk.answer("a", forecast())
    desk.wait()
    assert desk.status.forecast is not None
    assert desk.status.current is None
    assert not desk.want("a")
    assert desk.status.current is not None
    desk.wait()
    desk.want("")
    assert desk.status.forecast is None


def test_only_so_many_forecasts_are_kept_and_the_oldest_goes_first():
    desk = ForecastDesk()
    for i in range(MAX_KEPT + 1):
        desk.want(str(i))
        desk.answer(str(i), forecast())
    assert desk.want("0")
    assert not desk.want(str(MAX_KEPT))


@pytest.mark.parametrize(
    "edits",
    [
        {"training__steps": 9},
        {"training__learning_rate": 0.5},
        {"training__seed": 3},
        {"samples__prompts": ["one", "two"]},
        {"checkpoints__keep": 2},
        {"dataset__trigger": "Mina"},
    ],
    ids=str,
)
def test_settings_that_need_no_memory_keep_the_forecast(job: Job, edits: dict[str, Any]):
    assert key(job, **edits) == key(job)


@pytest.mark.parametrize(
    "edits",
    [
        {"training__batch_size": 7},
        {"training__gradient_checkpointing": True},
        {"lora__rank": 4},
        {"dataset__width": 512},
        {"samples__width": 512},
        {"samples__guidance": 1.0},
        {"samples__prompts": []},
        {"model__precision": "bf16"},
        {"devices__use": ["cpu"]},
        {"memory__reserve_gb": [2.0]},
    ],
    ids=str,
)
def test_settings_that_need_memory_ask_anew(job: Job, edits: dict[str, Any]):
    assert key(job, **edits) != key(job)


def test_another_dataset_or_machine_asks_anew_and_another_run_folder_does_not(job: Job, tmp_path: Path):
    assert key(job, num_pictures=13) != key(job)
    assert key(job, machine="0:1") != key(job)
    assert key(job.model_copy(update={"dataset_dir": tmp_path})) != key(job)
    assert key(job.model_copy(update={"run_dir": tmp_path / "other"})) == key(job)


def test_only_a_change_that_matters_is_a_change_of_the_machine():
    machine = Machine()
    assert machine.look([(0, gib(1)), (1, 0)])
    before = machine.words
    assert not machine.look([(0, gib(1.4)), (1, gib(0.1))])
    assert machine.words == before
    assert machine.look([(0, gib(1.6)), (1, gib(0.1))])
    assert machine.words != before
    assert machine.look([(0, gib(1.6))]), "a card has gone"


def test_a_creeping_change_is_seen_in_the_end():
    machine = Machine()
    machine.look([(0, 0)])
    assert [machine.look([(0, gib(0.2 * i))]) for i in range(1, 4)] == [False, False, True]


def answer(output: str, log: str = "", *, exit_code: int = 0) -> Forecast | UserError:
    return read_answer(output.encode(), log, exit_code=exit_code)


def problem(output: str, log: str = "", *, exit_code: int = 1) -> UserError:
    found = answer(output, log, exit_code=exit_code)
    assert isinstance(found, UserError)
    return found


def test_a_forecast_is_read():
    assert answer(forecast().model_dump_json() + "\n") == forecast()


def test_a_forecast_is_found_behind_what_libraries_print():
    assert answer("loading…\n{}\n" + forecast().model_dump_json()) == forecast()


def test_a_forecast_over_several_lines_is_read():
    assert answer(forecast().model_dump_json(indent=2)) == forecast()


def test_a_failure_comes_in_its_own_words():
    said = problem(Failed(sentence="No weights.", hint="Download them.", detail="x").model_dump_json())
    assert (said.sentence, said.hint, said.detail) == ("No weights.", "Download them.", "x")


def test_silence_is_told_with_the_last_words():
    said = problem("", "Traceback\nImportError: torch", exit_code=3)
    assert "code 3" in said.sentence
    assert "ImportError: torch" in said.detail


def test_an_answer_of_another_version_is_told_as_that():
    assert "another version" in problem('{"kind": "forecast", "ways": 3}').sentence


def test_a_command_that_a_button_stands_for_is_not_quoted():
    failed = Failed(sentence="Musubi Tuner is not installed.", hint="Install it: diffusionforce engine install")
    answer = read_answer(failed.model_dump_json().encode(), "", exit_code=1)
    assert isinstance(answer, UserError)
    assert (answer.sentence, answer.hint) == ("Musubi Tuner is not installed.", "")
