"""What uv and pip say when they fail, and what it means for the person who watches.

Their own words about a missing network are many lines of causes and retries; what a person needs is the one sentence
that says what to do. Standard library only: bootstrap.py uses it before anything is installed.
"""

import re

from diffusionforce.errors import SetupError

# What pip, uv and the operating systems say; the first that matches wins.
NO_SPACE = re.compile(r"No space left on device|Errno 28|os error 28|not enough space on the disk|os error 112", re.I)
HASH_MISMATCH = re.compile(r"DO NOT MATCH THE HASHES|Hash mismatch", re.I)
NO_NETWORK = re.compile(
    r"name resolution|Name or service not known|nodename nor servname|getaddrinfo failed|dns error"
    r"|Failed to establish a new connection|NewConnectionError|NameResolutionError|ConnectTimeout"
    r"|Connection (?:refused|timed out|reset)|Network is unreachable|ProxyError|Read timed out"
    r"|client error \(Connect\)|operation timed out|error sending request|error decoding response body",
    re.I,
)
_IN_USE = re.compile(r"os error 32|os error 5\b|being used by another process|Access is denied", re.I)
_READ_ONLY = re.compile(r"os error 13|os error 30|Permission denied|Read-only file system", re.I)
_NO_PYTHON = re.compile(r"No interpreter found|Failed to inspect Python interpreter", re.I)
_NOT_FOUND = re.compile(
    r"No solution found|was not found in the (?:package registry|provided package locations)|no wheels with a matching",
    re.I,
)


def failure_of(output: str, *, doing: str, wheels: str = "") -> SetupError:
    """Return what a failed step of uv means.

    Args:
        output: All that it said.
        doing: What was being done, for example `PyTorch`, for the sentence.
        wheels: The folder that everything was to come from; empty where it is downloaded.
    """
    for pattern, sentence, hint in (*_MEANINGS, *_about_source(doing, wheels=wheels)):
        if pattern.search(output):
            return SetupError(sentence, hint=hint, detail=output.strip())
    return SetupError(
        f"{doing} could not be installed: {last_error(output) or 'uv gave no reason'}.",
        hint="Try again; the log has all that uv said.",
        detail=output.strip(),
    )


_MEANINGS = (
    (NO_SPACE, "The disk is full.", "Free some space and try again; what was downloaded is kept."),
    (
        HASH_MISMATCH,
        "A downloaded package is not the one that was pinned, so it was not installed.",
        "Try again. If it stays so, something on the way changes downloads, a proxy or a mirror.",
    ),
    (
        _IN_USE,
        "A file of the environment is in use by another program.",
        "Close programs that use it, or wait until the virus scanner is done, and try again.",
    ),
    (_READ_ONLY, "The folder of the environment cannot be written.", "Look at the rights of the data folder."),
    (
        _NO_PYTHON,
        "The Python of the application does not start.",
        "Run the setup of DiffusionForce again; it puts it back.",
    ),
)


def _about_source(doing: str, *, wheels: str) -> tuple[tuple[re.Pattern[str], str, str], ...]:
    if wheels:
        sentence = f"{doing} is not in {wheels}, or not for this computer."
        return ((_NOT_FOUND, sentence, "Take the folder of wheels that was made for this version."),)
    return (
        (
            NO_NETWORK,
            f"{doing} could not be downloaded: the network, or the server, cannot be reached.",
            "Connect this computer to the internet and try again; what was downloaded is kept. Behind a proxy, set "
            "HTTPS_PROXY. Without internet, install from a folder of wheels.",
        ),
        (
            _NOT_FOUND,
            f"{doing} is not to be had for this computer in the version that was chosen.",
            "Look whether there is a newer DiffusionForce, and take that.",
        ),
    )


def last_error(output: str) -> str:
    """Return the last error of an output, with its first cause, without a full stop; empty where there is none."""
    lines = [line.strip() for line in output.splitlines()]
    found = [line for line in lines if re.match(r"error", line, re.I)]
    causes = [line for line in lines if line.startswith("cause:")]
    said = [re.sub(r"^error:\s*", "", found[-1], flags=re.I)] if found else []
    return ": ".join([*said, *(cause.removeprefix("cause:").strip() for cause in causes[:1])]).rstrip(".")
