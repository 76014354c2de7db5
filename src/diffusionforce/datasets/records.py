"""What a check of a folder tells: a record for each file, for each finding, and for how far it is.

The check runs in a process of its own, one JSON object a line, so that the window stays quick while ten thousand
pictures are decoded. Each object has a `kind`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from diffusionforce.wire.messages import Failed, Record

Media = Literal["picture", "clip", "caption", "control", "other"]
"""`control` is what a picture is made from; `other` is of a type that is not trained on."""
Group = Literal["left_out", "fix", "note"]


class Checking(Record):
    """How far a check is: `done` of `total` files."""

    kind: Literal["checking"] = "checking"
    done: int
    total: int


class FileFacts(Record):
    """One file of the folder. Sizes in pixels are those of a person who looks at it: turned upright."""

    kind: Literal["file"] = "file"
    name: str
    media: Media
    size_bytes: int = 0
    modified_ns: int = 0
    width: int = 0
    """0 where it could not be told."""
    height: int = 0
    format: str = ""
    """What the content is, for example `JPEG`; empty where nobody knows it."""
    num_frames: int = 1
    duration_s: float = 0.0
    fps: float = 0.0
    """Frames a second of a clip."""
    caption: str = ""
    caption_file: str = ""
    """Name of the file with the caption; empty where there is none."""
    controls: tuple[str, ...] = ()
    """What it is made from: names within the folder, or whole paths."""
    is_used: bool = False
    """Whether it is trained on."""

    @property
    def is_counted(self) -> bool:
        """Whether it counts among the pictures and clips of the folder, trained on or not."""
        return self.media in {"picture", "clip", "other"}


class FileFinding(Record):
    """Something about one file that its owner should know; what it means is in `findings.KINDS`."""

    kind: Literal["finding"] = "finding"
    what: str
    """Key of the kind."""
    name: str
    related: tuple[str, ...] = ()
    """Other files that it is about."""
    note: str = ""
    """In a few words, to stand under a picture."""


class Checked(Record):
    """The last record of a check that came to its end."""

    kind: Literal["checked"] = "checked"
    root: str
    num_media: int
    """Pictures and clips, those of types that are not trained on included."""
    num_used: int
    duration_s: float


CheckRecord = Checking | FileFacts | FileFinding | Checked

_ADAPTER: TypeAdapter[CheckRecord | Failed] = TypeAdapter(
    Annotated[Checking | FileFacts | FileFinding | Checked | Failed, Field(discriminator="kind")]
)


def read_record(line: bytes) -> CheckRecord | Failed:
    """Read one line of a check.

    Raises:
        ValueError: It is no record of a check.
    """
    return _ADAPTER.validate_json(line)
