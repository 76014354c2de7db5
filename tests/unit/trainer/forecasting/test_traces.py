"""Footprints remembered, and drawn between two that were traced."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.support.traced_models import SMALL_WAN
from tests.support.wan_subjects import wan_subjects

from diffusionforce.engines.subjects import JobSubjects, TracedCall, TracedModel
from diffusionforce.pipeline.tracer.numbers import CallTrace
from diffusionforce.trainer.forecasting.traces import Traces
from diffusionforce.ugpum.footprint import Footprint

NEVER = TracedModel(inputs={"model": "nobody"}, make=lambda: pytest.fail("it was traced"))


@pytest.fixture(scope="module")
def subjects() -> JobSubjects:
    return wan_subjects(shape=replace(SMALL_WAN, num_blocks=3), num_tokens=200, batch_size=4)


@pytest.fixture(scope="module")
def folder(subjects: JobSubjects, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all divisions of the batch were forecast once."""
    folder = tmp_path_factory.mktemp("traces")
    assert len(Traces(folder).training(subjects.variants)) == 3
    return folder


def test_only_the_smallest_and_the_largest_micro_batch_are_traced(folder: Path) -> None:
    assert len(list(folder.iterdir())) == 2


def test_what_lies_between_is_what_a_trace_would_find(subjects: JobSubjects, folder: Path, tmp_path: Path) -> None:
    drawn = Traces(folder).training(subjects.variants)[1]
    (traced,) = Traces(tmp_path).training([subjects.variants[1]])
    assert subjects.variants[1].microbatch_size == 2
    for one, other in zip(drawn.blocks, traced.blocks, strict=True):
        assert one.part == other.part
        assert one.kept_bytes == pytest.approx(other.kept_bytes, rel=0.02)
        assert one.backward_bytes == pytest.approx(other.backward_bytes, rel=0.02)
        assert one.forward_flops == pytest.approx(other.forward_flops, rel=0.001)
    assert drawn.outer.tail_bytes == pytest.approx(traced.outer.tail_bytes, rel=0.02)


def test_another_number_format_grows_as_steeply(subjects: JobSubjects, tmp_path: Path) -> None:
    """Its parameters are its own. Here they are those of a larger LoRA, as 8-bit weights need cards."""
    shape = replace(SMALL_WAN, num_blocks=3, lora_rank=8)
    others = [replace(one, weights="fp8") for one in wan_subjects(shape=shape, num_tokens=200, batch_size=4).variants]
    traces = Traces(tmp_path / "line")
    found = traces.training([*subjects.variants, *others])[len(others) :]
    assert traces.num_traced == 3
    (traced,) = Traces(tmp_path / "traced").training(others[:1])
    assert (others[0].microbatch_size, others[-1].microbatch_size) == (4, 1)
    assert found[0].blocks[1].part == traced.blocks[1].part == found[-1].blocks[1].part
    for name in ("kept_bytes", "forward_bytes", "backward_bytes"):
        assert getattr(found[0].blocks[1], name) == pytest.approx(getattr(traced.blocks[1], name), rel=0.03)


def test_a_trace_is_made_once(subjects: JobSubjects, folder: Path) -> None:
    again = Traces(folder)
    known = [replace(one, training=replace(one.training, make=NEVER.make)) for one in subjects.variants]
    assert len(again.training(known)[0].blocks) == 3
    assert again.num_traced == 0


def test_the_larger_micro_batch_has_the_same_optimiser_as_the_smaller(subjects: JobSubjects, folder: Path) -> None:
    """Its state does not depend on the batch, so it is traced once."""
    large, _, small = Traces(folder).training(subjects.variants)
    assert large.optimizer == small.optimizer
    assert large.blocks[1].part == small.blocks[1].part and small.blocks[1].part.optimizer_bytes > 0


def test_a_folder_that_cannot_be_written_only_costs_time(subjects: JobSubjects, tmp_path: Path) -> None:
    taken = tmp_path / "a file"
    taken.write_text("")
    assert isinstance(Traces(taken).model(subjects.variants[2].training), Footprint)


def test_calls_are_remembered_too(tmp_path: Path) -> None:
    trace = CallTrace(weights_bytes=5, input_bytes=4, output_bytes=3, peak_bytes=2, flops=1)
    call = TracedCall(name="captions", words="text encoder", where="cpu", inputs={"encoder": 1}, trace=lambda: trace)
    assert asdict(Traces(tmp_path).call(call)) == asdict(trace)
    again = replace(call, trace=lambda: pytest.fail("it was traced"))
    assert Traces(tmp_path).call(again).weights_bytes == 5
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps([]))
    assert Traces(tmp_path).call(call).weights_bytes == 5, "a broken file counts as none"
