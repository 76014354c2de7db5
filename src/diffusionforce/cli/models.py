"""`diffusionforce models`: what the real models need, what of it is here, downloads, files of one's own."""

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from diffusionforce.cli.answers import answer_lines
from diffusionforce.cli.output import write_answer, write_bytes
from diffusionforce.cli.words import memory
from diffusionforce.errors import UserError
from diffusionforce.wire import Failed
from diffusionforce.wire.weights import (
    Chosen,
    DownloadProgress,
    EngineOptions,
    Model,
    ModelFile,
    Models,
    WeightsRecord,
    read_weights_record,
)

EXIT_OK, EXIT_FAILED = 0, 1
CHILD = "diffusionforce.engines.musubi.weights_command"
DESCRIPTION = """Show what the real models need and what of it is here. MODEL is a profile or the name of a model.

diffusionforce models                        all models
diffusionforce models MODEL                  the files of one, its terms, and what to mind
diffusionforce models download MODEL         download what is missing
diffusionforce models use MODEL ROLE FILE    use a file that you have
diffusionforce models folder DIR             look for files in a folder, like ComfyUI's models folder
diffusionforce models options MODEL          the engine's options that a profile can set under [advanced]
diffusionforce models accept MODEL           accept the terms of a model that has terms of its own

Exit code: 0 shown or done, 1 a problem, or, of models MODEL, something is missing or wrong, 2 a bug."""
_ACTIONS = {
    "download": ("MODEL",),
    "options": ("MODEL",),
    "use": ("MODEL", "ROLE", "FILE"),
    "folder": ("DIR",),
    "accept": ("MODEL",),
}
_STYLES = {"here": "green", "missing": "yellow", "wrong": "red"}


class ModelsUsageError(UserError):
    """Words that are none of the command's."""


class ModelsRefusalError(UserError):
    """What the child process refused."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `models` its arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", metavar="WORD", help="see above")
    parser.add_argument("--all", action="store_true", help="with download: optional files, too")
    parser.add_argument("--json", action="store_true", help="print one JSON record a line")
    parser.set_defaults(execute=run)


def run(options: argparse.Namespace) -> int:
    """Let the child do it and show what it says."""
    arguments = _arguments(options.words, with_optional=options.all)
    last = relay(arguments, as_json=options.json)
    if options.json:
        return _exit_code(last, options.words)
    if isinstance(last, Chosen):
        Console().print(Text(f"From now on: {last.path} ({last.what}).", "green"), soft_wrap=True)
    elif isinstance(last, EngineOptions):
        for option in last.options:
            choices = f": {', '.join(option.choices)}" if option.choices else ""
            Console().print(Text.assemble((option.name, "bold"), f"  {option.type}{choices}"), soft_wrap=True)
    elif isinstance(last, Models) and options.words[:1] == ["accept"]:
        Console().print(_acceptance(last.models[0]), soft_wrap=True)
    elif isinstance(last, Models):
        lines = _all_lines(last) if not options.words else _lines(last.models[0], last.folders)
        for line in lines:
            Console().print(line, soft_wrap=True)
    return _exit_code(last, options.words)


def relay(arguments: Sequence[str], *, as_json: bool) -> WeightsRecord | None:
    """Start the child; print its records, or show how far it is, and return the last.

    Raises:
        UserError: The child refused, and its records are not printed.
    """
    last: WeightsRecord | None = None
    for line in answer_lines(CHILD, arguments):
        last = read_weights_record(line)
        if as_json:
            # Progress may be lost, an answer may not.
            (write_bytes if isinstance(last, DownloadProgress) else write_answer)(line)
        elif isinstance(last, DownloadProgress):
            _show_progress(last)
    if isinstance(last, Failed) and not as_json:
        raise ModelsRefusalError(last.sentence, hint=last.hint, detail=last.detail)
    return last


def _arguments(words: Sequence[str], *, with_optional: bool) -> list[str]:
    if not words:
        return ["list"]
    action, *rest = words
    if not action.strip():
        raise ModelsUsageError("MODEL is empty.", hint="All of them: diffusionforce models")
    if action not in _ACTIONS:
        if rest:
            close = difflib.get_close_matches(action, _ACTIONS, n=1)
            meant = f"did you mean {close[0]}?" if close else f"there is {', '.join(_ACTIONS)}."
            raise ModelsUsageError(f"There is no models {action}; {meant}", hint="Try: diffusionforce models --help")
        return ["show", "--", action]
    if len(rest) != len(_ACTIONS[action]):
        wanted = " ".join(_ACTIONS[action])
        raise ModelsUsageError(f"models {action} takes {wanted}.", hint="Try: diffusionforce models --help")
    for name, word in zip(_ACTIONS[action], rest, strict=True):
        if not word.strip():  # An empty path would be the folder that we are in.
            raise ModelsUsageError(f"{name} is empty.", hint="Try: diffusionforce models --help")
    return [action, *(["--all"] if with_optional and action == "download" else []), "--", *rest]


def _acceptance(model: Model) -> Text:
    if not model.terms:
        return Text(f"{model.title} has no terms of its own that would have to be accepted here.")
    accepted = " ".join(f"{terms.licence} ({terms.origin}). {terms.words} {terms.url}" for terms in model.terms)
    return Text(f"Accepted for {model.title}: {accepted}", "green")


def _exit_code(last: WeightsRecord | None, words: Sequence[str]) -> int:
    if isinstance(last, Failed) or last is None:
        return EXIT_FAILED
    if isinstance(last, Models) and words and words[0] != "accept":
        is_whole = all(file.state == "here" or file.optional for file in last.models[0].files)
        return EXIT_OK if is_whole else EXIT_FAILED
    return EXIT_OK


def _show_progress(record: DownloadProgress) -> None:
    if not sys.stderr.isatty():
        return
    share = f"{memory(record.done_bytes)} of {memory(record.total_bytes)}"
    words = f"{record.number}/{record.num_files} {record.file.rpartition('/')[2]}: {share}"
    is_done = record.done_bytes == record.total_bytes
    sys.stderr.write(f"\r{words[:100]:<100}" + ("\n" if is_done else ""))
    sys.stderr.flush()


def _all_lines(models: Models) -> Iterator[Text]:
    width = max(len(model.title) for model in models.models)
    for model in models.models:
        needed = [file for file in model.files if not file.optional]
        missing = [file for file in needed if file.state != "here"]
        state = "here" if not missing else "wrong" if any(file.state == "wrong" for file in missing) else "missing"
        size_bytes = sum(file.size_bytes for file in missing)
        here = f"{len(needed) - len(missing)} of {len(needed)} files"
        words = here if not missing else f"{here}, {memory(size_bytes)} missing"
        yield Text.assemble((f"{model.title:<{width}}", _STYLES[state]), f"  {', '.join(model.profiles)}: {words}")
    yield Text("Cannot be trained:", "dim")
    for model in models.unavailable:
        yield Text(f"  {model.title}: {model.reason}.", "dim")
    yield _folders(models.folders)


def _lines(model: Model, folders: Sequence[str]) -> Iterator[Text]:
    yield Text(f"{model.title}: makes {model.makes}, trained on {model.trains_on}; {model.validated}.", "bold")
    for terms in model.terms:
        yield Text(f"Terms: {terms.licence} ({terms.origin}). {terms.words} {terms.url}", "yellow")
    if model.terms and not model.terms_accepted:
        yield Text(f"To accept them: diffusionforce models accept {model.family}", "yellow")
    for file in model.files:
        yield from _file_lines(file)
    yield from (Text(f"Mind: {trap}", "dim") for trap in model.traps)
    if any(file.state != "here" and not file.optional for file in model.files):
        yield Text(f"Download what is missing: diffusionforce models download {model.family}")
    yield _folders(folders)


def _file_lines(file: ModelFile) -> Iterator[Text]:
    precision = f", {file.precision}" if file.precision else ""
    about = "" if file.state == "here" else "about "
    optional = ", optional" if file.optional else ""
    head = f"{file.role}: {file.title}, {about}{memory(file.size_bytes)}{precision}{optional}"
    yield Text.assemble((f"{file.state:>8}  ", _STYLES[file.state]), head)
    if file.state == "wrong":
        yield Text(f"{'':>8}  {file.problem} {file.hint}".rstrip(), "red")
    elif file.state == "here":
        yield Text(f"{'':>8}  {file.path}", "dim")
    else:
        gate = "; its terms have to be accepted there" if file.gated else ""
        yield Text(f"{'':>8}  {file.name} from {file.page} ({file.licence}{gate})", "dim")


def _folders(folders: Sequence[str]) -> Text:
    words = ", ".join(folders) if folders else "no folder yet; name one: diffusionforce models folder DIR"
    return Text(f"Looked in: {words}", "dim")
