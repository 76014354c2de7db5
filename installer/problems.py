"""What a build stops with: a sentence for the person who started it."""


class BuildError(Exception):
    """The build cannot go on, or may not; the text says why."""
