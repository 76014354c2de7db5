"""`diffusionforce selftest`: what it finds here, and what it says of computers where something is wrong."""

import json
from pathlib import Path

import pytest

from diffusionforce.cli import main, selftest, selftest_children, selftest_system
from diffusionforce.cli.selftest_check import Note, Plan, Problem, Skipped, carried_out
from diffusionforce.rig.torch_facts import TorchFacts


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    return tmp_path / "home"


def raising(error: Exception):
    def look() -> str:
        raise error

    return look


def test_nothing_fails_here_and_the_report_is_written(home: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--selftest", "--quick"]) == 0
    out = capsys.readouterr().out
    report = json.loads((home / "selftest.json").read_text(encoding="utf-8"))
    outcomes = {check["name"]: check["outcome"] for check in report["checks"]}
    assert report["kind"] == "selftest" and report["num_failed"] == 0
    assert outcomes["Libraries of the window"] == outcomes["Child processes"] == outcomes["Foreign names"] == "ok"
    assert outcomes["Training of two steps"] == "skipped"
    text = (home / "selftest.txt").read_text(encoding="utf-8")
    assert "0 failed." in text and all(name in text and name in out for name in outcomes)
    assert sorted(path.name for path in home.iterdir()) == ["selftest.json", "selftest.txt"], "nothing else stays"


def test_what_fails_is_told_and_makes_the_exit_code(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    wrong = [
        Plan(name="A", look=lambda: "Good."),
        Plan(name="B", look=raising(Problem("It is broken."))),
        Plan(name="C", look=raising(ZeroDivisionError("one by zero"))),
        Plan(name="D", look=raising(Note("It could be better."))),
        Plan(name="E", look=raising(Skipped("Not here."))),
    ]
    monkeypatch.setattr(selftest, "plans", lambda *, quick: wrong)
    assert main(["selftest", "--out", str(tmp_path / "reports"), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(check["outcome"], check["said"]) for check in report["checks"]] == [
        ("ok", "Good."),
        ("failed", "It is broken."),
        ("failed", "ZeroDivisionError: one by zero"),
        ("note", "It could be better."),
        ("skipped", "Not here."),
    ]
    assert "Traceback" in report["checks"][2]["detail"] and report["num_failed"] == 2
    assert json.loads((tmp_path / "reports" / "selftest.json").read_text(encoding="utf-8")) == report


def test_the_report_names_nobody(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/jane-doe-7"))
    monkeypatch.setattr(
        selftest, "plans", lambda *, quick: [Plan(name="A", look=lambda: "/home/jane-doe-7/x and /home/john/y")]
    )
    assert main(["selftest"]) == 0
    for name in ("selftest.txt", "selftest.json"):
        text = (home / name).read_text(encoding="utf-8")
        assert "jane" not in text and "john" not in text and "~/x and /home/user/y" in text


def test_a_place_that_takes_no_report_is_a_sentence(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selftest, "plans", lambda *, quick: [])
    (tmp_path / "file").write_bytes(b"")
    assert main(["selftest", "--out", str(tmp_path / "file" / "x")]) == 1


def test_children_that_would_stay_behind_are_noted(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(selftest_children, "END_S", 0.5)
    monkeypatch.setattr(
        selftest_children, "_PARENT", selftest_children._PARENT.replace("ends_with_us=True", "ends_with_us=False")
    )
    check = carried_out(Plan(name="x", look=selftest_children.ending_child))
    assert check.outcome == "note" and "does not end children" in check.said


def test_a_full_disk_and_a_data_folder_that_gives_nothing_back_fail(home: Path, monkeypatch: pytest.MonkeyPatch):
    home.mkdir()
    monkeypatch.setattr(selftest_system, "DEMO_BYTES", 1 << 60)
    assert carried_out(Plan(name="x", look=selftest_system.free_space)).outcome == "failed"
    monkeypatch.setattr(Path, "read_bytes", lambda self: b"other")
    assert carried_out(Plan(name="x", look=selftest_system.data_folder)).outcome == "failed"


def test_all_cards_are_trained_on_together_and_none_is_no_fault(home: Path, monkeypatch: pytest.MonkeyPatch):
    trained: list[str] = []
    monkeypatch.setattr(selftest_children, "_trained", lambda devices: trained.append(devices) or "Done.")
    for num_cards, outcome in ((0, "skipped"), (2, "ok")):
        facts = TorchFacts(version="2.13.0", num_devices=num_cards)
        monkeypatch.setattr(selftest_children, "torch_facts", lambda *, timeout_s, facts=facts: facts)
        assert carried_out(Plan(name="x", look=selftest_children.training_on_cards)).outcome == outcome
    assert trained == ["cuda:0,cuda:1"]


def test_clips_wait_for_the_training_environment(home: Path, monkeypatch: pytest.MonkeyPatch):
    assert carried_out(Plan(name="x", look=selftest_system.clips)).outcome == "ok"
    monkeypatch.setattr(selftest_system, "pyav", raising(ModuleNotFoundError("av")))
    check = carried_out(Plan(name="x", look=selftest_system.clips))
    assert check.outcome == "note" and "training environment" in check.said


@pytest.mark.slow
def test_two_steps_are_trained_through_the_real_trainer(home: Path):
    check = carried_out(Plan(name="x", look=selftest_children.training))
    assert check.outcome == "ok" and check.said.startswith("2 steps and 1 preview"), check.said
