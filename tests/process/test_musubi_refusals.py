"""What cannot be trained by the engine is refused by the command line itself, in seconds and by name.

The cards are the only thing that is not there: a driver library that tells of one stands in for the driver's. The
engine's libraries are looked for and not loaded before a job is accepted, so empty folders of their names will do.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from tests.support.engine import needs_engine
from tests.support.jobs import picture_folder
from tests.support.trainer_process import ROOT
from tests.support.weights import write_like, write_weights

from diffusionforce.engines.musubi import engine_dir, read_pin
from diffusionforce.engines.musubi.engine import _LIBRARIES
from diffusionforce.engines.musubi.families import FAMILIES

WAN, WAN_2_2 = FAMILIES["wan2.1-t2v-14b"], FAMILIES["wan2.2-t2v-a14b"]
PATIENCE_S = 30.0
"""A refusal takes as long as it takes to start two processes and read some headers."""

_DRIVER = """import sys
from tests.support.fake_nvml import FakeCard, FakeNvml
sys.modules[__name__] = FakeNvml(FakeCard())
"""

pytestmark = needs_engine


class Bench:
    """A profile with all its files, of which a test spoils one, and the command that is to refuse it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = engine_dir(read_pin())
        self.table: dict[str, Any] = {
            "schema_version": 1,
            "title": "Own",
            "model": {"family": WAN.name, "engine": "musubi", "files": {}},
            "training": {"steps": 2},
            "samples": {"prompts": ["a fox"]},
        }
        self.files: dict[str, str] = self.table["model"]["files"]
        self.use(WAN.name)
        picture_folder(folder / "pictures")
        stand_ins = folder / "libraries"
        for name in _LIBRARIES:
            (stand_ins / name).mkdir(parents=True)
        (stand_ins / "pynvml.py").write_text(_DRIVER, encoding="utf-8")

    def use(self, name: str, *, dtype: str = "BF16") -> None:
        """Take another family, with all its files."""
        self.table["model"]["family"] = name
        self.files.clear()
        for file in FAMILIES[name].files:
            path = self.folder / "weights" / f"{file.role}.safetensors"
            self.files[file.role] = str(write_like(path, file.signature, dtype=dtype))

    def refusal(self, *, as_json: bool = True) -> str:
        """What the command line says."""
        profile = self.folder / "own.toml"
        profile.write_bytes(tomli_w.dumps(self.table).encode())
        run_dir = self.folder / "run"
        arguments = ["run", str(profile), "--dataset", str(self.folder / "pictures"), "--out", str(run_dir)]
        done = subprocess.run(
            [sys.executable, "-m", "diffusionforce.cli", *arguments, *(["--json"] if as_json else [])],
            cwd=self.folder,
            env=os.environ
            | {
                "DIFFUSIONFORCE_HOME": str(self.folder / "data"),
                "DIFFUSIONFORCE_ENGINE": str(self.engine),
                "HOME": str(self.folder / "home"),
                "HF_HOME": str(self.folder / "hub"),
                "PYTHONPATH": os.pathsep.join([str(self.folder / "libraries"), str(ROOT), str(ROOT / "src")]),
                "OMP_NUM_THREADS": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert not run_dir.exists(), "something was written"
        if not as_json:
            assert "Traceback" not in done.stderr
            return done.stderr
        (record,) = [json.loads(line) for line in done.stdout.splitlines()]
        assert record["kind"] == "failed"
        return f"{record['sentence']}\n{record['hint']}"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _another_engine(bench: Bench) -> None:
    """A copy in which one line of one file is other."""
    bench.engine = shutil.copytree(bench.engine, bench.folder / "engine")
    file = bench.engine / "src/musubi_tuner/wan_train_network.py"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes() + b"# mine\n")


def _half_an_engine(bench: Bench) -> None:
    bench.engine = shutil.copytree(bench.engine, bench.folder / "engine")
    (bench.engine / "src/musubi_tuner/networks/lora_wan.py").unlink()


def _no_autoencoder(bench: Bench) -> None:
    del bench.files["vae"]


def _a_file_that_is_gone(bench: Bench) -> None:
    Path(bench.files["t5"]).unlink()


def _half_downloaded(bench: Bench) -> None:
    assert WAN.files[0].signature is not None
    write_weights(Path(bench.files["dit"]), dict(WAN.files[0].signature.tensors), missing_bytes=100 * 1024**2)


def _another_models_file(bench: Bench) -> None:
    write_like(Path(bench.files["dit"]), FAMILIES["wan2.1-t2v-1.3b"].files[0].signature)


def _a_file_in_fp16(bench: Bench) -> None:
    bench.use(WAN.name, dtype="F16")
    bench.table["model"]["precision"] = "bf16"


def _experts_in_two_formats(bench: Bench) -> None:
    bench.use(WAN_2_2.name)
    write_like(Path(bench.files["dit_high_noise"]), WAN_2_2.files[1].signature, dtype="F16")


def _another_autoencoder(bench: Bench) -> None:
    write_like(Path(bench.files["vae"]), FAMILIES["flux1-kontext"].files[1].signature)


def _experts_swapped(bench: Bench) -> None:
    bench.use(WAN_2_2.name)
    for role, name in (("dit", "high"), ("dit_high_noise", "low")):
        path = Path(bench.files[role])
        bench.files[role] = str(path.rename(path.with_name(f"wan2.2_t2v_{name}_noise_14B_fp16.safetensors")))


def _a_misspelt_optimiser(bench: Bench) -> None:
    bench.table["advanced"] = {"optimizer_type": "AdamV"}


def _an_unknown_key(bench: Bench) -> None:
    bench.table["training"]["stepps"] = 3


def _an_unknown_option(bench: Bench) -> None:
    bench.table["advanced"] = {"network_args": ["a=1"], "optimiser_type": "adamw8bit"}


def _an_option_of_another_type(bench: Bench) -> None:
    bench.table["advanced"] = {"vae_dtype": 16}


def _a_bad_prompt(bench: Bench) -> None:
    bench.table["samples"]["prompts"] = ["a fox", "a cat --w 500 --s many"]


def _own_file_of_prompts(bench: Bench) -> None:
    bench.table["advanced"] = {"sample_prompts": "prompts.txt"}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            _another_engine,
            "is not Musubi Tuner 0.3.4 as it was pinned (modified: src/musubi_tuner/wan_train_network.py)",
        ),
        (
            _half_an_engine,
            "is not Musubi Tuner 0.3.4 as it was pinned (missing: src/musubi_tuner/networks/lora_wan.py)",
        ),
        (_no_autoencoder, "Wan 2.1 T2V 14B needs a file that is not here: autoencoder"),
        (_a_file_that_is_gone, "t5.safetensors is not there"),
        (_half_downloaded, "dit.safetensors is half downloaded: it has 35.6 MB of 135.6 MB"),
        (_another_models_file, "dit.safetensors is not the transformer of Wan 2.1 T2V 14B: it is"),
        (_a_file_in_fp16, "The file of Wan 2.1 T2V 14B is in fp16, and model.precision is bf16."),
        (_experts_in_two_formats, "dit_high_noise.safetensors is in fp16, and "),
        (_an_unknown_key, "training.stepps"),
        (_an_unknown_option, "advanced.optimiser_type is no option of the engine for this model. Did you mean"),
        (_an_option_of_another_type, "advanced.vae_dtype is 16: it has to be"),
        (_a_bad_prompt, "samples.prompts: prompt 2: --w is '500': it has to be a multiple of 16"),
        (_another_autoencoder, "is not the autoencoder (Wan 2.1) of Wan 2.1 T2V 14B: it is FLUX.1 autoencoder."),
        (_experts_swapped, "wan2.2_t2v_high_noise_14B_fp16.safetensors is not the transformer, low noise of Wan 2.2"),
        (_a_misspelt_optimiser, "advanced.optimizer_type is 'AdamV': it has to be a class of torch.optim"),
        (_own_file_of_prompts, "advanced.sample_prompts cannot be set: write the prompts under samples.prompts"),
    ],
)
def test_what_is_wrong_is_refused_by_name(bench: Bench, spoil: Callable[[Bench], None], words: str) -> None:
    spoil(bench)
    said = bench.refusal()
    assert words in said, said


def test_everything_that_is_wrong_is_told_at_once_to_people(bench: Bench) -> None:
    for spoil in (_no_autoencoder, _a_bad_prompt, _an_unknown_option):
        spoil(bench)
    said = bench.refusal(as_json=False)
    for words in ("advanced.optimiser_type", "prompt 2", "needs a file that is not here: autoencoder"):
        assert words in said, said
