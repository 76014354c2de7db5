"""Every kind of finding: what to do about it, in which words, and which repair is offered.

Findings are grouped by what they ask of the user: files that are left out of training, things worth fixing, and
things that are only good to know.
"""

from dataclasses import dataclass

from diffusionforce.datasets.records import Group

GROUPS: tuple[Group, ...] = ("left_out", "fix", "note")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of finding.

    Attributes:
        key: Its name in records.
        group: What it asks of the user.
        title: What is found, of one file and of `{n}` files.
        meaning: What it does to the training, or what to do.
        repair: Key of the repair that cures it, empty for none; see `repairs.REPAIRS`.
        action: Words for the button that repairs.
    """

    key: str
    group: Group
    title: tuple[str, str]
    meaning: str
    repair: str = ""
    action: str = ""

    def heading(self, num_files: int) -> str:
        """Return the title for a number of files."""
        one, many = self.title
        return one if num_files == 1 else many.format(n=f"{num_files:,}")


_ALL = (
    Kind(
        key="truncated",
        group="left_out",
        title=("1 picture ends early", "{n} pictures end early"),
        meaning="The rest of the file is missing. Copy it again from where it came, or set it aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="broken",
        group="left_out",
        title=("1 file is damaged", "{n} files are damaged"),
        meaning="Not readable to the end. Copy again from where it came, or set aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="empty_file",
        group="left_out",
        title=("1 file is empty", "{n} files are empty"),
        meaning="Most likely a copy that was broken off. Copy again, or set aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="not_a_picture",
        group="left_out",
        title=("1 file is no picture", "{n} files are no pictures"),
        meaning="The name says picture, the content does not.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="too_large",
        group="left_out",
        title=("1 picture has too many pixels", "{n} pictures have too many pixels"),
        meaning="More than 250 million are not opened. Make it smaller in another program, or set it aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="convertible",
        group="left_out",
        title=("1 picture is of a type that is not trained on", "{n} pictures are of a type that is not trained on"),
        meaning="Saved as PNG they can be: the first picture of each file.",
        repair="save_as_png",
        action="Save as PNG",
    ),
    Kind(
        key="unsupported",
        group="left_out",
        title=("1 file is of a type that is not supported", "{n} files are of a type that is not supported"),
        meaning="Save as PNG or JPEG in another program, or set aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="clip",
        group="left_out",
        title=("1 clip is left out", "{n} clips are left out"),
        meaning="This version trains on pictures. The first frame of a clip can be saved as one.",
        repair="save_first_frame",
        action="Save first frames",
    ),
    Kind(
        key="caption_name",
        group="left_out",
        title=("1 caption is spelt unlike its picture", "{n} captions are spelt unlike their pictures"),
        meaning="Capitals count in file names, so the picture goes without.",
        repair="rename_caption",
        action="Rename",
    ),
    Kind(
        key="no_caption",
        group="left_out",
        title=("1 picture has no caption", "{n} pictures have no caption"),
        meaning="Without one a picture is not trained on. Write what it shows, or start with the trigger word.",
        repair="write_caption",
        action="Use the trigger word",
    ),
    Kind(
        key="empty_caption",
        group="left_out",
        title=("1 caption is empty", "{n} captions are empty"),
        meaning="The picture is not trained on. Write what it shows, or start with the trigger word.",
        repair="write_caption",
        action="Use the trigger word",
    ),
    Kind(
        key="unreadable_caption",
        group="left_out",
        title=("1 caption cannot be read as text", "{n} captions cannot be read as text"),
        meaning="The picture is not trained on. Write a new caption, or start with the trigger word.",
        repair="write_caption",
        action="Use the trigger word",
    ),
    Kind(
        key="odd_name",
        group="left_out",
        title=("1 file name is not UTF-8 text", "{n} file names are not UTF-8 text"),
        meaning="Most programs cannot open such a file. Give it a name of plain letters.",
        repair="rename_readably",
        action="Rename",
    ),
    Kind(
        key="duplicate",
        group="fix",
        title=("1 picture is there twice", "{n} pictures are there more than once"),
        meaning="The same file under two names counts double in training.",
        repair="set_aside",
        action="Keep one",
    ),
    Kind(
        key="near_duplicate",
        group="fix",
        title=("1 near duplicate", "{n} near duplicates"),
        meaning="Pictures that look alike count several times in training.",
        repair="set_aside",
        action="Keep the largest",
    ),
    Kind(
        key="same_stem",
        group="fix",
        title=("1 picture shares its caption with another", "{n} pictures share their caption with another"),
        meaning="Pictures of one name have one caption file. Give each its own.",
        repair="give_own_name",
        action="Give each its own",
    ),
    Kind(
        key="wrong_extension",
        group="fix",
        title=("1 file has the wrong ending", "{n} files have the wrong ending"),
        meaning="The content is of another type than the name says. It is read all the same; other programs may fail.",
        repair="rename_to_match",
        action="Rename",
    ),
    Kind(
        key="tiny",
        group="fix",
        title=("1 picture is very small", "{n} pictures are very small"),
        meaning="Blown up to the training size they teach blur. Use larger ones, or set them aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="elongated",
        group="fix",
        title=("1 picture is very long", "{n} pictures are very long"),
        meaning="Most of it is cut off for training. Crop to the subject, or set aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="caption_encoding",
        group="fix",
        title=("1 caption is not plain UTF-8", "{n} captions are not plain UTF-8"),
        meaning="Letters may come out wrong in other programs.",
        repair="save_as_utf8",
        action="Save as UTF-8",
    ),
    Kind(
        key="caption_characters",
        group="fix",
        title=("1 caption has characters that nobody sees", "{n} captions have characters that nobody sees"),
        meaning="The text encoder reads them all the same.",
        repair="clean_caption",
        action="Take out",
    ),
    Kind(
        key="unpaired",
        group="fix",
        title=("1 caption belongs to no picture", "{n} captions belong to no picture"),
        meaning="Give it the name of its picture, or set it aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="rotated",
        group="note",
        title=("1 photo is turned by EXIF", "{n} photos are turned by EXIF"),
        meaning="They are trained upright, as you see them.",
        repair="save_as_png",
        action="Save upright",
    ),
    Kind(
        key="deep",
        group="note",
        title=("1 picture has 16 bits a colour", "{n} pictures have 16 bits a colour"),
        meaning="They are brought to 8 bits for training, without clipping.",
        repair="save_as_png",
        action="Save as 8 bits",
    ),
    Kind(
        key="alpha",
        group="note",
        title=("1 picture has clear parts", "{n} pictures have clear parts"),
        meaning="Clear parts become white for training.",
        repair="save_as_png",
        action="Save on white",
    ),
    Kind(
        key="huge",
        group="note",
        title=("1 picture is huge", "{n} pictures are huge"),
        meaning="Made smaller for training anyway; preparing takes longer and needs more memory.",
        repair="save_smaller",
        action="Save smaller",
    ),
    Kind(
        key="animated",
        group="note",
        title=("1 picture moves", "{n} pictures move"),
        meaning="Only the first frame is trained on.",
        repair="save_as_png",
        action="Save first frame",
    ),
    Kind(
        key="long_name",
        group="note",
        title=("1 file name is very long", "{n} file names are very long"),
        meaning="Some programs cannot open such files.",
        repair="shorten_name",
        action="Shorten",
    ),
)
KINDS = {kind.key: kind for kind in _ALL}
ORDER = {kind.key: position for position, kind in enumerate(_ALL)}
