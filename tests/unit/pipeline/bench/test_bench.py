"""The benchmark command on two cards that are played on the CPU: every way runs, and its rows say what was done."""

import json
from pathlib import Path

import pytest
from PIL import Image

from diffusionforce.errors import UserError
from diffusionforce.pipeline.bench.__main__ import main
from diffusionforce.pipeline.bench.model import BenchmarkModel
from diffusionforce.pipeline.bench.options import parse
from diffusionforce.pipeline.bench.rig import BenchRig
from diffusionforce.pipeline.bench.timeline import draw_timeline, timeline_record
from diffusionforce.pipeline.schedule.simulation import Span, Timeline
from diffusionforce.pipeline.schedule.ticks import Op

TINY = [
    "pipeline",
    "--device",
    "cpu,cpu",
    "--blocks",
    "6",
    "--width",
    "32",
    "--feed-forward",
    "64",
    "--heads",
    "2",
    "--text-tokens",
    "4",
    "--rank",
    "2",
    "--dtype",
    "fp32",
    "--tokens",
    "8",
    "--chunks",
    "2",
    "--steps",
    "1",
    "--warm-up",
    "1",
]


def rows_of(path: Path) -> dict[str, dict]:
    return {record["way"]: record for record in map(json.loads, path.read_text().splitlines())}


def test_every_schedule_is_a_row_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "rows.jsonl"
    arguments = ["--ways", "turns,gpipe,1f1b,interleaved,greedy", "--microbatches", "3"]
    assert main([*TINY, *arguments, "--json", str(path), "--timeline", str(tmp_path / "times")]) == 0
    rows = rows_of(path)
    assert list(rows) == ["limit", "turns", "gpipe", "1f1b", "interleaved", "greedy"]
    assert rows["interleaved"]["num_blocks"] == [3, 3]
    assert rows["interleaved"]["card_of_chunk"] == [0, 1, 0, 1]
    for way in ("turns", "interleaved"):
        assert rows[way]["share_of_limit"] == pytest.approx(rows[way]["limit_s"] / rows[way]["step_s"])
        assert Image.open(tmp_path / "times" / f"{way}-3.png").width == 1600
    spans = json.loads((tmp_path / "times" / "interleaved-3.json").read_text())["spans"]
    assert len(spans) == 2 * 4 * 3 and {span["card"] for span in spans} == {0, 1}
    assert "of limit" in capsys.readouterr().out


def test_a_row_whose_losses_are_no_numbers_has_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plain = BenchmarkModel.loss
    monkeypatch.setattr(BenchmarkModel, "loss", lambda model, batch: plain(model, batch) * float("nan"))
    monkeypatch.setattr(BenchRig, "one_card_s", lambda _rig: 1.0)
    path = tmp_path / "rows.jsonl"
    assert main([*TINY, "--ways", "interleaved", "--microbatches", "2", "--json", str(path)]) == 0
    assert "step_s" not in rows_of(path)["interleaved"] and "no numbers" in rows_of(path)["interleaved"]["problem"]


def test_tight_budgets_are_paged_and_a_played_slow_card_gets_less(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    # A block's weights are 34 kB and 26 kB are attached to it; 14 MB hold them all, 300 kB about half.
    arguments = ["--ways", "resident,alone,split", "--microbatches", "2", "--slowdown", "1,4", "--neighbours", "1"]
    assert main([*TINY, *arguments, "--budget-gib", "0.0003,0.0003", "--json", str(path)]) == 0
    rows = rows_of(path)
    assert rows["split"]["num_blocks"][0] > rows["split"]["num_blocks"][1]
    assert any(rows["split"]["num_paged"])
    assert rows["split"]["late_loads"] == 0
    assert rows["split"]["step_s"] > 0 and "split, -1 blocks on GPU 0" in rows


def test_what_does_not_fit_is_a_row_that_says_so(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    assert main([*TINY, "--ways", "split", "--microbatches", "2", "--budget-gib", "0.00001", "--json", str(path)]) == 0
    assert "does not fit: This needs" in rows_of(path)["split"]["problem"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pipeline", "--device", "cpu,cpu", "--ways", "magic"], '"magic" is no way'),
        (["pipeline", "--device", "cpu,cpu", "--microbatches", "two"], "'two' is no whole number"),
        (["pipeline", "--device", "cpu,cpu", "--microbatches", "2.5"], "'2.5' is no whole number"),
        (["pipeline", "--device", "cpu,cpu", "--budget-gib", "much"], '--budget-gib is "much", which is no list'),
        # These went on to a traceback, the first after the whole model had been made.
        (["pipeline", "--device", "cpu,cpu", "--steps", "0"], "--steps: '0' is no whole number from 1 up"),
        (["pipeline", "--device", "cpu,cpu", "--blocks", "0"], "--blocks: '0' is no whole number"),
        (["pipeline", "--device", "cpu,cpu", "--warm-up", "-1"], "--warm-up: '-1' is no whole number from 0 up"),
        (["pipeline", "--device", "cpu,cpu", "--slowdown", "0"], '--slowdown is "0"; write finite numbers above 0'),
        (["pipeline", "--device", "cpu,cpu", "--width", "63", "--heads", "4"], "63, which 4 heads cannot share"),
        (["pipeline", "--device", "cpu,cpu", "--blocks", "4", "--chunks", "3"], "make 2 a card at most"),
        (["pipeline", "--device", "cpu,cpu", "--blocks", "1"], "fewer than cards"),
        (["pipeline", "--device", "card"], '"card" is no device'),
        (["pipeline", "--device", "cpu,cpu", "--slowdown", "1,2,3"], "3 entries for 2 devices"),
        (["pipeline", "--device", "cuda:63"], "There is no cuda:63"),
        (["everything"], "Invalid choice|invalid choice|WHAT"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_in_words(arguments: list[str], words: str):
    with pytest.raises(UserError, match=words):
        parse(arguments)


def test_small_models_have_as_many_chunks_as_they_can():
    # With fewer blocks than the ten chunks a card, the benchmark ended before its last rows.
    assert parse(["pipeline", "--device", "cpu,cpu", "--blocks", "4"]).chunks_per_card == 2
    assert parse(["pipeline", "--device", "cpu,cpu"]).chunks_per_card == 10


def test_a_refusal_goes_to_stderr_without_a_traceback(capsys: pytest.CaptureFixture[str]):
    assert main(["pipeline", "--device", "cpu,cpu", "--ways", "magic"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith('"magic" is no way to train.') and not captured.out


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "no folder" / "rows.jsonl"
    assert main([*TINY, "--ways", "turns", "--microbatches", "2", "--json", str(path)]) == 1
    assert capsys.readouterr().err == f"{path} cannot be written: No such file or directory.\n"


def test_the_timeline_picture_shows_each_card_in_its_colour(tmp_path: Path):
    spans = [Span(Op("F", 0, 0), 0, 0.0, 0.5), Span(Op("F", 1, 0), 1, 0.5, 1.0)]
    timeline = Timeline.of_spans(spans)
    draw_timeline(timeline, tmp_path / "t.png", title="two turns", names=["GPU 0", "GPU 1"])
    colours = {colour for _, colour in Image.open(tmp_path / "t.png").getcolors(1 << 20) or []}
    assert {(0x3C, 0xC3, 0xD9), (0xF2, 0x99, 0x4A)} <= colours
    record = timeline_record(timeline, title="two turns", names=["GPU 0", "GPU 1"])
    assert [card["busy_share"] for card in record["cards"]] == [0.5, 0.5]
