"""The pocket engine in the real trainer process, in miniature."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from safetensors import safe_open
from tests.support.jobs import picture_folder, small_job
from tests.support.trainer_process import trainer

from diffusionforce.job import builtin_profiles, read_profile
from diffusionforce.runs import RunFolder
from diffusionforce.wire import Command, Done, Failed, HeldOut, Placed, Sample, Step, Warn, encode


def test_a_small_training_from_pictures_to_lora_and_samples(tmp_path: Path):
    dataset_dir = picture_folder(tmp_path / "pictures", num_pictures=3)
    (dataset_dir / "empty.png").write_bytes(b"")
    (dataset_dir / "empty.txt").write_text("nothing")
    job = small_job(
        tmp_path,
        steps=2,
        dataset_dir=dataset_dir,
        devices__use=["cpu", "cpu"],
        samples__prompts=["LoRAnne, waving"],
        samples__num_steps=2,
        dataset__regularisation_share=0.0,
    ).model_copy(update={"held_out_dir": picture_folder(tmp_path / "held out", num_pictures=2)})
    with trainer(job, is_fake=False) as child:
        messages, code = child.finish()
    done = messages[-1]
    assert isinstance(done, Done) and code == 0 and child.decoder.garbage == []
    assert [message.step for message in messages if isinstance(message, Step)] == [1, 2]
    (placed,) = [message for message in messages if isinstance(message, Placed)]
    assert sorted(block for device in placed.devices for block in device.blocks) == list(range(placed.num_blocks))
    assert any("empty.png" in message.sentence for message in messages if isinstance(message, Warn))
    samples = [message for message in messages if isinstance(message, Sample)]
    assert [sample.step for sample in samples] == [0, 2]
    for sample in samples:
        with Image.open(job.run_dir / sample.path) as picture:
            assert picture.size == (256, 256)
    before, after = (message.loss for message in messages if isinstance(message, HeldOut))
    state = RunFolder.open(job.run_dir).read_state()
    assert state.held_out_loss is not None
    assert (state.held_out_loss.before, state.held_out_loss.after) == (before, after)
    assert (done.held_out_before, done.held_out_after) == (before, after)
    assert (state.state, state.num_samples) == ("done", 2)
    with safe_open(job.run_dir / state.lora, framework="numpy") as lora:
        assert any("lora" in name for name in lora.keys())  # noqa: SIM118 - no mapping.


def test_a_stop_before_the_first_step_ends_the_run(tmp_path: Path):
    with trainer(small_job(tmp_path, steps=1000), is_fake=False) as child:
        child.wait_for("hello")
        child.send(encode(Command(command="stop")))
        messages, code = child.finish()
    assert (messages[-1].kind, code) == ("stopped", 0)
    assert RunFolder.open(tmp_path / "run").read_state().state == "stopped"


@pytest.mark.parametrize(
    ("profile_name", "change", "words"),
    [
        ("pocket-demo", {"weights": "nowhere.safetensors"}, "nowhere.safetensors"),
        ("klein-9b-1024", {}, "Musubi Tuner 0.3.4 is not installed"),
        ("wan21-14b", {}, "Musubi Tuner 0.3.4 is not installed"),
    ],
)
def test_what_an_engine_lacks_is_said_and_nothing_is_written(
    tmp_path: Path, profile_name: str, change: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(tmp_path / "no engine"))
    job = small_job(tmp_path)
    profile = read_profile(builtin_profiles()[profile_name])
    profile = profile.model_copy(update={"model": profile.model.model_copy(update=change)})
    job = job.model_copy(update={"profile_name": profile_name, "profile": profile})
    with trainer(job, is_fake=False) as child:
        messages, code = child.finish()
    assert code == 1
    assert [message.kind for message in messages] == ["failed"]
    failed = messages[0]
    assert isinstance(failed, Failed) and words in failed.sentence and failed.hint
    assert not job.run_dir.exists()


def test_a_job_file_that_cannot_be_read_is_a_record(tmp_path: Path):
    command = [sys.executable, "-m", "diffusionforce.trainer", str(tmp_path / "none.toml")]
    result = subprocess.run(command, capture_output=True, check=False)
    assert result.returncode == 1
    assert result.stdout.count(b"\n") == 1 and b'"kind":"failed"' in result.stdout and b"is not there" in result.stdout
    usage = subprocess.run(command[:-1], capture_output=True, check=False)
    assert usage.returncode != 0 and b"usage" in usage.stderr and usage.stdout == b""
