"""Texts that people send to others, without what tells who they are.

Names of folders and files are the worst: pictures are called after whom they show. A path is therefore replaced whole,
except where it lies in the code that is running, which a bug report is about. The same thing becomes the same word
everywhere, so that a reader still sees which two are one.
"""

import re
import sysconfig
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from diffusionforce.wire.privacy import without_names

_SECRETS = (
    re.compile(r"\bhf_[A-Za-z0-9]{8,}"),
    re.compile(r"\b(?:gh[pousr]|github_pat|sk|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}"),
    re.compile(r"(?i)(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"),
    re.compile(
        r"(?i)\b[\w-]{0,20}(?:token|secret|passwor[dt]|api[_-]?key|access[_-]?key|authorization)[\"']?\s*[=:]\s*[\"']?"
        r"(?!None\b|null\b|true\b|false\b)[^\s\"',;&]{4,}"
    ),
)
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_BEGIN = (
    r"(?:(?<![\w:/.<>~\\-])/(?=[^/\s])|(?<=file://)/|(?<!\w)[A-Za-z]:[\\/]|(?<![\w\\])\\{2,4}(?=\w)"
    r"|<(?:dataset|home|weights|data>[\\/]runs)>?[\\/])"
)
"""How a path begins: at a root, a drive, a server, or a folder that has been replaced by a word."""
_PATH = re.compile(
    # In quotes it is known where it ends; else with what looks like the end of a file's name; else with a space.
    rf"(?<=\")(?:{_BEGIN})[^\"\n]*|(?<=')(?:{_BEGIN})[^'\n]*"
    rf"|(?:{_BEGIN})[^\"'\n<>|:*?]{{0,250}}?\.[A-Za-z][A-Za-z0-9]{{0,11}}(?![\w.])"
    rf"|(?:{_BEGIN})[^\s\"'<>|:*?,;()\[\]{{}}]*"
)
_FILE = re.compile(
    r"(?i)(?<![^\s\"'<>|:*?/\\,;=()\[\]{}])[^\s\"'<>|:*?/\\,;=()\[\]{}]{1,200}?"
    r"\.(?:png|jpe?g|jxl|webp|bmp|gif|tiff?|avif|heic|mp4|mov|mkv|avi|webm|txt|caption|json|toml|safetensors|pth?|ckpt|zip)"
    r"(?![\w])"
)
_OWN_FILES = re.compile(r"(?:log|log\.\d+|job|run|samples|about|files|step_\d+_prompt_\d+|[\w-]*<[\w ]+>[\w-]*)\.\w+")
_PACKAGES = re.compile(r"(?<![^\s\"'<>])[^\s\"'<>]{0,300}?(?:site|dist)-packages(?=[\\/])")


class Cleaner:
    """Replaces in texts what is private: secrets, paths, names of files, and what else it is told.

    Attributes:
        num_replaced: How often each kind of thing was, by what it is, for example `paths`.
    """

    def __init__(self, known: Mapping[str, str], *, kept: Mapping[str, str] | None = None) -> None:
        """Prepare the replacing.

        Args:
            known: What is private beside what shows by itself, and the word for it. A path, or any text.
            kept: Folders of which what lies below may be seen, and the word for each; None are those of the program.
        """
        self.num_replaced: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}
        self._known = _spelt({**known, **(own_folders() if kept is None else kept)})

    def clean(self, text: str) -> str:
        """Return the text without what is private."""
        for pattern in _SECRETS:
            text = self._replace(pattern, "<secret>", text, kind="secrets")
        for word, instead in self._known:
            text = self._replace(_whole(word), instead, text, kind="known")
        text = _PACKAGES.sub("<packages>", text)
        text = _PATH.sub(self._path, text)
        text = _FILE.sub(self._file, text)
        text = self._replace(_ADDRESS, "<address>", text, kind="addresses")
        return without_names(text)

    def cleaned(self, value: Any) -> Any:
        """Return a value of JSON or TOML with all its texts clean; names of fields stay."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            return {key: self.cleaned(item) for key, item in cast(dict[str, Any], value).items()}
        if isinstance(value, list):
            return [self.cleaned(item) for item in cast(list[Any], value)]
        return value

    def _replace(self, pattern: re.Pattern[str], instead: str, text: str, *, kind: str) -> str:
        text, count = pattern.subn(lambda _match: instead, text)
        self.num_replaced[kind] += count
        return text

    def _path(self, match: re.Match[str]) -> str:
        path = match[0]
        if len(path.strip("/\\")) < 2:
            return path
        self.num_replaced["paths"] += 1
        return f"<path {self._number(path)}>{_suffix(path)}"

    def _file(self, match: re.Match[str]) -> str:
        if _OWN_FILES.fullmatch(match[0]):
            return match[0]
        self.num_replaced["names of files"] += 1
        return f"<file {self._number(match[0])}>{_suffix(match[0])}"

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)


def own_folders() -> dict[str, str]:
    """Return the folders of the running program, in which tracebacks lie, and the words for them."""
    folders = {str(Path(__file__).resolve().parents[1]): "<diffusionforce>"}
    for name in ("stdlib", "purelib", "platlib"):
        folders[sysconfig.get_path(name)] = "<python>" if name == "stdlib" else "<packages>"
    return folders


def _spelt(words: Mapping[str, str]) -> list[tuple[str, str]]:
    """The words in every way that they are written, the longest first: a folder goes before the one that it is in."""
    spellings = {
        spelling: instead
        for word, instead in words.items()
        for spelling in (word, word.replace("\\", "/"), word.replace("\\", "\\\\"))
        if len(word.strip()) > 1
    }
    return sorted(spellings.items(), key=lambda pair: -len(pair[0]))


def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)(?<!\w){re.escape(word)}(?!\w)" if word[:1].isalnum() else rf"{re.escape(word)}(?!\w)")


def _suffix(name: str) -> str:
    match = re.search(r"\.[A-Za-z][A-Za-z0-9]{0,11}$", name)
    return match[0] if match else ""
