"""A rig in words."""

from dataclasses import replace

from tests.support import rigs

from diffusionforce.gui.model import rig_words


def test_the_facts_of_a_card_in_a_narrow_slot():
    fast, slow = rigs.cards()
    facts = dict(rig_words.card_facts(slow, (fast, slow), rigs.speed_test()))
    assert facts["Link"] == "PCIe 3.0 × 4 of 16"
    assert facts["Speed"] == "44 % of GPU 0"
    assert facts["Display"] == "attached"
    assert dict(rig_words.card_facts(fast, (fast, slow), rigs.speed_test()))["Speed"] == "100 %"
    assert dict(rig_words.card_facts(fast, (fast, slow), None))["Speed"] == "not tested"


def test_a_driver_that_tells_nothing_leaves_dashes():
    silent = replace(
        rigs.cards()[0],
        pcie_width=None,
        display_attached=None,
        driver_version="",
        power_limit_w=None,
        temperature_c=None,
    )
    assert {value for _, value in rig_words.card_facts(silent, (silent,), None)} == {rig_words.NOTHING, "not tested"}
    assert rig_words.temperature(silent) == rig_words.NOTHING


def test_programs_are_named_by_size_and_the_small_ones_together():
    used = rig_words.others(rigs.cards()[1])
    assert used == [
        ("a game with a rather long name.exe", "1.3 GB"),
        ("dwm.exe", "614 MB"),
        ("x", "102 MB"),
        ("1 more", "some"),
    ]


def test_hints_are_counted_by_card():
    report = rigs.report()
    assert rig_words.num_hints(report.cards[0], report.findings) == 0
    assert rig_words.num_hints(report.cards[1], report.findings) == 3


def test_lines_are_as_thick_as_what_was_measured():
    fast, slow = rig_words.link_lines(rigs.report(), rigs.speed_test())
    assert (fast.above, fast.below, fast.share) == ("4.0 × 16 · 24.1 GB/s", "PCIe 1.0 while idle", 1.0)
    assert (slow.above, slow.below, slow.warns) == ("3.0 × 4 · 3.4 GB/s", "card could do × 16", True)
    assert slow.share < 0.2
    untested = rig_words.link_lines(rigs.report(), None)
    assert untested[1].above == "3.0 × 4 · up to 4 GB/s"


def test_the_table_of_a_test_leaves_out_what_nobody_measured():
    rows = rig_words.speed_rows(rigs.speed_test())
    assert rows[0] == ("Matrix maths, bf16", ["81 TFLOPS", "36 TFLOPS"])
    assert rows[-1][1] == ["581 GB/s", "322 GB/s"]
    assert [name for name, _ in rows][1:] == ["RAM to card", "Card to RAM", "Card to card", "Own memory"]
    alone = rigs.speed_test().model_copy(
        update={"devices": (rigs.speed_test().devices[0].model_copy(update={"across": None, "flops": 3.5e10}),)}
    )
    assert rig_words.speed_rows(alone)[0][1] == ["35 GFLOPS"]
    assert "Card to card" not in [name for name, _ in rig_words.speed_rows(alone)]
