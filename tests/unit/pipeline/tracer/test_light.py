"""Tracing without the compiler, in fresh processes: the module stays as it is for the rest of this one."""

import subprocess
import sys

from tests.support.trainer_process import ROOT

_TRACE = """
import sys
{begin}
from tests.support.traced_models import pocket_example
from diffusionforce.pipeline.tracer.trace import trace_training
print("convert_frame" in str(sorted(sys.modules)))
print(trace_training(pocket_example().subject()).to_json())
{end}
print("torch._dynamo.convert_frame" in sys.modules)
"""
_BEGIN = "from diffusionforce.pipeline.tracer.light import start_without_compiler; start_without_compiler()"


def said(begin: str, end: str = "") -> list[str]:
    code = _TRACE.format(begin=begin, end=end)
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return child.stdout.splitlines()


def test_a_trace_is_the_same_without_the_compiler_and_does_not_load_it() -> None:
    light, full = said(_BEGIN), said("")
    assert (light[-1], full[-1]) == ("False", "True")
    assert light[1:-1] == full[1:-1]


def test_what_needs_the_compiler_gets_it() -> None:
    lines = said(_BEGIN, "import torch; print(torch._dynamo.is_compiling())")
    assert lines[-2:] == ["False", "True"]
