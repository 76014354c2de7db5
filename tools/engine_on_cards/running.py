"""The runs of a row, each in a process of its own, and what each left behind."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffusionforce.engines.musubi import engine_dir, read_pin
from diffusionforce.engines.musubi.arguments import MemoryUse, Places, training_arguments
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.musubi.preparation import prepared_root
from diffusionforce.job import Job, changed, write_job
from diffusionforce.runs.telemetry import telemetry_records
from diffusionforce.wire import Checkpoint, Compared, Message, Placed, Planned, Sample, Step, child_environment
from tools.engine_on_cards.jobs import job_of
from tools.engine_on_cards.rows import Row
from tools.engine_on_cards.weights import files_of

GIB = 2**30
_OURS = "tools.engine_on_cards."
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A row in a folder.

    Attributes:
        name: The row's name.
        row: The row.
        folder: Everything goes there.
        tiny: Whether sizes are small and the cards are the processor.
        num_steps: Steps of the product's run.
        saves_at: Step after which it makes samples and saves its state.
        alone_steps: Steps of the engine's own run.
    """

    name: str
    row: Row
    folder: Path
    tiny: bool
    num_steps: int
    saves_at: int
    alone_steps: int

    @property
    def size(self) -> str:
        """For the processes."""
        return "tiny" if self.tiny else "full"

    def make_weights(self) -> float:
        """Make the model's files, and return the seconds that it took."""
        begin_s = time.perf_counter()
        self._run("weights", _OURS + "weights", self.name, self.size, str(self._weights))
        return time.perf_counter() - begin_s

    def job(self, run: str, *, num_steps: int, samples: bool, resume: Path | None = None) -> Job:
        """The job of a run by the product."""
        settings = self.row.settings(num_steps=num_steps, saves_at=self.saves_at, samples=samples, tiny=self.tiny)
        if not self.tiny:
            settings["devices.use"] = [f"cuda:{index}" for index in range(self.row.num_cards)]
        files = files_of(find_family(self.row.family), self._weights)
        return job_of(self.row, self.folder, files=files, run=run, settings=settings, tiny=self.tiny, resume=resume)

    def measure_cards(self) -> float:
        """Measure the cards, so that forecasts need no data sheets, and return the seconds that it took."""
        begin_s = time.perf_counter()
        if not self.tiny:
            self._run("rig", "diffusionforce.cli", "bench", "rig")
        return time.perf_counter() - begin_s

    def graphs(self) -> dict[str, Any]:
        """Train by the product with captured graphs."""
        job = self.job("graphs", num_steps=self.num_steps, samples=True)
        settings = {"training.cuda_graphs": True}
        profile = changed(job.profile, settings, origin="with graphs")
        return self._train(job.model_copy(update={"profile": profile}), "graphs")

    def product(self) -> dict[str, Any]:
        """Train by the product."""
        return self._train(self.job("product", num_steps=self.num_steps, samples=True), "product")

    def resumed(self) -> dict[str, Any]:
        """Go on from the state that the product's run saved, for a few steps."""
        states = sorted((self.folder / "product" / "checkpoints").glob("*-step*-state"))
        if not states:
            return {**told(()), "wall_s": 0.0}
        step = int(states[-1].name.removesuffix("-state").rpartition("-step")[2])
        job = self.job("resumed", num_steps=step + 3, samples=False, resume=states[-1])
        return self._train(job, "resumed")

    def alone(self, at_a_time: int, *, flags: Sequence[str] = ()) -> dict[str, Any]:
        """Train by the engine's own program on one card, with its own block swap.

        Args:
            at_a_time: Pictures of one forward pass; the others of a step are accumulated.
            flags: Further options of the engine.
        """
        job = self.job("none", num_steps=self.alone_steps, samples=False)
        settings = {
            "training.batch_size": at_a_time,
            "training.gradient_accumulation": self.row.batch_size // at_a_time,
            "checkpoints.every_steps": 0,
        }
        profile = changed(job.profile, settings, origin="the engine alone")
        family = find_family(self.row.family)
        run = f"alone-{at_a_time}" + "".join(f"-{word.strip('-')}" for word in flags)
        place = self.folder / run
        place.mkdir(parents=True, exist_ok=True)
        arguments = training_arguments(
            profile,
            family=family,
            files={role: path for role, path in files_of(family, self._weights).items() if role.startswith("dit")},
            places=Places(dataset_config=self._dataset(place, at_a_time), output_dir=place, output_name="alone"),
            memory=MemoryUse(eight_bit=self.row.weights == "fp8"),
            file_precision="fp32" if self.tiny else "bf16",
        )
        result = place / "result.json"
        num_swapped = self._swaps(at_a_time)
        swap = ["--blocks_to_swap", str(num_swapped)] if num_swapped else []
        words = [arguments.script, *arguments.argv(), *swap, *flags]
        budget = str(int(self.row.budget_gib * GIB))
        begin_s = time.perf_counter()
        self._run(run, _OURS + "alone", self.name, self.size, budget, str(result), *words, cards="0", tolerant=True)
        noted: dict[str, Any] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        words = [f"{at_a_time} at a time, {num_swapped} blocks swapped", *flags]
        return {"words": " ".join(words), **noted, "wall_s": _since(begin_s)}

    @property
    def _home(self) -> Path:
        """A data folder of its own: what was learnt from other runs does not count here."""
        return self.folder / "home"

    @property
    def _weights(self) -> Path:
        return self.folder / "weights"

    def _swaps(self, at_a_time: int) -> int:
        return 0 if self.tiny else self.row.swaps[at_a_time]

    def _train(self, job: Job, run: str) -> dict[str, Any]:
        job_file = self.folder / f"{run}.job.toml"
        write_job(job_file, job)
        begin_s = time.perf_counter()
        self._run(run, _OURS + "child", self.name, self.size, str(job_file), tolerant=True)
        return {**told(telemetry_records(job.run_dir / "telemetry.jsonl")), "wall_s": _since(begin_s)}

    def _dataset(self, place: Path, at_a_time: int) -> Path:
        """What the product prepared, with other batches."""
        architecture = find_family(self.row.family).trainer.architecture
        prepared = next((self._home / prepared_root().name / architecture).glob("*/dataset.toml"), None)
        if prepared is None:
            raise SystemExit("The product has prepared no pictures here: let it train first.")
        text = re.sub(r"batch_size = \d+", f"batch_size = {at_a_time}", prepared.read_text(encoding="utf-8"))
        config = place / "dataset.toml"
        config.write_text(text, encoding="utf-8")
        return config

    def _run(self, run: str, module: str, *arguments: str, cards: str = "", tolerant: bool = False) -> None:
        """Run a module of ours to its end; what it says goes to a file."""
        environment = child_environment()
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), environment.get("PYTHONPATH", "")])
        environment["DIFFUSIONFORCE_HOME"] = str(self._home)
        environment["DIFFUSIONFORCE_ENGINE"] = str(engine_dir(read_pin()))
        if cards:
            environment["CUDA_VISIBLE_DEVICES"] = cards
        log = self.folder / f"{run}.log"
        with log.open("wb") as said:
            code = subprocess.run(
                [sys.executable, "-X", "utf8", "-m", module, *arguments],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if module == _OURS + "child" else said,
                stderr=said,
                check=False,
            ).returncode
        if code and not tolerant:
            raise SystemExit(f"{run} ended with exit code {code}:\n{last_words(log)}")
        if code:
            sys.stderr.write(f"{run} ended with exit code {code}:\n{last_words(log)}\n")


def told(records: Sequence[Message] | Any) -> dict[str, Any]:
    """What a run of the product told of itself.

    Args:
        records: Its telemetry.
    """
    found: dict[str, Any] = {"steps_s": [], "losses": [], "samples": [], "checkpoints": [], "peaks_bytes": {}}
    for record in records:
        match record:
            case Planned():
                found |= {"plan": record.words, "mode": record.mode, "planned_s": record.step_s}
                found["aside"] = [device.num_aside for device in record.devices]
            case Placed():
                found["blocks"] = [len(device.blocks) for device in record.devices]
            case Step():
                found["steps_s"].append(record.seconds)
                found["losses"].append(record.loss)
                found.setdefault("first_step", record.step)
                for device in record.devices:
                    peak = max(found["peaks_bytes"].get(device.device, 0), device.peak_bytes or 0)
                    found["peaks_bytes"][device.device] = peak
                found["busy"] = [device.busy for device in record.devices]
            case Sample():
                found["samples"].append({"step": record.step, "path": record.path, "seconds": record.seconds})
            case Checkpoint():
                found["checkpoints"].append({"step": record.step, "path": record.path})
            case Compared():
                found["compared"] = [[one.planned_bytes, one.seen_bytes] for one in record.devices]
            case _ if record.kind in {"done", "stopped", "failed", "warning"}:
                found.setdefault("said", []).append(record.model_dump(mode="json", exclude_none=True))
    return found


def last_words(log: Path, *, num_lines: int = 25) -> str:
    """The end of what a process said."""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-num_lines:])


def _since(begin_s: float) -> float:
    return time.perf_counter() - begin_s
