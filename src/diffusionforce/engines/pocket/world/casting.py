"""Choosing a figure at random. The order of the draws is fixed: seeds must keep their pictures."""

from random import Random

from diffusionforce.engines.pocket.world.figure import (
    EXPRESSIONS,
    HATS,
    HUMANS,
    POSES,
    THINGS,
    Dyed,
    Figure,
    Hair,
    Hat,
    Held,
    Outfit,
)
from diffusionforce.engines.pocket.world.palette import EYES, FUR, HAIR, NAMED, SKINS, Colour, vary
from diffusionforce.engines.pocket.world.scenes import SCENES

_SPECIES = (
    *(["girl"] * 5 + ["boy"] * 4),
    *("cat", "cat", "dog", "dog", "fox", "fox", "bear", "bunny", "robot", "robot", "frog", "ghost"),
)
"""Species in the proportion in which they live in the world."""
_GIRLS_HAIR = ("long", "bob", "pigtails", "ponytail", "curly")
_BOYS_HAIR = ("short", "spiky", "curly", "bowl", "short")
_CLOTHES = ("shirt", "coat", "hoodie", "striped shirt", "overalls")
_TROUSERS: tuple[Colour, ...] = ((84, 100, 150), (120, 92, 76), (90, 90, 104), (150, 140, 120))
_SHOES: tuple[Colour, ...] = ((120, 78, 58), (74, 70, 86), (200, 80, 76), (240, 238, 232))

_SHARE_OF_GIRLS_WITH_SHORT_HAIR = 0.06
_SHARE_WITH_HAT = 0.38
_SHARE_WITH_GLASSES = 0.16
_SHARE_WITH_SCARF = 0.16
_SHARE_OF_CLOSE_UPS = 0.3
_SHARE_HOLDING = 0.24


def cast_figure(random: Random) -> Figure:
    """Choose a figure, its scene and its framing."""
    species = random.choice(_SPECIES)
    expression = random.choice(list(EXPRESSIONS))
    pose = random.choice(POSES)
    eye_name = random.choice(list(EYES))
    skin, hair, trim = _looks(random, species)
    outfit = _outfit(random, species)
    hat = None
    if random.random() < _SHARE_WITH_HAT:
        hat = Hat(kind=random.choice(HATS), dye=_dye(random, NAMED))
        if hair and hair.style == "spiky":
            # Spikes would stick out through the hat.
            hair = Hair(style="short", dye=hair.dye)
    wears_glasses = random.random() < _SHARE_WITH_GLASSES
    scarf = _dye(random, NAMED) if random.random() < _SHARE_WITH_SCARF else None
    close_up = random.random() < _SHARE_OF_CLOSE_UPS
    held = None
    if random.random() < _SHARE_HOLDING and not close_up:
        held = Held(kind=random.choice(THINGS), dye=_dye(random, NAMED))
    return Figure(
        species=species,
        skin=skin,
        eyes=Dyed(name=eye_name, colour=EYES[eye_name]),
        hair=hair,
        trim=trim,
        outfit=outfit,
        expression=expression,
        pose=pose,
        hat=hat,
        glasses=wears_glasses,
        scarf=scarf,
        held=held,
        tilt=random.uniform(-0.1, 0.1),
        lean=random.uniform(-0.05, 0.05),
        close_up=close_up,
        scene=random.choice(list(SCENES)),
        plain_colour=random.choice(list(NAMED)),
    )


def _dye(random: Random, colours: dict[str, Colour], spread: float = 9) -> Dyed:
    name = random.choice(list(colours))
    return Dyed(name=name, colour=vary(random, colours[name], spread))


def _looks(random: Random, species: str) -> tuple[Dyed, Hair | None, Colour]:
    """Skin or fur, hair of a human, and the colour of small extras."""
    if species not in HUMANS:
        fur = _dye(random, FUR[species], 6)
        return fur, None, random.choice(list(NAMED.values()))
    skin = Dyed(name="", colour=vary(random, random.choice(SKINS), 4))
    dye = _dye(random, HAIR)
    style = random.choice(_GIRLS_HAIR if species == "girl" else _BOYS_HAIR)
    if species == "girl" and random.random() < _SHARE_OF_GIRLS_WITH_SHORT_HAIR:
        style = "short"
    return skin, Hair(style=style, dye=dye), dye.colour


def _outfit(random: Random, species: str) -> Outfit:
    # Girls often wear a dress, animals now and then, boys never: three, one and no extra tickets.
    dresses = 3 if species == "girl" else 0 if species == "boy" else 1
    kind = random.choice([*_CLOTHES, *["dress"] * dresses])
    cloth = _dye(random, NAMED)
    trousers = cloth.colour if kind == "overalls" else vary(random, random.choice(_TROUSERS), 6)
    return Outfit(kind=kind, cloth=cloth, trousers=trousers, shoes=vary(random, random.choice(_SHOES), 6))
