"""A profile as the texts of its fields, by their dotted names, and the values that texts mean."""

import functools
from collections.abc import Mapping
from typing import Any

import tomli_w

from diffusionforce.gui.model import setting_fields
from diffusionforce.gui.model.setting_fields import NotReadableError, SettingField
from diffusionforce.job import Profile, parsed_toml


@functools.cache
def fields_by_name() -> Mapping[str, SettingField]:
    """Return every field by its dotted name, in the order of the page."""
    return {field.name: field for field in setting_fields.fields()}


def texts_of(profile: Profile) -> dict[str, str]:
    """Return the text of every field of a profile."""
    table = profile.model_dump(mode="json")
    return {name: text_of(field, get(table, name)) for name, field in fields_by_name().items()}


def text_of(field: SettingField, value: Any) -> str:
    """Return a value as the text of its field."""
    if field.kind == "switch":
        return "true" if value else "false"
    if field.kind == "options":
        return tomli_w.dumps(value).strip()
    return setting_fields.written(field, value)


def value_of(field: SettingField, text: str) -> Any:
    """Return the value that a text means.

    Raises:
        NotReadableError: None.
    """
    if field.kind == "switch":
        return text == "true"
    if field.kind == "options":
        try:
            return parsed_toml(text)
        except ValueError as error:
            raise NotReadableError(
                f"write option = value, a line each: {str(error)[0].lower()}{str(error)[1:]}"
            ) from None
    return setting_fields.read(field, text)


def get(table: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field in the table of a profile."""
    value: Any = table
    for part in name.split("."):
        value = value[part]
    return value


def put(table: dict[str, Any], name: str, value: Any) -> None:
    """Give a field of the table of a profile its value."""
    *sections, key = name.split(".")
    for part in sections:
        table = table.setdefault(part, {})
    table[key] = value
