"""Terms of their own: models that some people may not use, shown before they are used."""

from diffusionforce.engines.musubi.families import Family
from diffusionforce.engines.musubi.pin import Pin, Terms, read_pin
from diffusionforce.engines.musubi.weights_settings import WeightsSettings, read_settings, write_settings
from diffusionforce.errors import EngineError


def terms_of(family: Family, *, pin: Pin | None = None) -> tuple[Terms, ...]:
    """Return the terms that a user must have seen before a model is used."""
    return tuple(terms for terms in (pin or read_pin()).terms if terms.folder in family.licence_folders)


def are_accepted(family: Family, *, settings: WeightsSettings | None = None) -> bool:
    """Tell whether the user accepted all of a model's terms."""
    accepted = (settings or read_settings()).accepted_terms
    return all(terms.folder in accepted for terms in terms_of(family))


def accept(family: Family) -> None:
    """Remember that the user accepted a model's terms."""
    settings = read_settings()
    folders = (*settings.accepted_terms, *(terms.folder for terms in terms_of(family)))
    write_settings(settings.model_copy(update={"accepted_terms": tuple(dict.fromkeys(folders))}))


def require_accepted(family: Family, *, profile_name: str) -> None:
    """Refuse to use a model whose terms the user has not accepted; the sentence and the hint show them.

    Raises:
        EngineError: They were not.
    """
    if are_accepted(family):
        return
    terms = terms_of(family)
    words = "\n".join(f"{one.licence} ({one.origin}): {one.words} {one.url}" for one in terms)
    raise EngineError(
        f"{family.title} is under terms of its own, {terms[0].licence}, which have to be accepted before it is used.",
        hint=f"{words}\nTo accept: diffusionforce models accept {profile_name}",
    )
