"""Writes the list of hooks, `docs/hooks.md`, from the hooks themselves: `python -m diffusionforce.hooks.document`."""

import sys

from diffusionforce.hooks.environment import EnvironmentHook
from diffusionforce.hooks.hook import Hook
from diffusionforce.hooks.musubi.catalogue import every_hook
from diffusionforce.hooks.musubi.upstream import REVISION
from diffusionforce.hooks.seam import Seam

_HEAD = f"""# Hooks

This file is made by `python -m diffusionforce.hooks.document > docs/hooks.md`.

Musubi Tuner trains on one device. DiffusionForce uses it unmodified, at commit `{REVISION}`, and lifts each assumption
of one device by a hook: an override in a subclass of its trainer where there is a method to override, a replaced
function or environment variable where there is none. A hook states what source it was written for, and refuses any
other. Replaced functions and variables are put in place for the time of a run, all or none, and taken back after it;
the engine's files and classes stay as they are.
"""


def document() -> str:
    """The list of all hooks as Markdown."""
    return "\n".join([_HEAD, *(_section(hook) for hook in every_hook())])


def _section(hook: EnvironmentHook | Hook | Seam) -> str:
    lines = [
        f"## {hook.number}. {hook.name}",
        "",
        f"- Assumption: {hook.reason}",
        f"- Without the hook: {hook.prevents}",
    ]
    if isinstance(hook, Seam):
        lines += [f"- Overrides `{target}` (source `{source[:16]}`)" for target, source in hook.overrides]
    elif isinstance(hook, Hook):
        lines.append(f"- Replaces `{hook.target}` (source `{hook.fingerprint[:16]}`)")
    else:
        set_to = (f"`{name}` = `{value}`" for name, value in hook.values.items() if value is not None)
        taken = (f"`{name}`" for name, value in hook.values.items() if value is None)
        lines.append(f"- Sets {', '.join(set_to)}; takes away {', '.join(taken)}")
    if hook.upstream_revision != REVISION:
        lines.append(f"- Written for commit `{hook.upstream_revision}`")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.buffer.write(document().encode())
