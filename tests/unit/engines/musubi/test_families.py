"""The records of the model families: complete, consistent, and true of the engine where it is installed."""

import ast
import functools
from pathlib import Path

import pytest
from tests.support.engine import needs_engine

from diffusionforce.engines.musubi import engine_dir, read_pin
from diffusionforce.engines.musubi.families import FAMILIES, UNAVAILABLE, Family, find_family
from diffusionforce.errors import ProfileError

ALL = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))


def engine_source() -> Path:
    return engine_dir(read_pin()) / "src" / "musubi_tuner"


@functools.cache
def whole_source() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in engine_source().rglob("*.py"))


@functools.cache
def parsed(module: str) -> ast.Module:
    path = engine_source().joinpath(*module.split(".")).with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_family_that_was_promised_is_there():
    promised = {
        *("wan2.1-t2v-14b", "wan2.1-i2v-14b", "wan2.1-t2v-1.3b", "wan2.2-t2v-a14b", "wan2.2-i2v-a14b"),
        *("flux2-dev", "flux2-klein-4b", "flux2-klein-9b", "flux2-klein-base-4b", "flux2-klein-base-9b"),
        *("flux1-kontext", "hunyuan-video", "hunyuan-video-1.5", "framepack", "qwen-image", "qwen-image-edit"),
        *("z-image", "kandinsky5-pro-t2v", "krea2", "ideogram4"),
    }
    assert promised <= set(FAMILIES)


@ALL
def test_a_record_is_complete(family: Family):
    roles = [file.role for file in family.files]
    assert {"dit", "vae"} <= set(roles)
    assert len(roles) == len(set(roles))
    assert family.file("dit") is not None and family.file("none") is None
    for file in family.files:
        assert file.uses and file.gib > 0 and file.repository.count("/") == 1, file.role
        assert file.page.endswith(file.repository)
    assert any("captions" in file.uses for file in family.files)
    assert {"timestep_sampling", "learning_rate"} <= set(family.defaults)
    assert family.lora_modules() and family.tokenizers


@ALL
def test_the_file_of_the_transformer_can_be_recognised(family: Family):
    for file in family.files:
        if file.role in {"dit", "dit_high_noise"}:
            assert file.signature is not None and len(file.signature.tensors) >= 2


def test_models_with_terms_of_their_own_show_them():
    folders = {terms.folder for terms in read_pin().terms}
    for name in ("hunyuan-video", "hunyuan-video-1.5", "hunyuan-video-1.5-i2v", "framepack"):
        shown = FAMILIES[name].licence_folders
        assert shown and set(shown) <= folders


def test_a_misspelt_family_is_named_with_a_near_one():
    with pytest.raises(ProfileError, match=r"'flux2-klein-bas-9b'.*Did you mean flux2-klein-base-9b\?"):
        find_family("flux2-klein-bas-9b")
    assert find_family("krea2").title == "Krea 2"


@pytest.mark.parametrize("model", UNAVAILABLE, ids=lambda model: model.name)
def test_what_cannot_be_trained_says_why_and_what_can(model):
    assert model.name not in FAMILIES and model.instead in FAMILIES
    with pytest.raises(ProfileError, match="cannot be trained: ") as refusal:
        find_family(model.name)
    assert model.instead in refusal.value.hint


@needs_engine
@ALL
def test_programs_and_classes_are_in_the_engine(family: Family):
    trainer = family.trainer
    classes = {node.name for node in ast.walk(parsed(trainer.train)) if isinstance(node, ast.ClassDef)}
    assert trainer.trainer_class in classes
    for script in (trainer.cache_pictures, trainer.cache_captions):
        functions = {node.name for node in parsed(script).body if isinstance(node, ast.FunctionDef)}
        assert "main" in functions
    module, _, name = family.dit_class.removeprefix("musubi_tuner.").rpartition(".")
    assert name in {node.name for node in ast.walk(parsed(module)) if isinstance(node, ast.ClassDef)}
    network = parsed(trainer.network_module.removeprefix("musubi_tuner."))
    assert "create_arch_network" in {node.name for node in network.body if isinstance(node, ast.FunctionDef)}


@needs_engine
@ALL
def test_architectures_and_tokenizers_are_named_as_in_the_engine(family: Family):
    names = (engine_source() / "dataset" / "architectures.py").read_text(encoding="utf-8")
    assert f'_FULL = "{family.trainer.architecture}' in names
    source = whole_source()
    for repository in family.tokenizers:
        owner, _, name = repository.partition("/")
        assert repository in source or (owner in source and name in source), repository
