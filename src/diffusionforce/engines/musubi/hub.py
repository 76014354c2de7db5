"""Hugging Face, where the models are: names, sizes and files, with its refusals put into words."""

import contextlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, get_token, hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.utils import tqdm  # pyright: ignore[reportPrivateImportUsage]

from diffusionforce.errors import WeightsError

PAGE = "https://huggingface.co"
_TOKEN_HINT = (
    f"Make a token at {PAGE}/settings/tokens that may read, and give it once: hf auth login. Or set HF_TOKEN to it."
)


def _network_errors() -> Iterator[type[Exception]]:
    """Yield what the libraries raise that speak to the network; which of them is used depends on the hub's version."""
    for module, name in (
        ("httpx2", "TransportError"),
        ("httpx", "TransportError"),
        ("requests.exceptions", "RequestException"),
        ("huggingface_hub.errors", "XetDownloadError"),
    ):
        if importlib.util.find_spec(module.partition(".")[0]) is not None:
            error = getattr(importlib.import_module(module), name, None)
            if error is not None:
                yield error


_NETWORK_ERRORS = tuple(_network_errors())


class HuggingFaceHub:
    """The hub, with the token that the user gave to `hf auth login` or set as HF_TOKEN, if any.

    Args:
        endpoint: Another place that speaks as it does; None takes it, or what HF_ENDPOINT names.
    """

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint
        self._api = HfApi(endpoint=endpoint)
        self._listings: dict[str, Mapping[str, int]] = {}

    def listing(self, repository: str) -> Mapping[str, int]:
        """Return the files of a repository with their sizes in bytes.

        Raises:
            WeightsError: It cannot be reached, or gives no access.
        """
        if repository not in self._listings:
            with in_words(repository):
                info = self._api.model_info(repository, files_metadata=True)
                if info.gated:
                    self._api.auth_check(repository)
            self._listings[repository] = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        return self._listings[repository]

    def fetch(self, repository: str, path: str, *, folder: Path, report: Callable[[int], None]) -> None:
        """Bring a file into a folder, under its path, going on where an earlier download broke off.

        Raises:
            WeightsError: It cannot be reached, or gives no access.
        """
        with in_words(repository):
            hf_hub_download(repository, path, local_dir=folder, endpoint=self._endpoint, tqdm_class=_reporting(report))


@contextlib.contextmanager
def in_words(repository: str) -> Iterator[None]:
    """Turn the library's errors into sentences.

    Raises:
        WeightsError: What the hub refused, and what to do.
    """
    page = f"{PAGE}/{repository}"
    try:
        yield
    except GatedRepoError as error:
        raise WeightsError(
            f"{repository} gives its files only to those who accepted its terms.",
            hint=f"Read and accept them at {page} with your account there. "
            + ("" if get_token() else f"{_TOKEN_HINT} ")
            + "Then start the download again.",
            detail=str(error),
        ) from error
    except RepositoryNotFoundError as error:
        raise WeightsError(
            f"{repository} is not there, or not for you.",
            hint=f"Look at {page}. " + ("Your token may not read it." if get_token() else _TOKEN_HINT),
            detail=str(error),
        ) from error
    except (*_NETWORK_ERRORS, OfflineModeIsEnabled, LocalEntryNotFoundError, ConnectionError, TimeoutError) as error:
        raise _unreachable(repository, error) from error
    except EntryNotFoundError as error:
        raise WeightsError(f"{repository} has not the file.", hint=f"Look at {page}.", detail=str(error)) from error
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        if status == 401:
            raise WeightsError("Hugging Face does not know your token.", hint=_TOKEN_HINT, detail=str(error)) from error
        raise WeightsError(
            f"Hugging Face answers with an error{f' ({status})' if status else ''} for {repository}.",
            hint="Try again later.",
            detail=str(error),
        ) from error


def _unreachable(repository: str, error: Exception) -> WeightsError:
    return WeightsError(
        f"Hugging Face cannot be reached for {repository}.",
        hint="Check the connection. A download that broke off goes on where it was. Files that you bring here by other "
        "means are found with: diffusionforce models folder DIR",
        detail=f"{type(error).__name__}: {error}",
    )


def _reporting(report: Callable[[int], None]) -> type[Any]:
    """Return a progress bar that draws nothing and says how many bytes are here."""

    class Bar(tqdm):  # pyright: ignore[reportUntypedBaseClass]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._here = int(kwargs.get("initial") or 0)
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> bool | None:
            self._here += int(n or 0)
            report(self._here)
            return None

    return Bar
