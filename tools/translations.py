"""Collect the words of the window and compile its catalogues: `python tools/translations.py`.

Widgets translate the constant words that they are made with, so the words stand in plain English in the code of the
pages. Which arguments of which calls are words, `WORDS` says. New words come into every catalogue without a
translation, which `tests/unit/gui/test_language.py` then misses; words that nobody uses any more are taken out.
"""

import ast
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from diffusionforce.gui.model import setting_fields

ROOT = Path(__file__).resolve().parents[1]
GUI = ROOT / "src" / "diffusionforce" / "gui"
CATALOGUES = GUI / "locale"
DOMAIN = "diffusionforce"
LINE_WIDTH = 110

# Calls whose arguments are words: positions, and names of arguments.
WORDS: dict[str, tuple[int | str, ...]] = {
    "tr": (0,),
    "Button": (0, "text", "tip"),
    "Header": (0, 1),
    "Card": (0, 1, "title", "note"),
    "Empty": (1, 2),
    "Place": (2,),
    "Segmented": (0,),
    "setting": (0, 1),
    "noted": (0,),
    "Label": (0,),
    "set_text": (0,),
    "set_title": (0,),
    "ProgressBar": ("name",),
    "allow": ("reason",),
}
# Modules whose constants are words: they are shown through `tr`.
CONSTANTS = {
    "model/setting_words.py": ("SECTIONS", "WORDS", "CHOICES"),
    "model/first_run.py": ("STEPS",),
    "pages/welcome.py": ("HEADS",),
    "pages/welcome_demo.py": ("_BEFORE",),
    "pages/history.py": ("TITLE",),
    "pages/profile_pane.py": ("ENGINE_NOTES",),
    "pages/engine_line.py": ("BUSY_REASON",),
    "pages/environment_setup.py": ("BUILDS",),
    "pages/environment_steps.py": ("_WORDS",),
    "pages/settings.py": ("FOLDERS",),
}
# Words of constants that are no sentences: names, keys, what people search by.
_KEYS = re.compile(r"(Ctrl\+|Shift\+)*([A-Z]|F\d+)|CPU|GB|px|0\.0 s")
"""Keys and units, which are the same everywhere."""
_SILENT_ARGUMENTS = frozenset({"finds", "key", "icon", "shortcut"})


def main() -> int:
    """Write the catalogues, and say what is not translated."""
    found = words_in(GUI)
    for po in sorted(CATALOGUES.glob("*/LC_MESSAGES/*.po")):
        catalogue = merged(po, found)
        write(po, catalogue)
        po.with_suffix(".mo").write_bytes(compiled(catalogue))
        lacking = missing(catalogue)
        sys.stdout.write(f"{po.parts[-3]}: {len(catalogue)} texts, {len(lacking)} not translated\n")
        sys.stdout.writelines(f"  {text}\n" for text in lacking)
    return 0


def words_in(folder: Path) -> list[str]:
    """Return every text that is to be translated, each once: in the order of the code, then what settings mean."""
    texts: dict[str, None] = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = CONSTANTS.get(path.relative_to(folder).as_posix(), ())
        for text in (*_in_calls(tree), *_in_constants(tree, names)):
            if any(character.isalpha() for character in text) and not _KEYS.fullmatch(text):
                texts.setdefault(text)
    texts |= dict.fromkeys(field.help for field in setting_fields.fields() if field.help)
    return list(texts)


def _in_calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _in_base_calls(node)
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name == "set_text" and "preferences" in ast.unparse(node.func):
            continue  # What the window writes down is no word.
        for place in WORDS.get(name, ()):
            if isinstance(place, int) and place < len(node.args):
                yield from _texts(node.args[place])
            elif isinstance(place, str):
                yield from (text for keyword in node.keywords if keyword.arg == place for text in _texts(keyword.value))


def _in_base_calls(node: ast.ClassDef) -> Iterator[str]:
    """Yield the words that a class hands to the widget that it is a kind of."""
    bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in WORDS]
    for call in ast.walk(node) if bases else ():
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
            for argument in call.args[:2]:
                yield from _texts(argument)


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the constant texts that an argument may be: one, one of two, or several."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp(body=first, orelse=second):
            yield from _texts(first)
            yield from _texts(second)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _texts(part)


def _in_constants(tree: ast.Module, names: tuple[str, ...]) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id in names for target in targets):
            value = getattr(node, "value", None)
            if value is not None:
                yield from _spoken(value)


def _spoken(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Dict(values=values):
            for value in values:
                yield from _spoken(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _spoken(part)
        case ast.Call(args=arguments, keywords=keywords):
            for argument in arguments[:3]:
                yield from _spoken(argument)
            for keyword in keywords:
                if keyword.arg not in _SILENT_ARGUMENTS:
                    yield from _spoken(keyword.value)


def read(po: Path) -> Catalog:
    """Return a catalogue of texts and their translations."""
    with po.open("rb") as file:
        return read_po(file, locale=po.parts[-3], domain=DOMAIN)


def merged(po: Path, found: list[str]) -> Catalog:
    """Return a catalogue of what the code says now, with the translations that are known."""
    known = read(po)
    fresh = Catalog(locale=po.parts[-3], domain=DOMAIN, project="DiffusionForce", charset="utf-8", fuzzy=False)
    fresh.header_comment = "# Words of the window. Collected by tools/translations.py; translate the empty ones here."
    fresh.creation_date = fresh.revision_date = known.creation_date
    for text in found:
        message = known.get(text)
        fresh.add(text, message.string if message is not None else "")
    return fresh


def write(po: Path, catalogue: Catalog) -> None:
    """Write a catalogue as people edit it."""
    with po.open("wb") as file:
        write_po(file, catalogue, width=LINE_WIDTH, sort_output=True)


def compiled(catalogue: Catalog) -> bytes:
    """Return a catalogue as the window reads it."""
    buffer = BytesIO()
    write_mo(buffer, catalogue)
    return buffer.getvalue()


def missing(catalogue: Catalog) -> list[str]:
    """Return the texts that are not translated."""
    return [str(message.id) for message in catalogue if message.id and not message.string]


if __name__ == "__main__":
    sys.exit(main())
