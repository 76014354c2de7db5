"""One micro-batch on its way through a model that does not know of the pipeline.

Words here: a *segment* is what runs between two cuts, one chunk with the model's code around it; the last segment is
the tail. A strand's forward is a coroutine: it parks where a chunk ends and goes on when the schedule says so. Its
backward is run segment by segment by the scheduler.

Tensors that all chunks use (modulation, text) and that carry gradients form a chain: the copy in a chunk takes its
history from the copy in the chunk before. Their gradients then add up in the order in which autograd adds them in the
unsplit model, so the sums are equal to the last bit.
"""

import bisect
import contextlib
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from diffusionforce.pipeline.executor.coroutines import Coroutine, CoroutineThreads
from diffusionforce.pipeline.executor.cutting import (
    Inlet,
    Intake,
    backward_until,
    find_escapes,
    new_token,
    next_sequence_number,
    reaches_trained,
)
from diffusionforce.pipeline.executor.recording import Recorder
from diffusionforce.pipeline.executor.streams import TailStream
from diffusionforce.pipeline.nesting import map_tensors
from diffusionforce.pipeline.recompute.random_numbers import OwnRandomNumbers
from diffusionforce.pipeline.router import CopyCache, Router
from diffusionforce.pipeline.schedule.ticks import Op
from diffusionforce.pipeline.transfer import Parcel

ContextFactory = Callable[[], AbstractContextManager[Any]]

_running = threading.local()


class ScheduleMismatchError(RuntimeError):
    """The model did something that no schedule over its blocks can follow."""


def current_strand() -> "Strand | None":
    """The strand that this thread is running, if any."""
    return getattr(_running, "strand", None)


class Route(Protocol):
    """What a strand must know of the pipeline."""

    router: Router
    chunk_of_block: tuple[int, ...]
    device_of_segment: tuple[torch.device, ...]
    recorder: Recorder
    tail_stream: TailStream
    watched_segments: set[int]
    """Segments whose graphs are searched for edges into earlier segments."""
    leaky_segments: set[int]
    """Those in which such edges were found."""


class Seen(NamedTuple):
    """The latest copy of a tensor in the chain of its copies."""

    edge: GradientEdge
    device: torch.device
    segment: int


class Strand:
    """A micro-batch: its paused forward, and the pieces of its graph.

    Args:
        route: The pipeline.
        microbatch: Its number.
        function: Runs the model on the micro-batch and gives the loss, or (loss, anything).
        contexts: Thread-local state of the caller, entered while the function runs.
        random_numbers: The micro-batch's own random numbers, or None to share the caller's.
        turns_at_once: Nothing else runs between the forward and the backward of its last chunk on that chunk's device.
    """

    def __init__(
        self,
        route: Route,
        microbatch: int,
        function: Callable[[], Any],
        contexts: list[ContextFactory],
        random_numbers: OwnRandomNumbers | None,
        *,
        turns_at_once: bool = False,
    ) -> None:
        self.microbatch, self.segment = microbatch, 0
        self._turns_at_once = turns_at_once
        self.result: Any = None
        self._route, self._function, self._contexts = route, function, contexts
        self._random_numbers = random_numbers
        self._coroutine: Coroutine | None = None
        self._token = new_token()
        self._starts: list[int] = []
        self._copies = CopyCache()
        self._intakes: dict[tuple[int, int], tuple[weakref.ref[torch.Tensor], torch.Tensor]] = {}
        self._useful: dict[int, tuple[weakref.ref[torch.Tensor], bool]] = {}
        self._latest: dict[int, tuple[weakref.ref[torch.Tensor], Seen]] = {}
        self._chain: dict[tuple[Node, int], Seen] = {}
        self._owed: dict[int, list[Inlet]] = {}
        self._fed: dict[int, list[Inlet]] = {}
        self._open = contextlib.ExitStack()
        self._home_progress: torch.Event | None = None

    def belongs_to(self, route: object) -> bool:
        """Whether the strand runs in this pipeline."""
        return self._route is route

    # Forward

    @property
    def is_done(self) -> bool:
        """Whether the function has ended."""
        return self._coroutine is not None and self._coroutine.is_done

    def advance(self, threads: CoroutineThreads) -> None:
        """Run the forward up to the next boundary, or from the last chunk to the end of the tail."""
        if self._coroutine is None:
            self._coroutine = threads.start(self._run)
        # The cache of autocast's casts is one for the whole process: a strand must not be served another's.
        torch.clear_autocast_cache()
        try:
            with self._random_numbers.active() if self._random_numbers else contextlib.nullcontext():
                self._coroutine.resume()
        finally:
            if self._coroutine.is_done:
                threads.give_back(self._coroutine)

    def unwind(self, threads: CoroutineThreads) -> None:
        """End the forward wherever it is and let everything go."""
        if self._coroutine is not None and not self._coroutine.is_done:
            self._coroutine.unwind()
            threads.give_back(self._coroutine)
        self.release()

    def release(self) -> None:
        """Let the micro-batch's tensors go."""
        for held in (self._intakes, self._useful, self._latest, self._chain, self._owed, self._fed):
            held.clear()
        self._copies.clear()

    def _run(self) -> None:
        _running.strand = self
        try:
            with contextlib.ExitStack() as stack, self._open:
                for make in self._contexts:
                    stack.enter_context(make())
                self._starts.append(next_sequence_number())
                self._route.recorder.begin(Op("F", 0, self.microbatch), self._route.device_of_segment[0])
                self.result = self._function()
                self._check_end()
        finally:
            _running.strand = None

    def _check_end(self) -> None:
        if self.segment != len(self._route.device_of_segment) - 1:
            raise ScheduleMismatchError(
                f"Micro-batch {self.microbatch} ended in chunk {self.segment}: the model did not call its last block."
            )

    def call_block(self, index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A block of the model is called, in this strand's thread."""
        router, device_of = self._route.router, self._route.device_of_segment
        segment = self._route.chunk_of_block[index]
        if index == 0 and self._starts and self.segment > 0:
            raise ScheduleMismatchError("The model ran twice with gradients in one micro-batch.")
        if segment == self.segment:
            args, kwargs = map_tensors((args, kwargs), lambda tensor: self._taken_in(tensor, device_of[segment]))
        else:
            args, kwargs = self._cross(segment, (args, kwargs))
        is_last = index == len(router.blocks) - 1
        result = router.run_block(index, args, kwargs, is_backward_next=is_last and self._turns_at_once)
        return self._cross(segment + 1, result) if is_last else result

    def _cross(self, segment: int, value: Any) -> Any:
        """End a segment and begin the next: everything that it is known to need leaves before the strand parks."""
        if segment != self.segment + 1:
            raise ScheduleMismatchError(f"The model went from chunk {self.segment} to {segment}.")
        route, is_tail = self._route, segment == len(self._route.device_of_segment) - 1
        device = route.device_of_segment[segment]
        parcels: dict[int, Parcel] = {}

        def start(tensor: torch.Tensor) -> torch.Tensor:
            if id(tensor) not in parcels and self._must_travel(tensor, device, is_tail):
                parcels[id(tensor)] = route.router.transfers.send(tensor, device)
            return tensor

        map_tensors(value, start)
        self._leave_segment()
        if is_tail:
            self._open.enter_context(route.tail_stream.entered(self._home_progress))
        else:
            assert self._coroutine is not None
            self._coroutine.park()
            self._copies.purge()
        if self._random_numbers is not None:
            self._random_numbers.carry(route.device_of_segment[self.segment], device)
        self.segment = segment
        self._starts.append(next_sequence_number())
        taken = map_tensors(value, lambda tensor: self._taken_in(tensor, device, parcels.get(id(tensor))))
        if not is_tail:
            route.recorder.begin(Op("F", segment, self.microbatch), device)
        return taken

    def _leave_segment(self) -> None:
        route, device = self._route, self._route.device_of_segment[self.segment]
        route.recorder.end(Op("F", self.segment, self.microbatch), device)
        if self.segment == 0 or device == route.router.home:
            self._home_progress = route.tail_stream.home_progress()

    def _must_travel(self, tensor: torch.Tensor, device: torch.device, is_tail: bool) -> bool:
        if not self._route.router.is_mobile(tensor):
            return False
        if tensor.device == device:
            return is_tail
        return self._copies.find(tensor, device) is None

    # Cutting

    def _taken_in(self, tensor: torch.Tensor, device: torch.device, parcel: Parcel | None = None) -> torch.Tensor:
        """What the current segment uses in place of a tensor that the model hands to a block."""
        if parcel is not None:
            self._copies.keep(tensor, device, self._route.router.transfers.receive(parcel))
        if not tensor.requires_grad:
            return self._placed(tensor, device)
        is_own_parameter = isinstance(tensor, torch.nn.Parameter) and tensor.device == device
        if is_own_parameter:
            return tensor
        if not self._is_useful(tensor):
            return self._placed(tensor, device)
        origin = self._segment_of(tensor.grad_fn)
        if origin == self.segment:
            return tensor
        found = self._intakes.get((id(tensor), self.segment))
        if found is not None and found[0]() is tensor:
            return found[1]
        return self._new_intake(tensor, device, origin)

    def _new_intake(self, tensor: torch.Tensor, device: torch.device, origin: int) -> torch.Tensor:
        seen = self._latest.get(id(tensor))
        own_edge = get_gradient_edge(tensor)
        source = seen[1] if seen is not None and seen[0]() is tensor else Seen(own_edge, tensor.device, origin)
        inlet = Inlet(self._placed(tensor, device).detach(), source.edge, source.device, source.segment, self.segment)
        self._owed.setdefault(source.segment, []).append(inlet)
        self._fed.setdefault(self.segment, []).append(inlet)
        with torch.enable_grad():
            intake = Intake.apply(self._token, inlet)
        assert isinstance(intake, torch.Tensor)
        reference = weakref.ref(tensor)
        self._intakes[id(tensor), self.segment] = (reference, intake)
        latest = Seen(get_gradient_edge(intake), device, self.segment)
        self._latest[id(tensor)] = (reference, latest)
        self._chain[own_edge.node, own_edge.output_nr] = latest
        return intake

    def _placed(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        """The tensor's values on the device, without history; one copy per device."""
        if not self._route.router.is_mobile(tensor):
            return tensor.detach() if tensor.requires_grad else tensor
        copied = self._copies.find(tensor, device)
        if copied is not None:
            return copied
        if tensor.device == device:
            return tensor.detach() if tensor.requires_grad else tensor
        return self._copies.keep(tensor, device, self._route.router.transfers.move(tensor, device))

    def _segment_of(self, node: Node | None) -> int:
        if node is None:
            return 0
        return max(bisect.bisect_right(self._starts, node._sequence_nr()) - 1, 0)  # pyright: ignore

    def _is_useful(self, tensor: torch.Tensor) -> bool:
        known = self._useful.get(id(tensor))
        if known is None or known[0]() is not tensor:
            known = (weakref.ref(tensor), reaches_trained(tensor))
            self._useful[id(tensor)] = known
        return known[1]

    # Backward, in the scheduler's thread

    def backward_tail(self, loss: torch.Tensor, gradient: float) -> None:
        """Run the tail backward from the loss, whose own gradient is the micro-batch's weight."""
        with self._route.tail_stream.current():
            # Made on the card: a copy from the host would wait for the card's queue.
            self._run_backward(len(self._route.device_of_segment) - 1, [loss], [torch.full_like(loss, gradient)])

    def backward(self, segment: int) -> None:
        """Run a chunk backward with the gradients that have arrived for it."""
        op, device = Op("B", segment, self.microbatch), self._route.device_of_segment[segment]
        roots, gradients = self._arrived(segment)
        self._route.recorder.begin(op, device)
        if roots:
            self._run_backward(segment, roots, gradients)
        self._route.recorder.end(op, device)

    def _arrived(self, segment: int) -> tuple[list[GradientEdge], list[torch.Tensor]]:
        """Roots and their gradients; those for the same edge are added, later segments' first, as autograd does."""
        arrived: dict[tuple[Node, int], tuple[GradientEdge, torch.Tensor]] = {}
        for inlet in sorted(self._owed.pop(segment, []), key=lambda inlet: -inlet.consumer):
            if inlet.parcel is None:
                continue
            gradient, inlet.parcel = self._route.router.transfers.receive(inlet.parcel), None
            key = (inlet.source.node, inlet.source.output_nr)
            earlier = arrived.get(key)
            arrived[key] = (inlet.source, gradient if earlier is None else earlier[1] + gradient)
        return [root for root, _ in arrived.values()], [gradient for _, gradient in arrived.values()]

    def _run_backward(
        self, segment: int, roots: "list[torch.Tensor] | list[GradientEdge]", gradients: list[torch.Tensor]
    ) -> None:
        self._copies.purge()  # The forward has let its boundary tensors go; their copies would stay until the end.
        escapes: list[GradientEdge] = []
        if segment in self._route.watched_segments:
            nodes = [root.node if isinstance(root, GradientEdge) else root.grad_fn for root in roots]
            escapes = find_escapes([n for n in nodes if n is not None], first_number=self._starts[segment])
        if escapes:
            self._route.leaky_segments.add(segment)
            for edge, gradient in zip(escapes, backward_until(roots, gradients, escapes), strict=True):
                if gradient is not None:
                    self._owe_escape(segment, edge, gradient)
        else:
            torch.autograd.backward(roots, gradients)
        for inlet in self._fed.pop(segment, []):
            if inlet.gradient is not None:
                inlet.parcel = self._route.router.transfers.send(inlet.gradient, inlet.source_device)
                inlet.gradient = None
        for key in [key for key in self._intakes if key[1] == segment]:
            del self._intakes[key]

    def _owe_escape(self, segment: int, edge: GradientEdge, gradient: torch.Tensor) -> None:
        """Hand an escape's gradient to the last segment that took the same tensor in, or to the one that made it."""
        made = Seen(edge, gradient.device, self._segment_of(edge.node))
        source = self._chain.get((edge.node, edge.output_nr), made)
        inlet = Inlet(None, source.edge, source.device, source.segment, segment, gradient)
        self._owed.setdefault(source.segment, []).append(inlet)
        self._fed.setdefault(segment, []).append(inlet)
