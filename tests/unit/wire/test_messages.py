"""Messages survive the way there and back, and a stream gives up only what it must."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from diffusionforce.errors import ProtocolError
from diffusionforce.wire import (
    PROTOCOL_VERSION,
    Command,
    DeviceReading,
    Failed,
    Hello,
    Message,
    Sample,
    Span,
    Step,
    StreamDecoder,
    Warn,
    decode,
    encode,
    require_protocol,
)
from diffusionforce.wire import stream as stream_module

HELLO = Hello(product="0.1.0", pid=7, engine="pocket", profile_name="p", run_dir="/r", num_steps=3)
STEP = Step(
    step=1,
    num_steps=3,
    loss=0.25,
    learning_rate=1e-3,
    seconds=0.5,
    eta_s=1.0,
    devices=(
        DeviceReading(device="cpu", busy=0.5, timeline=(Span(op="F", chunk=0, microbatch=1, start_s=0.0, end_s=0.25),)),
    ),
)
SAMPLE = Sample(
    step=1, prompt_index=0, num_prompts=1, prompt="a “quoted”\nline ☃", seed=1, path="samples/a.png", seconds=1
)


@pytest.mark.parametrize("message", [HELLO, STEP, SAMPLE])
def test_a_message_is_one_line_and_comes_back_equal(message: Message):
    line = encode(message)
    assert line.count(b"\n") == 1
    assert json.loads(line)["kind"] == message.kind
    assert decode(line) == message


def test_a_loss_that_is_no_number_stays_valid_json():
    # Symptom: `"loss":NaN`, which strict JSON readers refuse.
    line = encode(STEP.model_copy(update={"loss": math.nan, "eta_s": math.inf}))
    json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    back = decode(line)
    assert isinstance(back, Step) and math.isnan(back.loss) and math.isinf(back.eta_s)


@given(st.binary(max_size=40), st.lists(st.integers(min_value=1, max_value=60), min_size=1))
def test_records_are_found_however_the_stream_is_cut(noise: bytes, sizes: list[int]):
    noise = noise.replace(b"\n", b"?")
    stream = encode(HELLO) + noise + b"\n" + encode(STEP) + encode(SAMPLE)[:-1]
    decoder, found, start = StreamDecoder(), [], 0
    while start < len(stream):
        size = sizes[start % len(sizes)]
        found += decoder.feed(stream[start : start + size])
        start += size
    assert [*found, *decoder.end()] == [HELLO, STEP, SAMPLE]


def test_noise_is_kept_apart_and_newer_kinds_are_ignored():
    decoder = StreamDecoder()
    stream = b'Segmentation fault\n{"kind": "later", "x": 1}\n{"kind": "step"}\n[1]\n\n' + encode(Warn(sentence="Oh."))
    assert list(decoder.feed(stream)) == [Warn(sentence="Oh.")]
    assert decoder.garbage == ["Segmentation fault", '{"kind": "step"}', "[1]"]


def test_a_torn_last_line_is_noise():
    decoder = StreamDecoder()
    assert list(decoder.feed(encode(HELLO)[:20])) == []
    assert list(decoder.end()) == []
    assert len(decoder.garbage) == 1


def test_a_line_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_module, "MAX_LINE_BYTES", 100)
    decoder = StreamDecoder()
    for _ in range(50):
        assert list(decoder.feed(b"x" * 60)) == []
    assert list(decoder.feed(b"\n" + encode(HELLO))) == [HELLO]
    assert max(map(len, decoder.garbage)) <= 160


def test_unknown_fields_of_a_newer_trainer_are_ignored():
    record = json.loads(encode(HELLO)) | {"mood": "good"}
    assert decode(json.dumps(record)) == HELLO


def test_another_protocol_version_is_refused_in_words():
    require_protocol(HELLO)
    with pytest.raises(ProtocolError, match=f"speaks protocol {PROTOCOL_VERSION + 1}"):
        require_protocol(HELLO.model_copy(update={"protocol": PROTOCOL_VERSION + 1}))


def test_commands_are_only_the_known_ones():
    assert Command.model_validate_json(encode(Command(command="stop"))).command == "stop"
    with pytest.raises(ValidationError):
        Command.model_validate_json(b'{"command": "dance"}')


def test_names_that_are_not_utf8_can_be_sent():
    # Symptom: the last record of a run could not be encoded, so the run ended without a word.
    failed = Failed(sentence="b\udcfcd “x” is broken.", hint="Rename it.", step=3)
    assert decode(encode(failed)) == failed.model_copy(update={"sentence": r"b\udcfcd “x” is broken."})
    deep = STEP.model_copy(update={"devices": (DeviceReading(device="c\udcff"),), "loss": math.nan})
    back = decode(encode(deep))
    assert isinstance(back, Step) and back.devices[0].device == r"c\udcff" and math.isnan(back.loss)
