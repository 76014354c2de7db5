from pathlib import Path

from tests.gui import recorded

from diffusionforce.gui.model.drawing import Drawing
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
