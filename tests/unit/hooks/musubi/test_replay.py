"""Going through the batches that were done."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from diffusionforce.errors import RunFolderError
from diffusionforce.hooks.musubi.notes import HostNumbers, RunNotes, read_notes, write_notes
from diffusionforce.hooks.musubi.replay import ReplayedLoader, Silenced


class Loader:
    """Three batches an epoch, in an order that comes from the random numbers; notes what is asked of it."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.end_of_dataloader = False

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[dict[str, Any]]:
        order = torch.randperm(3).tolist()
        self.log.append("read")
        for number in order:
            yield {"picture": number}

    def begin(self) -> None:
        self.log.append("begin")

    def end(self) -> None:
        self.log.append("end")


def pictures(loader: ReplayedLoader, *, num_epochs: int) -> list[int | None]:
    return [batch.get("picture") for _ in range(num_epochs) for batch in loader]


def test_whole_epochs_that_were_done_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, begun = Loader(), list[str]()
    loader = ReplayedLoader(
        inner,
        num_done=6,
        on_epoch=lambda *, has_begun: begun.append(f"epoch {has_begun}"),
        on_first_real=lambda: begun.append("real"),
    )
    assert pictures(loader, num_epochs=2) == [None] * 6
    assert inner.log == ["begin", "end"] * 2
    assert begun == []
    assert None not in pictures(loader, num_epochs=2)
    # The numbers are what they were before the order of pictures is drawn from them.
    assert begun == ["real", "epoch False", "epoch False"]


def test_an_epoch_goes_on_with_the_pictures_that_were_left() -> None:
    torch.manual_seed(3)
    starts = list[HostNumbers]()
    whole = pictures(
        ReplayedLoader(
            Loader(),
            num_done=0,
            on_epoch=lambda *, has_begun: starts.append(HostNumbers.now()),
            on_first_real=lambda: None,
        ),
        num_epochs=2,
    )
    torch.manual_seed(99)
    at = list[int]()

    def begin_epoch(*, has_begun: bool) -> None:
        if has_begun:
            starts[1].restore()

    rest = ReplayedLoader(Loader(), num_done=4, on_epoch=begin_epoch, on_first_real=lambda: at.append(1))
    assert pictures(rest, num_epochs=2) == [None] * 4 + whole[4:]
    assert at == [1]


def test_the_last_batch_of_an_epoch_that_was_done_ends_it_for_accelerate() -> None:
    # With 3 batches and 2 of them a step, the third is a step of its own.
    inner = Loader()
    loader = ReplayedLoader(inner, num_done=3, on_epoch=lambda *, has_begun: None, on_first_real=lambda: None)
    ends = [inner.end_of_dataloader for _ in loader]
    assert ends == [False, False, True]


def test_what_is_silenced_takes_no_step_and_is_itself_otherwise() -> None:
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    parameter.grad = torch.ones(1)
    silent = [True]
    silenced = Silenced(optimizer, is_silent=lambda: silent[0])
    silenced.step()
    assert parameter.item() == 1.0
    assert silenced.param_groups is optimizer.param_groups
    silent[0] = False
    silenced.step()
    assert parameter.item() == 0.0


def test_notes_bring_all_three_generators_back(tmp_path: Path) -> None:
    torch.manual_seed(1)
    random.seed(2)
    np.random.seed(3)
    random.gauss(0, 1)
    notes = RunNotes(item_losses=(0.5, float("nan")), num_batches=3, accumulation=2, epoch_start=HostNumbers.now())
    expected = (torch.rand(3).tolist(), random.random(), random.gauss(0, 1), np.random.rand(2).tolist())
    write_notes(notes, tmp_path)
    read = read_notes(tmp_path)
    assert read.item_losses[0] == 0.5
    assert read.item_losses[1] != read.item_losses[1]
    read.epoch_start.restore()
    assert (torch.rand(3).tolist(), random.random(), random.gauss(0, 1), np.random.rand(2).tolist()) == expected


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"item_losses": 3}'])
def test_a_folder_without_notes_is_refused_by_name(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "diffusionforce.json").write_bytes(content)
    with pytest.raises(RunFolderError, match=tmp_path.name):
        read_notes(tmp_path)
