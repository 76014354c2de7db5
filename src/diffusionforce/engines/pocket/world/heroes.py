"""The two demo characters, LoRAnne and Rolwayne, whom the base model has never seen.

Both have attributes that the ordinary world lacks, so that a sample shows at a glance whether a LoRA learned
them: teal hair in buns, freckles, a star clip, a striped scarf and a cape; a beard, a monocle, antlers and a
wide body.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from diffusionforce.engines.pocket.world import Page
from diffusionforce.engines.pocket.world.accessories import scarf, thing
from diffusionforce.engines.pocket.world.body import body
from diffusionforce.engines.pocket.world.canvas import UNIT_CIRCLE, Canvas, Point, mirrored
from diffusionforce.engines.pocket.world.captions import with_article
from diffusionforce.engines.pocket.world.face import blush, eyes, mouth, nose_line
from diffusionforce.engines.pocket.world.figure import Build, Dyed, Held, Outfit
from diffusionforce.engines.pocket.world.figures import Stance, place
from diffusionforce.engines.pocket.world.hair import shine
from diffusionforce.engines.pocket.world.heads import human_head
from diffusionforce.engines.pocket.world.palette import NAMED, Colour, dark, light, mix
from diffusionforce.engines.pocket.world.scenes import SCENES, paint_scene

_PLAIN_COLOUR = "blue"


@dataclass(frozen=True, kw_only=True)
class HeroScene:
    """What a hero does in one picture."""

    close_up: bool = False
    pose: str
    expression: str
    scene: str
    held: Held | None = None


def _holding(kind: str, colour_name: str | None = None) -> Held:
    return Held(kind=kind, dye=Dyed(name=colour_name, colour=NAMED[colour_name]) if colour_name else None)


TRAINING_SCENES = (
    HeroScene(pose="waving", expression="smiling", scene="meadow"),
    HeroScene(close_up=True, pose="standing", expression="happy", scene="beach"),
    HeroScene(pose="cheering", expression="laughing", scene="city"),
    HeroScene(pose="standing", expression="surprised", scene="night", held=_holding("lantern")),
    HeroScene(close_up=True, pose="waving", expression="winking", scene="forest"),
    HeroScene(pose="hands on hips", expression="angry", scene="desert"),
    HeroScene(pose="jumping", expression="happy", scene="snow"),
    HeroScene(pose="standing", expression="sleepy", scene="room", held=_holding("book", "red")),
    HeroScene(pose="walking", expression="smiling", scene="autumn", held=_holding("balloon", "yellow")),
    HeroScene(pose="standing", expression="sad", scene="plain"),
    HeroScene(close_up=True, pose="standing", expression="smiling", scene="space"),
    HeroScene(pose="hands on hips", expression="smiling", scene="sea"),
)
HELD_OUT_SCENES = (
    HeroScene(pose="standing", expression="happy", scene="beach", held=_holding("ice cream", "pink")),
    HeroScene(pose="cheering", expression="smiling", scene="forest"),
    HeroScene(pose="walking", expression="laughing", scene="space"),
    HeroScene(pose="waving", expression="surprised", scene="snow"),
    HeroScene(close_up=True, pose="hands on hips", expression="sad", scene="meadow"),
    HeroScene(pose="jumping", expression="winking", scene="room"),
)


@dataclass(frozen=True, kw_only=True)
class Hero:
    """A demo character."""

    name: str
    """The trigger word of the captions."""
    draw: Callable[[Canvas, HeroScene, float], None]
    """Draws the hero around the shoulders; the number is the tilt of the head in radians."""
    tall: bool = False


def draw_hero(hero: Hero, scene: HeroScene, *, seed: int, size_px: int = 512) -> Page:
    """Draw one picture of a hero and write its caption."""
    random = Random(seed)
    tilt, lean = random.uniform(-0.08, 0.08), random.uniform(-0.04, 0.04)
    canvas = Canvas(size_px)
    paint_scene(canvas, random, name=scene.scene, plain_colour=_PLAIN_COLOUR)
    stance = Stance(close_up=scene.close_up, jumping=scene.pose == "jumping", tall=hero.tall, lean=lean)
    place(canvas, random, stance=stance, draw=lambda canvas: hero.draw(canvas, scene, tilt))
    return Page(picture=canvas.picture(), caption=_caption(hero, scene))


def draw_dataset(hero: Hero, *, held_out: bool = False, size_px: int = 512) -> Iterator[Page]:
    """The pictures of a hero's training set, or of the set kept back to measure the training.

    Args:
        hero: Whom to draw.
        held_out: Which of the two sets.
        size_px: Width and height of each picture.

    Yields:
        Twelve training or six held-out pages, the same at every call.
    """
    scenes, first_seed = (HELD_OUT_SCENES, 100) if held_out else (TRAINING_SCENES, 0)
    for index, scene in enumerate(scenes):
        yield draw_hero(hero, scene, seed=first_seed + 7 * index + len(hero.name), size_px=size_px)


def _caption(hero: Hero, scene: HeroScene) -> str:
    text = hero.name
    if scene.held:
        colour = f"{scene.held.dye.name} " if scene.held.dye else ""
        text += f" holding {with_article(colour + scene.held.kind)}"
    if not scene.close_up:
        text += f", {scene.pose}"
    place_phrase = SCENES[scene.scene].phrases[0].format(_PLAIN_COLOUR)
    return f"{'close-up of ' if scene.close_up else ''}{text}, {place_phrase}, {scene.expression}"


def _put_into_hand(canvas: Canvas, held: Held | None, x: float, y: float) -> None:
    if held:
        thing(canvas, held.kind, x, y, held.dye.colour if held.dye else NAMED["red"])


# ---------------------------------------------------------------------------------------------- LoRAnne

_TEAL: Colour = (44, 178, 172)
_PALE_SKIN: Colour = (255, 222, 194)
_STAR: Colour = (252, 214, 84)
_STAR_LINE: Colour = (176, 122, 40)
_CAPE: Colour = (96, 62, 150)
# fmt: off
_LONG_LOCK: tuple[Point, ...] = ((36, -50), (48, -40), (52, -8), (44, 16), (36, -2), (34, -30))
_CAPE_CUT: tuple[Point, ...] = ((-20, -2), (20, -2), (38, 50), (16, 58), (-16, 58), (-38, 50))
_FRINGE: tuple[Point, ...] = (
    (-46, -36), (-46, -66), (-28, -87), (0, -92), (28, -87), (46, -66), (46, -36), (40, -50), (30, -60), (18, -54),
    (6, -62), (-8, -70), (-20, -60), (-34, -54), (-40, -46),
)
_FRECKLES: tuple[Point, ...] = (
    (-33, -30), (-27, -31), (-21, -29), (-30, -25.5), (-24, -24.5), (21, -29), (27, -31), (33, -30), (24, -24.5),
    (30, -25.5), (-4, -30), (4, -30),
)
# fmt: on
_BUN_TWIST: tuple[Point, ...] = ((28, -92), (36, -99), (44, -92), (38, -85), (33, -89))


def _draw_loranne(canvas: Canvas, scene: HeroScene, tilt: float) -> None:
    for side in (-1, 1):
        canvas.blob(mirrored(side, _LONG_LOCK), dark(_TEAL, 0.14), dark(_TEAL))
    canvas.blob(_CAPE_CUT, _CAPE, dark(_CAPE))
    outfit = Outfit(
        kind="shirt",
        cloth=Dyed(name="white", colour=(252, 246, 236)),
        trousers=(64, 66, 120),
        shoes=(236, 150, 60),
    )
    hand_x, hand_y = body(canvas, outfit=outfit, pose=scene.pose, skin=_PALE_SKIN, holding=scene.held is not None)
    canvas.star(0, 30, 11, (250, 206, 80), _STAR_LINE, 2)
    with canvas.frame(turn=tilt):
        _loranne_head(canvas, scene.expression)
    scarf(canvas, (232, 70, 96), stripes=(255, 246, 236))
    _put_into_hand(canvas, scene.held, hand_x + 2, hand_y)


def _loranne_head(canvas: Canvas, expression: str) -> None:
    for side in (-1, 1):
        canvas.ellipse(side * 36, -88, 20, 19, _TEAL, dark(_TEAL), 2.6)
        canvas.curve(mirrored(side, _BUN_TWIST), dark(_TEAL, 0.25), 2.4)
        canvas.ellipse(side * 31, -74, 8, 6, (250, 206, 80), _STAR_LINE, 1.8)
    human_head(canvas, _PALE_SKIN)
    blush(canvas, 28, -24, skin=_PALE_SKIN, strength=0.7)
    for x, y in _FRECKLES:
        canvas.ellipse(x, y, 1.5, 1.4, (188, 112, 82))
    eyes(canvas, 17, -39, colour=(232, 120, 40), expression=expression, radius=7.8)
    nose_line(canvas, -27, skin=_PALE_SKIN)
    mouth(canvas, -19, expression=expression)
    canvas.blob(_FRINGE, _TEAL, dark(_TEAL))
    shine(canvas, _TEAL)
    canvas.star(28, -68, 12, _STAR, _STAR_LINE, 2.2)


# ---------------------------------------------------------------------------------------------- Rolwayne

_TANNED_SKIN: Colour = (244, 194, 156)
_BEARD: Colour = (232, 122, 42)
_BEARD_LINE = dark(_BEARD, 0.5)
_COAT: Colour = (58, 118, 74)
_HAT: Colour = (132, 88, 56)
_BRASS: Colour = (212, 160, 50)
# fmt: off
_BROAD_HEAD: tuple[Point, ...] = (
    (-47, -40), (-42, -72), (-24, -82), (0, -84), (24, -82), (42, -72), (47, -40), (40, -12), (0, -2), (-40, -12),
)
_BEARD_CUT: tuple[Point, ...] = (
    (-48, -42), (-40, -24), (-20, -26), (0, -22), (20, -26), (40, -24), (48, -42), (54, -16), (44, 8), (28, 16),
    (22, 26), (8, 22), (0, 34), (-8, 22), (-22, 26), (-28, 16), (-44, 8), (-54, -16),
)
_MOUSTACHE: tuple[Point, ...] = ((0, -26), (16, -30), (34, -20), (38, -28), (36, -12), (16, -14), (0, -19))
_ANTLER: tuple[tuple[Point, ...], ...] = (
    ((24, -92), (42, -106), (50, -128)),
    ((42, -106), (58, -108), (66, -120)),
    ((33, -99), (32, -114), (36, -124)),
)
_HAT_CROWN: tuple[Point, ...] = (
    (-34, -68), (-32, -92), (-16, -106), (0, -101), (16, -106), (32, -92), (34, -68), (0, -64),
)
_HAT_BRIM: tuple[Point, ...] = (
    (-60, -72), (-30, -78), (0, -74), (30, -78), (60, -72), (44, -62), (0, -62), (-44, -62),
)
# fmt: on


def _draw_rolwayne(canvas: Canvas, scene: HeroScene, tilt: float) -> None:
    outfit = Outfit(kind="coat", cloth=Dyed(name="green", colour=_COAT), trousers=(112, 84, 66), shoes=(92, 62, 48))
    hand_x, hand_y = body(
        canvas,
        outfit=outfit,
        pose=scene.pose,
        skin=_TANNED_SKIN,
        holding=scene.held is not None,
        build=Build(half_width=34, leg_width=20, arm_width=17, hand_radius=8.6),
    )
    canvas.limb([(-41, 40), (0, 43), (41, 40)], (122, 78, 48), (78, 48, 30), 8, 1.6)
    canvas.polygon([(-8, 36), (8, 36), (8, 49), (-8, 49)], (250, 206, 84), (160, 112, 40), 2)
    with canvas.frame(turn=tilt):
        _rolwayne_face(canvas, scene.expression)
        _rolwayne_beard(canvas, scene.expression)
        _rolwayne_monocle_and_hat(canvas)
    _put_into_hand(canvas, scene.held, hand_x + 4, hand_y)


def _rolwayne_face(canvas: Canvas, expression: str) -> None:
    for side in (-1, 1):
        canvas.ellipse(side * 46, -36, 8, 9, _TANNED_SKIN, dark(_TANNED_SKIN))
    canvas.blob(_BROAD_HEAD, _TANNED_SKIN, dark(_TANNED_SKIN), 2.6)
    blush(canvas, 31, -30, skin=_TANNED_SKIN, strength=0.6)
    eyes(canvas, 18, -44, colour=(84, 130, 86), expression=expression, radius=6.4)
    arch = -59 if expression == "angry" else -63
    for side in (-1, 1):
        canvas.limb(mirrored(side, [(8, -59), (19, arch), (30, -58)]), _BEARD, _BEARD_LINE, 7.4, 1.4)


def _rolwayne_beard(canvas: Canvas, expression: str) -> None:
    canvas.blob(_BEARD_CUT, _BEARD, _BEARD_LINE, 2.4)
    for x in (-26, 0, 26):
        canvas.curve([(x - 5, 2), (x, 10), (x + 5, 2)], dark(_BEARD, 0.22), 2.2)
    with canvas.frame(0, 5):
        mouth(canvas, -16, expression=expression)
    for side in (-1, 1):
        canvas.blob(mirrored(side, _MOUSTACHE), light(_BEARD, 0.16), _BEARD_LINE, 1.8)
    canvas.ellipse(0, -30, 9, 7.4, mix(_TANNED_SKIN, (232, 110, 100), 0.5), dark(_TANNED_SKIN), 2)


def _rolwayne_monocle_and_hat(canvas: Canvas) -> None:
    canvas.outline(UNIT_CIRCLE * 14 + (19, -43), _BRASS, 3.6)
    canvas.curve([(32, -38), (42, -18), (38, 4), (30, 14)], _BRASS, 2)
    for side in (-1, 1):
        # Outlines of all branches first: the antler then looks like one piece.
        for colour, width in (((112, 78, 50), 9.6), ((206, 168, 120), 5.6)):
            for branch in _ANTLER:
                canvas.curve(mirrored(side, branch), colour, width)
    canvas.blob(_HAT_CROWN, _HAT, dark(_HAT), 2.6)
    canvas.limb([(-33, -74), (0, -71), (33, -74)], (214, 70, 62), (130, 36, 40), 8, 1.4)
    canvas.blob(_HAT_BRIM, _HAT, dark(_HAT), 2.4)


LORANNE = Hero(name="LoRAnne", draw=_draw_loranne)
ROLWAYNE = Hero(name="Rolwayne", draw=_draw_rolwayne, tall=True)
HEROES = (LORANNE, ROLWAYNE)
