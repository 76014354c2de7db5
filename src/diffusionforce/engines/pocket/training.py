"""The pocket engine: trains a LoRA of the pocket model, from a job to its last file.

In order: pictures and prompts become tensors, the model goes to its devices and gets its LoRA, held-out loss and
samples are taken before the first step, the steps run, and loss and samples are taken again. Every random number of
the training comes from generators on the CPU that are seeded by the job and used for nothing else, so the same job
gives the same loss curve on a processor, one card or several, and samples made on the way change nothing.
"""

import gc
import time

import torch

from diffusionforce.datasets.intakes import SMALLEST_SET_TO_SPLIT
from diffusionforce.engines.autopsy import kept_words, out_of_memory, phase_of, skipped_samples, step_words
from diffusionforce.engines.contract import Controls, Datasets, Lack, Output, Report
from diffusionforce.engines.health import HealthWatch, about_learning_rate, with_kept
from diffusionforce.engines.limits import enforce
from diffusionforce.engines.plans import RunPlan
from diffusionforce.engines.pocket.beginning import attach_lora, check_job, place_model
from diffusionforce.engines.pocket.devices import Meters
from diffusionforce.engines.pocket.files import weights_path
from diffusionforce.engines.pocket.lora import Lora
from diffusionforce.engines.pocket.microbatches import PieceRunner, piece_runner
from diffusionforce.engines.pocket.model import PocketTransformer
from diffusionforce.engines.pocket.objective import HeldOutLoss
from diffusionforce.engines.pocket.paging import installed
from diffusionforce.engines.pocket.precision import Precision, limit_cpu_threads, sampling_precision, training_precision
from diffusionforce.engines.pocket.preparation import Materials, prepare
from diffusionforce.engines.pocket.progress import Measured, Progress, read_progress
from diffusionforce.engines.pocket.results import CheckpointKeeper, SampleMaker
from diffusionforce.engines.pocket.resuming import capture, restore
from diffusionforce.engines.pocket.schedule import RATES, TimeLeft, steps_with_samples
from diffusionforce.engines.pocket.stepper import Stepper, StepResult
from diffusionforce.engines.pocket.text import TextEncoder
from diffusionforce.engines.pocket.weights import load_base
from diffusionforce.engines.pressure import Pressure, free_card_bytes, moved_to_ram
from diffusionforce.errors import CardMemoryError, DivergedError
from diffusionforce.job import Job
from diffusionforce.pipeline.aside import SampleRoom, drop_locals
from diffusionforce.pipeline.placement import Placement
from diffusionforce.pipeline.shortage import Shortage, shortage_of
from diffusionforce.rig.shared_memory import watch_shared_memory
from diffusionforce.runs import CheckpointManifest
from diffusionforce.wire import Done, HeldOut, Message, Preparing, Step, Stopped, Warn


class PocketEngine:
    """Trains the tiny model that comes with DiffusionForce."""

    def check(self, job: Job) -> None:
        """Refuse a job that cannot run, before anything is written.

        Raises:
            UserError: What is missing or wrong.
        """
        check_job(job)

    def train(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None = None,
    ) -> Done | Stopped:
        """Train, and return how it ended.

        Raises:
            CardMemoryError: Memory ran out; the LoRA of the last good step has been saved.
            UserError: The run cannot go on; what was saved before stays.
        """
        limit_cpu_threads()
        run = _Run(job, datasets=datasets, output=output, report=report, controls=controls, plan=plan)
        try:
            return run.to_the_end()
        except _StopAsked:
            return run.stopped()
        except DivergedError as error:
            raise run.diverged(error) from None
        except (RuntimeError, MemoryError) as error:
            shortage = shortage_of(error)
            if shortage is None:
                raise
            raise run.out_of_memory(error, shortage) from None


class _StopAsked(Exception):  # noqa: N818 - a request, not an error
    """Somebody asked the run to stop."""


class _Run:
    """One run, from its first picture to its last sample."""

    def __init__(
        self,
        job: Job,
        *,
        datasets: Datasets,
        output: Output,
        report: Report,
        controls: Controls,
        plan: RunPlan | None,
    ) -> None:
        self._job = job
        self._plan = plan
        self._datasets = datasets
        self._output = output
        self._report = report
        self._controls = controls
        self._keeper = CheckpointKeeper(job, output=output, report=report)
        self._start_s = time.perf_counter()
        self._step = 0
        self._saved_step = 0
        self._saved_path = ""
        self._lora: Lora | None = None
        self._stepper: Stepper | None = None
        self._materials: Materials | None = None
        self._measured: list[Measured] = []
        self._prompts: tuple[str, ...] | None = None
        """Those that were asked for on the way."""
        self._health = HealthWatch()
        self._held_out: HeldOutLoss | None = None
        self._room: SampleRoom | None = None
        self._encoder: TextEncoder | None = None
        self._watch = watch_shared_memory()
        self._pressure: Pressure | None = None
        self._doing = "while the model was loaded"
        """For words about a failure; empty within steps."""

    def to_the_end(self) -> Done:
        """Run everything."""
        enforce(self._plan.devices if self._plan is not None else ())
        self._announce(Preparing(stage="model", done=0, total=1))
        base = load_base(weights_path(self._job))
        self._encoder = base.text_encoder
        warning = about_learning_rate(self._job.profile, rates=RATES)
        if warning is not None:
            self._report(warning)
        before = read_progress(self._job.resume) if self._job.resume is not None else None
        self._materials = materials = prepare(
            self._job,
            self._datasets,
            base.text_encoder,
            announce=self._announce,
            most_drawn=before[0].notes.num_drawn if before is not None else None,
        )
        transformer = base.transformer
        placement = place_model(transformer, self._job, plan=self._plan, announce=self._announce)
        self._lora = attach_lora(transformer, self._job.profile)
        recompute = self._job.profile.training.gradient_checkpointing
        runner = piece_runner(transformer.blocks, placement, recompute=recompute)
        with installed(transformer, placement, runner=runner, plan=self._plan) as self._room:
            return self._train(transformer, materials, placement, runner, before=before)

    def stopped(self) -> Stopped:
        """Keep what there is, and say where the run stopped."""
        if self._step > self._saved_step:
            self._save()
        return Stopped(step=self._step, lora=self._saved_path)

    def diverged(self, error: DivergedError) -> DivergedError:
        """Keep the last good state, and say so."""
        if self._step > self._saved_step:
            self._save()
        return with_kept(error, kept=self._kept_words(), path=self._saved_path)

    def _kept_words(self) -> str:
        return kept_words(self._saved_step, num_done=self._step)

    def out_of_memory(self, error: BaseException, shortage: Shortage) -> CardMemoryError:
        """Keep what there is, and say what memory ran out at.

        Args:
            error: What was raised.
            shortage: What was lacking.
        """
        at_steps = not self._doing
        doing = step_words(error, step=self._step + 1) if at_steps else self._doing
        drop_locals(error)
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        # The optimiser may have changed some matrices of the LoRA already, and others not.
        is_whole = not at_steps or phase_of(error) != "optimizer"
        if self._step > self._saved_step and is_whole:
            self._save()
        kept = self._kept_words()
        dataset = self._job.profile.dataset
        bucket = f"{dataset.width} x {dataset.height}, {self._job.profile.training.batch_size} at a time"
        return out_of_memory(error, shortage, doing=doing, kept=kept, plan=self._plan, bucket=bucket)

    def _train(
        self,
        transformer: PocketTransformer,
        materials: Materials,
        placement: Placement,
        runner: PieceRunner,
        *,
        before: tuple[Progress, CheckpointManifest] | None,
    ) -> Done:
        profile, home = self._job.profile, placement.devices[0]
        precision = training_precision(profile.model.precision, home)
        self._held_out = self._held_out_loss(materials, home, precision)
        samples = SampleMaker(
            job=self._job,
            materials=materials,
            output=self._output,
            report=self._report,
            device=home,
            precision=sampling_precision(profile.model.precision, home),
        )
        self._stepper = stepper = Stepper(
            transformer,
            self._require_lora(),
            materials,
            runner=runner,
            profile=profile,
            device=home,
            precision=precision,
        )
        self._pressure = Pressure(
            plan=self._plan, controls=self._controls, report=self._report, portions=stepper.portions
        )
        if before is not None:
            self._go_on(before, stepper, samples)
        else:
            self._measure(transformer)
        self._run_steps(transformer, stepper, samples, Meters.of(placement.devices))
        # Measured first: what a checkpoint holds is what came before it, and a run goes on with what came after.
        self._measure(transformer)
        self._save(is_final=True)
        self._make_samples(transformer, samples)
        return Done(
            step=self._step,
            lora=self._saved_path,
            seconds=time.perf_counter() - self._start_s,
            held_out_before=self._measured[0].loss if self._measured else None,
            held_out_after=self._measured[-1].loss if self._measured else None,
        )

    def _go_on(self, before: tuple[Progress, CheckpointManifest], stepper: Stepper, samples: SampleMaker) -> None:
        """Take up the run that a checkpoint was saved of, as if it had never ended."""
        progress, manifest = before
        assert self._materials is not None and self._job.resume is not None, "there is a checkpoint, and pictures"
        warnings = restore(
            progress, folder=self._job.resume, lora=self._require_lora(), stepper=stepper, materials=self._materials
        )
        for warning in warnings:
            self._report(warning)
        self._step = self._saved_step = progress.step
        self._health = HealthWatch(average=progress.notes.loss_average, count=progress.notes.num_losses)
        self._measured = list(progress.notes.held_out)
        for measured in self._measured:
            self._report(HeldOut(step=measured.step, loss=measured.loss))
        own = manifest.profile.get("samples", {}).get("prompts", [])
        # Asked for on the way, and not changed since in the profile.
        if progress.notes.prompts is not None and list(self._job.profile.samples.prompts) == own:
            self._use_prompts(samples, progress.notes.prompts)

    def _held_out_loss(self, materials: Materials, home: torch.device, precision: Precision) -> HeldOutLoss | None:
        if materials.held_out is not None:
            return HeldOutLoss(materials.held_out, device=home, precision=precision)
        self._report(
            Warn(
                sentence="The dataset is too small to keep pictures back, so no held-out loss is measured.",
                hint=f"Use {SMALLEST_SET_TO_SPLIT} or more pictures, or a profile that names both dataset.folder and "
                "dataset.held_out_folder.",
            )
        )
        return None

    def _run_steps(
        self, transformer: PocketTransformer, stepper: Stepper, samples: SampleMaker, meters: Meters
    ) -> None:
        profile = self._job.profile
        sample_steps = steps_with_samples(profile)
        time_left = TimeLeft(num_steps=profile.training.steps, sample_steps=sample_steps)
        transformer.train()
        # Those of the step that a checkpoint was saved after are made after it.
        if self._step in sample_steps:
            time_left.note_pass(self._make_samples(transformer, samples))
            meters.forget_peaks()
        for step in range(self._step + 1, profile.training.steps + 1):
            self._interrupt()
            start_s, self._doing = time.perf_counter(), ""
            result = self._taken(stepper, step)
            seconds = time.perf_counter() - start_s
            self._step = step
            time_left.note_step(seconds)
            self._report(
                Step(
                    step=step,
                    num_steps=profile.training.steps,
                    loss=result.loss,
                    learning_rate=result.learning_rate,
                    grad_norm=result.grad_norm,
                    seconds=seconds,
                    eta_s=time_left.after(step),
                    devices=meters.read(result.work),
                )
            )
            for warning in self._health.note(step, loss=result.loss, grad_norm=result.grad_norm, files=result.files):
                self._report(warning)
            self._watch_shared_memory()
            if step < profile.training.steps:
                self._pause(transformer, samples, time_left, meters, is_sample_step=step in sample_steps)

    def _taken(self, stepper: Stepper, step: int) -> StepResult:
        """Take a step, again where another program had taken the memory for it; it is the same step each time."""
        pressure = self._require_pressure()
        while True:
            try:
                result = stepper.take_step(step)
            except (RuntimeError, MemoryError) as error:
                # The optimiser may have changed some matrices of the LoRA already, and others not.
                if phase_of(error) == "optimizer" or not pressure.makes_room(error, step=step):
                    raise
            else:
                pressure.note_step(step)
                return result
            self._interrupt()

    def _pause(
        self,
        transformer: PocketTransformer,
        samples: SampleMaker,
        time_left: TimeLeft,
        meters: Meters,
        *,
        is_sample_step: bool,
    ) -> None:
        """Between two steps: save and make samples if it is time or somebody asked."""
        every = self._job.profile.checkpoints.every_steps
        # Asked first: a request must be taken even when the step saves anyway.
        if self._controls.take_save_request() or (every and self._step % every == 0):
            self._measure(transformer)
            self._save()
        if self._controls.take_sample_request() or is_sample_step:
            time_left.note_pass(self._make_samples(transformer, samples))
            meters.forget_peaks()  # A step's peak is what steps hold.

    def _watch_shared_memory(self) -> None:
        """Take less of a step at once, or keep what there is and wait, where the system moves the cards' memory."""
        if self._moved_lack() is None or self._require_pressure().takes_less(self._step):
            return
        self._save()
        self._controls.wait_while(self._moved_lack)
        self._watch.begin_anew()

    def _moved_lack(self) -> Lack | None:
        assert self._room is not None, "steps are taken between installing and removing"
        moved_bytes = self._watch.moved_bytes(locked_bytes=self._room.locked_bytes)
        # What was moved comes back only when it is used again: then it is enough that there is room for it.
        is_over = moved_bytes == 0 or free_card_bytes() >= moved_bytes
        return None if is_over else moved_to_ram(moved_bytes, step=self._step)

    def _make_samples(self, transformer: PocketTransformer, samples: SampleMaker) -> float:
        """Make samples, or leave them out if they do not fit; the seconds that it took."""
        start_s, doing = time.perf_counter(), self._doing
        prompts = self._controls.take_prompts()
        if prompts is not None:
            self._use_prompts(samples, prompts)
        assert self._room is not None, "samples are made between installing and removing"
        self._doing = "when blocks came back from making room for samples"
        before = self._room.aside
        shortage = self._room.run(lambda: samples.make(transformer, step=self._step, interrupt=self._interrupt))
        self._doing = doing
        if shortage is not None:
            tries_again = self._room.aside != before
            self._report(skipped_samples(shortage, step=self._step, plan=self._plan, tries_again=tries_again))
        return time.perf_counter() - start_s

    def _use_prompts(self, samples: SampleMaker, prompts: tuple[str, ...]) -> None:
        assert self._encoder is not None, "samples are made after the model was loaded"
        samples.use_prompts(prompts, self._encoder)
        self._prompts = prompts

    def _measure(self, transformer: PocketTransformer) -> None:
        """Measure the held-out loss and report it, if there are held-out pictures."""
        if self._held_out is None:
            return
        was_training = transformer.training
        self._doing = "while the held-out loss was measured"
        transformer.eval()
        loss = self._held_out.measure(transformer, on_pass=self._on_held_out_pass)
        transformer.train(was_training)
        self._measured.append(Measured(step=self._step, loss=loss))
        self._report(HeldOut(step=self._step, loss=loss))

    def _on_held_out_pass(self, done: int, total: int) -> None:
        self._announce(Preparing(stage="held_out", done=done, total=total, step=self._step))

    def _save(self, *, is_final: bool = False) -> None:
        self._saved_path = self._keeper.save(self._require_lora(), self._progress(), is_final=is_final)
        self._saved_step = self._step

    def _progress(self) -> Progress:
        assert self._stepper is not None and self._materials is not None, "there are steps to save"
        return capture(
            step=self._step,
            lora=self._require_lora(),
            stepper=self._stepper,
            materials=self._materials,
            health=self._health,
            measured=self._measured,
            prompts=self._prompts,
        )

    def _require_lora(self) -> Lora:
        assert self._lora is not None, "the LoRA is attached before the first step"
        return self._lora

    def _require_pressure(self) -> Pressure:
        assert self._pressure is not None, "it is there before the first step"
        return self._pressure

    def _announce(self, message: Message) -> None:
        """Report something that happens outside of steps; a good moment to stop."""
        self._report(message)
        self._interrupt()

    def _interrupt(self) -> None:
        if self._controls.stop_requested:
            raise _StopAsked
