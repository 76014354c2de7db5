"""What the window says of what a real model lacks, and what its button does."""

import pytest

from diffusionforce.errors import UserError
from diffusionforce.gui.model.readiness import doing, failed, of_answer
from diffusionforce.wire import Failed
from diffusionforce.wire.engine import EngineProgress
from diffusionforce.wire.readiness import Lack, Readiness
from diffusionforce.wire.weights import DownloadProgress


def lacking(lack: Lack, *, command: str = "") -> Readiness:
    return Readiness(lack=lack, sentence="S.", hint="H", command=command, model="wan21-14b")


@pytest.mark.parametrize(
    ("lack", "button", "remedy"),
    [
        ("engine", "Install the engine", ("diffusionforce.engines.musubi.command", ["install"])),
        (
            "files",
            "Download the files",
            ("diffusionforce.engines.musubi.weights_command", ["download", "--", "wan21-14b"]),
        ),
    ],
)
def test_what_can_be_brought_has_a_button(lack: Lack, button: str, remedy: tuple[str, list[str]]):
    view = of_answer(lacking(lack, command="diffusionforce x"))
    assert (view.button, view.remedy(), view.copyable) == (button, remedy, "")
    assert not view.is_ready


@pytest.mark.parametrize("lack", ["libraries", "terms"])
def test_what_takes_a_command_offers_it(lack: Lack):
    view = of_answer(lacking(lack, command="python3 bootstrap.py engine"))
    assert (view.button, view.copyable) == ("", "python3 bootstrap.py engine")


def test_every_lack_has_words_of_its_own():
    lacks: list[Lack] = ["engine", "libraries", "card", "terms", "files", "settings", "state"]
    assert len({of_answer(lacking(lack)).title for lack in lacks}) == len(lacks)


def test_while_something_is_brought_there_is_no_second_button():
    view = doing(of_answer(lacking("files")))
    assert (view.doing, view.button) == ("Starting", "")
    progress = DownloadProgress(file="a/b.safetensors", number=2, num_files=3, done_bytes=2**30, total_bytes=2**31)
    assert doing(view, progress).doing == "File 2 of 3, b.safetensors: 1 GB of 2 GB"
    assert doing(view, EngineProgress(stage="files", done=5, total=306)).doing == "Comparing 5 of 306 files"


def test_what_could_not_be_brought_says_why_and_can_be_tried_again():
    view = failed(doing(of_answer(lacking("engine"))), UserError("The network is gone."))
    assert view.problem is not None and view.problem.sentence == "The network is gone."
    assert view.button == "Install the engine"


@pytest.mark.parametrize("answer", [UserError("Gone."), Failed(sentence="Gone.")])
def test_an_answer_that_is_none_keeps_the_run_from_starting(answer: UserError | Failed):
    view = of_answer(answer)
    assert view.problem is not None and view.problem.sentence == "Gone."
    assert (view.button, view.copyable, view.is_ready) == ("", "", False)
