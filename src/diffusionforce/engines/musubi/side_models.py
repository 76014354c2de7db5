"""The models beside the transformer, described for a forecast: what prepares pictures and captions, and what decodes.

The engine's programs load them by themselves: a program for pictures holds the autoencoder, for some families with an
image encoder; one for captions holds the text encoders; a training loads the text encoders for the sample prompts
before the transformer, and the autoencoder when a sample is finished. Pictures and captions are prepared one at a time,
and so do samples come.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from diffusionforce.engines.musubi.access import open_engine
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.musubi.pin import read_pin
from diffusionforce.engines.subjects import TracedCall, code_inputs
from diffusionforce.job import Profile

if TYPE_CHECKING:
    from diffusionforce.pipeline.tracer.numbers import CallTrace

_TRACED = "diffusionforce.engines.musubi.traced.calls"


@dataclass(frozen=True, kw_only=True)
class SideModels:
    """The models beside one family's transformer, by their names in `traced`."""

    autoencoder: str
    text_encoders: tuple[tuple[str, ...], ...]
    """Those that are held at the same time together; one group after another."""
    image_encoder: str = ""
    reads_twice: bool = False
    """Whether the first frame is read by itself as well: a video continues it, or it is made from another picture."""


_IN_SECTIONS = "framepack"
_SECTION_FRAMES = 36
"""Of a video that FramePack makes at a time; it decodes two sections and the first frame together."""

_WAN = SideModels(autoencoder="wan", text_encoders=(("umt5",),))
_FLUX2_4B = SideModels(autoencoder="flux2", text_encoders=(("qwen3_4b_for_flux2",),))
_FLUX2_9B = SideModels(autoencoder="flux2", text_encoders=(("qwen3_8b_for_flux2",),))
_QWEN_EDIT = SideModels(autoencoder="qwen_image", text_encoders=(("qwen2_5_vl_for_edit",),), reads_twice=True)
_KANDINSKY = SideModels(autoencoder="kandinsky5", text_encoders=(("qwen2_5_vl_for_kandinsky", "clip_l"),))
_HUNYUAN_1_5 = SideModels(autoencoder="hunyuan_video_1_5", text_encoders=(("qwen2_5_vl_for_video", "byt5"),))

SIDE_MODELS: Mapping[str, SideModels] = {
    "wan2.1-t2v-14b": _WAN,
    "wan2.1-t2v-1.3b": _WAN,
    "wan2.2-t2v-a14b": _WAN,
    "wan2.1-i2v-14b": SideModels(
        autoencoder="wan", text_encoders=(("umt5",),), image_encoder="wan_clip", reads_twice=True
    ),
    "wan2.2-i2v-a14b": SideModels(autoencoder="wan", text_encoders=(("umt5",),), reads_twice=True),
    "flux2-dev": SideModels(autoencoder="flux2", text_encoders=(("mistral3",),)),
    "flux2-klein-9b": _FLUX2_9B,
    "flux2-klein-base-9b": _FLUX2_9B,
    "flux2-klein-4b": _FLUX2_4B,
    "flux2-klein-base-4b": _FLUX2_4B,
    "flux1-kontext": SideModels(autoencoder="flux", text_encoders=(("t5", "clip_l"),), reads_twice=True),
    "qwen-image": SideModels(autoencoder="qwen_image", text_encoders=(("qwen2_5_vl",),)),
    "qwen-image-edit": _QWEN_EDIT,
    "qwen-image-edit-2509": _QWEN_EDIT,
    "qwen-image-edit-2511": _QWEN_EDIT,
    "krea2": SideModels(autoencoder="qwen_image", text_encoders=(("qwen3_vl_4b",),)),
    "ideogram4": SideModels(autoencoder="ideogram4", text_encoders=(("qwen3_vl_8b_in_8_bits",),)),
    "kandinsky5-pro-t2v": _KANDINSKY,
    "kandinsky5-lite-t2v": _KANDINSKY,
    "kandinsky5-pro-i2v": replace(_KANDINSKY, reads_twice=True),
    "z-image": SideModels(autoencoder="z_image", text_encoders=(("qwen3_4b",),)),
    "hunyuan-video": SideModels(autoencoder="hunyuan_video", text_encoders=(("llama",), ("clip_l",))),
    "hunyuan-video-1.5": _HUNYUAN_1_5,
    "hunyuan-video-1.5-i2v": SideModels(
        autoencoder="hunyuan_video_1_5",
        text_encoders=(("qwen2_5_vl_for_video", "byt5"),),
        image_encoder="siglip",
        reads_twice=True,
    ),
    _IN_SECTIONS: SideModels(
        autoencoder="hunyuan_video", text_encoders=(("llama_without_scores", "clip_l"),), image_encoder="siglip"
    ),
}
"""By family."""


TILE_PIXELS = 512
"""Side of the tiles in which samples are decoded where no card holds what the whole takes."""

PIXELS_OF_A_NUMBER: Mapping[str, int] = {
    "wan": 8,
    "flux2": 16,
    "ideogram4": 8,
    "flux": 8,
    "qwen_image": 8,
    "z_image": 8,
}
"""Along a side of a latent, by autoencoder. Those that are not here work in tiles of their own."""


def num_sections(num_frames: int) -> int:
    """Sections in which FramePack makes a video.

    Args:
        num_frames: Frames of the video.
    """
    return max(1, (num_frames - 1) // _SECTION_FRAMES)


def caching_calls(profile: Profile, *, size: tuple[int, int, int]) -> tuple[TracedCall, ...]:
    """What prepares a job's pictures and captions, one after another.

    Args:
        profile: Names the model.
        size: Width, height and frames of the largest picture or clip.
    """
    models, readers = SIDE_MODELS[profile.model.family], _reader_titles(profile.model.family)
    also = " and image encoder" if models.image_encoder else ""
    pictures = _call(
        "pictures",
        f"autoencoder{also} on pictures",
        {"of": "pictures", "autoencoder": models.autoencoder, "image_encoder": models.image_encoder}
        | {"reads_twice": models.reads_twice, **_of_size(size)},
    )
    captions = [
        _call(
            "captions",
            f"{' and '.join(next(readers) for _ in group)} on captions",
            {"of": "captions", "text_encoders": list(group)},
        )
        for group in models.text_encoders
    ]
    return pictures, *captions


def _reader_titles(family: str) -> Iterator[str]:
    """What a family's encoders of captions are, for people, in the order in which they are named above."""
    return (file.title for file in find_family(family).files if "captions" in file.uses)


def decoding_calls(profile: Profile, *, size: tuple[int, int, int]) -> tuple[TracedCall, ...]:
    """What makes pictures or a video of a sample.

    Args:
        profile: Names the model.
        size: Width, height and frames of a sample.
    """
    family = profile.model.family
    of = {"of": "decoding", "autoencoder": SIDE_MODELS[family].autoencoder}
    if family == _IN_SECTIONS:
        size = (*size[:2], _SECTION_FRAMES * min(2, num_sections(size[2])) + 1)
    whole = _call("decoding", "autoencoder on samples", of | _of_size(size))
    tile = (min(size[0], TILE_PIXELS), min(size[1], TILE_PIXELS), size[2])
    if tile == size or of["autoencoder"] not in PIXELS_OF_A_NUMBER:
        return (whole,)
    in_tiles = _call("decoding", "autoencoder on samples, in tiles", of | _of_size(tile))
    return (replace(whole, otherwise=replace(in_tiles, in_tiles=True)),)


def _of_size(size: tuple[int, int, int]) -> dict[str, Any]:
    return dict(zip(("width", "height", "num_frames"), size, strict=True))


def _call(name: str, words: str, values: dict[str, Any]) -> TracedCall:
    code = code_inputs("diffusionforce.engines.musubi.traced")
    return TracedCall(
        name=name,
        words=words,
        where="card",
        inputs={**code, "engine": read_pin().commit, **values},
        trace=lambda: _traced(values),
    )


def _traced(values: dict[str, Any]) -> "CallTrace":
    return importlib.import_module(_TRACED).trace_of(values, source=open_engine())
