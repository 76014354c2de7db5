"""How much of a step is on the devices at once, and less of it where another program has taken their memory.

The loss of a step is a mean over its pictures, so its gradients are the same in whatever pieces they are summed up. A
batch that no longer fits can be cut further, down to single pictures; and micro-batches that pass through several
devices beside each other can go one after the other, so that the activations of one alone are held. Either takes longer
and changes nothing else, but for rounding and for what dropout draws.
"""


class Portions:
    """Into how many micro-batches the batches of a step are cut, and whether several are under way at once.

    Args:
        batch_size: Pictures of a batch.
        num_batches: Batches of a step.
        num_pieces: Micro-batches of each batch, as planned.
        overlap: Whether micro-batches are under way beside each other, as planned.
        can_be_cut: Whether a batch may be cut further than planned.
    """

    def __init__(
        self,
        *,
        batch_size: int = 1,
        num_batches: int = 1,
        num_pieces: int = 1,
        overlap: bool = False,
        can_be_cut: bool = True,
    ) -> None:
        self._batch_size, self._num_batches = batch_size, num_batches
        self._planned = min(num_pieces, batch_size)
        self._overlaps = overlap
        self._most_pieces = batch_size if can_be_cut else self._planned
        self.num_pieces = self._planned
        """Micro-batches of each batch, as far as it has pictures."""
        self.in_turn = False
        """Whether they run one after the other although several devices could work at once."""

    @property
    def is_smaller(self) -> bool:
        """Whether less is on the devices than was planned."""
        return self.in_turn or self.num_pieces > self._planned

    @property
    def words(self) -> str:
        """What is on the devices at once, for people: `2 pictures at a time`."""
        size = -(-self._batch_size // self.num_pieces)
        return f"{size} {'picture' if size == 1 else 'pictures'} at a time"

    def take_less(self) -> bool:
        """Put less on the devices from the next step on; tells whether that was possible."""
        if self.num_pieces < self._most_pieces:
            self.num_pieces = min(self._most_pieces, 2 * self.num_pieces)
        elif self._overlaps and not self.in_turn and self.num_pieces * self._num_batches > 1:
            self.in_turn = True
        else:
            return False
        return True

    def take_as_planned(self) -> None:
        """Put as much on the devices as was planned."""
        self.num_pieces, self.in_turn = self._planned, False
