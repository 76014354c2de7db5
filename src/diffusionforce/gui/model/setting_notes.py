"""What a value means for this run, in a line under its field: `164 MB are trained`, `1 h 25 min on this PC`."""

from diffusionforce.gui.model import preview_cost, words
from diffusionforce.gui.model.language import current, figures, tr
from diffusionforce.gui.model.setting_fields import SettingField, plain_number
from diffusionforce.job import Profile
from diffusionforce.wire.forecast import Forecast


def note(
    field: SettingField, profile: Profile | None, forecast: Forecast | None, *, original: Profile | None = None
) -> str:
    """Return the consequence of a value, or what the setting does where no consequence is known.

    Args:
        field: The setting.
        profile: The profile as it is edited; None while a value in it is wrong.
        forecast: The forecast of this profile; None while it is not known.
        original: The built-in profile that it is a copy of, if there is one.
    """
    if field.name == "training.learning_rate" and original is not None:
        return tr("usual: {rate}").format(rate=figures(plain_number(original.training.learning_rate)))
    told = _consequence(field.name, profile, forecast) if profile is not None else ""
    return told or field.words.note or _first_clause(tr(field.help))


def _consequence(name: str, profile: Profile, forecast: Forecast | None) -> str:
    training = profile.training
    match name:
        case "model.family":
            return _weights(forecast)
        case "lora.rank":
            trained = forecast.trainable_bytes if forecast is not None else 0
            return tr("{size} are trained").format(size=figures(words.size(trained))) if trained else ""
        case "lora.alpha":
            strength = profile.lora.alpha / profile.lora.rank
            told = figures(f"{strength:g}")
            return "" if strength == 1 else tr("acts at {strength} × its rank").format(strength=told)
        case "training.steps":
            return _time(profile, forecast)
        case "training.batch_size" | "training.gradient_accumulation":
            number = training.batch_size * training.gradient_accumulation
            return tr("1 picture a step") if number == 1 else tr("{number} pictures a step").format(number=number)
        case "training.warmup_steps" if training.warmup_steps:
            return tr("{share} of the run").format(share=words.percent(training.warmup_steps / training.steps))
        case "dataset.width" | "dataset.height":
            size = profile.dataset.width * profile.dataset.height / 1e6
            return tr("about {size} megapixels").format(size=figures(f"{size:.2f}"))
        case "samples.num_steps":
            seconds = preview_cost.each_s(profile, forecast)
            return tr("about {time} a preview").format(time=words.duration(seconds)) if seconds else ""
        case "samples.every_steps":
            return _previews(profile)
        case "checkpoints.every_steps":
            number = _times(profile.checkpoints.every_steps, training.steps)
            return tr("1 file") if number == 1 else tr("{number} files").format(number=figures(f"{number:,}"))
        case "samples.prompts":
            number = len(profile.samples.prompts)
            return (
                tr("1 prompt, one a line") if number == 1 else tr("{number} prompts, one a line").format(number=number)
            )
        case _:
            return ""


def _weights(forecast: Forecast | None) -> str:
    if forecast is None:
        return ""
    phase = next((need for need in forecast.phases if need.phase == "training"), None)
    weights = sum(card.weights_bytes for card in phase.cards) if phase is not None else 0
    said = tr("{size} of weights, {number} blocks")
    return said.format(size=figures(words.size(weights)), number=forecast.num_blocks) if weights else ""


def _time(profile: Profile, forecast: Forecast | None) -> str:
    way = forecast.recommended if forecast is not None else None
    if way is None or not way.step_s:
        return ""
    return tr("about {time} on this PC").format(time=words.duration(way.step_s * profile.training.steps))


def _previews(profile: Profile) -> str:
    if not profile.samples.prompts:
        return tr("no prompts, so no previews")
    times = _times(profile.samples.every_steps, profile.training.steps)
    return tr("{number} prompts, {times} × drawn").format(number=len(profile.samples.prompts), times=times)


def _times(every: int, steps: int) -> int:
    """Return how often something happens that comes every so many steps, and at the end."""
    return 1 if not every else (steps - 1) // every + 1


def _first_clause(text: str) -> str:
    first = text.partition(";")[0].partition(":")[0].rstrip(".")
    # Nouns of other languages keep their capitals.
    return first[:1].lower() + first[1:] if current() == "en" else first
