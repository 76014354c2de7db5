import pytest
from tests.support.forecasts import card, forecast, gib, need, paging, phases, refused, without_cards

from diffusionforce.gui.model.forecast_bars import (
    NeedBar,
    all_bars,
    card_bars,
    idle_bars,
    kinds_shown,
    phases_of,
    ram_bar,
)
from diffusionforce.gui.model.forecast_verdict import lines_of, phase_to_look_at, summary, tightest
from diffusionforce.rig import Card
from diffusionforce.wire.forecast import Forecast, PhaseNeed

FORECASTS = {"fits": forecast(), "pages": paging(), "refused": refused(), "processor": without_cards()}


def bars_of(told: Forecast) -> list[NeedBar]:
    return [bar for phase in phases_of(told) for bar in all_bars(told, phase)]


@pytest.mark.parametrize("name", FORECASTS)
def test_the_segments_of_every_bar_fill_it_once(name: str):
    for bar in bars_of(FORECASTS[name]):
        at = 0.0
        for segment in bar.segments:
            assert segment.start == pytest.approx(at, abs=1e-6), bar.label
            assert segment.share > 0
            at += segment.share
        assert at == pytest.approx(1.0, abs=1e-6), bar.label


@pytest.mark.parametrize("name", FORECASTS)
def test_nothing_of_the_need_is_lost_between_the_segments(name: str):
    for bar in bars_of(FORECASTS[name]):
        ours = sum(s.num_bytes for s in bar.segments if s.kind not in {"free", "other"})
        assert ours == bar.needed_bytes + bar.reserve_bytes


def test_a_card_says_what_is_needed_and_what_that_leaves():
    first, second = card_bars(forecast(), "training")
    assert (first.label, first.name) == ("GPU 0", "RTX 5080 · 16 GB")
    assert first.headline == "13.4 GB needed · 512 MB to spare"
    assert second.name == "RTX 4060 Ti 16 GB"
    assert first.limit_words == "15.1 GB free now"
    assert first.tone == ""


def test_the_tool_tip_has_every_part():
    tip = card_bars(paging(), "training")[0].tip.splitlines()
    assert tip == [
        "GPU 0 RTX 5080 · 16 GB, 16 GB",
        "Weights 10.00 GB",
        "LoRA 76.8 MB",
        "Optimiser 153.6 MB",
        "Gradients 76.8 MB",
        "Activations 1.05 GB",
        "For a moment 460.8 MB",
        "Paging 1.30 GB",
        "Libraries 409.6 MB",
        "Reserve 1.20 GB",
        "Other programs 921.6 MB",
        "To spare 409.6 MB",
    ]


def test_what_is_too_much_is_a_segment_beyond_the_limit():
    bar = card_bars(refused(), "training")[0]
    assert bar.tone == "err"
    assert bar.headline == "16.9 GB needed · 3.0 GB too much"
    beyond = next(s for s in bar.segments if s.kind == "too_much")
    assert beyond.start == pytest.approx(bar.limit_share)
    assert beyond.num_bytes == -bar.spare_bytes
    assert bar.span_bytes > bar.total_bytes


def test_a_card_with_little_to_spare_is_pointed_out():
    told = forecast(phases=phases(need(11.6), need(7.6)))
    assert card_bars(told, "training")[0].tone == "warn"
    assert summary(told)[0] == "err"  # The previews of that forecast take 0.2 GiB more.


def test_a_card_that_is_not_used_says_so():
    told = forecast(phases=phases(need(11.2)))
    assert card_bars(told, "training")[1].headline == "not used"


def test_ram_shows_what_may_be_locked():
    bar = ram_bar(paging(), "training")
    assert (bar.headline, bar.limit_words) == ("9.2 GB needed · 38.8 GB to spare", "48 GB may be used")
    assert ram_bar(forecast(), "training").headline == "not used"


def test_ram_that_need_not_be_locked_is_not_called_too_much():
    # Symptom: a plan that fits was shown as lacking RAM, because the program itself counted as locked.
    told = forecast(ram_usable_bytes=0, phases=(PhaseNeed(phase="training", cards=(need(11.2),), ram_bytes=gib(0.5)),))
    assert ram_bar(told, "training").spare_bytes == 0


def test_the_processor_has_one_bar_because_ram_is_its_memory():
    (bar,) = all_bars(without_cards(), "training")
    assert bar.label == "Processor"
    assert "of RAM" in summary(without_cards())[1]


def test_the_tightest_moment_is_named_with_its_phase():
    found = tightest(forecast())
    assert found is not None
    assert (found[0], found[1].label) == ("sampling", "GPU 0")
    assert summary(forecast()) == (
        "ok",
        "Every phase fits. The tightest moment leaves 307 MB on GPU 0, while previews are drawn.",
    )


def test_previews_that_are_left_out_are_a_warning_and_no_refusal():
    told = forecast()
    sampling = told.phases[2].model_copy(update={"fits": False, "cards": (need(30), need(30))})
    told = told.model_copy(update={"phases": (*told.phases[:2], sampling)})
    tone, sentence = summary(told)
    assert tone == "warn"
    assert sentence.startswith("Previews would not fit and are left out. The tightest moment leaves 512 MB on GPU 0")


def test_blocks_that_step_aside_and_notes_are_said_under_the_bars():
    said = [sentence for _, sentence in lines_of(paging())]
    assert said[1] == "4 blocks of GPU 0 step aside to RAM while previews are drawn."
    assert said[2].startswith("Times come from")


def test_the_legend_explains_what_is_there_and_nothing_else():
    assert kinds_shown(forecast()) == ("weights", "trained", "activations", "constant", "reserve", "other")
    assert "paging" in kinds_shown(paging())
    assert "too_much" in kinds_shown(refused())


def test_the_phase_that_lacks_memory_is_looked_at_but_training_first():
    assert phase_to_look_at(forecast()) == "training"
    assert phase_to_look_at(refused()) == "training"
    only_previews = forecast(phases=(*phases(need(11.2))[:2], PhaseNeed(phase="sampling", cards=(need(20),))))
    assert phase_to_look_at(only_previews) == "sampling"


def test_cards_without_a_forecast_say_what_is_free():
    cards = [
        Card(
            index=1,
            uuid="GPU-1",
            name="NVIDIA GeForce RTX 3060",
            pci_address="00000000:02:00.0",
            total_bytes=gib(12),
            free_bytes=gib(10.5),
            used_bytes=gib(1.5),
        )
    ]
    (bar,) = idle_bars(cards)
    assert (bar.label, bar.name, bar.headline) == ("GPU 1", "RTX 3060 · 12 GB", "10.5 GB free")


def test_a_label_without_a_name_is_taken_as_it_is():
    plain = card(0, "x", total=16).model_copy(update={"label": "Processor"})
    assert card_bars(forecast(rig=(plain,)), "training")[0].name == "16 GB"


def test_a_size_in_the_name_is_not_said_twice():
    plain = card(1, "RTX 4060 Ti 16GB", total=16)
    assert card_bars(forecast(rig=(plain,)), "training")[0].name == "RTX 4060 Ti 16GB"


def test_a_forecast_of_training_alone_does_not_speak_for_the_other_phases():
    told = forecast(phases=(phases(need(11.2), need(7.6))[1],))
    assert phases_of(told) == ("training",)
    assert summary(told)[1] == "Training fits and leaves 512 MB on GPU 0."
