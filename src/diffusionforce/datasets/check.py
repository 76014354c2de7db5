"""The pre-flight: everything in a folder looked at before a training, with every problem named.

A training that stops after an hour at the one damaged picture, or goes on for a night with half of the pictures left
out for a capital letter, is what this is for.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from diffusionforce.datasets.alike import judge_likeness
from diffusionforce.datasets.controls import Pairing, find_pairing
from diffusionforce.datasets.findings import ORDER
from diffusionforce.datasets.intake import PICTURES, Intake
from diffusionforce.datasets.judging import FolderJudge, media_of
from diffusionforce.datasets.listing import folder_files
from diffusionforce.datasets.looking import Look
from diffusionforce.datasets.looks import Looks
from diffusionforce.datasets.media_looks import Looker
from diffusionforce.datasets.records import Checked, Checking, FileFacts, FileFinding
from diffusionforce.datasets.sets import SetFolder
from diffusionforce.wire import readable


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a check found.

    Attributes:
        root: The folder.
        files: Its media files in order of name, then captions of nothing.
        findings: What was found, in the order of `findings.KINDS`.
        duration_s: How long the check took.
    """

    root: Path
    files: tuple[FileFacts, ...]
    findings: tuple[FileFinding, ...]
    duration_s: float

    @property
    def num_media(self) -> int:
        """Pictures and clips, those of types that are not trained on included."""
        return sum(file.is_counted for file in self.files)

    @property
    def num_used(self) -> int:
        """Pictures and clips that are trained on."""
        return sum(file.is_used for file in self.files)

    def summary(self) -> Checked:
        """Return the last record."""
        return Checked(
            root=str(self.root), num_media=self.num_media, num_used=self.num_used, duration_s=self.duration_s
        )


def check_folder(
    root: Path,
    *,
    folder: SetFolder | None = None,
    intake: Intake = PICTURES,
    size: tuple[int, int] | None = None,
    progress: Callable[[Checking], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    kept: Path | None = None,
) -> Report | None:
    """Look at everything in a folder. Nothing in it is written to.

    Args:
        root: The folder; its subfolders are not looked at.
        folder: Which of its clips' frames are trained on, and what its pictures are made from, where a set says so.
        intake: What the model takes.
        size: Width and height that is trained at, in pixels, where the folder names none; None where nobody knows.
        progress: Told how far the check is, at most ten times a second.
        should_stop: Asked between files; when it is true the check ends.
        kept: Where looks at pictures are kept for the next check; None looks at all of them.

    Returns:
        The report, None if the check was ended.

    Raises:
        DatasetError: The folder is not there or cannot be read.
    """
    started_s = time.monotonic()
    files, odd = folder_files(root)
    folder = folder or SetFolder(path=str(root))
    media = [path for path in files if media_of(path) in {"picture", "clip"}]
    pairing = find_pairing(root, intake=intake, chosen=folder.controls, stems=[path.stem for path in media])
    frames = intake.frames_of(folder.frames)
    trained_at = folder.size(size or (0, 0))
    judge = FolderJudge(
        root=root,
        files=files,
        intake=intake,
        frames=frames,
        size=trained_at if all(trained_at) else None,
        pairing=pairing,
    )
    for path in odd:
        judge.tell("odd_name", path, note="Name is not UTF-8 text")
        judge.facts.append(FileFacts(name=readable(path.name), media="other"))
    memory = Looks(kept, root) if kept is not None else None
    looker = Looker(intake=intake, frames=frames, memory=memory)
    looks = looker.look_at_all(media, progress=progress, should_stop=should_stop)
    if looks is None:
        return None
    if memory is not None:
        memory.save()
    for path in media:
        judge.take(path, looks[path])
    if pairing is not None:
        judge.judge_control_looks(_looks_at_controls(pairing, kept))
    judge.judge_others()
    pictures = [(path, look) for path, look in looks.items() if isinstance(look, Look)]
    alike = judge_likeness(pictures, captioned_stems=judge.captioned_stems, should_stop=should_stop)
    findings = sorted((*judge.findings, *alike), key=lambda finding: (ORDER[finding.what], finding.name))
    if should_stop():
        return None
    return Report(
        root=root,
        files=tuple(judge.facts),
        findings=tuple(findings),
        duration_s=time.monotonic() - started_s,
    )


def _looks_at_controls(pairing: Pairing, kept: Path | None) -> dict[Path, Look]:
    memory = Looks(kept, pairing.folder) if kept is not None else None
    looker = Looker(intake=PICTURES, frames=0, memory=memory)
    paths = [*(path for found in pairing.by_stem.values() for path in found), *pairing.unpaired]
    looks = looker.look_at_all(paths, progress=lambda _: None, should_stop=lambda: False)
    if memory is not None:
        memory.save()
    return {path: look for path, look in (looks or {}).items() if isinstance(look, Look)}
