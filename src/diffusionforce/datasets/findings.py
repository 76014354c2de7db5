"""Every kind of finding, grouped by what it asks of the user.

There are files that are left out of training, things worth fixing, and things that are only good to know.
"""

from diffusionforce.datasets.kinds import Kind
from diffusionforce.datasets.left_out_kinds import LEFT_OUT
from diffusionforce.datasets.records import Group

__all__ = ["GROUPS", "KINDS", "ORDER", "Kind"]

GROUPS: tuple[Group, ...] = ("left_out", "fix", "note")
_OTHERS = (
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
        key="clip_slow",
        group="fix",
        title=("1 clip has few frames a second", "{n} clips have few frames a second"),
        meaning="The model takes more, so what moves in it is learned too fast. Save it with more, or set it aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="unpaired_control",
        group="fix",
        title=("1 control picture belongs to no picture", "{n} control pictures belong to no picture"),
        meaning="Nothing is made from it. Give it the name of its picture, or set it aside.",
        repair="set_aside",
        action="Set aside",
    ),
    Kind(
        key="many_controls",
        group="note",
        title=("1 picture is made from several", "{n} pictures are made from several"),
        meaning="The chosen model takes one: the first is used.",
    ),
    Kind(
        key="control_missing",
        group="note",
        title=("1 picture is made from nothing", "{n} pictures are made from nothing"),
        meaning="The others have a control picture. The model is trained on both kinds.",
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
_ALL = (*LEFT_OUT, *_OTHERS)
KINDS = {kind.key: kind for kind in _ALL}
ORDER = {kind.key: position for position, kind in enumerate(_ALL)}
