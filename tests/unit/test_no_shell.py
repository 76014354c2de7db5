"""What may not be in the program: shells between it and other programs, and files that run code when they are read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *ROOT.glob("*.py"), *(ROOT / "installer").rglob("*.py")])
FORBIDDEN = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "pickle.load",
    "pickle.loads",
    "marshal.loads",
    "shelve.open",
    "yaml.load",
    "shutil.unpack_archive",
    "eval",
    "exec",
}
METHODS = {"extractall", "startCommand"}


def offences(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        values = {one.arg: ast.unparse(one.value) for one in node.keywords}
        if name in FORBIDDEN or name.rpartition(".")[2] in METHODS:
            yield f"{node.lineno}: {name}"
        elif values.get("shell", "False") != "False":
            yield f"{node.lineno}: shell"
        elif name == "torch.load" and values.get("weights_only") != "True":
            yield f"{node.lineno}: torch.load without weights_only=True"


@pytest.mark.parametrize("code", ["subprocess.run(x, shell=True)", "torch.load(x)", "z.extractall(y)", "os.system(x)"])
def test_the_search_finds_what_it_looks_for(code: str) -> None:
    assert list(offences(code))


def test_nothing_goes_through_a_shell_or_runs_code_from_a_file() -> None:
    found = {str(path.relative_to(ROOT)): list(offences(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert len(SOURCES) > 300 and not {name: lines for name, lines in found.items() if lines}
