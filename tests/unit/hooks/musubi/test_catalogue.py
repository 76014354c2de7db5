"""The list of hooks: complete, documented, and which of them a job gets."""

import pkgutil
from pathlib import Path

import pytest

import diffusionforce.hooks.musubi as hooks_package
from diffusionforce.hooks.document import document
from diffusionforce.hooks.musubi.catalogue import every_hook, hooks_for
from diffusionforce.hooks.musubi.upstream import REVISION

ROOT = Path(__file__).resolve().parents[4]
NO_HOOKS = {
    "assignment",
    "catalogue",
    "drawn",
    "notes",
    "numbers",
    "plain_states",
    "replay",
    "swap_places",
    "tiles",
    "upstream",
}


def test_every_module_with_a_hook_is_listed_under_its_name() -> None:
    modules = {info.name for info in pkgutil.iter_modules(hooks_package.__path__)} - NO_HOOKS
    assert {hook.name.replace("-", "_") for hook in every_hook()} == modules


def test_numbers_are_unique() -> None:
    numbers = [hook.number for hook in every_hook()]
    assert numbers == sorted(set(numbers))
    assert all(hook.upstream_revision == REVISION for hook in every_hook())


def test_the_document_is_what_the_hooks_say() -> None:
    path = ROOT / "docs" / "hooks.md"
    assert path.read_text(encoding="utf-8") == document(), (
        "run: python -m diffusionforce.hooks.document > docs/hooks.md"
    )


@pytest.mark.parametrize("script", ["wan", "flux_2", "kandinsky5"])
def test_a_job_on_one_device_gets_no_hook_that_splits(script: str) -> None:
    split = {seam.name for seam in hooks_for(script=script, home="cuda:0", is_placed=True).seams}
    single = {seam.name for seam in hooks_for(script=script, home="cuda:0", is_placed=False).seams}
    # There a step of several pieces is taken again as a whole, here a batch is.
    assert single - {"step-again"} < split
    assert not {"microbatches", "block-placement", "wan-experts", "kandinsky-loading"} & single
    # One card may have no room for them beside the model, either.
    assert {"text-encoders", "autoencoder"} < single
    assert ("wan-experts" in split) == (script == "wan")
    assert ("kandinsky-loading" in split) == (script == "kandinsky5")


def test_the_home_device_is_named_in_full() -> None:
    hooks = hooks_for(script="wan", home="cuda:1", is_placed=True)
    values = next(hook.values for hook in hooks.replaced if hook.name == "single-process")  # pyright: ignore
    assert values["ACCELERATE_TORCH_DEVICE"] == "cuda:1"
    assert values["LOCAL_RANK"] is None
