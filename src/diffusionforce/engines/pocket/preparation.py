"""From a job to tensors: pictures read, captions encoded, some held out, some drawn, prompts encoded.

The text encoder is used here and nowhere else, so it can be dropped before training starts.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from diffusionforce.datasets import num_captions_without
from diffusionforce.datasets.intakes import SMALLEST_SET_TO_SPLIT
from diffusionforce.engines.contract import Datasets
from diffusionforce.engines.pocket.config import MAX_WORDS
from diffusionforce.engines.pocket.dataset import (
    Captioned,
    PreparedSet,
    Progress,
    encode_captions,
    prepare_pictures,
    prepare_world,
)
from diffusionforce.engines.pocket.division import num_drawn
from diffusionforce.engines.pocket.text import TextEncoder, TextFeatures
from diffusionforce.engines.pocket.words import words_of
from diffusionforce.job import Job, Profile
from diffusionforce.wire import Preparing, Warn

Stage = Literal["model", "text", "pictures", "samples", "held_out"]
Announce = Callable[[Preparing | Warn], None]
"""Told how far the work is, and what the user should know."""

_SHARE_HELD_OUT = 0.1
_MOST_HELD_OUT = 6


@dataclass(frozen=True, kw_only=True)
class Materials:
    """Everything that a run needs besides the transformer, on the CPU."""

    pictures: PreparedSet
    """The pictures to train on, and behind them the regularisation pictures."""
    num_own: int
    """How many of them are the user's."""
    held_out: PreparedSet | None
    """None when the dataset is too small to keep any back."""
    prompts: TextFeatures | None
    """The encoded sample prompts; None when there are none."""
    empty_prompt: TextFeatures
    files: tuple[str, ...] = ()
    """Names of the user's picture files, in the order of `pictures`."""
    digest: str = ""
    """Of everything that is trained on: pictures as prepared, and captions."""


def prepare(
    job: Job, datasets: Datasets, encoder: TextEncoder, *, announce: Announce, most_drawn: int | None = None
) -> Materials:
    """Prepare a run.

    Args:
        job: How to train.
        datasets: What to train on, and what to measure with.
        encoder: The text encoder of the base model.
        announce: Told how far the work is, and what the user should know.
        most_drawn: How many pictures to draw, if any are wanted; None goes by the steps.

    Raises:
        DatasetError: A picture cannot be read any more.
    """
    profile = job.profile
    training, held_out = split_items(
        datasets.training.items, None if datasets.held_out is None else datasets.held_out.items
    )
    captions = [item.caption for item in (*training, *held_out)]
    for warning in (about_long_captions(captions), about_trigger(captions, trigger=profile.dataset.trigger)):
        if warning:
            announce(warning)
    everything = _prepared((*training, *held_out), encoder, profile, announce)
    own = _part(everything, range(len(training)))
    world = _world(encoder, profile, most_drawn)
    pictures = PreparedSet.join(own, world) if world else own
    prompts = profile.samples.prompts
    return Materials(
        pictures=pictures,
        num_own=len(training),
        held_out=_part(everything, range(len(training), len(everything))) if held_out else None,
        prompts=encode_captions(encoder, prompts) if prompts else None,
        empty_prompt=encoder.encode([""]),
        files=tuple(item.picture.name for item in training),
        digest=_digest(pictures, captions[: len(training)]),
    )


def _digest(pictures: PreparedSet, captions: Sequence[str]) -> str:
    digest = hashlib.sha256(repr((tuple(pictures.pixels.shape), list(captions))).encode(errors="backslashreplace"))
    for picture in pictures.pixels:  # One at a time: together they may be a gigabyte.
        digest.update(picture.numpy().tobytes())
    return digest.hexdigest()


def split_items(
    items: Sequence[Captioned], held_out: Sequence[Captioned] | None
) -> tuple[Sequence[Captioned], Sequence[Captioned]]:
    """Divide a dataset into pictures to train on and pictures to measure with.

    Args:
        items: The dataset.
        held_out: Pictures given for measuring; None keeps every tenth or so of the dataset back, and nothing of a
            dataset so small that each picture counts.

    Returns:
        The pictures to train on, and the held-out ones (perhaps none).
    """
    if held_out is not None:
        return items, held_out
    if len(items) < SMALLEST_SET_TO_SPLIT:
        return items, ()
    count = min(_MOST_HELD_OUT, max(1, round(len(items) * _SHARE_HELD_OUT)))
    every = len(items) // count
    chosen = set(range(every - 1, every * count, every))
    kept = tuple(item for index, item in enumerate(items) if index not in chosen)
    return kept, tuple(items[index] for index in sorted(chosen))


def about_long_captions(captions: Sequence[str]) -> Warn | None:
    """A warning if the model cannot read some captions to their end."""
    num_long = sum(len(words_of(caption)) > MAX_WORDS for caption in captions)
    if not num_long:
        return None
    which = "1 caption is" if num_long == 1 else f"{num_long} captions are"
    return Warn(
        sentence=f"{which} longer than the {MAX_WORDS} words that the pocket model reads; the rest is ignored.",
        hint="Put what matters first.",
    )


def about_trigger(captions: Sequence[str], *, trigger: str) -> Warn | None:
    """A warning if some captions do not name the subject that the LoRA is to be called by."""
    num_without = num_captions_without(trigger, captions)
    if not num_without:
        return None
    verb = "does" if num_without == 1 else "do"
    return Warn(
        sentence=f"{num_without} of {len(captions)} captions {verb} not contain {trigger}.",
        hint="Write the word into every caption, so that it calls your subject.",
    )


def progress_of(stage: Stage, announce: Announce, *, step: int = 0) -> Progress:
    """A progress callback that announces a stage."""

    def announce_progress(done: int, total: int) -> None:
        announce(Preparing(stage=stage, done=done, total=total, step=step))

    return announce_progress


def _prepared(items: Sequence[Captioned], encoder: TextEncoder, profile: Profile, announce: Announce) -> PreparedSet:
    text = encode_captions(encoder, [item.caption for item in items], progress=progress_of("text", announce))
    pixels = prepare_pictures(
        items,
        width_px=profile.dataset.width,
        height_px=profile.dataset.height,
        progress=progress_of("pictures", announce),
    )
    return PreparedSet(pixels=pixels, text=text)


def _part(prepared: PreparedSet, indices: range) -> PreparedSet:
    chosen = list(indices)
    return PreparedSet(pixels=prepared.pixels[chosen], text=prepared.text.pick(chosen))


def _world(encoder: TextEncoder, profile: Profile, most: int | None) -> PreparedSet | None:
    count = num_drawn(profile)
    count = most if most and count else count
    if count == 0:
        return None
    return prepare_world(
        encoder,
        count=count,
        width_px=profile.dataset.width,
        height_px=profile.dataset.height,
        seed=profile.training.seed,
    )
