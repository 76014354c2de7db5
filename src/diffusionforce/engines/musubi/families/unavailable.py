"""Models that people ask for and that cannot be trained here, each with the reason."""

from diffusionforce.engines.musubi.families.record import Unavailable

_NOT_IN_ENGINE = "the engine has no trainer for it"

UNAVAILABLE = (
    Unavailable(name="ltx-video", title="LTX-Video", reason=_NOT_IN_ENGINE, instead="wan2.1-t2v-1.3b"),
    Unavailable(name="ltx-2", title="LTX-2", reason=_NOT_IN_ENGINE, instead="wan2.2-t2v-a14b"),
    Unavailable(
        name="wan2.2-ti2v-5b",
        title="Wan 2.2 TI2V 5B",
        reason="the engine trains the 14B models of Wan 2.2 only; this one has another autoencoder",
        instead="wan2.1-t2v-1.3b",
    ),
    Unavailable(name="flux1-dev", title="FLUX.1 dev", reason=_NOT_IN_ENGINE, instead="flux2-klein-base-4b"),
    Unavailable(name="sdxl", title="Stable Diffusion XL", reason=_NOT_IN_ENGINE, instead="flux2-klein-base-4b"),
    Unavailable(name="sd3.5", title="Stable Diffusion 3.5", reason=_NOT_IN_ENGINE, instead="flux2-klein-base-4b"),
    Unavailable(name="chroma", title="Chroma", reason=_NOT_IN_ENGINE, instead="flux2-klein-base-4b"),
    Unavailable(
        name="z-image-turbo",
        title="Z-Image Turbo",
        reason="it is distilled, and training it undoes that",
        instead="z-image",
    ),
    Unavailable(
        name="qwen-image-layered",
        title="Qwen-Image-Layered",
        reason="it needs several target pictures for one caption, which datasets here do not have",
        instead="qwen-image",
    ),
    Unavailable(
        name="hidream-o1",
        title="HiDream-O1-Image",
        reason="it works on pixels by a path of its own in the engine, which cannot be divided between cards here",
        instead="qwen-image",
    ),
    Unavailable(
        name="kandinsky5-image-lite",
        title="Kandinsky 5 Image Lite",
        reason="the engine's documentation says that it is not supported",
        instead="kandinsky5-lite-t2v",
    ),
)
