"""What a training by the engine decides before the engine is there."""

import dataclasses
from pathlib import Path
from unittest import mock

import pytest
import torch
from tests.support.musubi_families import FAMILIES as TINY

from diffusionforce.engines.musubi.arguments import EngineArguments, MemoryUse
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.running import memory_use
from diffusionforce.engines.musubi.training import Training, chain_of, free_bytes
from diffusionforce.engines.plans import DevicePlan, RunPlan
from diffusionforce.job import Job, builtin_profiles, read_profile

BY_TINY = {
    "wan21": "wan2.1-t2v-14b",
    "wan22": "wan2.2-t2v-a14b",
    "wan21-i2v": "wan2.1-i2v-14b",
    "wan22-i2v": "wan2.2-i2v-a14b",
    "klein": "flux2-klein-base-9b",
    "qwen": "qwen-image",
    "qwen-edit": "qwen-image-edit-2511",
    "krea2": "krea2",
    "zimage": "z-image",
    "kontext": "flux1-kontext",
    "hunyuan": "hunyuan-video",
    "hunyuan-1.5": "hunyuan-video-1.5",
    "hunyuan-1.5-i2v": "hunyuan-video-1.5-i2v",
    "framepack": "framepack",
    "ideogram4": "ideogram4",
    "kandinsky5": "kandinsky5-lite-t2v",
    "kandinsky5-i2v": "kandinsky5-pro-i2v",
}


def test_every_tiny_family_stands_for_one_that_profiles_name() -> None:
    assert set(BY_TINY) == set(TINY)


@pytest.mark.parametrize("tiny", TINY)
def test_what_is_split_is_what_was_tried_on_two_devices(tiny: str) -> None:
    family = FAMILIES[BY_TINY[tiny]]
    assert tuple(blocks.name for blocks in chain_of(family)) == TINY[tiny].block_lists
    assert family.trainer.train == f"{TINY[tiny].script}_train_network"
    assert family.trainer.trainer_class == TINY[tiny].trainer
    assert family.trainer.network_module == TINY[tiny].network_module


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_a_chain_of_blocks(name: str) -> None:
    assert sum(blocks.count for blocks in chain_of(FAMILIES[name])) >= 10


def test_weights_are_held_as_the_plan_says_whatever_its_words() -> None:
    one, two = (tuple(DevicePlan(device=f"cuda:{index}", label="") for index in range(num)) for num in (1, 2))
    plan = RunPlan(devices=two, chunk_sizes=(2, 2), stage_of_chunk=(0, 1), paged=frozenset({1}), words="not fp8")
    assert memory_use(None, num_devices=2) == memory_use(plan, num_devices=2) == MemoryUse(is_whole=False)
    in_8_bits = dataclasses.replace(plan, weights="fp8")
    assert memory_use(in_8_bits, num_devices=2) == MemoryUse(eight_bit=True, is_whole=False)
    on_one = dataclasses.replace(plan, devices=one)
    assert not memory_use(on_one, num_devices=1).is_whole
    all_there = dataclasses.replace(on_one, paged=frozenset())
    assert memory_use(all_there, num_devices=1).is_whole and memory_use(None, num_devices=1).is_whole
    aside = dataclasses.replace(all_there, devices=(dataclasses.replace(one[0], num_aside=1),))
    assert not memory_use(aside, num_devices=1).is_whole


def test_prompts_are_read_where_the_forecast_found_room_for_captions(tmp_path: Path) -> None:
    devices = tuple(DevicePlan(device=f"cuda:{index}", label="") for index in range(2))
    plan = RunPlan(devices=devices, chunk_sizes=(20, 20), stage_of_chunk=(0, 1), device_of_call={"captions": "cuda:1"})
    profile = read_profile(builtin_profiles()["wan21-14b"])
    training = Training(
        job=Job(profile_name="p", profile=profile, dataset_dir=tmp_path, run_dir=tmp_path),
        family=FAMILIES["wan2.1-t2v-14b"],
        arguments=EngineArguments(script="", values={}),
        output=mock.Mock(),
        report=mock.Mock(),
        controls=mock.Mock(),
        plan=plan,
    )
    assert str(training._encoder_device(training._placement())) == "cuda:1"
    elsewhere = dataclasses.replace(training, plan=dataclasses.replace(plan, device_of_call={"captions": "cpu"}))
    assert str(elsewhere._encoder_device(training._placement())) == "cpu"


def test_a_processor_has_no_memory_for_text_encoders_of_its_own() -> None:
    assert free_bytes(torch.device("cpu"), None) == 0
