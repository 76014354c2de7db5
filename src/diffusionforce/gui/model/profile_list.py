"""The order in which profiles are offered."""

from collections.abc import Mapping

from diffusionforce.errors import UserError
from diffusionforce.job import Profile


def in_order(profiles: Mapping[str, Profile | UserError]) -> list[tuple[str, Profile | UserError]]:
    """Return profiles as a list: what trains on any computer first, then by title, what cannot be read last."""

    def place(entry: tuple[str, Profile | UserError]) -> tuple[int, str]:
        name, profile = entry
        if isinstance(profile, UserError):
            return 2, name.lower()
        return 0 if profile.model.engine == "pocket" else 1, profile.title.lower()

    return sorted(profiles.items(), key=place)
