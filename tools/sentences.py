"""Sentences with numbers and names in them, collected from the code as patterns: `{0} of {1} left`.

The window recognises a sentence by its pattern (`gui/model/sentences.py`), so what the trainer, a forecast or a check
says needs no translation of its own on the way. Collected are the formatted texts of the modules named here, and their
constant texts of several words; what is only logged is not.
"""

import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import translations

SOURCE = Path(__file__).resolve().parents[1] / "src" / "diffusionforce"
IN_THE_WINDOW = (
    "gui/dataset_desk.py",
    "gui/model/again.py",
    "gui/model/comparison.py",
    "gui/model/dataset_library.py",
    "gui/model/dataset_row.py",
    "gui/model/dataset_table.py",
    "gui/model/dataset_title.py",
    "gui/model/dataset_words.py",
    "gui/model/devices.py",
    "gui/model/engine_state.py",
    "gui/model/environment_view.py",
    "gui/model/first_run.py",
    "gui/model/folder_choices.py",
    "gui/model/forecast_answer.py",
    "gui/model/forecast_bars.py",
    "gui/model/forecast_blocks.py",
    "gui/model/forecast_cuts.py",
    "gui/model/forecast_strip.py",
    "gui/model/forecast_verdict.py",
    "gui/model/forecast_ways.py",
    "gui/model/held_out.py",
    "gui/model/history.py",
    "gui/model/link_traffic.py",
    "gui/model/lora_words.py",
    "gui/model/measured.py",
    "gui/model/outcome.py",
    "gui/model/plan_checks.py",
    "gui/model/plan_notices.py",
    "gui/model/plan_words.py",
    "gui/model/preview_cost.py",
    "gui/model/queue_times.py",
    "gui/model/readiness.py",
    "gui/model/rig_words.py",
    "gui/model/run_model.py",
    "gui/model/run_requests.py",
    "gui/model/run_time.py",
    "gui/model/run_title.py",
    "gui/model/samples.py",
    "gui/model/strip_words.py",
    "gui/model/words.py",
    "gui/pages/compare_runs.py",
    "gui/pages/datasets.py",
    "gui/pages/datasets_bulk.py",
    "gui/pages/datasets_caption.py",
    "gui/pages/datasets_files.py",
    "gui/pages/datasets_findings.py",
    "gui/pages/datasets_folders.py",
    "gui/pages/datasets_header.py",
    "gui/pages/datasets_inspector.py",
    "gui/pages/datasets_list.py",
    "gui/pages/datasets_seen.py",
    "gui/pages/datasets_tabs.py",
    "gui/pages/datasets_trigger.py",
    "gui/pages/environment.py",
    "gui/pages/environment_setup.py",
    "gui/pages/gallery.py",
    "gui/pages/gallery_bar.py",
    "gui/pages/gallery_compare.py",
    "gui/pages/gallery_files.py",
    "gui/pages/gallery_large.py",
    "gui/pages/gallery_marks.py",
    "gui/pages/gallery_prompts.py",
    "gui/pages/gallery_strip.py",
    "gui/pages/history.py",
    "gui/pages/history_care.py",
    "gui/pages/history_rows.py",
    "gui/pages/rig.py",
    "gui/pages/rig_cards.py",
    "gui/pages/rig_graphics.py",
    "gui/pages/rig_speed.py",
    "gui/pages/run_cards.py",
    "gui/pages/run_forecast.py",
    "gui/pages/run_header.py",
    "gui/pages/run_live.py",
    "gui/pages/run_notice.py",
    "gui/pages/run_picks.py",
    "gui/pages/run_plan_cards.py",
    "gui/pages/run_plan_notices.py",
    "gui/pages/run_tiles.py",
    "gui/pages/run_ways.py",
    "gui/notice_bar.py",
    "gui/pages/welcome.py",
    "gui/session.py",
    "gui/strip.py",
    "gui/repair_bench.py",
    "gui/run_desk.py",
    "gui/shell.py",
    "gui/pages/welcome_choices.py",
    "gui/pages/welcome_demo.py",
    "gui/pages/welcome_rig.py",
    "gui/repair_bench.py",
    "gui/widgets/bars.py",
    "gui/widgets/compare_slider.py",
    "gui/widgets/drag_handle.py",
    "gui/widgets/film_row.py",
    "gui/widgets/finding_row.py",
    "gui/widgets/picture_strip.py",
    "gui/widgets/tag_bars.py",
    "gui/widgets/device_card.py",
    "gui/widgets/line_chart.py",
    "gui/widgets/sample_grid.py",
    "gui/widgets/shape_bars.py",
    "gui/widgets/timeline.py",
    "wire/stages.py",
)
"""Every sentence of these is translated."""
FROM_THE_CHILD = (
    "datasets/alike.py",
    "datasets/findings.py",
    "datasets/folder.py",
    "datasets/intake.py",
    "datasets/items.py",
    "datasets/judging.py",
    "datasets/kinds.py",
    "datasets/left_out_kinds.py",
    "datasets/listing.py",
    "engines/autopsy.py",
    "engines/health.py",
    "engines/pressure.py",
    "engines/musubi/access.py",
    "engines/musubi/controls.py",
    "engines/musubi/engine.py",
    "engines/musubi/installation.py",
    "engines/musubi/preparation.py",
    "engines/musubi/readiness.py",
    "engines/musubi/readiness_command.py",
    "engines/musubi/sample_prompts.py",
    "engines/musubi/subjects.py",
    "engines/musubi/telling.py",
    "engines/musubi/terms.py",
    "engines/musubi/verification.py",
    "engines/musubi/weights.py",
    "engines/pocket/stepper.py",
    "environment/application.py",
    "environment/backends.py",
    "environment/building.py",
    "environment/failures.py",
    "environment/installed.py",
    "environment/plan.py",
    "environment/verification.py",
    "hooks/musubi/plain_states.py",
    "job/kept_files.py",
    "rig/findings.py",
    "rig/speeds.py",
    "runs/deleting.py",
    "runs/folder.py",
    "runs/lora_files.py",
    "runs/queue.py",
    "runs/storage.py",
    "trainer/card_loss.py",
    "trainer/endings.py",
    "trainer/forecasting/joining.py",
    "trainer/forecasting/rigs.py",
    "trainer/forecasting/side_calls.py",
    "trainer/forecasting/smaller.py",
    "trainer/patience.py",
    "trainer/room.py",
    "trainer/scarcity.py",
    "trainer/stall.py",
    "ugpum/causes.py",
    "ugpum/candidate.py",
    "ugpum/planner.py",
    "wire/interpreter.py",
)
"""What these say on the usual ways is translated; the rest stays English."""
TABLES = translations.CATALOGUES
_NO_SENTENCE = re.compile(
    r".*(\\|\||\*\.|--|cuda:|\.subjects$|bytes|\[memory\]|traced\.|_subject$|a plan needs).*|no pictures", re.DOTALL
)
"""Names of files and modules, what is only for reports, and expressions, some of them regular."""
PUT_TOGETHER = tuple(
    line.strip()
    for line in """
    Crashed
    Damaged
    Done
    Failed
    Finishing
    Paused
    Starting
    Stopped
    Training
    Unreadable
    down
    falling
    fell
    flat
    rose
    up
    Preparing
    Previews
    It is brought once, in the version that was tested.
    It trains the real models.
    Activations
    Weights
    Paging
    Libraries
    Reserve
    Free
    Model
    Family
    Engine
    Precision
    Devices
    Rank
    Dropout
    Steps
    Warm-up
    Optimiser
    Seed
    Size
    Kept
    Lacks
    Too much
    off
    none
    one card
    split
    checking
    unknown
    Smoothed
    Held-out
    Forward
    Backward
    Busy
    Load
    Temp
    Power
    Peak
    Blocks
    Measured
    Forecast
    Recommended
    Your choice
    constant
    cosine
    linear
    Speed not known here yet.
    {0} at a time
    Processor, {0} of {1} cores
    today {0}
    yesterday {0}
    all {0} blocks on {1}
    Idle
    Memory
    Speed
    Driver
    Temperature
    a new folder
    A new folder
    One card
    Split
    One card + swap
    Split + swap
    rank {0}
    {0}, {1}
    Preparing pictures {0} of {1}
    Reading captions {0} of {1}
    Drawing previews {0} of {1}
    Loading the model {0} of {1}
    Measuring the held-out loss {0} of {1}
    Needs {0} more on {1}.
    every {0} steps
    {0} in all
    {0} (fits as {1})
    , {0} ago
    , just now
    {0} used
    {0} left out
    {0}, all captioned
    The best of {0}.
    {0} other pictures keep what it knew before.
    No word is in every caption.
    Stopping now keeps it.
    Needs {0} more RAM.
    To accept: diffusionforce models accept {0}
    {0}, {1} micro-batches
    {0}, {1} micro-batch
    {0}, {1} of them in RAM
    {0} lacks {1} in training.
    {0} lacks {1} while previews are drawn.
    {0} lacks {1} while the pictures are prepared.
    {0} is not valid TOML.
    Fix line {0}: {1}.
    Fix its end: {0}.
    A LoRA of {0} on pictures of {1}.
    A LoRA of {0}, which edits pictures.
    A LoRA of {0}, which continues a picture to a video and trains on videos.
    A LoRA of {0}, which continues a picture to a video.
    A LoRA of {0} that continues a picture to a video.
    A LoRA of {0}, which takes up to three control pictures.
    A LoRA of {0} on pictures of {1}, to be used with RAW or Turbo.
    A LoRA of {0} on pictures of {1}, with samples of {2} denoising steps.
    A LoRA of the distilled {0}, with samples of {1} steps.
    A LoRA of {0}.
    Its transformer takes {0} in 16 bits.
    Its transformer takes {0} in 16 bits and half of that in 8 bits.
    Its weights are published in 8 bits only; the transformer takes {0}.
    Under Tencent's own licence, which does not apply in some countries: see {0}.
    The small one: its transformer takes {0} in 16 bits.
    The smallest of the FLUX.2 models; its transformer takes {0} in 16 bits.
    The smallest of the video models; its transformer takes {0} in 16 bits.
    The base model (profile {0}) is the one meant to be trained; its LoRA works with both.
    For two cards of {0} or more.
    Every training picture needs a control picture.
    Trains the tiny model that ships with DiffusionForce on a drawn character.
    Runs on any computer in a few minutes, with nothing to download.
    One LoRA for both models of {0} that continue a picture to a video.
    One LoRA for both models of {0}, that for high and that for low noise.
    Each transformer takes {0} in 16 bits; it trains in the number format of their files.
    """.strip().splitlines()
)
"""Words and sentences of the window that are put together where no pattern can be seen."""
_BETWEEN = re.compile(r"(?<=[.!?]) (?=[A-Z“{])|(?<=^\{0\}) (?=[A-Z])")
PLACE = re.compile(r"\{(\w+(?:!s)?)\}")
_LOGGED = frozenset({"write_log", "debug", "info", "warning", "_log", "log"})
_FEWEST_LETTERS = 2


def main() -> int:
    """Write the tables anew, and say what is not translated."""
    for table in sorted(TABLES.glob("*/sentences.json")):
        known = read(table)
        fresh = merged(table)
        table.write_text(json.dumps(fresh, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        lacking = missing(table)
        sys.stdout.write(f"{table.parent.name}: {len(fresh)} sentences, {len(lacking)} of the window not translated\n")
        sys.stdout.writelines(f"  {text}\n" for text in lacking)
        sys.stdout.writelines(f"  gone: {text}\n" for text in known if text not in fresh)
    return 0


def read(table: Path) -> dict[str, str]:
    """Return a table of sentences and their translations, empty where there is none."""
    found: dict[str, str] = json.loads(table.read_text(encoding="utf-8"))
    return found


def merged(table: Path) -> dict[str, str]:
    """Return a table of what the code says now, with the translations that are known; words are in the catalogue."""
    known, words = read(table), {str(one.id) for one in translations.read(_catalogue(table)) if one.id and one.string}
    found = dict.fromkeys((*patterns_in(IN_THE_WINDOW), *PUT_TOGETHER, *patterns_in(FROM_THE_CHILD)))
    return {text: known.get(text, "") for text in found if text not in words}


def missing(table: Path) -> list[str]:
    """Return the sentences of the window itself that have no translation."""
    fresh = merged(table)
    return [text for text in (*patterns_in(IN_THE_WINDOW), *PUT_TOGETHER) if text in fresh and not fresh[text]]


def _catalogue(table: Path) -> Path:
    return table.parent / "LC_MESSAGES" / f"{translations.DOMAIN}.po"


def patterns_in(modules: tuple[str, ...], *, root: Path = SOURCE) -> list[str]:
    """Return the patterns of some modules, in the order of the code, each once."""
    found: dict[str, None] = {}
    for name in modules:
        path = root / name
        if path.exists():
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= dict.fromkeys(found_in(tree))
    return list(found)


def found_in(tree: ast.AST) -> list[str]:
    """Return the patterns of a piece of code, sentence by sentence, each once."""
    whole = [text for text in _Collector().collect(tree) if not _NO_SENTENCE.fullmatch(text)]
    return list(dict.fromkeys(part for text in whole for part in _apart(text) if _says_something(part)))


def _apart(text: str) -> list[str]:
    """The sentences of a pattern, each with places of its own: the window takes texts apart in the same way."""
    if "{" not in text:
        return [text]
    return [_renumbered(part) for part in _BETWEEN.split(text)]


def _renumbered(text: str) -> str:
    number = itertools.count()
    return re.sub(r"(?<!\{)\{\d+\}(?!\})", lambda _place: f"{{{next(number)}}}", text)


class _Collector(ast.NodeVisitor):
    """Walks a module and keeps what people read."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def collect(self, tree: ast.AST) -> list[str]:
        self.visit(tree)
        return self.found

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # Docstrings are for those who read code.
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name == "count":
            self.found += _counted(node)
        if name not in _LOGGED and name != "tr":
            self.generic_visit(node)
        elif name == "tr":
            # Constant words are collected where all of the window's are.
            self.found += [text for argument in node.args for text in _formatted(argument)]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.found += _formatted(node)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and " " in node.value.strip() and _says_something(node.value):
            self.found.append(node.value)


def _counted(call: ast.Call) -> list[str]:
    """The patterns of `words.count(number, "picture")`."""
    nouns = [one.value for one in call.args[1:] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if not nouns:
        return []
    return [f"{{0}} {nouns[0]}", f"{{0}} {nouns[1] if len(nouns) > 1 else nouns[0] + 's'}"]


def _formatted(node: ast.expr) -> list[str]:
    """The patterns of a formatted text: one for each choice of the constants that it chooses between."""
    if not isinstance(node, ast.JoinedStr):
        return []
    return [text for text in map("".join, _numbered(node.values)) if _says_something(text)]


def _numbered(parts: list[ast.expr]) -> Iterator[tuple[str, ...]]:
    choices = [list(_choices(part)) for part in parts]
    for chosen in itertools.product(*choices):
        number = itertools.count()
        yield tuple(_escaped(part) if part is not None else f"{{{next(number)}}}" for part in chosen)


def _choices(part: ast.expr) -> Iterator[str | None]:
    """Yield the constants that a part may be; None for what is only known when the sentence is made."""
    match part:
        case ast.Constant(value=str() as text):
            yield text
        case ast.FormattedValue(value=ast.IfExp(body=ast.Constant(value=str() as one), orelse=ast.Constant() as two)):
            yield from (one, str(two.value))
        case _:
            yield None


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _says_something(text: str) -> bool:
    plain = text
    for number in range(10):
        plain = plain.replace(f"{{{number}}}", "")
    return sum(character.isalpha() for character in plain) >= _FEWEST_LETTERS


if __name__ == "__main__":
    sys.exit(main())
