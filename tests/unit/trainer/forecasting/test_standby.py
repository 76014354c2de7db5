"""The life of a process that makes one forecast after another, without PyTorch."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import forecasts

from diffusionforce.engines.subjects import TracedModel
from diffusionforce.trainer.endings import EXIT_BUG, EXIT_FAILED, EXIT_OK
from diffusionforce.trainer.forecasting import standby
from diffusionforce.trainer.forecasting.standby import GivenUpError, Order, OrderedTraces, Orders, lines_of, serve
from diffusionforce.wire import Failed, forecast_request
from diffusionforce.wire.forecast import Forecast, GivenUp

Answer = tuple[Forecast | Failed, int]


@pytest.fixture(autouse=True)
def enough_ram(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else this machine does."""
    monkeypatch.setattr(standby, "KEPT_FREE_BYTES", 0)


def forecast_of(order: Order) -> Answer:
    """A forecast with the name of the job for its title."""
    return forecasts.forecast().model_copy(update={"title": order.job_file.name}), EXIT_OK


def given(*names: str | None, ended: bool = False) -> Orders:
    """Orders of which these have come; None gives up."""
    orders = Orders()
    for name in names:
        orders.add(None if name is None else Path(name))
    if ended:
        orders.read([])
    return orders


def served(
    orders: Orders,
    *,
    forecast: Callable[[Order], Answer] = forecast_of,
    pieces: list[Callable[[], None]] | None = None,
) -> tuple[list[str], int]:
    """What is answered, the titles of forecasts or the kinds of others, and the exit code."""
    told: list[str] = []

    def tell(answer: Forecast | Failed | GivenUp) -> None:
        told.append(answer.title if isinstance(answer, Forecast) else answer.kind)

    code = serve(orders, forecast=forecast, tell=tell, pieces=pieces or [])
    return told, code


def test_jobs_are_answered_one_after_another_until_the_input_ends() -> None:
    read, write = os.pipe()
    orders, answers = Orders(), threading.Semaphore(0)
    reader = threading.Thread(target=lambda: orders.read(lines_of(read)))
    reader.start()
    told: list[str] = []

    def work() -> None:
        def tell(answer: Forecast | Failed | GivenUp) -> None:
            told.append(answer.title if isinstance(answer, Forecast) else answer.kind)
            answers.release()

        serve(orders, forecast=forecast_of, tell=tell)

    server = threading.Thread(target=work)
    server.start()
    for name in ("a", "b"):
        os.write(write, forecast_request(Path(name)))
        assert answers.acquire(timeout=20)
    os.close(write)
    server.join(20)
    reader.join(20)
    assert not server.is_alive() and not reader.is_alive()
    os.close(read)
    assert told == ["a", "b"]


def test_what_came_before_the_end_of_the_input_is_answered() -> None:
    assert served(given("a", ended=True)) == (["a"], EXIT_OK)


def test_jobs_that_wait_make_way_for_the_newest_and_are_answered_in_turn() -> None:
    begun: list[str] = []

    def forecast(order: Order) -> Answer:
        begun.append(order.job_file.name)
        return forecast_of(order)

    assert served(given("a", "b", "c", ended=True), forecast=forecast) == (["given_up", "given_up", "c"], EXIT_OK)
    assert begun == ["c"]
    assert served(given("a", None, "b", None, ended=True)) == (["given_up", "given_up"], EXIT_OK)


@pytest.mark.parametrize("newer", ["b", None])
def test_a_forecast_that_is_not_wanted_any_more_is_let_go_of(newer: str | None) -> None:
    orders = given("a")

    def forecast(order: Order) -> Answer:
        order.require()
        if order.job_file.name == "a":
            orders.add(None if newer is None else Path(newer))
            orders.read([forecast_request(Path("c"))])
            order.require()
            pytest.fail("it went on")
        return forecast_of(order)

    told = ["given_up", "c"] if newer is None else ["given_up", "given_up", "c"]
    assert served(orders, forecast=forecast) == (told, EXIT_OK)


def test_pieces_are_loaded_while_there_is_no_job_and_make_way_for_one() -> None:
    orders, done = Orders(), list[str]()

    def piece(name: str) -> Callable[[], None]:
        def load() -> None:
            assert threading.current_thread() is not threading.main_thread(), "its priority is low"
            done.append(name)
            if name == "one":
                orders.add(Path("a"))
            if name == "three":
                orders.read([])

        return load

    def forecast(order: Order) -> Answer:
        done.append(order.job_file.name)
        return forecast_of(order)

    pieces = [piece(name) for name in ("one", "two", "three", "four")]
    assert served(orders, forecast=forecast, pieces=pieces) == (["a"], EXIT_OK)
    assert done == ["one", "a", "two", "three"], "for an input that has ended nothing is loaded"


def test_a_bug_ends_the_process_and_a_refusal_does_not() -> None:
    orders, codes = given("refused"), {"refused": EXIT_FAILED, "bug": EXIT_BUG}
    names = iter(["a", "bug", "b"])

    def forecast(order: Order) -> Answer:
        orders.add(Path(next(names)))
        name = order.job_file.name
        return (Failed(sentence=name), codes[name]) if name in codes else forecast_of(order)

    assert served(orders, forecast=forecast) == (["failed", "a", "failed"], EXIT_BUG)


def test_where_ram_is_short_it_does_not_wait_for_another_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "KEPT_FREE_BYTES", 1 << 60)
    assert served(given("a")) == (["a"], EXIT_OK)
    assert served(given(), pieces=[lambda: pytest.fail("it was loaded")]) == ([], EXIT_OK)


def test_a_line_that_asks_for_nothing_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    orders = Orders()
    orders.read([b"{}", b"!", forecast_request(Path("a"))])
    assert len(caplog.records) == 2
    caplog.clear()
    assert served(orders) == (["a"], EXIT_OK)


def test_no_footprint_is_given_for_an_order_that_is_not_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    order = Order(tmp_path / "job.toml", is_wanted=False)
    traces = OrderedTraces(order, may_start_light=False)
    with pytest.raises(GivenUpError):
        traces.model(TracedModel(inputs={}, make=lambda: pytest.fail("it was traced")))


def test_a_piece_that_is_not_there_is_left_to_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "_PIECES", ("diffusionforce.no_such", "json", "json"))
    monkeypatch.setattr(standby, "_LIGHT", "diffusionforce.no_such_either")
    orders = Orders()
    pieces = [*standby.pieces_of_forecasts(), lambda: orders.add(Path("a")), lambda: orders.read([])]
    assert served(orders, pieces=pieces) == (["a"], EXIT_OK)


def test_a_process_with_the_code_of_yesterday_ends_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Symptom: after an update under an open window, what the former code needs was remembered as the new code's.
    monkeypatch.setattr(standby, "PACKAGE_DIR", tmp_path)
    module = tmp_path / "below" / "module.py"
    module.parent.mkdir()
    module.write_text("size = 1", encoding="utf-8")
    look = standby.look_of_code()
    (tmp_path / "below" / "notes.txt").write_text("of no matter", encoding="utf-8")
    assert standby.look_of_code() == look
    module.write_text("size = 10", encoding="utf-8")
    assert standby.look_of_code() != look
    told: list[str] = []
    outdated = iter([False, True])
    code = serve(
        given(None, "a", ended=True),
        forecast=forecast_of,
        tell=lambda answer: told.append(answer.kind),
        is_outdated=lambda: next(outdated),
    )
    assert (told, code) == (["forecast"], EXIT_OK)
    assert serve(given("b"), forecast=forecast_of, tell=lambda _: told.append("b"), is_outdated=lambda: True) == EXIT_OK
    assert told == ["forecast"]
