"""Which answers of a process count that answers everything in turn."""

from diffusionforce.gui.model.standby_book import StandbyBook


def test_an_answer_counts_once() -> None:
    book = StandbyBook()
    book.ask()
    assert book.take_answer()
    assert not book.is_wanted
    assert not book.take_answer(), "a line too many is none of a later job"
    book.ask()
    assert book.take_answer()


def test_only_the_answer_to_the_newest_job_counts() -> None:
    book = StandbyBook()
    book.ask()
    book.ask()
    assert book.is_held_up
    assert not book.take_answer()
    assert not book.is_held_up
    assert book.take_answer()


def test_what_was_given_up_counts_for_nothing() -> None:
    book = StandbyBook()
    book.ask()
    assert book.give_up()
    assert not book.give_up(), "it is told once"
    assert not book.is_held_up, "nobody waits"
    book.ask()
    assert book.is_held_up
    assert [book.take_answer(), book.take_answer()] == [False, True]
