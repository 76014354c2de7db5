"""Train the pocket base model on pictures of the world, drawn while it trains.

    python tools/pocket/train_base.py --out build/pocket --minutes 9

See README.md in this folder for what it takes and what came out.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from drawing import DrawingRoom
from optimiser import BaseOptimiser
from PIL import Image
from pool import PicturePool
from torch import Tensor, nn

from diffusionforce.engines.pocket.config import PocketConfig
from diffusionforce.engines.pocket.files import FILE_NAME
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import add_noise, draw_sigmas
from diffusionforce.engines.pocket.precision import Precision
from diffusionforce.engines.pocket.sampler import SamplerSettings, sample_picture
from diffusionforce.engines.pocket.text import TextEncoder, tokenise
from diffusionforce.engines.pocket.weights import encode_base, load_base
from diffusionforce.engines.pocket.world import draw_page

LEARNING_RATE = 1.5e-3
WARM_UP_STEPS = 200
DECAY_SHARE = 0.55
"""Share of the training over which the learning rate falls to nothing."""
EMA_DECAY = 0.999
SHARE_WITHOUT_CAPTION = 0.1
"""Taught as the empty prompt, which guidance needs."""
SIGMA_MEAN, SIGMA_STD = 0.8, 0.9
"""More noise than usual: scene and figure are decided there, and pixels are cheap to learn."""
MAX_GRAD_NORM = 1.0
VALIDATION_SEED = 987_654_321
SHEET_SEED = 5
SHEET_PROMPTS = (
    "a girl with long red hair, wearing a green coat, waving, on a beach, smiling",
    "a boy with spiky blonde hair in a blue hoodie, cheering, in a city, laughing",
    "a grey robot wearing a yellow scarf, in space, happy",
    "an orange cat wearing a purple wizard hat, at night, holding a wand",
    "close-up of a white bunny in a snowy field, winking",
    "a white ghost holding a red balloon, in a cozy room, sleepy",
    "LoRAnne, waving, in a meadow, smiling",
    "close-up of Rolwayne, in a city, smiling",
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long and how large."""

    seconds: float
    """Wall time of the steps, without the start; infinite when the number of steps decides."""
    num_steps: int
    """0 when the time decides."""
    batch_size: int
    num_drawers: int
    pool_size: int
    first_pictures: int
    size_px: int
    compiled: bool
    learning_rate: float


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A transformer and the text encoder that is trained with it."""

    transformer: PocketTransformer
    text_encoder: TextEncoder

    @classmethod
    def fresh(cls, config: PocketConfig, device: torch.device) -> "Pair":
        """Untrained."""
        return cls(transformer=PocketTransformer(config).to(device), text_encoder=TextEncoder(config).to(device))

    def named_parameters(self) -> list[tuple[str, nn.Parameter]]:
        """All parameters of both."""
        return [*self.transformer.named_parameters(), *self.text_encoder.named_parameters()]

    def copy_from(self, other: "Pair") -> None:
        """Take over all values."""
        self.transformer.load_state_dict(other.transformer.state_dict())
        self.text_encoder.load_state_dict(other.text_encoder.state_dict())

    def losses(self, pictures: Tensor, words: Tensor, *, sigma: Tensor, noise: Tensor) -> Tensor:
        """The flow-matching loss of each picture, through the text encoder as well."""
        context, pooled = self.text_encoder(words)
        velocity = self.transformer(add_noise(pictures, noise, sigma), sigma, context, pooled)
        return ((velocity - (noise - pictures)) ** 2).mean((1, 2, 3))


class BaseTraining:
    """One training of the base model.

    Args:
        plan: How long and how large.
        start: What to start from.
        pool: Where pictures come from.
        device: Where it runs.
    """

    def __init__(self, plan: Plan, *, start: Pair, pool: PicturePool, device: torch.device) -> None:
        self.model = start
        self.averaged = Pair.fresh(start.transformer.config, device)
        self.averaged.copy_from(start)
        self._plan = plan
        self._pool = pool
        self._device = device
        self._precision = Precision(device_type=device.type, bf16=device.type == "cuda")
        self._parameters = [parameter for _, parameter in start.named_parameters()]
        self._averages = [parameter for _, parameter in self.averaged.named_parameters()]
        self._optimiser = BaseOptimiser(start.named_parameters(), fused=device.type == "cuda")
        self.log: list[tuple[int, float, float]] = []
        """Step, seconds, mean loss since the last entry."""

    def run(self) -> int:
        """Train to the end of the plan and return the number of steps."""
        if self._plan.compiled:
            _compile_blocks(self.model)
        start_s, step, losses = time.perf_counter(), 0, []
        while (done := self._share_done(step, start_s)) < 1:
            step += 1
            losses.append(self._take_step(step, done))
            if step == 3:
                # The first steps compile, which starves and is starved by the copying.
                self._pool.resume()
                start_s = time.perf_counter()
            if step % self._log_every() == 0:
                self._write_log(step, start_s, torch.stack(losses).mean().item())
                losses.clear()
        return step

    def _take_step(self, step: int, done: float) -> Tensor:
        plan = self._plan
        pictures, words = self._pool.batch(plan.batch_size, share_without_caption=SHARE_WITHOUT_CAPTION)
        sigma = torch.sigmoid(torch.randn(plan.batch_size, device=self._device) * SIGMA_STD + SIGMA_MEAN)
        noise = torch.randn_like(pictures)
        with self._precision.applied():
            loss = self.model.losses(pictures, words, sigma=sigma, noise=noise).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, MAX_GRAD_NORM, foreach=True)
        warm_up = min(1.0, step / WARM_UP_STEPS)
        self._optimiser.step(plan.learning_rate * warm_up * min(1.0, (1 - done) / DECAY_SHARE))
        for parameter in self._parameters:
            parameter.grad = None
        decay = min(EMA_DECAY, step / (9 + step))
        with torch.no_grad():
            for average, parameter in zip(self._averages, self._parameters, strict=True):
                average.lerp_(parameter, 1 - decay)
        return loss.detach()

    def _share_done(self, step: int, start_s: float) -> float:
        if self._plan.num_steps:
            return step / self._plan.num_steps
        return (time.perf_counter() - start_s) / self._plan.seconds

    def _log_every(self) -> int:
        return 200 if self._device.type == "cuda" else 5

    def _write_log(self, step: int, start_s: float, loss: float) -> None:
        seconds = time.perf_counter() - start_s
        self.log.append((step, round(seconds, 1), loss))
        sys.stdout.write(f"step {step}  {seconds:.0f} s  loss {loss:.5f}  drawn {self._pool.num_received}\n")
        sys.stdout.flush()

    @torch.no_grad()
    def validation_loss(self, *, num_pictures: int) -> float:
        """Loss of the averaged model on pictures that it has not seen, with fixed noise."""
        random, generator = Random(VALIDATION_SEED), torch.Generator().manual_seed(VALIDATION_SEED)
        losses: list[Tensor] = []
        for _ in range(num_pictures):
            page = draw_page(random, size_px=self._plan.size_px)
            pixels = torch.from_numpy(np.array(page.picture)).permute(2, 0, 1)[None].float() / 127.5 - 1
            sigma = draw_sigmas(1, generator, mean=SIGMA_MEAN, std=SIGMA_STD)
            noise = torch.randn(pixels.shape, generator=generator)
            pixels, words, sigma, noise = (
                tensor.to(self._device) for tensor in (pixels, tokenise([page.caption]), sigma, noise)
            )
            with self._precision.applied():
                losses.append(self.averaged.losses(pixels, words, sigma=sigma, noise=noise))
        return torch.cat(losses).mean().item()

    def sheet(self, *, num_steps: int) -> Image.Image:
        """Samples of the averaged model, to look at."""
        size_px = self._plan.size_px
        sheet = Image.new("RGB", (4 * size_px, -(-len(SHEET_PROMPTS) // 4) * size_px))
        for index, prompt in enumerate(SHEET_PROMPTS):
            picture = sample_picture(
                self.averaged.transformer,
                self.averaged.text_encoder.encode([prompt]),
                self.averaged.text_encoder.encode([""]),
                seed=SHEET_SEED + index,
                settings=SamplerSettings(num_steps=num_steps, guidance=3.0, width_px=size_px, height_px=size_px),
                device=self._device,
                precision=self._precision,
            )
            sheet.paste(picture, (index % 4 * size_px, index // 4 * size_px))
        return sheet


def _compile_blocks(model: Pair) -> None:
    """Compile one block, which serves all of them; compiling the whole model takes minutes and gains little."""
    for block in [*model.transformer.blocks, *model.text_encoder.blocks]:
        block.compile()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for weights, log and samples")
    parser.add_argument("--minutes", type=float, default=9.0, help="time for the steps")
    parser.add_argument("--steps", type=int, default=0, help="number of steps instead of a time")
    parser.add_argument("--from-weights", type=Path, help="weights to go on from, instead of none")
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE)
    parser.add_argument("--batch-size", type=int, default=384)
    parser.add_argument("--drawers", type=int, default=14, help="processes that draw; leave two cores to the trainer")
    parser.add_argument("--pool", type=int, default=250_000, help="pictures kept on the device, 197 KB each")
    parser.add_argument("--first-pictures", type=int, default=6000, help="pictures drawn before the first step")
    parser.add_argument("--smoke", action="store_true", help="two blocks at 64 pixels on a processor, to try it out")
    return parser.parse_args()


def main() -> None:
    """Train, and write weights, log and samples."""
    arguments = _arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        seconds=arguments.minutes * 60,
        num_steps=arguments.steps,
        batch_size=arguments.batch_size,
        num_drawers=arguments.drawers,
        pool_size=arguments.pool,
        first_pictures=arguments.first_pictures,
        size_px=PocketConfig().native_size_px,
        compiled=True,
        learning_rate=arguments.learning_rate,
    )
    config = PocketConfig()
    if arguments.smoke:
        plan = replace(plan, pool_size=256, first_pictures=64, num_drawers=1, batch_size=8, size_px=64, compiled=False)
        config = PocketConfig(native_size_px=64, width=64, num_blocks=2, hidden=96)
    room = DrawingRoom(plan.num_drawers, num_slots=512, size_px=plan.size_px)
    room.start()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pool = PicturePool(room, capacity=plan.pool_size, device=device)
    pool.start(first=plan.first_pictures)
    pool.pause()
    training = BaseTraining(plan, start=_start(arguments.from_weights, config, device), pool=pool, device=device)
    num_steps = training.run()
    pool.stop()
    room.stop()
    _write(arguments.out, training, plan, num_steps=num_steps, num_drawn=pool.num_received)


def _start(weights: Path | None, config: PocketConfig, device: torch.device) -> Pair:
    if weights is None:
        return Pair.fresh(config, device)
    base = load_base(weights)
    base.transformer.requires_grad_(True)
    base.text_encoder.requires_grad_(True)
    return Pair(transformer=base.transformer.to(device), text_encoder=base.text_encoder.to(device))


def _write(out: Path, training: BaseTraining, plan: Plan, *, num_steps: int, num_drawn: int) -> None:
    smoke = plan.size_px < PocketConfig().native_size_px
    validation_loss = training.validation_loss(num_pictures=4 if smoke else 256)
    facts = {
        "steps": num_steps,
        "batch_size": plan.batch_size,
        "pictures_drawn": num_drawn,
        "validation_loss": validation_loss,
    }
    notes = {name: str(value) for name, value in facts.items()} | {"licence": "Apache-2.0"}
    averaged = training.averaged
    (out / FILE_NAME).write_bytes(encode_base(averaged.transformer, averaged.text_encoder, notes=notes))
    log = facts | {"plan": asdict(plan), "log": training.log}
    (out / "log.json").write_text(json.dumps(log, indent=1), encoding="utf-8")
    training.sheet(num_steps=4 if smoke else 30).save(out / "sheet.png")
    sys.stdout.write(f"{facts}\n")


if __name__ == "__main__":
    main()
