"""Captions while they are edited."""

from pathlib import Path

import pytest

from diffusionforce.gui.model.caption_book import (
    CaptionBook,
    adding_after,
    adding_before,
    adding_trigger,
    num_words,
    removing,
    replacing,
)

A, B, C = Path("a.png"), Path("b.png"), Path("c.png")


def book() -> CaptionBook:
    return CaptionBook({A: "sks, a fox, snow", B: "a Fox in a forest", C: ""})


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (adding_before("sks"), "a fox", "sks, a fox"),
        (adding_before("sks,"), "sks, a fox", "sks, a fox"),
        (adding_before("sks"), "", "sks"),
        (adding_after("oil paint"), "a fox.", "a fox, oil paint"),
        (adding_after("oil paint"), "a fox, oil paint", "a fox, oil paint"),
        (adding_trigger("SKS"), "a fox, sks", "a fox, sks"),
        (adding_trigger("sks"), "a fox", "sks, a fox"),
        (replacing("fox", "cat"), "a Fox, foxglove", "a cat, foxglove"),
        (replacing("fox", "cat", whole_words=False), "foxglove", "catglove"),
        (replacing("(a.b)", "c"), "x (a.b) y", "x c y"),
        (replacing("", "c"), "x", "x"),
        (replacing("snow", r"\1"), "snow", r"\1"),
        (removing("a fox"), "sks, a fox, snow", "sks, snow"),
        (removing("snow"), "sks, snow", "sks"),
        (removing("rain"), "sks,  snow ,x", "sks,  snow ,x"),
    ],
)
def test_edits(edit, before: str, after: str):
    assert edit(before) == after


def test_typing_in_one_caption_is_one_step_to_undo():
    edited = book()
    edited.write(A, "sks, a")
    edited.write(A, "sks, a cat")
    edited.write(B, "another")
    assert edited.num_steps == 2
    edited.undo()
    undone = edited.undo()
    assert undone is not None
    assert undone.after == {A: "sks, a fox, snow"}
    assert edited.text(A) == "sks, a fox, snow"
    assert edited.undo() is None


def test_what_changes_nothing_is_no_step():
    edited = book()
    assert edited.write(A, " sks,  a fox, snow\n") is None
    assert edited.apply("Replace", {A: edited.text(A)}) is None
    assert not edited.undoable


def test_a_plan_names_only_what_changes():
    edited = book()
    planned = edited.plan([A, B, C], adding_trigger("sks"))
    assert planned == {B: "sks, a Fox in a forest", C: "sks"}
    assert edited.text(B) == "a Fox in a forest"


def test_many_captions_are_undone_together():
    edited = book()
    edited.apply("Add the trigger word", edited.plan([A, B, C], adding_trigger("sks")))
    assert edited.undoable == "Add the trigger word"
    edited.undo()
    assert [edited.text(picture) for picture in (A, B, C)] == ["sks, a fox, snow", "a Fox in a forest", ""]


def test_what_can_be_undone_survives_a_check():
    edited = book()
    edited.write(A, "new")
    edited.refresh({A: "new", B: "a Fox in a forest"})
    undone = edited.undo()
    assert undone is not None
    assert undone.after == {A: "sks, a fox, snow"}


def test_parts_between_commas_are_counted_once_a_caption():
    edited = CaptionBook({A: "Snow, fox, snow", B: "snow", C: ""})
    assert edited.tags([A, B, C]) == [("Snow", 2), ("fox", 1)]


def test_captions_without_a_word_are_found():
    assert book().without("SKS", [A, B, C]) == [B, C]
    assert book().without("", [A, B, C]) == []


def test_words_are_counted():
    assert num_words(" a  fox ") == 2
