"""What the pocket engine says that it would run, against what it runs."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.jobs import picture_folder, small_job
from tests.support.trainer_process import ROOT

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.dataset import PreparedSet
from diffusionforce.engines.pocket.files import quick_config, shipped_weights
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.microbatches import InTurn
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.preparation import Materials
from diffusionforce.engines.pocket.stepper import Stepper
from diffusionforce.engines.pocket.subjects import subjects
from diffusionforce.engines.pocket.text import TextFeatures
from diffusionforce.engines.pocket.tracing import training_subject
from diffusionforce.errors import WeightsError
from diffusionforce.job import Job
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.pipeline.schedule.generators import turns
from diffusionforce.pipeline.schedule.simulation import Costs
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.standins import CardKernels
from diffusionforce.pipeline.tracer.trace import trace_training
from diffusionforce.ugpum.footprint import Footprint
from diffusionforce.ugpum.forecast import Layout, forecast_training

CPU = torch.device("cpu")
SMALL = PocketConfig(width=64, num_blocks=4, num_heads=2, hidden=128, bottleneck=32, head_hidden=64)


def counted_peak(job: Job, recompute: bool) -> int:
    """The most bytes that the engine's own stepper holds in its second step, on tensors that are counted."""
    size, num = job.profile.dataset.width, job.profile.training.batch_size
    with CardKernels(), StorageCounter() as counter:
        transformer = PocketTransformer(SMALL).requires_grad_(False).train()
        lora = Lora.attach(transformer, rank=job.profile.lora.rank, alpha=8.0)
        for tensor in transformer.parameters():
            counter.note(tensor)
        counter.owner = "host"
        text = TextFeatures(context=torch.zeros(num, 24, SMALL.width), pooled=torch.zeros(num, SMALL.width))
        pictures = PreparedSet(pixels=torch.zeros(num, 3, size, size, dtype=torch.uint8), text=text)
        materials = Materials(pictures=pictures, num_own=num, held_out=None, prompts=None, empty_prompt=text)
        counter.owner = None
        runner = InTurn(transformer.blocks, even_placement(SMALL.num_blocks, [CPU]), recompute=recompute)
        stepper = Stepper(
            transformer,
            lora,
            materials,
            runner=runner,
            profile=job.profile,
            device=CPU,
            precision=Precision(device_type="cpu", bf16=False),
        )
        with runner.installed():
            stepper.take_step(1)
            counter.restart_peak()
            stepper.take_step(2)
        return counter.peak


@pytest.mark.parametrize("recompute", [False, True], ids=["kept", "recomputed"])
def test_a_step_of_the_engine_holds_what_is_forecast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recompute: bool
) -> None:
    # Attention is stood in for by tensors of its size, with anything in them.
    monkeypatch.setattr(Stepper, "_require_numbers", lambda *_numbers, **_named: None)
    job = small_job(tmp_path, training__batch_size=3, training__gradient_checkpointing=recompute)
    subject = training_subject(job.profile, SMALL, microbatch_size=3, on_cards=False)
    footprint = Footprint.from_json(trace_training(subject).to_json())
    order = turns(Costs.equal((0,)), num_microbatches=1)
    layout = Layout(chunk_sizes=(SMALL.num_blocks,), card_of_chunk=(0,), order=order)
    (card,) = forecast_training(footprint, layout).cards
    assert counted_peak(job, recompute) == pytest.approx(card.peak_bytes, rel=0.05)


def test_nothing_of_torch_is_loaded_until_something_is_traced() -> None:
    code = (
        "import sys; from pathlib import Path; from tests.support.jobs import small_job; import tempfile;"
        "from diffusionforce.engines.pocket.subjects import subjects;"
        "import diffusionforce.trainer.forecasting.__main__;"
        "made = subjects(small_job(Path(tempfile.mkdtemp())), num_cards=2);"
        "print(len(made.variants), 'torch' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["2", "False"]


def test_every_setting_that_changes_memory_changes_what_a_trace_is_found_by(tmp_path: Path) -> None:
    pictures = picture_folder(tmp_path / "shared")

    def inputs(**changes: Any) -> Sequence[object]:
        job = small_job(tmp_path, dataset_dir=pictures, samples__prompts=["a"], **changes)
        (variant,) = subjects(job, num_cards=1).variants
        assert variant.sampling is not None
        return variant.training.inputs, variant.sampling.inputs

    plain = inputs()
    for change in (
        {"lora__rank": 4},
        {"lora__dropout": 0.1},
        {"model__precision": "fp32"},
        {"training__batch_size": 3},
        {"training__gradient_checkpointing": True},
        {"dataset__width": 128},
        {"samples__height": 128},
        {"samples__guidance": 1.0},
    ):
        assert inputs(**change) != plain, change
    assert inputs(training__learning_rate=0.5, training__seed=3, samples__num_steps=5) == plain


def test_the_batch_is_cut_as_the_engine_cuts_it(tmp_path: Path) -> None:
    job = small_job(tmp_path, training__batch_size=6, training__gradient_accumulation=2)
    one, split = subjects(job, num_cards=2).variants
    assert (one.kinds, one.num_microbatches, one.microbatch_size) == (("one card",), 2, 6)
    assert (split.kinds, split.num_microbatches, split.microbatch_size) == (("split",), 4, 3)
    assert [variant.kinds for variant in subjects(job, num_cards=0).variants] == [("one card",)]


def test_more_pictures_need_more_ram(tmp_path: Path) -> None:
    few = small_job(tmp_path, dataset_dir=picture_folder(tmp_path / "few"), dataset__regularisation_share=0.0)
    many = few.model_copy(update={"dataset_dir": picture_folder(tmp_path / "many", num_pictures=9)})
    drawn = small_job(tmp_path, dataset_dir=few.dataset_dir, dataset__regularisation_share=0.5)
    picture_bytes = 3 * 256 * 256
    base = subjects(few, num_cards=1).ram_bytes
    assert subjects(many, num_cards=1).ram_bytes - base == 6 * picture_bytes
    # Three steps of two pictures, half of them drawn.
    assert subjects(drawn, num_cards=1).ram_bytes - base == 3 * picture_bytes
    nobodys = few.model_copy(update={"dataset_dir": tmp_path / "nowhere"})
    assert subjects(nobodys, num_cards=1).ram_bytes == base - 3 * picture_bytes


def test_the_header_of_the_weights_is_enough() -> None:
    assert quick_config(shipped_weights()) == PocketConfig()


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0{}", b"\x02\0\0\0\0\0\0\0[]"])
def test_other_weights_are_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    assert quick_config(path) is None
    with pytest.raises(WeightsError, match="weights"):
        subjects(small_job(tmp_path, model__weights=str(path)), num_cards=1)
