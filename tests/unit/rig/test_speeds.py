"""What follows from a speed test, and reports that name nobody."""

from dataclasses import replace
from pathlib import Path

from tests.unit.rig.test_findings import CARD, MACHINE, SECOND

from diffusionforce.rig import (
    CardProcess,
    RigReport,
    advise,
    find,
    keep_speed_test,
    last_speed_test,
    link_bytes_per_s,
    text_report,
)
from diffusionforce.wire.speed import DeviceSpeed, SpeedTest


def speed(uuid: str, *, tflops: float = 80, to_device: float = 12e9, across: float | None = None) -> DeviceSpeed:
    return DeviceSpeed(
        device="cuda:0",
        name="card",
        uuid=uuid,
        flops=tflops * 1e12,
        number_format="bf16",
        to_device=to_device,
        from_device=to_device,
        across=across,
    )


def measured(*devices: DeviceSpeed) -> SpeedTest:
    return SpeedTest(measured_at="2026-11-12T10:00:00+00:00", seconds=41, torch="2.13", devices=devices)


def test_a_result_is_kept_and_a_broken_file_is_none(tmp_path: Path):
    path, test = tmp_path / "home" / "speed.json", measured(speed("GPU-0"))
    assert last_speed_test(path) is None
    keep_speed_test(test, path)
    assert last_speed_test(path) == test
    path.write_text("{")
    assert last_speed_test(path) is None


def test_a_link_far_below_its_lanes_is_a_warning_and_a_narrow_one_a_note():
    assert link_bytes_per_s(CARD) == 8 * 1.97e9
    slow = advise(measured(speed("GPU-0", to_device=3e9)), cards=[CARD])[0]
    assert (slow.severity, slow.sentence) == (
        "warning",
        "GPU 0 (RTX 4060 Ti) gets 3.0 GB/s from RAM; its slot could carry 16 GB/s.",
    )
    narrow = replace(CARD, pcie_generation_max=3, pcie_width=4)
    note = advise(measured(speed("GPU-0", to_device=3.4e9)), cards=[narrow])[0]
    assert note.severity == "note" and "294 ms" in note.hint
    assert advise(measured(speed("GPU-0")), cards=[CARD])[0].severity == "good"


def test_a_pair_is_told_its_crossing_and_which_card_is_slow():
    test = measured(speed("GPU-0", across=3.2e9), speed("GPU-1", tflops=36, across=3.2e9))
    said = " ".join(finding.sentence for finding in advise(test, cards=[CARD, SECOND]))
    assert "takes 13 ms of a step" in said
    assert "GPU 1 (RTX 5080) computes at 45 % of GPU 0 (RTX 4060 Ti)." in said


def test_cards_that_were_not_measured_are_not_spoken_of():
    assert advise(measured(speed("GPU-9")), cards=[CARD]) == ()


def test_without_cards_the_processor_is_told():
    (finding,) = advise(measured(speed("", tflops=0.035)), cards=[])
    assert finding.sentence.startswith("The processor reaches 35 GFLOPS.")


def test_a_screen_is_named_where_it_could_be_elsewhere():
    cards = [replace(CARD, display_attached=False), replace(SECOND, display_attached=True)]
    notes = [finding.sentence for finding in find(MACHINE, cards=cards, torch=None) if finding.severity == "note"]
    assert notes == ["A screen is plugged into GPU 1 (RTX 5080), which takes memory that training could use."]


def test_a_report_says_everything_and_names_nobody(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("LOGNAME", "ada")
    process = CardProcess(pid=5, name="C:\\Users\\Ada\\game.exe", used_bytes=2 * 1024**3)
    machine = replace(MACHINE, disk_path="/home/ada/data", disk_free_bytes=1024**3)
    cards = (replace(CARD, processes=(process,), display_attached=True),)
    report = RigReport(machine=machine, cards=cards, torch=None, findings=find(machine, cards=cards, torch=None))
    text = text_report(report, test=measured(speed("GPU-0")))
    for expected in ("used by game.exe: 2 GB", "PCIe 1 x 8 now, up to 4 x 8", "80.0 TFLOPS bf16", "the disk of ~/data"):
        assert expected in text
    assert "ada" not in text.lower().replace("adapter", "")
