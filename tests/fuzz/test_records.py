"""Records with any values in them, as a file or a broken process may hold: shown or left out, never a traceback."""

import io
import json
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from rich.console import Console
from tests.support.jobs import small_job

from diffusionforce.cli.progress import RunView
from diffusionforce.gui.model.run_model import RunModel
from diffusionforce.wire import Message, StreamDecoder, decode, encode
from diffusionforce.wire.engine import read_engine_record
from diffusionforce.wire.forecast import read_answer
from diffusionforce.wire.messages import MAX_PROMPTS, MAX_STEPS
from diffusionforce.wire.readiness import read_readiness
from diffusionforce.wire.speed import read_speed_record
from diffusionforce.wire.weights import read_weights_record

WHOLE = st.one_of(
    st.sampled_from([0, -1, 1, 2**31, 2**63, -(2**63), 10**30]), st.integers(min_value=-(10**6), max_value=10**6)
)
BROKEN = st.one_of(st.sampled_from([0.0, -0.0, 1e308, -1e308, 1e-320]), st.floats())
TEXT = st.one_of(st.sampled_from(["", "\x1b[2J", "a\nb", "[red]", "\ud800", "ü" * 300]), st.text(max_size=30))
READERS = (read_engine_record, read_answer, read_readiness, read_speed_record, read_weights_record)

STEPS = st.one_of(st.sampled_from([0, 1, MAX_STEPS]), st.integers(min_value=0, max_value=400))
INDEX = st.integers(min_value=0, max_value=MAX_PROMPTS)
BOUNDED = {"step": STEPS, "num_steps": STEPS, "prompt_index": INDEX, "num_prompts": INDEX}
PLAIN = {int: WHOLE, float: BROKEN, str: TEXT, bool: st.booleans(), type(None): st.none()}
JOB = small_job(Path("/nowhere"), dataset_dir=Path("/nowhere"))


def of(kind: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Records of a kind, each field with anything of its type."""
    fields = {
        name: BOUNDED[name] if name in BOUNDED else values(field.annotation)
        for name, field in kind.model_fields.items()
        if name != "kind"
    }
    return st.builds(kind, **fields)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a type that records have."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    inner = typing.get_args(annotation)
    match typing.get_origin(annotation):
        case typing.Literal:
            return st.sampled_from(inner)
        case typing.Union | types.UnionType:
            return st.one_of(*map(values, inner))
        case origin if origin is tuple:
            return st.lists(values(inner[0]), max_size=3).map(tuple)
        case origin if origin is dict:
            return st.dictionaries(values(inner[0]), values(inner[1]), max_size=3)
        case _:
            return of(annotation)


messages = st.one_of(*(of(kind) for kind in Message.__args__))
usual = settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])  # pyright: ignore


@given(messages)
@usual
def test_every_record_arrives_or_is_refused(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    decoder = StreamDecoder()
    (read,) = decoder.feed(line)
    assert encode(read) == encode(decode(line)) and not decoder.garbage


@given(st.lists(messages, max_size=12), st.booleans())
@usual
def test_the_terminal_shows_whatever_comes(drawn: list[Message], is_terminal: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=80)
    with RunView(JOB, console=console) as view:
        for message in drawn:
            view.show(message)


@given(st.lists(messages, max_size=12), st.booleans())
@usual
def test_the_window_takes_whatever_comes(drawn: list[Message], has_job: bool) -> None:
    model = RunModel(JOB if has_job else None)
    for message in drawn:
        model.feed(message)
        assert isinstance(model.time_left, str) and isinstance(model.phase_words, str)
        _ = model.share, model.step, model.num_steps, model.eta_s, model.step_s, model.sample_steps
        _ = model.next_sample_step, model.num_pictures_seen, model.seconds_since_save


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), WHOLE, st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=4)),
    max_leaves=12,
)
kinds = st.sampled_from(["step", "sample", "done", "forecast", "failed", "engine", "models", "lora", "speed_test", "x"])


@given(kinds, st.dictionaries(st.text(max_size=9), json_values, max_size=5), st.binary(max_size=20))
@usual
def test_lines_of_any_kind_are_records_or_none(kind: str, fields: dict[str, Any], tail: bytes) -> None:
    line = json.dumps({"kind": kind, **fields}).encode() + tail
    assert all(message is not None for message in StreamDecoder().feed(line + b"\n"))
    for read in READERS:
        try:
            assert read(line) is not None
        except ValueError:
            continue


@pytest.mark.parametrize("line", [b"{" * 200_000, b'{"kind":' + b"[" * 200_000, b"9" * 200_000, b"\xff" * 1000, b'"'])
def test_lines_made_to_break_a_reader(line: bytes) -> None:
    for read in READERS:
        with pytest.raises(ValueError, match=r"."):
            read(line)
