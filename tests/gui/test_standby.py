"""The process that makes one forecast after another: there while somebody looks, quick, and never in the way."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot
from tests.gui.conftest import Foretold
from tests.support import fake_standby, forecasts

from diffusionforce.gui import standby
from diffusionforce.gui.forecaster import Forecaster
from diffusionforce.gui.shell import Window
from diffusionforce.job import Job, builtin_profiles, read_profile
from diffusionforce.wire.forecast import Forecast
from diffusionforce.wire.interpreter import STAMP_NAME

WAIT_MS = 30_000


class Ready:
    """What the process answers in a test, and how many were started."""

    def __init__(self, folder: Path) -> None:
        self._answer = folder / "standby.json"
        self.delay_s = 0.0
        self.num_started = 0
        self.extra: list[str] = []
        self.say(forecasts.forecast())

    def say(self, answer: Forecast | str) -> None:
        """Answer with this from now on."""
        text = answer if isinstance(answer, str) else answer.model_dump_json()
        self._answer.write_text(text, encoding="utf-8")

    def command(self) -> list[str]:
        """Return the command line of the process."""
        return [*fake_standby.command(self._answer, delay_s=self.delay_s), *self.extra]


def processes() -> list[psutil.Process]:
    """Return the processes of this test that stand by."""
    children = psutil.Process().children()
    return [one for one in children if "fake_standby" in " ".join(one.cmdline())]


@pytest.fixture
def ready(tmp_path: Path, foretold: Foretold, monkeypatch: pytest.MonkeyPatch) -> Ready:
    made = Ready(tmp_path)
    monkeypatch.setattr(standby, "may_stand_by", lambda: True)
    monkeypatch.setattr(standby, "standby_command", made.command)
    return made


@pytest.fixture
def forecaster(ready: Ready, qtbot: QtBot) -> Iterator[Forecaster]:
    made = Forecaster()
    yield made
    made.close()
    assert processes() == []
    made.deleteLater()


def job(rank: int) -> Job:
    profile = read_profile(builtin_profiles()["pocket-demo"])
    lora = profile.lora.model_copy(update={"rank": rank})
    changed = profile.model_copy(update={"lora": lora})
    return Job(profile_name="pocket-demo", profile=changed, dataset_dir=Path("pictures"), run_dir=Path("run"))


def settle(forecaster: Forecaster, qtbot: QtBot) -> Forecast:
    qtbot.waitUntil(lambda: not forecaster.status.is_checking, timeout=WAIT_MS)
    assert forecaster.status.current is not None, forecaster.status.problem
    return forecaster.status.current


def test_one_process_makes_forecast_after_forecast(
    forecaster: Forecaster, ready: Ready, foretold: Foretold, qtbot: QtBot
):
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    (process,) = processes()
    ready.say(forecasts.forecast().model_copy(update={"title": "another"}))
    forecaster.want(job(8))
    assert settle(forecaster, qtbot).title == "another"
    assert processes() == [process]
    assert foretold.job_files == [], "none has a process of its own"


def test_a_former_choice_is_let_go_of_and_its_answer_not_taken_for_another(
    forecaster: Forecaster, ready: Ready, qtbot: QtBot
):
    ready.delay_s = 1.0
    ready.say(forecasts.forecast().model_copy(update={"title": "former"}))
    forecaster.want(job(4))
    qtbot.waitUntil(lambda: len(processes()) == 1, timeout=WAIT_MS)
    (process,) = processes()
    qtbot.wait(500)  # It has begun.
    forecaster.want(job(8))
    ready.say(forecasts.forecast().model_copy(update={"title": "present"}))
    assert settle(forecaster, qtbot).title == "present"
    assert processes() == [process]


def test_a_process_that_does_not_let_go_is_ended_and_the_forecast_made_by_another(
    forecaster: Forecaster, ready: Ready, foretold: Foretold, qtbot: QtBot
):
    forecaster._standby._patience.setInterval(200)
    ready.delay_s = 60
    forecaster.want(job(4))
    qtbot.waitUntil(lambda: len(processes()) == 1, timeout=WAIT_MS)
    qtbot.wait(500)  # It has begun.
    forecaster.want(job(8))
    settle(forecaster, qtbot)
    assert processes() == []
    assert len(foretold.job_files) == 1


def test_a_process_that_dies_costs_only_time(forecaster: Forecaster, ready: Ready, foretold: Foretold, qtbot: QtBot):
    ready.say(fake_standby.DIES)
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    assert len(foretold.job_files) == 1 and processes() == []
    ready.say(forecasts.forecast())
    forecaster.want(job(8))
    settle(forecaster, qtbot)
    assert len(foretold.job_files) == 1 and len(processes()) == 1


def test_a_process_that_dies_while_it_waits_is_not_missed(
    forecaster: Forecaster, ready: Ready, foretold: Foretold, qtbot: QtBot
):
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    processes()[0].kill()
    qtbot.waitUntil(lambda: not forecaster._standby.is_there, timeout=WAIT_MS)
    assert forecaster.status.current is not None
    forecaster.want(job(8))
    settle(forecaster, qtbot)
    assert foretold.job_files == []


def test_a_program_that_cannot_be_started_leaves_the_forecast_to_another(
    forecaster: Forecaster, foretold: Foretold, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(standby, "standby_command", lambda: ["/nowhere/at/all"])
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    assert len(foretold.job_files) == 1


@pytest.mark.parametrize("change", ["variable", "program"])
def test_for_other_variables_or_another_python_another_process_is_started(
    forecaster: Forecaster, ready: Ready, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, change: str
):
    # Symptom: forecasts out of the data folder that was the user's before.
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    (former,) = processes()
    if change == "variable":
        monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", "elsewhere")
    else:
        ready.extra.append("another")
    forecaster.want(job(8))
    settle(forecaster, qtbot)
    (process,) = processes()
    assert process != former


def test_without_an_environment_there_is_none(
    forecaster: Forecaster, foretold: Foretold, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(standby, "may_stand_by", lambda: False)
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    assert len(foretold.job_files) == 1 and processes() == []


def test_it_makes_way_when_the_environment_is_replaced(
    forecaster: Forecaster, home: Path, foretold: Foretold, qtbot: QtBot
):
    # Symptom: Windows replaces no library that a process has loaded.
    stamp = home / "env" / STAMP_NAME
    stamp.parent.mkdir(parents=True)
    stamp.write_text("{}", encoding="utf-8")
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    assert len(processes()) == 1
    stamp.unlink()
    qtbot.waitUntil(lambda: processes() == [], timeout=WAIT_MS)
    forecaster.want(job(8))
    settle(forecaster, qtbot)
    assert foretold.job_files == []


def test_after_a_while_without_a_choice_it_ends(forecaster: Forecaster, qtbot: QtBot):
    forecaster._standby._idle.setInterval(100)
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    qtbot.waitUntil(lambda: processes() == [], timeout=WAIT_MS)
    assert forecaster.status.current is not None


def test_a_forecast_that_is_known_has_it_made_ready_for_the_next(forecaster: Forecaster, qtbot: QtBot):
    forecaster.want(job(4))
    settle(forecaster, qtbot)
    forecaster.close()
    assert processes() == []
    forecaster.want(job(4))
    assert forecaster.status.current is not None
    qtbot.waitUntil(lambda: len(processes()) == 1, timeout=WAIT_MS)


def test_it_is_there_while_the_page_is_seen_and_ends_with_the_window(
    ready: Ready, make_window: Callable[..., Window], qtbot: QtBot
):
    window = make_window()
    qtbot.waitUntil(lambda: window.run_place.plan.forecaster.status.current is not None, timeout=WAIT_MS)
    assert len(processes()) == 1
    window.go("settings")
    assert processes() == [], "the environment may be built anew there"
    window.go("run")
    qtbot.waitUntil(lambda: len(processes()) == 1, timeout=WAIT_MS)
    window.close()
    assert processes() == []
