"""`diffusionforce bench pipeline`: the ways to train one model on this machine's cards, side by side.

What a pipeline gives depends on the cards, the slots they sit in and the sizes of the model, so its gain is measured
where it will be used. The model has the shape of Wan 2.1 14B and random weights; nothing is downloaded. Budgets,
slowdowns and link rates play other cards than the ones that are there. The limit that every row is compared with is
measured in the same run: one card with everything resident, times the cards' joint speed.

Run it as a module: `python -m diffusionforce.pipeline.bench pipeline --device cpu,cpu --blocks 4 --width 64 ...`.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from diffusionforce.errors import DeviceError, UserError
from diffusionforce.pipeline.bench.options import BenchOptions, parse
from diffusionforce.pipeline.bench.report import HEADINGS, Row, in_gib, json_line, table_line
from diffusionforce.pipeline.bench.rig import BenchRig
from diffusionforce.pipeline.bench.timeline import draw_timeline, timeline_record
from diffusionforce.pipeline.splitter.choice import choose_split
from diffusionforce.pipeline.splitter.costs import RigCosts
from diffusionforce.pipeline.splitter.model import Cut, Share
from diffusionforce.pipeline.splitter.search import DEFAULT_SCHEDULES, Candidate, Search, even_sizes

_SCHEDULE_OF_WAY = {
    "turns": "turns",
    "gpipe": "gpipe",
    "1f1b": "interleaved",
    "interleaved": "interleaved",
    "greedy": "greedy",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code: 0 done, 1 a problem to act on.

    Args:
        arguments: What follows `diffusionforce bench`; None takes it from the process.
    """
    try:
        Bench(parse(sys.argv[1:] if arguments is None else arguments)).run()
    except UserError as error:
        sys.stderr.write("".join(f"{line}\n" for line in (error.sentence, error.hint) if line))
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.filename or 'The output'} cannot be written: {error.strerror}.\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


class Bench:
    """One benchmark run: measures row after row and writes each as soon as it is known.

    Args:
        options: What was asked.
    """

    def __init__(self, options: BenchOptions) -> None:
        self.options = options
        self._begin_s = time.monotonic()
        self._records: list[str] = []
        self._choices: dict[tuple[RigCosts, int], Candidate] = {}
        self._rig = BenchRig(options)
        self._costs = self._rig.costs()
        self._one_card_s = 0.0

    def run(self) -> list[Row]:
        """Measure everything asked for, and give the rows."""
        self._say_what_was_measured()
        measured_s = self._rig.one_card_s()
        alone_s = measured_s or self._rig.all_blocks_s()
        self._one_card_s = self._rig.limit_s(alone_s)
        self._line(
            f"one card with everything resident: {alone_s:.3f} s a micro-batch"
            f"{'' if measured_s else ' (the time of one block, times the blocks: they do not fit it)'}; "
            f"limit of all cards: {self._one_card_s:.3f} s"
        )
        self._write_json({"way": "limit", "one_card_s": alone_s, "limit_s": self._one_card_s})
        self._line(table_line(HEADINGS))
        return [row for make in self._rows() if (row := self._made(make))]

    def _rows(self) -> Iterator[Callable[[], Row]]:
        """What is to be measured, as functions that do it."""
        for num_microbatches in self.options.num_microbatches:
            for way in self.options.ways:
                yield lambda way=way, num=num_microbatches: self._row(way, num)
                if way == "split" and self.options.num_neighbours:
                    for shift in self._shifts():
                        yield lambda shift=shift, num=num_microbatches: self._neighbour(shift, num)

    def _made(self, make: Callable[[], Row]) -> Row | None:
        if time.monotonic() - self._begin_s > self.options.time_limit_s:
            return None
        row = make()
        self._line(table_line(row.cells()))
        self._write_json(row.record())
        self._write_timeline(row)
        return row

    def _row(self, way: str, num_microbatches: int) -> Row:
        try:
            candidate = self._candidate(way, num_microbatches)
        except DeviceError as error:
            return Row(
                way=way,
                num_microbatches=num_microbatches,
                measured=None,
                limit_s=self._one_card_s * num_microbatches,
                problem=f"does not fit: {error.sentence}",
            )
        return self._measured(way, candidate, num_microbatches)

    def _candidate(self, way: str, num_microbatches: int) -> Candidate:
        """The cut that a way would use on these cards."""
        if way == "alone":
            cards = range(len(self._costs.cards))
            return min(
                (_fitting(_judge_alone(self._costs, card, num_microbatches)) for card in cards),
                key=lambda candidate: candidate.step_s,
            )
        if way in ("resident", "split"):
            return self._chosen(self._costs if way == "split" else self._costs.without_paging(), num_microbatches)
        return self._fixed_way(way, num_microbatches)

    def _chosen(self, costs: RigCosts, num_microbatches: int) -> Candidate:
        """The splitter's choice, sought once."""
        key = (costs, num_microbatches)
        if key not in self._choices:
            self._choices[key] = self._choose(costs, num_microbatches)
        return self._choices[key]

    def _choose(self, costs: RigCosts, num_microbatches: int) -> Candidate:
        split = choose_split(costs, num_microbatches=num_microbatches, max_chunks_per_card=self.options.chunks_per_card)
        cut = Cut(chunk_sizes=split.chunk_sizes, card_of_chunk=split.card_of_chunk, order=split.order)
        return Candidate(
            schedule=split.schedule, cut=cut, shares=split.shares, timeline=split.timeline, step_s=split.step_s
        )

    def _fixed_way(self, way: str, num_microbatches: int) -> Candidate:
        """A named schedule: even chunks on equal cards, else the best for it; paged only if nothing else fits."""
        chunks_each = self.options.chunks_per_card if way in ("interleaved", "greedy") else 1
        search = self._search(num_microbatches, (_SCHEDULE_OF_WAY[way],), chunks_each)
        num_cards, num_blocks = len(self._costs.cards), self._costs.num_blocks
        totals = [num_blocks * (card + 1) // num_cards - num_blocks * card // num_cards for card in range(num_cards)]
        even = search.judge(even_sizes(totals, chunks_each), tuple(range(num_cards)) * chunks_each, num_steps=2)
        if len(set(self.options.slowdowns)) <= 1 and not even.missing_bytes:
            return even
        resident = replace(search, rig=self._costs.without_paging(), known={}).best()
        return _fitting(search.best()) if resident.missing_bytes else resident

    def _search(self, num_microbatches: int, schedules: Sequence[str], chunks_each: int) -> Search:
        return Search(
            rig=self._costs,
            num_microbatches=num_microbatches,
            schedules=schedules,
            max_chunks_per_card=chunks_each,
            every_card=True,
        )

    def _shifts(self) -> list[int]:
        reach = self.options.num_neighbours
        return [shift for shift in range(-reach, reach + 1) if shift]

    def _neighbour(self, shift: int, num_microbatches: int) -> Row:
        """The splitter's choice with `shift` blocks more on the first card, its schedule and chunks otherwise kept."""
        chosen = self._chosen(self._costs, num_microbatches)
        sizes, cards = list(chosen.cut.chunk_sizes), chosen.cut.card_of_chunk
        for _ in range(abs(shift)):
            takers = [chunk for chunk, card in enumerate(cards) if (card == 0) == (shift > 0)]
            givers = [chunk for chunk in range(len(cards)) if chunk not in takers and sizes[chunk] > 1]
            if not givers or not takers:
                break
            sizes[max(givers, key=lambda chunk: sizes[chunk])] -= 1
            sizes[min(takers, key=lambda chunk: sizes[chunk])] += 1
        search = self._search(num_microbatches, DEFAULT_SCHEDULES, self.options.chunks_per_card)
        candidate = search.refine([search.judge(tuple(sizes), cards)])
        return self._measured(f"split, {shift:+d} blocks on GPU 0", candidate, num_microbatches)

    def _measured(self, way: str, candidate: Candidate, num_microbatches: int) -> Row:
        measured, problem = None, ""
        if candidate.missing_bytes:
            problem = "does not fit"
        else:
            try:
                measured = self._rig.measure(candidate.cut, candidate.shares)
            except torch.OutOfMemoryError:
                allocated, reserved = self._rig.peaks()
                problem = f"out of memory: {in_gib(allocated)} GiB allocated, {in_gib(reserved)} GiB held"
        if measured is not None and not math.isfinite(measured.loss):
            measured, problem = None, "the losses are no numbers, so its time says nothing"
        return Row(
            way=way,
            num_microbatches=num_microbatches,
            measured=measured,
            problem=problem,
            limit_s=self._one_card_s * num_microbatches,
            predicted_s=candidate.step_s,
            chunk_sizes=candidate.cut.chunk_sizes,
            card_of_chunk=candidate.cut.card_of_chunk,
            num_blocks=tuple(len(share.blocks) for share in candidate.shares),
            num_paged=tuple(len(share.paged) for share in candidate.shares),
            num_slots=tuple(share.num_slots for share in candidate.shares),
            planned_bytes=tuple(share.needed_bytes for share in candidate.shares),
            schedule=candidate.schedule,
        )

    def _say_what_was_measured(self) -> None:
        for card, costs in enumerate(self._costs.cards):
            self._line(
                f"{costs.name}: block {costs.forward_s[0] * 1e3:.2f} ms forward, {costs.backward_s[0] * 1e3:.2f} ms "
                f"backward; paging {costs.paging_bytes_per_s / 1e9:.1f} GB/s; crossing "
                f"{self._costs.crossing_s[card][1 - card] * 1e3 if len(self._costs.cards) == 2 else 0:.2f} ms"
            )

    def _write_timeline(self, row: Row) -> None:
        folder = self.options.timeline_folder
        if folder is None or row.measured is None or row.measured.timeline is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        names = [share.name for share in self._costs.cards]
        share = row.share_of_limit or 0.0
        title = (
            f"{row.way}, {row.num_microbatches} micro-batches: {row.measured.step_s:.2f} s, {share:.0%} of the limit"
        )
        stem = f"{row.way.replace(' ', '_').replace(',', '')}-{row.num_microbatches}"
        draw_timeline(row.measured.timeline, folder / f"{stem}.png", title=title, names=names)
        record = timeline_record(row.measured.timeline, title=title, names=names)
        (folder / f"{stem}.json").write_text(json_line(record), encoding="utf-8")

    def _write_json(self, record: dict[str, object]) -> None:
        if self.options.json_path is not None:
            self._records.append(json_line(record))
            self.options.json_path.write_text("".join(self._records), encoding="utf-8")

    def _line(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def _judge_alone(costs: RigCosts, card: int, num_microbatches: int) -> Candidate:
    search = Search(rig=costs, num_microbatches=num_microbatches, schedules=("turns",), max_chunks_per_card=1)
    return search.judge((costs.num_blocks,), (card,), num_steps=2)


def _fitting(candidate: Candidate) -> Candidate:
    if candidate.missing_bytes:
        short: Share = max(candidate.shares, key=lambda share: share.missing_bytes)
        raise DeviceError(f"{short.missing_bytes / 2**30:.1f} GB more are needed on {short.name}.")
    return candidate


if __name__ == "__main__":
    sys.exit(main())
