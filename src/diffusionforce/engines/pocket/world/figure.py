"""What a figure is: species, expression, pose, clothes, things. Data only, shared by drawing and captions."""

from dataclasses import dataclass

from diffusionforce.engines.pocket.world.palette import Colour

HUMANS = ("girl", "boy")
POSES = ("standing", "waving", "cheering", "jumping", "hands on hips", "walking")
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "smiling": ("smiling", "with a smile"),
    "happy": ("happy", "very happy"),
    "laughing": ("laughing",),
    "sad": ("sad",),
    "angry": ("angry",),
    "surprised": ("surprised",),
    "sleepy": ("sleepy", "with closed eyes"),
    "winking": ("winking",),
}
"""Expressions and the words that captions use for each."""
HATS = ("cap", "beanie", "hat", "wizard hat", "crown", "bow", "flower crown", "straw hat")
THINGS = ("balloon", "flower", "wand", "ice cream", "lantern", "book")


@dataclass(frozen=True, kw_only=True)
class Dyed:
    """A colour with the name that a caption gives it; the colour itself may be a shade off."""

    name: str
    colour: Colour


@dataclass(frozen=True, kw_only=True)
class Build:
    """Proportions of a body in drawing units. The default is everybody's; heroes may differ."""

    half_width: float = 22
    leg_width: float = 15
    arm_width: float = 12
    hand_radius: float = 6.6


@dataclass(frozen=True, kw_only=True)
class Outfit:
    """What the body wears."""

    kind: str
    """shirt, coat, hoodie, striped shirt, overalls or dress."""
    cloth: Dyed
    trousers: Colour
    shoes: Colour


@dataclass(frozen=True, kw_only=True)
class Held:
    """A thing in the right hand."""

    kind: str
    """One of `THINGS`."""
    dye: Dyed | None
    """None for a thing that has its own colours, as the lantern and the wand do."""


@dataclass(frozen=True, kw_only=True)
class Hair:
    """Hair of a human figure."""

    style: str
    """long, bob, pigtails, ponytail, curly, short, spiky or bowl."""
    dye: Dyed


@dataclass(frozen=True, kw_only=True)
class Hat:
    """Something on the head."""

    kind: str
    """One of `HATS`."""
    dye: Dyed


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure in one picture: everything that its drawing and its caption need."""

    species: str
    """girl, boy, or a key of `palette.FUR`."""
    skin: Dyed
    """Skin, fur, metal or sheet. Humans have a nameless one."""
    eyes: Dyed
    hair: Hair | None
    """None unless human."""
    trim: Colour
    """Colour of small extras: a robot's antenna."""
    outfit: Outfit
    expression: str
    """A key of `EXPRESSIONS`."""
    pose: str
    """One of `POSES`."""
    hat: Hat | None
    glasses: bool
    scarf: Dyed | None
    held: Held | None
    tilt: float
    """Turn of the head, radians."""
    lean: float
    """Turn of the whole figure, radians."""
    close_up: bool
    scene: str
    """A key of `scenes.SCENES`."""
    plain_colour: str
    """Colour of the plain background, should the scene be that."""

    @property
    def is_human(self) -> bool:
        """Whether the figure has hair, a nose and ears at the side."""
        return self.species in HUMANS
