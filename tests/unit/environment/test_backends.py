"""Which build of PyTorch is chosen for which cards and drivers."""

import pytest

from diffusionforce.environment.backends import (
    BACKENDS,
    DRIVER_FOR_OLD,
    NAMES,
    choose_backend,
    generation_of,
    numbers_of,
)
from diffusionforce.errors import SetupError
from diffusionforce.rig import Card

GIB = 1024**3
CHIPS = {
    "RTX 5090": (12, 0),
    "RTX 4090": (8, 9),
    "RTX 3090": (8, 6),
    "RTX 2080 Ti": (7, 5),
    "GTX 1080 Ti": (6, 1),
    "B200": (10, 0),
    "H200": (9, 0),
}


def card(name: str, index: int = 0, *, driver: str = "581.29") -> Card:
    return Card(
        index=index,
        uuid=f"GPU-{index}",
        name=f"NVIDIA GeForce {name}",
        pci_address=f"0000:0{index}:00.0",
        total_bytes=16 * GIB,
        free_bytes=16 * GIB,
        used_bytes=0,
        compute_capability=CHIPS[name],
        driver_version=driver,
    )


def cards(*names: str, driver: str = "581.29") -> list[Card]:
    return [card(name, index, driver=driver) for index, name in enumerate(names)]


@pytest.mark.parametrize(
    ("names", "driver", "backend", "reason"),
    [
        ((), "", "cpu", "No NVIDIA card was found"),
        (("RTX 3090", "RTX 3090"), "581.29", "cu130", "GPU 0 (RTX 3090, Ampere) and GPU 1 (RTX 3090, Ampere)"),
        (("RTX 4090",), "580.65.06", "cu130", "GPU 0 (RTX 4090, Ada): the build for CUDA 13.0 knows it."),
        (("RTX 5090", "RTX 3090"), "581.29", "cu130", "(RTX 5090, Blackwell) and GPU 1 (RTX 3090, Ampere): the build"),
        (("RTX 4090", "RTX 3090"), "566.36", "cu126", "The driver 566.36 is older than 580, which CUDA 13 needs."),
        (("GTX 1080 Ti",), "581.29", "cu126", "GPU 0 (GTX 1080 Ti) is too old a chip for CUDA 13."),
        (("GTX 1080 Ti", "RTX 3090"), "581.29", "cu126", "too old a chip"),
        (("RTX 2080 Ti",), "581.29", "cu130", "Turing"),
        (("H200", "H200"), "560.35.03", "cu126", "older than 580"),
    ],
)
def test_the_build_suits_all_cards_and_the_driver(
    names: tuple[str, ...], driver: str, backend: str, reason: str
) -> None:
    choice = choose_backend(cards(*names, driver=driver))
    assert choice.backend == backend
    assert reason in choice.reason


@pytest.mark.parametrize("names", [("RTX 5090",), ("RTX 3090", "RTX 5090"), ("B200",)])
def test_a_driver_too_old_for_blackwell_is_said_of_the_blackwell_card(names: tuple[str, ...]) -> None:
    with pytest.raises(SetupError) as caught:
        choose_backend(cards(*names, driver="572.16"))
    new = next(name for name in names if name in {"RTX 5090", "B200"})
    assert caught.value.sentence == (
        f"The NVIDIA driver 572.16 is too old for GPU {names.index(new)} ({new}) with CUDA 13.0: it has to be 580 or "
        "newer."
    )
    assert "newest driver" in caught.value.hint


def test_a_driver_before_cuda_12_is_refused() -> None:
    with pytest.raises(SetupError, match="too old"):
        choose_backend(cards("RTX 3090", driver="470.82.01"))


def test_cards_that_no_build_knows_together_are_refused() -> None:
    with pytest.raises(SetupError, match=r"No build of PyTorch knows both GPU 1 \(GTX 1080 Ti\) and GPU 0"):
        choose_backend(cards("RTX 5090", "GTX 1080 Ti"))


def test_a_chosen_build_is_taken_if_the_driver_can_run_it() -> None:
    assert choose_backend(cards("RTX 5090", driver="572.16"), wanted="cpu").backend == "cpu"
    assert choose_backend(cards("RTX 4090"), wanted="cu126").backend == "cu126"
    with pytest.raises(SetupError, match=r"572\.16 is too old"):
        choose_backend(cards("RTX 4090", driver="572.16"), wanted="cu130")
    with pytest.raises(SetupError, match="no build 'cu128'"):
        choose_backend([], wanted="cu128")


def test_a_card_that_does_not_tell_its_chip_is_trusted() -> None:
    unknown = card("RTX 3090")
    unknown = Card(**{**vars(unknown), "compute_capability": None, "driver_version": ""})
    assert choose_backend([unknown]).backend == "cu126"


def test_versions_and_generations() -> None:
    assert numbers_of("580.95.05") == (580, 95, 5)
    assert numbers_of("") == numbers_of("unknown") == ()
    assert [generation_of(card(name)) for name in ("RTX 5090", "B200", "RTX 3090", "GTX 1080 Ti")] == [
        "Blackwell",
        "Blackwell",
        "Ampere",
        "Pascal",
    ]
    assert set(NAMES) == set(BACKENDS)
    assert len(DRIVER_FOR_OLD) >= 2
