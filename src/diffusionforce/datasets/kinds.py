"""What a kind of finding is: what it asks of the user, in which words, and which repair is offered."""

from dataclasses import dataclass

from diffusionforce.datasets.records import Group


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of finding.

    Attributes:
        key: Its name in records.
        group: What it asks of the user.
        title: What is found, of one file and of `{n}` files.
        meaning: What it does to the training, or what to do.
        repair: Key of the repair that cures it, empty for none; see `repairs.REPAIRS`.
        action: Words for the button that repairs.
    """

    key: str
    group: Group
    title: tuple[str, str]
    meaning: str
    repair: str = ""
    action: str = ""

    def heading(self, num_files: int) -> str:
        """Return the title for a number of files."""
        one, many = self.title
        return one if num_files == 1 else many.format(n=f"{num_files:,}")
