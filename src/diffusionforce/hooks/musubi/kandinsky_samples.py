"""8: Kandinsky 5 makes samples as all other models do.

Its trainer has a way of its own: for every prompt it loads both text encoders and the autoencoder onto the training
device, takes the number of frames for one of latents, which are four times as long, draws from a picture at a size of
its own, and writes into a folder of its own, twice an epoch's end. Here the common way runs, and only what makes one
sample out of its prompt is Kandinsky's.
"""

import importlib
from types import SimpleNamespace
from typing import Any

import torch

from diffusionforce.hooks.hook import Target
from diffusionforce.hooks.musubi.upstream import REVISION, EngineTrainer
from diffusionforce.hooks.seam import Seam

_PROGRAM = "musubi_tuner.kandinsky5_train_network"
_SAID = "kandinsky5_said"
"""Key of a prompt: what the text encoders say to it."""
_NEGATIVE = "low quality, bad quality"
"""The engine's own, where a prompt has none."""
_FRAMES, _PIXELS = 4, 8
"""Of the video to one number of the latent, in time and along a side."""
_DIVISIBILITY = 16
"""Of the sides of a picture that is continued, in pixels."""


class KandinskySamples(EngineTrainer):
    """Reads the prompts before the model is loaded, and gives a finished sample to the trainer."""

    task_conf: Any
    _load_vae_for_sampling: Any

    def process_sample_prompts(self, args: Any, accelerator: Any, sample_prompts: str) -> Any:
        """Read the prompts, and let both text encoders read them."""
        prompts: list[dict[str, Any]] = super().process_sample_prompts(args, accelerator, sample_prompts)
        embedder = _program().get_text_embedder(
            SimpleNamespace(
                qwen=SimpleNamespace(
                    checkpoint_path=args.text_encoder_qwen or self.task_conf.text.qwen_checkpoint,
                    max_length=self.task_conf.text.qwen_max_length,
                ),
                clip=SimpleNamespace(
                    checkpoint_path=args.text_encoder_clip or self.task_conf.text.clip_checkpoint,
                    max_length=self.task_conf.text.clip_max_length,
                ),
            ),
            device=accelerator.device,
        )
        with torch.no_grad():
            read = [{**prompt, _SAID: _said(embedder, prompt)} for prompt in prompts]
        embedder.to("cpu")
        return read

    def load_vae(self, args: Any, vae_dtype: Any, vae_path: str) -> Any:
        """Load the autoencoder itself, for which the trainer has something that stands for it.

        Never in float16, which is what the trainer names if nobody else does: numbers grow too large for it.
        """
        super().load_vae(args, vae_dtype=vae_dtype, vae_path=vae_path)
        dtype = torch.bfloat16 if vae_dtype == torch.float16 else vae_dtype
        return self._load_vae_for_sampling(args, torch.device("cpu")).to(dtype)

    def sample_images(
        self,
        accelerator: Any,
        args: Any,
        epoch: int | None,
        steps: int,
        vae: Any,
        transformer: Any,
        sample_parameters: Any,
        dit_dtype: Any,
    ) -> None:
        """Make a pass in the way that all trainers have in common."""
        make = importlib.import_module("musubi_tuner.training.trainer_base").NetworkTrainer.sample_images
        make(self, accelerator, args, epoch, steps, vae, transformer, sample_parameters, dit_dtype)

    def do_inference(
        self,
        accelerator: Any,
        args: Any,
        sample_parameter: dict[str, Any],
        vae: Any,
        dit_dtype: Any,
        transformer: Any,
        discrete_flow_shift: float,
        sample_steps: int,
        width: int,
        height: int,
        frame_count: int,
        generator: Any,
        do_classifier_free_guidance: bool,
        guidance_scale: float,
        cfg_scale: float | None,
        image_path: str | None = None,
        control_video_path: str | None = None,
    ) -> torch.Tensor:
        """Make one sample.

        Returns:
            (1, 3, F, H, W) between 0 and 1, on the processor.
        """
        tools: Any = _program().generation_utils
        first = self._first_frame(accelerator, vae, image_path, area=width * height) if image_path else None
        side = tuple(first.shape[1:3]) if first is not None else (height // _PIXELS, width // _PIXELS)
        num_frames = (frame_count - 1) // _FRAMES + 1
        latents = tools.generate_sample_latents_only(
            shape=(1, num_frames, *side, self.task_conf.dit_params.in_visual_dim),
            dit=transformer,
            attention_mask=None,
            first_frames=first,
            num_steps=sample_steps,
            guidance_weight=guidance_scale,
            scheduler_scale=self.task_conf.scheduler_scale or 1,
            seed=generator.initial_seed(),
            device=accelerator.device,
            conf=SimpleNamespace(
                model=self.task_conf, metrics=SimpleNamespace(scale_factor=self.task_conf.scale_factor)
            ),
            **sample_parameter[_SAID],
        )
        pixels = tools.decode_latents(latents, vae, device=accelerator.device, batch_size=1, num_frames=num_frames)
        return pixels.permute(0, 4, 1, 2, 3).float().cpu() / 255

    def _first_frame(self, accelerator: Any, vae: Any, image_path: str, *, area: int) -> torch.Tensor:
        """(1, H / 8, W / 8, 16) of the picture that a video continues, as large as the sample was asked for."""
        read = _program().get_first_frame_from_image
        _, latents, _ = read(image_path, vae, accelerator.device, max_area=area, divisibility=_DIVISIBILITY)
        return latents[:1].to(accelerator.device)


def _said(embedder: Any, prompt: dict[str, Any]) -> dict[str, torch.Tensor]:
    """What the encoders say to a prompt and to what it is to avoid, by the sampler's names for it."""
    content = "video" if prompt.get("frame_count", 1) > 1 else "image"
    wanted, avoided = (
        embedder.encode([text], type_of_content=content)[0]
        for text in (prompt.get("prompt", ""), prompt.get("negative_prompt") or _NEGATIVE)
    )
    return {**wanted, **{f"null_{name}": tensor for name, tensor in avoided.items()}}


def _program() -> Any:
    return importlib.import_module(_PROGRAM)


def _method(name: str, fingerprint: str) -> tuple[Target, str]:
    return Target(module=_PROGRAM, attribute=f"Kandinsky5NetworkTrainer.{name}"), fingerprint


HOOK = Seam(
    number=8,
    name="kandinsky-samples",
    overrides=(
        _method("process_sample_prompts", "ec75a7ae3dcf07c8691536f0fc2b297401999262ae52e01c0a63b5ca70658698"),
        _method("load_vae", "3e1f9eade2570d766dc06788f83d72c36031fcfd28ac7598fc2fca82d3aff184"),
        _method("_load_vae_for_sampling", "5cd0e6f9e112798a7af5ef991f8ddae24a7683aa32bd8e9e6a7834ec4d161aff"),
        _method("sample_images", "e05a23892b47a225398fb4f730b8abe615f18fa6773607f1b23b254fa30c7fb1"),
        _method("do_inference", "2b8e8ee5cb26fca63a6ef010f00ba63a07c6b6a08fae00cf034ae468100a02a3"),
        (
            Target(module="musubi_tuner.kandinsky5.generation_utils", attribute="generate_sample_latents_only"),
            "4cd774f275b368115851eb8d5419fe4cf47736d0b83cbebeb90b756d4669c30d",
        ),
        (
            Target(module="musubi_tuner.kandinsky5.generation_utils", attribute="decode_latents"),
            "a969212a896fdaba20d9559c9f2dbf3a37fc5fb93670d6397c6118ae0a83c14d",
        ),
    ),
    reason="Kandinsky 5 loads 16 GB of text encoders onto the training device for every sample.",
    prevents="The first card runs out of memory at the first sample; a video is four times as long as was asked for, "
    "and is not shown.",
    upstream_revision=REVISION,
    mixin=KandinskySamples,
)
