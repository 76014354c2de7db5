"""What a child process answers that looks at engines or models for us: the command line loads neither."""

import subprocess
from collections.abc import Iterator, Sequence

from diffusionforce.desktop import children
from diffusionforce.wire import child_environment, interrupts_held_back, module_command

_PATIENCE_S = 20.0


def answer_lines(module: str, arguments: Sequence[str]) -> Iterator[bytes]:
    """Start a module as a child and yield the lines it writes; whatever ends us, wait until it has cleaned up.

    Args:
        module: The module, with its package.
        arguments: Its arguments.

    Raises:
        RuntimeError: It ended without a word.
    """
    command = module_command(module, *arguments)
    with interrupts_held_back():
        child = children.start(command, stdout=children.PIPE, environment=child_environment(), ends_with_us=True)
    assert child.stdout is not None
    num_lines = 0
    try:
        for line in child.stdout:
            num_lines += 1
            yield line
    finally:
        child.stdout.close()
        try:
            code = child.wait(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
    if not num_lines:
        raise RuntimeError(f"{module} ended with exit code {code} and said nothing")
