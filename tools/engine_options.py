"""Write the table of the engine's options from its source: `python tools/engine_options.py`.

The engine believes what it is given in a file: names are not checked, nor types, nor choices. So we check them, against
a table that this program reads from the source of its parsers without running it. A test compares the table with the
installed engine.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diffusionforce.engines.musubi import verify
from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.options import TABLE_FILE

Option = dict[str, Any]
_COMMON = "training/parser_common.py"
_ELSEWHERE = {
    "flux_2_train_network": "flux_2/flux2_utils.py",
    "qwen_image_train_network": "qwen_image/qwen_image_utils.py",
}
"""Files with functions that add options to a program's own."""
_NAMED_TYPES = {"int": "int", "float": "float", "str": "str", "_int_or_float": "number", "pathlib.Path": "str"}


def read_options(package: Path) -> dict[str, dict[str, Option]]:
    """Return the options of each training program; those that all have are under `common`.

    Args:
        package: The folder `musubi_tuner`.
    """
    table = {"common": dict(_options(package, _COMMON, names=_is_common))}
    for script in sorted({family.trainer.train for family in FAMILIES.values()}):
        own = dict(_options(package, f"{script}.py", names=lambda name: name.endswith("_setup_parser")))
        if script in _ELSEWHERE:
            own |= dict(_options(package, _ELSEWHERE[script], names=lambda name: name == "add_model_version_args"))
        table[script] = own
    return table


def _is_common(function: str) -> bool:
    return function.startswith("_add_")


def _options(package: Path, file: str, *, names: Any) -> Iterator[tuple[str, Option]]:
    tree = ast.parse((package / file).read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and names(function.name):
            variables = {
                node.targets[0].id: node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "parser.add_argument":
                    name, option = _option(package, node, variables)
                    if not name.startswith("no_nabla"):  # Switches off what another option switches on.
                        yield name, option


def _option(package: Path, call: ast.Call, variables: dict[str, ast.expr]) -> tuple[str, Option]:
    values = {keyword.arg: keyword.value for keyword in call.keywords}
    name = str(ast.literal_eval(call.args[0])).removeprefix("--")
    option: Option = {}
    if "action" in values:
        option["type"] = "flag"
    else:
        option["type"] = _NAMED_TYPES[ast.unparse(values["type"])] if "type" in values else "str"
    if "nargs" in values:
        option["many"] = True
    choices = _choices(package, values.get("choices"), variables)
    if choices:
        option["choices"] = choices
    return name, option


def _choices(package: Path, node: ast.expr | None, variables: dict[str, ast.expr]) -> list[str]:
    """Return the values that are allowed: written out, or the keys of a dictionary somewhere in the engine."""
    if node is None:
        return []
    if isinstance(node, ast.Name):
        node = variables[node.id]
    try:
        return list(ast.literal_eval(node))
    except ValueError:
        text = ast.unparse(node)
    if ".keys()" not in text:
        return []
    name = text.partition(".keys()")[0].rpartition("(")[2]
    keys = next(_keys(package, name))
    return sorted(keys) if text.startswith("sorted") else keys


def _keys(package: Path, name: str) -> Iterator[list[str]]:
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if name not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if isinstance(value, ast.Dict) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
                yield [str(ast.literal_eval(key)) for key in value.keys if key is not None]


def main() -> None:
    """Write the table."""
    table = read_options(verify() / "src" / "musubi_tuner")
    TABLE_FILE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
