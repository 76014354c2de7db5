import contextvars
import threading
import traceback

import pytest

from diffusionforce.pipeline.executor.coroutines import Coroutine, CoroutineThreads


@pytest.fixture
def threads():
    made = CoroutineThreads(name="under test")
    yield made
    made.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("under test")]


class Steps:
    """A function that parks twice and notes what happened."""

    def __init__(self, threads: CoroutineThreads, notes: list[str], name: str) -> None:
        self.notes, self.name = notes, name
        self.coroutine: Coroutine = threads.start(self.run)

    def run(self) -> None:
        for number in range(2):
            self.notes.append(f"{self.name}{number}")
            self.coroutine.park()
        self.notes.append(f"{self.name} ends")


def test_coroutines_take_turns_as_they_are_resumed(threads):
    notes: list[str] = []
    one, two = Steps(threads, notes, "a"), Steps(threads, notes, "b")
    assert notes == []
    for steps in (one, two, two, one, one, two):
        steps.coroutine.resume()
    assert notes == ["a0", "b0", "b1", "a1", "a ends", "b ends"]
    assert one.coroutine.is_done and two.coroutine.is_done
    with pytest.raises(RuntimeError, match="has ended"):
        one.coroutine.resume()


def test_threads_are_used_again(threads):
    for _ in range(5):
        steps = Steps(threads, [], "a")
        for _ in range(3):
            steps.coroutine.resume()
        threads.give_back(steps.coroutine)
        threads.give_back(steps.coroutine)
    assert threads.num_started == 1


def test_what_the_function_raises_is_raised_where_it_was_resumed(threads):
    def planted():
        raise KeyError("planted")

    coroutine = threads.start(planted)
    with pytest.raises(KeyError, match="planted") as caught:
        coroutine.resume()
    assert "in planted" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert coroutine.is_done


def test_unwinding_runs_what_must_run_and_ends_even_stubborn_code(threads):
    notes: list[str] = []

    def stubborn():
        for _ in range(3):
            try:
                coroutine.park()
            except Exception:  # noqa: BLE001 - must not catch it
                notes.append("caught as an exception")
            except BaseException:  # noqa: BLE001 - stubborn on purpose
                notes.append("unwound")

    coroutine = threads.start(stubborn)
    coroutine.resume()
    coroutine.unwind()
    assert notes == ["unwound"] * 3
    never_begun = threads.start(lambda: notes.append("ran"))
    never_begun.unwind()
    assert "ran" not in notes and never_begun.is_done


def test_closing_ends_what_is_still_parked():
    """It once woke the parked function up, which parked again, and waited for its thread for ever."""
    threads, notes = CoroutineThreads(name="closed early"), list[str]()
    steps = Steps(threads, notes, "a")
    steps.coroutine.resume()
    threads.start(lambda: notes.append("never begun"))
    threads.close()
    assert steps.coroutine.is_done and notes == ["a0"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("closed early")]


def test_the_starters_context_variables_are_seen(threads):
    variable = contextvars.ContextVar("variable", default="outside")
    seen: list[str] = []
    variable.set("at the start")
    coroutine = threads.start(lambda: seen.append(variable.get()))
    variable.set("later")
    coroutine.resume()
    assert seen == ["at the start"]
