"""What the engine says it would run: the engine's own classes, traced as its trainer uses them."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.engine import needs_engine

from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.subjects import TRACED, subjects
from diffusionforce.engines.musubi.traced import flux2, wan
from diffusionforce.engines.musubi.traced.parts import RealNumbers, Use
from diffusionforce.engines.musubi.training import chain_of
from diffusionforce.errors import EngineError, NotForecastError, ProfileError, UserError
from diffusionforce.job import Job, builtin_profiles, changed, read_profile
from diffusionforce.pipeline.tracer.hollow import HollowMode, is_hollow
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.pipeline.tracer.standins import CardKernels, autocast_for_cards
from diffusionforce.pipeline.tracer.trace import Subject, trace_call, trace_sampling, trace_training

FAMILY = "wan2.1-t2v-14b"
SMALL_WIDTHS: dict[str, Any] = {"width": 256, "feed_forward_width": 512, "num_heads": 4, "num_blocks": 4}
SMALL = wan.WanShape(**SMALL_WIDTHS)
BLOCK_NUMBERS = 8 * 256 * 256 + 2 * 256 * 512
"""In the matrices of one small block."""


def job(folder: Path, **values: object) -> Job:
    """A job of Wan; its pictures need not exist to be forecast."""
    profile = changed(read_profile(builtin_profiles()["wan21-14b"]), values, origin="test")
    return Job(profile_name="p", profile=profile, dataset_dir=folder / "nothing", run_dir=folder / "run")


def use(**changes: Any) -> Use:
    """Two pictures of 256 x 256."""
    values: dict[str, Any] = {
        "width": 256,
        "height": 256,
        "num_frames": 1,
        "batch_size": 2,
        "weights": "bf16",
        "rank": 8,
        "alpha": 8.0,
        "dropout": 0.0,
        "recompute": True,
    }
    return Use(**{**values, **changes})


@pytest.fixture
def small_wan(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Subject]:
    """Makes subjects of a small Wan."""
    pytest.importorskip("accelerate", reason="the engine needs accelerate")
    monkeypatch.setitem(wan.SHAPES, FAMILY, SMALL)
    source = open_engine()
    return lambda phase="training", **changes: getattr(wan, f"{phase}_subject")(FAMILY, use(**changes), source=source)


def test_without_the_engine_the_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_ENGINE", str(tmp_path / "nowhere"))
    with pytest.raises(EngineError, match="is not installed") as caught:
        subjects(job(tmp_path), num_cards=2)
    assert "diffusionforce engine install" in caught.value.hint


def test_an_unknown_family_is_the_profiles_problem(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="'flux3'"):
        subjects(job(tmp_path, **{"model.family": "flux3"}), num_cards=2)


def test_options_of_the_engine_are_checked_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Symptom: an option that there is not was forecast as if it were one, and refused a night later.
    for family in ("wan2.1-t2v-14b", "krea2"):
        with pytest.raises(ProfileError, match=r"advanced.nonsense is no option of the engine"):
            subjects(job(tmp_path, **{"model.family": family, "advanced.nonsense": 3}), num_cards=2)
    monkeypatch.setattr("diffusionforce.engines.musubi.subjects.verify", lambda: None)
    described = subjects(job(tmp_path, **{"advanced.split_attn": True}), num_cards=2)
    assert any(note.startswith("What split_attn under [advanced] changes") for note in described.notes)
    assert "[advanced]" not in str(subjects(job(tmp_path), num_cards=2).notes)


def test_every_family_can_be_forecast() -> None:
    assert set(TRACED) == set(FAMILIES)


def test_a_model_that_cannot_be_forecast_says_that_it_trains_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(TRACED, "krea2")
    with pytest.raises(NotForecastError, match="What Krea 2 needs cannot be forecast yet") as caught:
        subjects(job(tmp_path, **{"model.family": "krea2"}), num_cards=2)
    assert "trained all the same" in caught.value.hint


@needs_engine
def test_a_machine_without_a_card_is_offered_the_demo(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="without a graphics card") as caught:
        subjects(job(tmp_path), num_cards=0)
    assert "pocket-demo" in caught.value.hint


@needs_engine
def test_all_divisions_and_formats_are_described_without_tracing(tmp_path: Path) -> None:
    described = subjects(job(tmp_path, **{"training.gradient_accumulation": 2, "samples.prompts": ()}), num_cards=2)
    found = [(one.weights, one.num_microbatches, one.microbatch_size) for one in described.variants]
    divided = [(2, 4), (4, 2), (8, 1)]
    assert found == [(weights, *pair) for weights in ("bf16", "fp8") for pair in divided]
    inputs = [one.training.inputs for one in described.variants]
    assert all(one != other for one in inputs for other in inputs if one is not other)
    assert described.variants[0].sampling is None
    sampled = subjects(job(tmp_path, **{"samples.prompts": ("a dog",)}), num_cards=2)
    assert sampled.variants[0].sampling is not None
    assert sampled.variants[0].sampling.inputs["num_frames"] == 9


@needs_engine
def test_wans_blocks_are_traced_with_lora_and_checkpointing(small_wan: Callable[..., Subject]) -> None:
    trace = trace_training(small_wan())
    assert trace.kind_of_block == (0, 1, 1, 1)
    block = trace.kinds[1]
    # Its matrices, their biases, the norms and the modulation.
    numbers = BLOCK_NUMBERS + (9 * 256 + 512) + (2 * 256 + 4 * 256) + 6 * 256
    assert block.part.weights_bytes["bfloat16"] == pytest.approx(2 * numbers, rel=0.02)
    trained = 8 * (8 * (256 + 256) + 2 * (256 + 512)) * 4
    assert block.part.trained_bytes == pytest.approx(trained, rel=0.02)
    assert block.part.optimizer_bytes == pytest.approx(2 * trained, rel=0.02)
    assert block.kept_bytes == block.output_bytes == 2 * 256 * 256 * 2
    without = trace_training(small_wan(recompute=False)).kinds[1]
    assert without.kept_bytes > 5 * block.kept_bytes
    assert trace.outer.shared_bytes > 0


@needs_engine
def test_8_bit_weights_halve_the_blocks_alone(small_wan: Callable[..., Subject]) -> None:
    half, full = trace_training(small_wan(weights="fp8")), trace_training(small_wan())
    assert half.kinds[1].part.weights_bytes["float8_e4m3fn"] == BLOCK_NUMBERS
    assert half.outer.part.weights_bytes == full.outer.part.weights_bytes
    # A block's weights are brought back to 16 bits for its backward.
    assert half.kinds[1].backward_bytes >= full.kinds[1].backward_bytes + BLOCK_NUMBERS


@needs_engine
def test_a_video_sample_keeps_nothing_and_needs_more_than_a_picture(small_wan: Callable[..., Subject]) -> None:
    picture = trace_sampling(small_wan("sampling", batch_size=1))
    video = trace_sampling(small_wan("sampling", batch_size=1, num_frames=9))
    assert picture.kinds[1].kept_bytes == 0
    assert video.kinds[1].output_bytes == 3 * picture.kinds[1].output_bytes
    assert video.kinds[1].forward_bytes > 2 * picture.kinds[1].forward_bytes


@needs_engine
def test_both_kinds_of_blocks_of_flux_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("einops", reason="the engine needs einops for FLUX.2")

    def small_sizes(_family: str, source: Path) -> Any:
        small = {"hidden_size": 128, "num_heads": 1, "depth": 3, "depth_single_blocks": 4}
        return flux2._engine(source).Klein9BParams(**small)

    monkeypatch.setattr(flux2, "_sizes", small_sizes)
    trace = trace_training(flux2.training_subject("flux2-klein-base-9b", use(), source=open_engine()))
    assert trace.kind_of_block == (0, 1, 1, 2, 3, 3, 3)
    assert all(kind.part.trained_bytes > 0 and kind.backward_bytes > 0 for kind in trace.kinds)


SMALL_SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen_image": (
        "qwen-image",
        {"num_layers": 5, "num_attention_heads": 2, "attention_head_dim": 64, "joint_attention_dim": 64}
        | {"axes_dims_rope": (16, 24, 24)},
    ),
    "z_image": (
        "z-image",
        {"dim": 128, "n_layers": 5, "n_heads": 2, "n_kv_heads": 2, "cap_feat_dim": 64}
        | {"axes_dims": [16, 24, 24], "axes_lens": [1536, 512, 512]},
    ),
    "flux_kontext": (
        "flux1-kontext",
        {"hidden_size": 128, "num_heads": 2, "depth": 4, "depth_single_blocks": 5, "context_in_dim": 64}
        | {"vec_in_dim": 32, "axes_dim": [16, 24, 24]},
    ),
    "hunyuan_video": (
        "hunyuan-video",
        {"hidden_size": 128, "heads_num": 2, "mm_double_blocks_depth": 4, "mm_single_blocks_depth": 5}
        | {"text_states_dim": 64, "text_states_dim_2": 32, "rope_dim_list": [16, 24, 24]},
    ),
    "krea2": (
        "krea2",
        {"features": 128, "heads": 1, "kvheads": 1, "layers": 5, "tdim": 32, "txtdim": 64, "txtheads": 2}
        | {"txtkvheads": 2, "txtlayers": 3},
    ),
    "ideogram4": (
        "ideogram4",
        {"emb_dim": 128, "num_heads": 2, "num_layers": 5, "intermediate_size": 256, "adanln_dim": 32}
        | {"llm_features_dim": 64, "mrope_section": (12, 10, 10)},
    ),
    "kandinsky5": (
        "kandinsky5-lite-t2v",
        {"model_dim": 128, "ff_dim": 256, "num_visual_blocks": 5, "in_text_dim": 64, "in_text_dim2": 32}
        | {"axes_dims": (16, 24, 24), "time_dim": 32},
    ),
    "framepack": (
        "framepack",
        {"num_layers": 4, "num_single_layers": 5, "num_attention_heads": 1, "text_embed_dim": 64},
    ),
}


@needs_engine
@pytest.mark.parametrize("name", SMALL_SIZES)
@pytest.mark.parametrize("batch_size", [1, 2])
def test_further_models_are_traced_with_all_of_their_blocks(
    name: str, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    family, sizes = SMALL_SIZES[name]
    module = importlib.import_module(f"diffusionforce.engines.musubi.traced.{name}")
    monkeypatch.setattr(module, "SIZES", sizes)
    source = open_engine()
    trace = trace_training(module.training_subject(family, use(batch_size=batch_size), source=source))
    has_two_lists = len(chain_of(FAMILIES[family])) == 2
    assert len(trace.kind_of_block) == (9 if has_two_lists else 5)
    block = trace.kinds[trace.kind_of_block[1]]
    assert block.part.trained_bytes > 0, "no LoRA"
    # Of a batch twice as large twice as much is handed on, and all of the block's numbers are there once.
    tokens = 16 * 16 * (2 if name == "flux_kontext" else 1)
    num_together = 1 if name == "kandinsky5" else batch_size
    assert block.output_bytes >= num_together * tokens * 128 * 2
    assert block.forward_bytes > 0 and block.backward_bytes > 0
    sample = trace_sampling(module.sampling_subject(family, use(batch_size=1), source=source))
    assert sample.kind_of_block == trace.kind_of_block
    # What the first block is given may be in another number format than what it gives.
    assert sample.kinds[sample.kind_of_block[1]].kept_bytes == 0


@needs_engine
@pytest.mark.parametrize("family", ["wan2.1-i2v-14b", "wan2.2-i2v-a14b"])
def test_a_wan_that_continues_a_picture_is_given_it(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wan.SHAPES, FAMILY, SMALL)
    monkeypatch.setitem(wan.SHAPES, family, replace(wan.SHAPES[family], **SMALL_WIDTHS))
    source, batch_size = open_engine(), 2
    wanted = use(batch_size=batch_size, num_frames=5)
    plain, continued = (trace_training(wan.training_subject(one, wanted, source=source)) for one in (FAMILY, family))
    tokens, latent_bytes = 2 * 16 * 16, 16 * 2 * 32 * 32 * 4
    assert continued.kinds[0].output_bytes == plain.kinds[0].output_bytes == batch_size * tokens * 256 * 2
    image_bytes = 257 * 1280 * 4 if family == "wan2.1-i2v-14b" else 0
    more = continued.outer.batch_bytes - plain.outer.batch_bytes
    assert more == pytest.approx(batch_size * (latent_bytes * 20 / 16 + image_bytes), rel=0.01)
    # Only the older one has layers for what the image encoder says, each with a LoRA.
    rise = continued.kinds[0].part.trained_bytes - plain.kinds[0].part.trained_bytes
    assert (rise > 0) == (image_bytes > 0)


@needs_engine
@pytest.mark.parametrize(
    "family",
    [
        *("wan2.1-i2v-14b", "wan2.2-i2v-a14b", "qwen-image-edit-2511", "kandinsky5-pro-i2v"),
        *(one[0] for one in SMALL_SIZES.values()),
    ],
)
def test_a_trace_counts_what_the_model_holds_with_contents(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    module = importlib.import_module(f"diffusionforce.engines.musubi.traced.{TRACED[family]}")
    if TRACED[family] == "wan":
        monkeypatch.setitem(wan.SHAPES, family, replace(wan.SHAPES[family], **SMALL_WIDTHS))
    else:
        monkeypatch.setattr(module, "SIZES", SMALL_SIZES[TRACED[family]][1])
    wanted = use(width=64, height=64, num_frames=5)
    subject = module.sampling_subject(family, wanted, source=open_engine())
    traced = trace_call(subject.make_model, subject.make_batch, subject.run)
    model, batch, counter = subject.make_model(), subject.make_batch(torch.device("cpu")), StorageCounter()
    tables = [value for part in model.modules() for value in vars(part).values() if isinstance(value, torch.Tensor)]
    for tensor in [*model.parameters(), *model.buffers(), *tables, batch.latents, batch.timesteps, *batch.text]:
        counter.note(tensor)
    before = counter.live
    with autocast_for_cards(), counter, CardKernels(), torch.no_grad():
        result = subject.run(model, batch)
    assert result.shape == batch.latents.shape
    assert counter.peak - before == pytest.approx(traced.peak_bytes, rel=0.001)


@needs_engine
@pytest.mark.parametrize("family", ["hunyuan-video-1.5", "hunyuan-video-1.5-i2v"])
def test_all_blocks_of_a_model_of_fixed_size_are_counted(family: str) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    module = importlib.import_module("diffusionforce.engines.musubi.traced.hunyuan_video_1_5")
    wanted = use(num_frames=5)
    trace = trace_training(module.training_subject(family, wanted, source=open_engine()))
    assert trace.kind_of_block == (0, *(1,) * 53)
    weights = sum(sum(trace.kinds[kind].part.weights_bytes.values()) for kind in trace.kind_of_block)
    assert weights == pytest.approx(54 * 151.1e6 * 2, rel=0.01)
    sample = trace_sampling(module.sampling_subject(family, use(batch_size=1, num_frames=5), source=open_engine()))
    # Pictures are handed on in 16 bits and captions in 32, with what the image encoder says of the first frame.
    text_tokens = 512 + 128 + (729 if family.endswith("i2v") else 0)
    assert sample.kinds[0].output_bytes == (2 * 16 * 16 * 2 + text_tokens * 4) * 2048
    assert sample.kinds[0].kept_bytes == 0


@needs_engine
@pytest.mark.parametrize("name", ["qwen_image", "z_image", "flux_kontext", "framepack", "krea2", "kandinsky5"])
def test_8_bit_weights_of_further_models_are_about_half(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    family, sizes = SMALL_SIZES[name]
    module = importlib.import_module(f"diffusionforce.engines.musubi.traced.{name}")
    monkeypatch.setattr(module, "SIZES", sizes)
    full, half = (
        sum(
            trace_training(module.training_subject(family, use(weights=weights), source=open_engine()))
            .kinds[0]
            .part.weights_bytes.values()
        )
        for weights in ("bf16", "fp8")
    )
    assert 0.5 * full < half < 0.8 * full


@needs_engine
def test_a_model_without_scales_is_offered_in_16_bits_only(tmp_path: Path) -> None:
    profile = read_profile(builtin_profiles()["hunyuan-video"])
    described = subjects(
        Job(profile_name="p", profile=profile, dataset_dir=tmp_path / "nothing", run_dir=tmp_path / "run"), num_cards=2
    )
    assert {one.weights for one in described.variants} == {"bf16"}


@needs_engine
def test_a_control_picture_of_a_sample_is_as_large_as_the_model_likes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    module = importlib.import_module("diffusionforce.engines.musubi.traced.qwen_image")
    monkeypatch.setattr(module, "SIZES", SMALL_SIZES["qwen_image"][1])
    source, text = open_engine(), 512 * 64 * 4
    sizes: dict[str, list[int]] = {}
    for family in ("qwen-image", "qwen-image-edit"):
        make = (module.training_subject, module.sampling_subject)
        subjects_of = [one(family, use(batch_size=1), source=source).make_batch(torch.device("cpu")) for one in make]
        sizes[family] = [sum(one.nbytes for one in batch.text) for batch in subjects_of]
    assert sizes["qwen-image"] == [text, text]
    more = [edit - plain for edit, plain in zip(sizes["qwen-image-edit"], sizes["qwen-image"], strict=True)]
    assert more == [188 * 64 * 4 + 16 * side**2 * 4 for side in (256 // 8, 1024 // 8)]


@needs_engine
def test_a_model_that_runs_picture_by_picture_is_divided_so(tmp_path: Path) -> None:
    profile = read_profile(builtin_profiles()["kandinsky5-lite"])
    profile = changed(profile, {"training.batch_size": 4, "training.gradient_accumulation": 2}, origin="test")
    wanted = Job(profile_name="p", profile=profile, dataset_dir=tmp_path / "nothing", run_dir=tmp_path / "run")
    found = {(one.num_microbatches, one.microbatch_size, one.kinds) for one in subjects(wanted, num_cards=2).variants}
    assert found == {(8, 1, ("one card + swap", "split", "split + swap"))}
    with pytest.raises(NotForecastError, match="cannot be forecast for batches of 4") as caught:
        subjects(wanted, num_cards=1)
    assert "training.gradient_accumulation" in caught.value.hint


@needs_engine
def test_a_model_that_is_published_in_8_bits_is_offered_in_these_only(tmp_path: Path) -> None:
    profile = read_profile(builtin_profiles()["ideogram4-1024"])
    wanted = Job(profile_name="p", profile=profile, dataset_dir=tmp_path / "nothing", run_dir=tmp_path / "run")
    assert {one.weights for one in subjects(wanted, num_cards=2).variants} == {"fp8"}


def test_real_numbers_stay_real_and_nothing_else_does() -> None:
    with HollowMode(), RealNumbers():
        sizes = torch.stack([torch.tensor((1, 2, 3), dtype=torch.long), torch.tensor((4, 5, 6), dtype=torch.long)])
        assert sizes.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert [tuple(row.tolist()) for row in sizes] == [(1, 2, 3), (4, 5, 6)]
        assert min(sizes[0]) == 1
        assert is_hollow(torch.zeros(3))
        assert is_hollow(torch.zeros(3) + sizes[0])
