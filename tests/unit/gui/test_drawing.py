from pathlib import Path

from tests.gui import recorded

from diffusionforce.gui.model.drawing import Drawing
from diffusionforce.gui.model.run_chain import EarlierRun
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.wire import Preparing, Sample, Step


class Clock:
    """A clock that is set by hand."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def sample(index: int, *, seconds: float = 40.0) -> Sample:
    path, prompt = f"samples/{index}.png", recorded.PROMPTS[index]
    return Sample(step=100, prompt_index=index, num_prompts=2, prompt=prompt, seed=7, path=path, seconds=seconds)


def test_the_first_preview_tells_the_time_that_goes_by(tmp_path: Path):
    clock = Clock()
    model = RunModel(recorded.job(tmp_path / "run"), clock=clock)
    assert model.drawing_words == ""
    model.feed(Preparing(stage="samples", done=0, total=2, step=100))
    clock.now_s += 12
    assert model.drawing_words == "12 s"


def test_the_next_preview_is_told_by_what_the_last_ones_took(tmp_path: Path):
    clock = Clock()
    model = RunModel(recorded.job(tmp_path / "run"), clock=clock)
    model.feed(Preparing(stage="samples", done=0, total=2, step=100))
    clock.now_s += 40
    model.feed(Preparing(stage="samples", done=1, total=2, step=100))
    model.feed(sample(0))
    clock.now_s += 5
    assert model.drawing_words == "5 s of about 40 s"
    model.feed(Preparing(stage="samples", done=2, total=2, step=100))
    model.feed(sample(1))
    assert model.drawing_words == "", "all of them are there"


def test_a_step_of_the_training_ends_it(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path / "run"), clock=Clock())
    model.feed(Preparing(stage="samples", done=0, total=2, step=100))
    model.feed(Step(step=101, num_steps=300, loss=0.1, learning_rate=1e-4, seconds=1.0, eta_s=9.0, devices=()))
    assert model.drawing_words == ""


def test_nobody_knows_when_what_is_read_afterwards_began(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path / "run"), clock=Clock())
    model.live = False
    model.feed(Preparing(stage="samples", done=0, total=2, step=100))
    assert model.drawing_words == ""


def test_what_is_over_at_once_is_not_told():
    drawing = Drawing()
    drawing.drawn(0.4)
    drawing.begin(100, 1, now_s=0.0)
    assert drawing.told(now_s=0.2) == ""
    assert drawing.told(now_s=9.0) == "9 s of about 0.4 s", "it takes longer than the others"


def made(number: int, *, eta_s: float) -> Step:
    return Step(step=number, num_steps=300, loss=0.1, learning_rate=1e-4, seconds=1.0, eta_s=eta_s, devices=())


# Symptom: a run that went on from another said "0 s left" while its previews were still to be drawn.
def test_the_previews_to_come_are_counted_by_those_of_the_run_before(tmp_path: Path):
    clock = Clock()
    model = RunModel(recorded.job(tmp_path / "run"), begun_at=150, clock=clock)
    earlier = [sample(index, seconds=5.0) for index in range(2)]
    model.take_earlier([EarlierRun(root=tmp_path / "before", samples=earlier)])
    each_s = 5.0 * len(recorded.PROMPTS)
    model.feed(made(199, eta_s=101.0))
    assert model.eta_s == 101.0 + 2 * each_s
    model.feed(made(300, eta_s=0.0))
    assert model.eta_s == each_s
    clock.now_s += 3
    assert model.eta_s == each_s - 3, "it goes on while a preview is drawn"
    clock.now_s += 30
    assert model.eta_s == each_s - 5, "one that takes longer than usual takes no time from the others"


def test_the_time_that_is_left_goes_on_while_previews_are_drawn(tmp_path: Path):
    clock = Clock()
    model = RunModel(recorded.job(tmp_path / "run"), clock=clock)
    for index in range(2):
        model.feed(sample(index).model_copy(update={"step": 0}))
    model.feed(made(100, eta_s=360.0))
    clock.now_s += 30
    assert model.eta_s == 330.0
    model.feed(sample(0))
    model.feed(sample(1))
    assert model.eta_s == 280.0
    model.feed(made(101, eta_s=279.0))
    assert model.eta_s == 279.0


def test_previews_of_which_nothing_is_known_are_not_said_to_take_no_time(tmp_path: Path):
    model = RunModel(recorded.job(tmp_path / "run"), clock=Clock())
    model.feed(made(300, eta_s=0.0))
    assert model.time_left == "previews left to draw"
