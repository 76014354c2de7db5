"""Captions: what is in a picture, said in varying words, order and completeness.

Two habits of these captions make the trained model a good base for LoRA training. Attributes are left out at
random, so that the model fills in what a prompt does not say. And one caption in ten puts a made-up name where
the species stands, and some carry a nonsense word elsewhere: a trigger word that nobody has ever seen is then
nothing unusual, and draws a clean random figure instead of noise.
"""

from random import Random

from diffusionforce.engines.pocket.world.figure import EXPRESSIONS, Figure
from diffusionforce.engines.pocket.world.scenes import SCENES

# fmt: off
_ONSETS = (
    "b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z",
    "br", "dr", "kr", "tr", "gl", "fl", "st", "sh", "th", "ch",
)
# fmt: on
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ia", "ou", "y")
_CODAS = ("", "n", "r", "l", "s", "x", "m", "nd", "rt", "ck")

_HAIR_PHRASES = {
    "long": "long {} hair",
    "bob": "{} bob hair",
    "pigtails": "{} pigtails",
    "ponytail": "{} ponytail",
    "curly": "curly {} hair",
    "short": "short {} hair",
    "spiky": "spiky {} hair",
    "bowl": "{} bowl hair",
}
_HATS_WITHOUT_COLOUR = ("crown", "flower crown")
_THINGS_WITHOUT_COLOUR = ("wand", "lantern")
_HIDDEN_EYES = ("sleepy", "happy")
"""Expressions that close the eyes, whose colour would then be a guess."""


def with_article(words: str) -> str:
    """Put "a" or "an" before the words."""
    return ("an " if words[0] in "aeiou" else "a ") + words


def made_up_name(random: Random) -> str:
    """A word of one to three syllables that means nothing."""
    syllables = random.randint(1, 3)
    return "".join(random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(_CODAS) for _ in range(syllables))


def caption_of(figure: Figure, random: Random) -> str:
    """One caption of the figure; call again for another."""
    subject, mood = _subject_and_mood(figure, random)
    parts = [*_features(figure, random), *_clothes(figure, random), *_held_thing(figure, random)]
    if not figure.close_up and _says(random, 0.75):
        parts.append(figure.pose)
    if _says(random, 0.9):
        parts.append(random.choice(SCENES[figure.scene].phrases).format(figure.plain_colour))
    if mood and _says(random, 0.75):
        parts.append(mood)
    if _says(random, 0.3):
        random.shuffle(parts)
    if _says(random, 0.06):
        position = random.randint(0, len(parts))
        parts.insert(position, random.choice(["", "a ", "very ", "riding a "]) + made_up_name(random))
    text = subject + " " + ", ".join(parts)
    if figure.close_up and _says(random, 0.9):
        text = random.choice(["close-up of ", "portrait of "]) + text
    return text


def _says(random: Random, share: float) -> bool:
    return random.random() < share


def _subject_and_mood(figure: Figure, random: Random) -> tuple[str, str | None]:
    """Whom the caption is about, and the mood that is still to be said (None when the subject says it)."""
    words = figure.species
    if not figure.is_human and _says(random, 0.85):
        words = f"{figure.skin.name} {words}"
    mood: str | None = random.choice(EXPRESSIONS[figure.expression])
    if mood and " " not in mood and _says(random, 0.35):
        words, mood = f"{mood} {words}", None
    dice = random.random()
    if dice < 0.10:
        name = made_up_name(random)
        return (f"{name}, {with_article(words)}" if _says(random, 0.5) else name), mood
    return ("a character" if dice > 0.985 else with_article(words)), mood


def _features(figure: Figure, random: Random) -> list[str]:
    features: list[str] = []
    if figure.hair and _says(random, 0.88):
        phrase = _HAIR_PHRASES[figure.hair.style] if _says(random, 0.75) else "{} hair"
        features.append(phrase.format(figure.hair.dye.name))
    if _says(random, 0.45) and figure.expression not in _HIDDEN_EYES:
        features.append(f"{figure.eyes.name} eyes")
    return ["with " + " and ".join(features)] if features else []


def _clothes(figure: Figure, random: Random) -> list[str]:
    worn: list[str] = []
    if figure.species != "ghost" and _says(random, 0.85):
        cloth = f"{figure.outfit.cloth.name} {figure.outfit.kind}"
        worn.append(cloth if figure.outfit.kind == "overalls" else with_article(cloth))
    if figure.hat and _says(random, 0.93):
        plain = figure.hat.kind in _HATS_WITHOUT_COLOUR
        worn.append(with_article(figure.hat.kind if plain else f"{figure.hat.dye.name} {figure.hat.kind}"))
    if figure.glasses and _says(random, 0.93):
        worn.append("glasses")
    if figure.scarf and _says(random, 0.93):
        worn.append(with_article(f"{figure.scarf.name} scarf"))
    return [random.choice(["wearing ", "in ", "with "]) + " and ".join(worn)] if worn else []


def _held_thing(figure: Figure, random: Random) -> list[str]:
    held = figure.held
    if held is None or not _says(random, 0.93):
        return []
    words = held.kind
    if held.dye and held.kind not in _THINGS_WITHOUT_COLOUR:
        words = f"{held.dye.name} {held.kind}"
    return ["holding " + with_article(words)]
