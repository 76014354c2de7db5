"""One training by the engine, from its options to the last record: hooks in place, model on its devices, records told.

What has to be there before (the files, the prepared pictures, the prompts) is named by the options. On one device the
engine's trainer runs as it is, with a few overrides that tell what happens; on several the blocks go where the plan
wants them.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from diffusionforce.engines.autopsy import kept_words, out_of_memory, step_words
from diffusionforce.engines.contract import Controls, Output, Report
from diffusionforce.engines.health import with_kept
from diffusionforce.engines.limits import enforce
from diffusionforce.engines.musubi.arguments import EngineArguments
from diffusionforce.engines.musubi.decoding import decoding_of
from diffusionforce.engines.musubi.families import Blocks, Family
from diffusionforce.engines.musubi.program import load_program, run_program, trainer_in_place
from diffusionforce.engines.musubi.sample_prompts import prompts_file
from diffusionforce.engines.musubi.telling import Teller
from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.division import chunks_per_stage, pieces_of_batch
from diffusionforce.errors import DivergedError
from diffusionforce.hooks.musubi.assignment import Assignment, interleaved_order, turns_order
from diffusionforce.hooks.musubi.catalogue import hooks_for
from diffusionforce.hooks.musubi.requests import StopAsked
from diffusionforce.job import Job, write_whole
from diffusionforce.pipeline.placement import Placement, even_placement
from diffusionforce.pipeline.portions import Portions
from diffusionforce.pipeline.shortage import shortage_of
from diffusionforce.runs import manifest_of, read_manifest, storage_error
from diffusionforce.wire import Done, Preparing, Stopped

LIVE_PROMPTS = "prompts-changed.json"
_SCRIPT_END = "_train_network"


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is trained.

    Attributes:
        job: The job.
        family: Its model.
        arguments: The engine's options; their output folder is the run's folder of checkpoints.
        output: The run's folders.
        report: Takes the records.
        controls: What the outside asks for.
        devices: What it runs on, the first being home, where there is no plan.
        plan: Where blocks go and how much each card may hold.
        files: Names of the user's files by the places that they are laid out at.
        change_trainer: Changes the engine's trainer class before the hooks do; for tests.
        contexts: Entered for the whole training and in every micro-batch; for tests.
    """

    job: Job
    family: Family
    arguments: EngineArguments
    output: Output
    report: Report
    controls: Controls
    devices: Sequence[torch.device] = ()
    plan: RunPlan | None = None
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    change_trainer: Callable[[type[Any]], type[Any]] = lambda trainer: trainer
    contexts: Sequence[Callable[[], AbstractContextManager[Any]]] = ()

    def run(self) -> Done | Stopped:
        """Train, and return how it ended.

        Raises:
            CardMemoryError: Memory ran out; what was saved before stays.
            UserError: The run cannot go on; what was saved before stays.
        """
        start_s = time.perf_counter()
        _let_go()
        enforce(self.plan.devices if self.plan is not None else ())
        placement = self._placement()
        portions = self._portions(placement)
        teller = self._teller(placement, portions)
        self.report(Preparing(stage="model", done=0, total=1))
        try:
            self._train(placement, teller, portions)
        except StopAsked:
            return Stopped(step=teller.step, lora=teller.saved_path)
        except DivergedError as error:
            raise with_kept(error, kept=self._kept_words(teller), path=teller.saved_path) from None
        except (RuntimeError, MemoryError) as error:
            shortage = shortage_of(error)
            if shortage is None:
                raise
            doing = step_words(error, step=teller.step + 1)
            raise out_of_memory(
                error, shortage, doing=doing, kept=self._kept_words(teller), plan=self.plan, bucket=self._bucket()
            ) from None
        return Done(step=teller.step, lora=teller.saved_path, seconds=time.perf_counter() - start_s)

    def _kept_words(self, teller: Teller) -> str:
        return kept_words(teller.saved_step, num_done=teller.step, goes_on=self._goes_on_from is not None)

    @property
    def _goes_on_from(self) -> Path | None:
        resume = self.arguments.values.get("resume")
        return Path(str(resume)) if resume else None

    def _train(self, placement: Placement, teller: Teller, portions: Portions) -> None:
        """Run the engine's program with our trainer, and put everything back."""
        trainer = self.family.trainer
        assignment = self._assignment(placement, teller, portions)
        hooks = hooks_for(
            script=trainer.train.removesuffix(_SCRIPT_END),
            home=str(placement.devices[0]),
            is_placed=assignment.is_placed,
        )
        with ExitStack() as stack:
            if placement.devices[0].type == "cuda":
                torch.cuda.set_device(placement.devices[0])
            program = load_program(trainer.train)
            stack.enter_context(hooks.apply())
            for context in self.contexts:
                stack.enter_context(context())
            made = hooks.trainer_class(self.change_trainer(getattr(program, trainer.trainer_class)))()
            made.assignment = assignment
            stack.callback(made.release)
            stack.enter_context(trainer_in_place(program, trainer.trainer_class, lambda: made))
            run_program(program, self.arguments.argv())

    def _placement(self) -> Placement:
        if self.plan is not None:
            return Placement(
                devices=tuple(torch.device(one.device) for one in self.plan.devices),
                chunk_sizes=self.plan.chunk_sizes,
                stage_of_chunk=self.plan.stage_of_chunk,
            )
        num_blocks = sum(blocks.count for blocks in chain_of(self.family))
        chunks = chunks_per_stage(num_stages=len(self.devices), num_blocks=num_blocks)
        return even_placement(num_blocks, self.devices, chunks_per_stage=chunks)

    def _teller(self, placement: Placement, portions: Portions) -> Teller:
        profile = self.job.profile
        goes_on_from = self._goes_on_from
        every, num_steps = profile.samples.every_steps, profile.training.steps
        between = range(every, num_steps, every) if every else ()
        return Teller(
            placement,
            output=self.output,
            report=self.report,
            controls=self.controls,
            plan=self.plan,
            portions=portions,
            sample_steps=frozenset((*between, num_steps)) if profile.samples.prompts else frozenset(),
            num_steps=num_steps,
            write_prompts=self._write_prompts,
            profile=profile,
            family=self.family,
            begins_after=read_manifest(goes_on_from).step if goes_on_from is not None else 0,
            files=self.files,
        )

    def _write_prompts(self, prompts: tuple[str, ...]) -> Path:
        """Write prompts that were asked for on the way.

        Raises:
            UserError: One of them has a mistake, or the disk refuses.
        """
        samples = self.job.profile.samples.model_copy(update={"prompts": prompts})
        profile = self.job.profile.model_copy(update={"samples": samples})
        told = prompts_file(profile, family=self.family, dataset_dir=self.job.dataset_dir)
        path = self.output.root / LIVE_PROMPTS
        try:
            write_whole(path, told)
        except OSError as error:
            raise storage_error(error, path) from error
        return path

    def _assignment(self, placement: Placement, teller: Teller, portions: Portions) -> Assignment:
        plan = self.plan
        decoding = decoding_of(placement, plan, family=self.family)
        return Assignment(
            placement=placement,
            block_lists=tuple(blocks.name for blocks in chain_of(self.family)),
            listener=teller,
            samples_dir=self.output.samples_dir,
            manifest=manifest_of(self.job, step=0),
            portions=portions,
            encoder_device=self._encoder_device(placement),
            decoder_device=decoding.device,
            decoder_tiles=decoding.tiles,
            paged=plan.paged if plan is not None else frozenset(),
            num_slots=tuple(one.num_slots for one in plan.devices) if plan is not None else (),
            num_aside=decoding.num_aside,
            order=interleaved_order if len(placement.devices) > 1 else turns_order,
            graphs=self.job.profile.training.cuda_graphs,
            contexts=self.contexts,
        )

    def _portions(self, placement: Placement) -> Portions:
        training, is_split = self.job.profile.training, len(placement.devices) > 1
        is_cut = is_split or (self.plan is not None and bool(self.plan.paged))
        return Portions(
            batch_size=training.batch_size,
            num_batches=training.gradient_accumulation,
            num_pieces=self._num_pieces(placement) if is_cut else 1,
            overlap=is_split,
            # Graphs of other sizes would be captured beside those that there are, and take memory of their own.
            can_be_cut=not training.cuda_graphs,
        )

    def _num_pieces(self, placement: Placement) -> int:
        """Micro-batches of a batch: those that the plan's memory and times were forecast with."""
        training = self.job.profile.training
        if self.family.trainer.architecture in _ONE_AT_A_TIME:
            return training.batch_size
        if self.plan is not None and self.plan.num_microbatches is not None:
            return min(training.batch_size, -(-self.plan.num_microbatches // training.gradient_accumulation))
        return pieces_of_batch(
            training.batch_size, num_stages=len(placement.devices), num_batches=training.gradient_accumulation
        )

    def _encoder_device(self, placement: Placement) -> torch.device:
        """Where the forecast found room for text encoders, or the device with most memory that has: nothing else is
        loaded then."""
        named = self.plan.device_of_call.get("captions") if self.plan is not None else None
        if named:
            return torch.device(named)
        sizes_gib = [file.gib for file in self.family.files if "captions" in file.uses]
        needed_bytes = int(max(sizes_gib, default=0.0) * 1.15 * 2**30)
        free = {device: free_bytes(device, self.plan) for device in placement.devices}
        best = max(free, key=lambda device: free[device])
        return best if free[best] >= needed_bytes else torch.device("cpu")

    def _bucket(self) -> str:
        dataset, training = self.job.profile.dataset, self.job.profile.training
        return f"{dataset.width} x {dataset.height}, {training.batch_size} at a time"


_ONE_AT_A_TIME = {"kandinsky5"}
"""Trainers that run the model once for each picture, so that a micro-batch is one picture."""


_BESIDE_THE_CHAIN = {"noise_refiner", "context_refiner", "text_transformer_blocks"}
"""Lists of a few blocks that prepare what the others take. The model joins their results itself, at home."""


def chain_of(family: Family) -> tuple[Blocks, ...]:
    """The lists of blocks through which one tensor passes from the first to the last: those that can be split."""
    return tuple(blocks for blocks in family.blocks if blocks.name not in _BESIDE_THE_CHAIN)


def _let_go() -> None:
    """Hand back what preparing pictures and captions left: the run's budget is for the run."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def free_bytes(device: torch.device, plan: RunPlan | None) -> int:
    """What of a card's memory is free now, within the plan's budget; 0 for a processor."""
    if device.type != "cuda":
        return 0
    free, _ = torch.cuda.mem_get_info(device)
    planned = plan.of_device(str(device)) if plan is not None else None
    budget_bytes = planned.budget_bytes if planned is not None else None
    return min(free, budget_bytes) if budget_bytes is not None else free
