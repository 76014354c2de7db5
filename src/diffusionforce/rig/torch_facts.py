"""What PyTorch can do here, learnt from a short child process.

Importing PyTorch takes a second and hundreds of megabytes, and may fail in ways that take the process along (a
driver that does not match). Neither must happen to the window or the command line, so a child imports it and tells.
"""

import json
import subprocess
from dataclasses import dataclass

from diffusionforce.desktop import children
from diffusionforce.wire.interpreter import apart_flag, child_python

NOT_HERE = "PyTorch is not here: the training environment is not set up yet."
_QUESTION = """
import json, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "version": torch.__version__,
    "cuda_build": torch.version.cuda or "",
    "cuda_available": cuda,
    "num_devices": torch.cuda.device_count() if cuda else 0,
}))
"""


@dataclass(frozen=True, kw_only=True)
class TorchFacts:
    """What PyTorch can do here.

    Attributes:
        version: Version of PyTorch; empty when it could not be imported.
        cuda_build: CUDA version that this PyTorch was built for; empty for a build without CUDA.
        cuda_available: Whether PyTorch can use a card now.
        num_devices: How many cards it can use.
        failure: Why PyTorch could not be asked, in a sentence; empty when it could.
    """

    version: str = ""
    cuda_build: str = ""
    cuda_available: bool = False
    num_devices: int = 0
    failure: str = ""


def torch_facts(*, timeout_s: float = 60.0, python: str | None = None) -> TorchFacts:
    """Ask PyTorch what it can do, in a child process.

    Args:
        timeout_s: How long the child may take.
        python: Interpreter whose PyTorch is asked; None asks the one that our children have.
    """
    python = python or child_python()
    try:
        child = children.run([python, apart_flag(), "-X", "utf8", "-c", _QUESTION], timeout_s=timeout_s)
    except subprocess.TimeoutExpired:
        return TorchFacts(failure=f"PyTorch did not start within {timeout_s:.0f} s.")
    except OSError as error:
        return TorchFacts(failure=f"{python} could not be started: {error.strerror}.")
    lines, errors = child.stdout.decode(errors="replace").splitlines(), child.stderr.decode(errors="replace")
    if child.returncode != 0 or not lines:
        if "No module named 'torch'" in errors:
            return TorchFacts(failure=NOT_HERE)
        last = (errors.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        return TorchFacts(failure=f"PyTorch could not be imported: {last}")
    return TorchFacts(**json.loads(lines[-1]))
