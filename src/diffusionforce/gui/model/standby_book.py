"""What a process that makes one forecast after another was asked, and which of its answers count."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class StandbyBook:
    """Keeps count: each job is answered with a line, in turn, also one that nobody wants any more.

    Attributes:
        num_open: Jobs that were given to it and are not answered.
        is_wanted: Whether the newest of them is wanted.
    """

    num_open: int = 0
    is_wanted: bool = False

    def ask(self) -> None:
        """A job is given to it; those before are not wanted any more."""
        self.num_open += 1
        self.is_wanted = True

    def give_up(self) -> bool:
        """Nothing that was given to it is wanted any more; tells whether it has to be told so."""
        was_wanted, self.is_wanted = self.is_wanted, False
        return was_wanted

    def take_answer(self) -> bool:
        """A line has come; tells whether it answers a job that is wanted."""
        self.num_open = max(0, self.num_open - 1)
        if self.num_open or not self.is_wanted:
            return False
        self.is_wanted = False
        return True

    @property
    def is_held_up(self) -> bool:
        """Whether a job that nobody wants keeps one waiting that is wanted."""
        return self.is_wanted and self.num_open > 1
