"""Trains a tiny model of one of the engine's families in a process of its own, in several ways, and compares them.

    python -m tests.support.musubi_runs WHAT FAMILY FOLDER

prints one JSON object. WHAT is compare (for every way the losses, what differs from the engine's own trainer, and what
was told), live (the same of runs with samples, on one device, on two, and from a saved state), resume (of a long run
in one go and one that goes on from a saved state) or short (of a run undisturbed and one that runs out of memory).
"""

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from accelerate.state import AcceleratorState
from PIL import Image
from safetensors.torch import load_file
from tests.support.musubi_families import FAMILIES, TinyFamily, without_zeros, write_caches
from tests.support.musubi_process import import_on_processor
from tests.support.musubi_recording import GRADIENTS
from tests.support.musubi_samples import SAMPLES, KandinskyEncoder, put_in_place, speaking
from tests.support.virtual_devices import MadeOfLists, VirtualDevices, crossings

from diffusionforce.engines.musubi import open_engine
from diffusionforce.errors import DivergedError
from diffusionforce.hooks.musubi.assignment import Assignment, SampleReport, StepReport, interleaved_order, turns_order
from diffusionforce.hooks.musubi.catalogue import hooks_for
from diffusionforce.hooks.musubi.tiles import Tiles
from diffusionforce.pipeline.aside import drop_locals
from diffusionforce.pipeline.placement import even_placement
from diffusionforce.pipeline.portions import Portions
from diffusionforce.pipeline.shortage import Shortage

RANK = 4


@dataclass
class Notes:
    """A listener that remembers."""

    stop_after: int = 0
    stop_requested: bool = False
    save_at: int = 0
    events: list[str] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    timelines: int = 0
    short_of_memory: int = 0
    """How often a step that runs out of memory is taken again."""
    take_less: Callable[[], object] = lambda: None
    _step: int = 0

    def take_save_request(self) -> bool:
        return bool(self.save_at) and self._step == self.save_at

    def take_sample_request(self) -> bool:
        return False

    def take_prompts(self) -> None:
        return None

    def on_prompts_refused(self, error: Exception) -> None:
        self.events.append(f"refused {error}")

    def makes_room(self, error: BaseException) -> bool:
        """Take a step again that ran out of memory as often as a test wants."""
        self.short_of_memory -= 1
        self.events.append(f"short {self._step + 1}")
        self.take_less()
        drop_locals(error)
        return self.short_of_memory >= 0

    def on_bad_number(self, what: str, value: float, *, learning_rate: float, files: Sequence[str]) -> NoReturn:
        raise DivergedError(f"{what} is {value}.")

    def on_placed(self, transformer: Any, blocks: Sequence[Any]) -> None:
        self.events.append(f"placed {len(blocks)}")

    def on_step(self, step: int, *, num_steps: int, report: StepReport) -> None:
        self.events.append(f"step {step} of {num_steps}")
        self.losses.append(report.loss)
        self.rates.append(report.learning_rate)
        self.timelines += report.timeline is not None
        self._step = step
        self.stop_requested = self.stop_requested or step == self.stop_after

    def on_sample(self, step: int, *, report: SampleReport) -> None:
        self.events.append(f"sample {step} {report.index} {report.path.name}")

    def on_samples_skipped(self, step: int, *, shortage: Shortage) -> None:
        self.events.append(f"skipped {step} {shortage}")

    def on_checkpoint(self, step: int, *, path: Path) -> None:
        self.events.append(f"checkpoint {step} {path.name}")


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run."""

    losses: list[float]
    gradients: list[list[torch.Tensor | None]]
    lora: dict[str, torch.Tensor]
    notes: Notes


class Bench:
    """Runs one family in a folder.

    Args:
        family: The family.
        folder: An empty folder for weights, caches and results.
    """

    def __init__(self, family: TinyFamily, folder: Path) -> None:
        self.family, self.folder = family, folder
        self._script = importlib.import_module(f"musubi_tuner.{family.script}_train_network")
        self._own_options = family.prepare(folder)
        self._num_runs = 0

    def train(
        self,
        *,
        base: Callable[[type[Any]], type[Any]] = lambda trainer: trainer,
        assignment: Assignment | None = None,
        options: Sequence[str] = (),
        batch_size: int = 1,
        num_pictures: int = 4,
    ) -> Result:
        """Train once.

        Args:
            base: Changes the engine's trainer class.
            assignment: For the hooks; None: the engine's own trainer without any.
            options: Further options of the engine.
            batch_size: Pictures of a batch.
            num_pictures: Pictures of the dataset.
        """
        self._num_runs += 1
        GRADIENTS.clear()
        AcceleratorState._reset_state(True)  # It keeps the device of the first run of a process.
        output = self.folder / f"out{self._num_runs}"
        args = self._args(output, options, batch_size=batch_size, num_pictures=num_pictures)
        trainer_class = base(self._loading(getattr(self._script, self.family.trainer)))
        notes = Notes()
        if assignment is None:
            with _plain_losses(trainer_class, notes) as recording:
                recording().train(args)
        else:
            assert isinstance(assignment.listener, Notes)
            notes = assignment.listener
            train_hooked(trainer_class, args, assignment, script=self.family.script)
        last = output / "tiny.safetensors"
        return Result(
            losses=notes.losses,
            gradients=list(GRADIENTS),
            lora=load_file(last) if last.exists() else {},
            notes=notes,
        )

    def _args(self, output: Path, options: Sequence[str], *, batch_size: int, num_pictures: int) -> Any:
        parser = importlib.import_module("musubi_tuner.training.parser_common").setup_parser_common()
        parser = getattr(self._script, self.family.setup)(parser)
        caches = self.folder / f"cache{num_pictures}x{batch_size}" / "dataset.toml"
        if not caches.exists():
            write_caches(self.family, self.folder, num=num_pictures, batch_size=batch_size)
        args = parser.parse_args(
            [
                *(
                    "--dit",
                    "none",
                    "--dataset_config",
                    str(caches),
                    "--sdpa",
                    "--mixed_precision",
                    self.family.mixed_precision,
                ),
                *("--gradient_checkpointing", "--network_module", self.family.network_module),
                *("--network_dim", str(RANK), "--network_alpha", str(RANK), "--learning_rate", "1e-3"),
                *("--optimizer_type", "tests.support.musubi_recording.RecordingAdamW"),
                *("--max_data_loader_n_workers", "0", "--seed", "1"),
                *("--output_dir", str(output), "--output_name", "tiny"),
                *self.family.options,
                *self._own_options,
                *options,
            ]
        )
        for name, value in self.family.settle.items():
            setattr(args, name, value)
        return args

    def _loading(self, trainer: type[Any]) -> type[Any]:
        """The trainer, with a tiny model in place of the one that it would read from a file."""
        build = self.family.model
        if build is None:
            return trainer

        class Loading(trainer):
            dit_conf = None

            def load_transformer(self, *args: Any) -> Any:
                torch.manual_seed(0)
                return without_zeros(build()).to(args[5])

        return Loading


@contextlib.contextmanager
def _plain_losses(trainer: type[Any], notes: Notes) -> Iterator[type[Any]]:
    """The trainer, noting the mean loss of every step."""
    losses: list[float] = []

    class Noting(trainer):
        def process_batch(self, *args: Any) -> Any:
            loss, metrics = super().process_batch(*args)
            losses.append(loss.item())
            return loss, metrics

        def on_post_optimizer_step(self, *args: Any) -> None:
            super().on_post_optimizer_step(*args)
            if args[4]:
                notes.losses.append(sum(losses) / len(losses))
                losses.clear()

    yield Noting


def train_hooked(trainer_class: type[Any], args: Any, assignment: Assignment, *, script: str) -> Any:
    """Train with the hooks that an assignment needs."""
    hooks = hooks_for(script=script, home=str(assignment.placement.devices[0]), is_placed=assignment.is_placed)
    with hooks.apply():
        trainer = hooks.trainer_class(trainer_class)()
        trainer.assignment = assignment
        try:
            with contextlib.ExitStack() as stack:
                for context in assignment.contexts:
                    stack.enter_context(context())
                trainer.train(args)
        finally:
            trainer.release()
    return trainer


def pieces_in_turn(num_pieces: int) -> Callable[[type[Any]], type[Any]]:
    """The engine's trainer with its batches cut into pieces that run one after the other, on one device."""

    def change(trainer: type[Any]) -> type[Any]:
        class InTurn(trainer):
            def process_batch(self, args: Any, accelerator: Any, transformer: Any, network: Any, *rest: Any) -> Any:
                batch, latents, noise, scheduler, dit_dtype, network_dtype, _, step = rest
                noisy, timesteps = self.get_noisy_model_input_and_timesteps(
                    args, noise, latents, batch["timesteps"], scheduler, accelerator.device, dit_dtype
                )
                total = 0.0
                for rows in torch.arange(len(latents)).tensor_split(num_pieces):
                    cut = slice(int(rows[0]), int(rows[-1]) + 1)
                    part = {k: v[cut] if v is not None and len(v) == len(latents) else v for k, v in batch.items()}
                    given = (latents[cut], part, noise[cut], noisy[cut].detach().clone(), timesteps[cut])
                    output = self.call_dit(args, accelerator, transformer, *given, network_dtype)
                    loss, _ = self.compute_loss(args, output, timesteps[cut], scheduler, dit_dtype, network_dtype, step)
                    weight = len(rows) / len(latents)
                    (loss * (weight / args.gradient_accumulation_steps)).backward()
                    total += loss.item() * weight
                return torch.tensor(total, requires_grad=True), {}

        return InTurn

    return change


def noting_places(places: list[str], block_lists: Sequence[str]) -> Callable[[type[Any]], type[Any]]:
    """The engine's trainer, noting where the blocks are when the model has been loaded, before a hook moves any."""

    def change(trainer: type[Any]) -> type[Any]:
        class Noting(trainer):
            def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
                super().on_transformer_loaded(args, accelerator, transformer)
                blocks = (block for name in block_lists for block in getattr(transformer, name))
                places.extend(str(next(block.parameters()).device) for block in blocks)

        return Noting

    return change


def two_devices(num_blocks: int, *, virtual: bool, chunks: int = 1, pieces: int = 1, order: Any = None) -> Assignment:
    """Two logical devices on the processor; virtual ones refuse to be mixed, as cards do."""
    devices = ["cpu:0", "cpu:1"] if virtual else ["cpu", "cpu"]
    return Assignment(
        placement=even_placement(num_blocks, devices, chunks_per_stage=chunks),
        block_lists=(),
        listener=Notes(),
        samples_dir=Path(),
        portions=Portions(batch_size=pieces, num_pieces=pieces, overlap=True),
        order=order or interleaved_order,
        contexts=(VirtualDevices, MadeOfLists) if virtual else (),
    )


def differences(one: Result, other: Result) -> dict[str, Any]:
    """How far two runs are apart; gradients relative to the largest entry of each."""
    worst, missing = 0.0, 0
    for mine, theirs in zip(one.gradients, other.gradients, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a is None or b is None:
                missing += (a is None) != (b is None)
                continue
            worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp_min(1e-30)).item())
    lora = [(one.lora[key].float() - other.lora[key].float()).abs().max().item() for key in other.lora]
    return {
        "losses": one.losses,
        "expected_losses": other.losses,
        "num_steps": len(one.gradients),
        "num_gradients": sum(gradient is not None for gradient in one.gradients[-1]),
        "missing": missing,
        "gradients": worst,
        "lora": max(lora, default=None) if one.lora.keys() == other.lora.keys() else "other keys",
        "events": one.notes.events,
    }


def compare(name: str, folder: Path) -> dict[str, Any]:
    """Train a family by the engine alone and on two devices, in turns and interleaved."""
    family = FAMILIES[name]
    bench = Bench(family, folder)
    num_blocks = family.num_blocks
    answer: dict[str, Any] = {}
    accumulate = ("--gradient_accumulation_steps", "2", "--max_train_steps", "3")
    whole = bench.train(options=accumulate)
    for label, order in (("turns", turns_order), ("interleaved", None)):
        crossings.clear()
        assignment = two_devices(num_blocks, virtual=True, chunks=2, order=order)
        assignment.block_lists = family.block_lists
        places: list[str] = []
        base = noting_places(places, family.block_lists)
        trained = bench.train(base=base, assignment=assignment, options=accumulate)
        answer[f"accumulated, {label}"] = differences(trained, whole)
        answer[f"accumulated, {label}"]["crossings"] = len(crossings)
        if family.model is None:
            answer[f"accumulated, {label}"] |= {
                "read_to": places,
                "planned": [str(device) for device in assignment.placement.device_of_block],
            }
    batched = ("--max_train_steps", "2")
    # A picture each: Kandinsky 5 calls its model once for every picture of a batch.
    pieces = bench.train(base=pieces_in_turn(2), options=batched, batch_size=2)
    assignment = two_devices(num_blocks, virtual=True, pieces=2)
    assignment.block_lists = family.block_lists
    crossings.clear()
    answer["cut, interleaved"] = differences(bench.train(assignment=assignment, options=batched, batch_size=2), pieces)
    answer["cut, interleaved"]["crossings"] = len(crossings)
    return answer


def resumed(name: str, folder: Path) -> dict[str, Any]:
    """Train in one go, and again from the state of its second third: epochs of 4 steps, saved every 3."""
    family = FAMILIES[name]
    bench = Bench(family, folder)
    options = ("--network_dropout", "0.2", "--max_train_steps", "9", "--save_every_n_steps", "3", "--save_state")
    schedule = ("--lr_scheduler", "cosine")

    def train(*further: str) -> Result:
        assignment = two_devices(family.num_blocks, virtual=False)
        assignment.block_lists = family.block_lists
        return bench.train(assignment=assignment, options=(*options, *schedule, *further))

    whole = train()
    state = folder / "out1" / "tiny-step00000006-state"
    rest = train("--resume", str(state))
    return {
        "losses": rest.losses,
        "expected_losses": whole.losses,
        "events": rest.notes.events,
        "expected_events": whole.notes.events,
        "rates": rest.notes.rates,
        "expected_rates": whole.notes.rates,
        "lora_equal": all(torch.equal(rest.lora[key], whole.lora[key]) for key in whole.lora),
    }


def lived(name: str, folder: Path) -> dict[str, Any]:
    """Train with samples in between, on one device and on two, and again from the state of the second of four steps."""
    family, samples = FAMILIES[name], SAMPLES[name]
    put_in_place(name)
    told = folder / "prompts.txt"
    told.write_text("said below\n", encoding="utf-8")
    bench = Bench(family, folder)
    options = (
        *("--max_train_steps", "4", "--save_every_n_steps", "2", "--sample_at_first", "--mixed_precision", "bf16"),
        *("--sample_prompts", str(told), "--sample_every_n_steps", "2", "--vae", str(told), *samples.options),
    )

    models: list[Any] = []

    def base(trainer: type[Any]) -> type[Any]:
        class Keeping(speaking(name)(trainer)):
            def on_transformer_loaded(self, args: Any, accelerator: Any, transformer: Any) -> None:
                super().on_transformer_loaded(args, accelerator, transformer)
                models.append(transformer)

        return Keeping

    def train(label: str, *further: str, num_devices: int = 2, virtual: bool = False, **changes: Any) -> Result:
        assignment = replace(two_devices(family.num_blocks, virtual=virtual, chunks=2), **changes)
        if num_devices == 1:
            assignment.placement = even_placement(family.num_blocks, ["cpu"], chunks_per_stage=1)
        assignment.block_lists, assignment.samples_dir = family.block_lists, folder / label
        return bench.train(base=base, assignment=assignment, options=(*options, *further))

    def drawn(label: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((folder / label).iterdir())}

    def in_tiles() -> dict[str, Any]:
        """How pictures differ that were decoded in tiles, of the whole range."""
        train("tiled", num_devices=1, decoder_tiles=Tiles(side=4, pixels=samples.pixels))
        firsts = [min((folder / label).glob("*.png")) for label in ("whole", "tiled")]
        one, other = (np.asarray(Image.open(path), float) for path in firsts)
        return {"names": list(drawn("tiled")), "apart": abs(one - other).mean() / 255}

    alone, strict = train("alone", num_devices=1), train("strict", virtual=True)
    whole = train("whole", "--save_state")
    rest = train("rest", "--save_state", "--resume", str(folder / "out3" / "tiny-step00000002-state"))
    # Two models change places in RAM, and leave none for blocks of theirs.
    in_ram = frozenset[int]() if name.startswith("wan22") else frozenset({1, family.num_blocks - 1})
    paged = train("paged", num_devices=1, paged=in_ram, num_aside=(1,), order=turns_order)
    others = (alone, strict, paged)
    return {
        "events": whole.notes.events,
        "events_of_others": [one.notes.events for one in others],
        "events_of_rest": rest.notes.events,
        "losses": whole.losses,
        "losses_of_others": [one.losses for one in others],
        "losses_of_rest": rest.losses,
        "lora_equal": all(torch.equal(rest.lora[key], whole.lora[key]) for key in whole.lora),
        "samples": {sample: len(content) for sample, content in drawn("whole").items()},
        "samples_equal": [drawn(label) == drawn("whole") for label in ("alone", "strict", "paged")],
        "output": sorted(path.name for path in (folder / "out3").iterdir()),
        "encoders": KandinskyEncoder.loaded,
        "left": sum(_left_on(model, family) for model in models),
        **({"tiled": in_tiles()} if samples.pixels else {}),
    }


def _left_on(model: Any, family: TinyFamily) -> int:
    """What hooks left on the blocks of a model after a run: forwards that are no LoRA's, and hooks of modules."""
    blocks = [block for name in family.block_lists for block in getattr(model, name)]
    modules = [module for block in blocks for module in block.modules()]
    forwards = [vars(module)["forward"] for module in modules if "forward" in vars(module)]
    hooks = [(*one._forward_hooks, *one._forward_pre_hooks, *one._backward_hooks) for one in modules]
    foreign = [one for one in forwards if not type(getattr(one, "__self__", None)).__name__.startswith("LoRA")]
    return len(foreign) + sum(map(len, hooks))


def failing_in_step(step: int, *, times: int, after: int = 0) -> Callable[[type[Any]], type[Any]]:
    """The engine's trainer, whose model runs out of memory in a step as often as that, after so many good calls."""
    left, good = [times], [after]

    def change(trainer: type[Any]) -> type[Any]:
        class Failing(trainer):
            def call_dit(self, args: Any, accelerator: Any, transformer: Any, *rest: Any, **named: Any) -> Any:
                result = super().call_dit(args, accelerator, transformer, *rest, **named)
                if left[0] and self.assignment.listener._step + 1 == step:
                    if good[0]:
                        good[0] -= 1
                        return result
                    left[0] -= 1
                    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total")
                return result

        return Failing

    return change


def short_of_memory(name: str, folder: Path) -> dict[str, Any]:
    """Train a family on two devices, undisturbed and with a step that runs out of memory, in several ways."""
    bench, answer = Bench(FAMILIES[name], folder), dict[str, Any]()
    dropout = ("--network_dropout", "0.1")
    accumulated = (*dropout, "--gradient_accumulation_steps", "2")
    answer["again"] = _short(bench, dropout, step=2, times=2)
    # The first step of all shows the loss of its first batch, which is in the gradients when the second one fails.
    answer["accumulated"] = _short(bench, accumulated, step=1, times=2, after=1, batch_size=1)
    # What is taken in smaller pieces is what those pieces come to that were planned so.
    answer["one device"] = _cut_on_one_device(bench)
    answer["smaller"] = _short(bench, ("--max_train_steps", "1"), step=1, times=2, pieces=(2, 1))
    return answer


def _cut_on_one_device(bench: Bench) -> dict[str, Any]:
    """Cut batches on a single device, and by the engine's trainer with its batches cut for it."""
    options = ("--max_train_steps", "2")
    expected = bench.train(base=pieces_in_turn(2), options=options, batch_size=2)
    assignment = two_devices(bench.family.num_blocks, virtual=False, pieces=2)
    assignment.placement = even_placement(bench.family.num_blocks, ["cpu"], chunks_per_stage=1)
    assignment.block_lists = bench.family.block_lists
    return differences(bench.train(assignment=assignment, options=options, batch_size=2), expected)


def _short(
    bench: Bench,
    options: Sequence[str],
    *,
    step: int,
    times: int,
    after: int = 0,
    pieces: tuple[int, int] = (2, 2),
    batch_size: int = 2,
) -> dict[str, Any]:
    """Train undisturbed and disturbed; `pieces` are those of both, and the second takes less if it has fewer."""
    results: list[Result] = []
    cuts: list[int] = []
    for failures, num_pieces in zip((0, times), pieces, strict=True):
        assignment = two_devices(bench.family.num_blocks, virtual=False)
        assignment.block_lists = bench.family.block_lists
        assignment.portions = portions = Portions(batch_size=batch_size, num_pieces=num_pieces, overlap=True)
        listener = assignment.listener
        assert isinstance(listener, Notes)
        listener.short_of_memory = failures
        if num_pieces < pieces[0]:
            listener.take_less = portions.take_less
        base = failing_in_step(step, times=failures, after=after)
        trained = bench.train(
            base=base, assignment=assignment, options=("--max_train_steps", "3", *options), batch_size=batch_size
        )
        results.append(trained)
        cuts.append(portions.num_pieces + portions.in_turn)
    undisturbed, disturbed = results
    return differences(disturbed, undisturbed) | {"cuts": cuts}


def main() -> None:
    """Compare, and print what came out."""
    open_engine()
    import_on_processor()
    # A parameter that moves to a virtual device becomes a tensor of another class.
    torch.__future__.set_swap_module_params_on_conversion(True)
    what, name, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    answer = {"compare": compare, "live": lived, "resume": resumed, "short": short_of_memory}[what](name, folder)
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
