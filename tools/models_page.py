"""Write docs/models.md from the records of the model families: `python tools/models_page.py`."""

from collections.abc import Iterator
from pathlib import Path

from diffusionforce.engines.musubi.families import FAMILIES, UNAVAILABLE, Family
from diffusionforce.engines.musubi.terms import terms_of
from diffusionforce.job import builtin_profiles, read_profile

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
_HEAD = """\
# Models

<!-- Made by tools/models_page.py; do not edit. -->

What can be trained beside the pocket model that comes with DiffusionForce. `diffusionforce models` shows what of it is
on this computer, `diffusionforce models download PROFILE` brings what is missing, and files that you have already, for
example for ComfyUI, are found with `diffusionforce models folder DIR`. Sizes are in units of 2^30 bytes and rough.

*Trained tiny on two devices*: a model of the same classes, with small layers and random weights, was trained over two
devices and gave the gradients that one device gives. *Listed*: its files, options and layers are known, and held
against the engine's source; nothing was run.

Memory and speed of each are forecast before a run, from the model's own code.

*ComfyUI* says whether its stock loader finds every layer of the LoRA as the engine writes it; where it does not,
`diffusionforce lora convert FILE` writes the file that it loads.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_overview(), "", *_details(), *_unavailable()])


def _overview() -> Iterator[str]:
    yield "| Model | Profile | Transformer | Trained on | Validated | ComfyUI |"
    yield "|---|---|---|---|---|---|"
    profiles = {read_profile(path).model.family: name for name, path in builtin_profiles().items()}
    for family in FAMILIES.values():
        dits = [file for file in family.files if file.role in {"dit", "dit_high_noise"}]
        size = f"{len(dits)} x {dits[0].gib:g} GB" if len(dits) > 1 else f"{dits[0].gib:g} GB"
        known = (family.title, f"`{profiles[family.name]}`", size, family.trains_on, family.validated)
        yield f"| {' | '.join((*known, _comfy(family)))} |"


def _comfy(family: Family) -> str:
    words = {"as written": "loads it", "renamed": "after conversion", "converted": "after conversion"}
    return words.get(family.comfy.loads, "not known")


def _details() -> Iterator[str]:
    for family in FAMILIES.values():
        yield f"## {family.title}"
        yield ""
        for terms in terms_of(family):
            yield f"**{terms.licence}** ([{terms.origin}]({terms.url})): {terms.words}"
            yield ""
        yield "| File | Where from | Size | Licence |"
        yield "|---|---|---|---|"
        for file in family.files:
            gate = ", to be accepted there" if file.gated else ""
            optional = ", optional" if file.optional else ""
            place = f"[{file.repository}]({file.page}) `{file.path}`"
            yield f"| {file.title}{optional} (`{file.role}`) | {place} | {file.gib:g} GB | {file.licence}{gate} |"
        yield ""
        yield from (f"- {trap}" for trap in family.traps)
        if family.traps:
            yield ""


def _unavailable() -> Iterator[str]:
    yield "## Not available"
    yield ""
    yield from (f"- **{model.title}**: {model.reason}." for model in UNAVAILABLE)
    yield ""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
