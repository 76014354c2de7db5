"""The token for Hugging Face, kept in the key store of the operating system and nowhere else.

A file would be read by every program of the user, and copied into every backup. So a computer without a key store
keeps no token: the window says so, and holds it for itself and the processes it starts until it closes. Everything
here may ask the user or the network and takes its time; call it on a thread.
"""

import importlib
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from diffusionforce.errors import UserError
from diffusionforce.gui.model.language import noted

SERVICE, USER = "DiffusionForce", "hub-token"
VARIABLE = "HF_TOKEN"
_STORE_NAMES = {
    "keyring.backends.Windows": "Windows Credential Manager",
    "keyring.backends.macOS": "the keychain of this Mac",
    "keyring.backends.SecretService": "the keyring of your desktop",
    "keyring.backends.libsecret": "the keyring of your desktop",
    "keyring.backends.kwallet": "KWallet",
}
"""Key stores that encrypt what they keep; any other is not trusted, whatever it calls itself."""
_SIGN_IN = "Make one at the hub under Settings, Access tokens; reading suffices."


class HubTokenError(UserError):
    """A token that cannot be kept, or is refused."""


@dataclass(frozen=True, kw_only=True)
class TokenState:
    """What is known of the token.

    Attributes:
        store: The key store in words; empty where this computer has none.
        is_kept: Whether the key store holds a token.
        is_in_use: Whether the processes that the window starts get a token.
    """

    store: str
    is_kept: bool
    is_in_use: bool

    @property
    def sentence(self) -> str:
        """What becomes of a token here."""
        if self.store:
            return f"Kept in {self.store}."
        return noted("This computer has no key store, so a token is not kept: it is forgotten when the window closes.")


def look(*, asks: bool = True) -> TokenState:
    """Look whether there is a token, and put one that is kept into use.

    Args:
        asks: Whether the key store may be opened, which can ask the user for a password.
    """
    store = store_name()
    token = _stored() if store and asks else ""
    if token:
        os.environ.setdefault(VARIABLE, token)
    return TokenState(store=store, is_kept=bool(token), is_in_use=bool(os.environ.get(VARIABLE)))


def store_name() -> str:
    """Return the key store of this computer in words, empty if it has none that encrypts."""
    backend = _keyring().get_keyring()
    candidates = [backend, *getattr(backend, "backends", ())]
    names = (_STORE_NAMES.get(type(candidate).__module__, "") for candidate in candidates)
    return next(filter(None, names), "")


def _keyring() -> Any:
    # Not at the top: it looks for key stores when it is loaded, and the window starts without it.
    return importlib.import_module("keyring")


def _stored() -> str:
    errors = importlib.import_module("keyring.errors")
    try:
        return _keyring().get_password(SERVICE, USER) or ""
    except errors.KeyringError:
        return ""  # Locked, and the user did not open it.


def keep(token: str) -> TokenState:
    """Put a token into use, and into the key store if there is one.

    Raises:
        HubTokenError: It does not look like one, or the key store refuses.
    """
    token = token.strip()
    if not token or any(character.isspace() for character in token):
        raise HubTokenError("This is not a token.", hint=f"A token is one word that begins with hf_. {_SIGN_IN}")
    os.environ[VARIABLE] = token
    store = store_name()
    if store:
        errors = importlib.import_module("keyring.errors")
        try:
            _keyring().set_password(SERVICE, USER, token)
        except errors.KeyringError as error:
            raise HubTokenError(
                f"The token is not kept: {store} refused it.",
                hint="It is used until the window closes. Open the key store, and try again.",
                detail=str(error),
            ) from error
    return TokenState(store=store, is_kept=bool(store), is_in_use=True)


def forget() -> TokenState:
    """Take the token out of use and out of the key store.

    Raises:
        HubTokenError: The key store refuses.
    """
    os.environ.pop(VARIABLE, None)
    store = store_name()
    if store:
        errors = importlib.import_module("keyring.errors")
        try:
            _keyring().delete_password(SERVICE, USER)
        except errors.PasswordDeleteError:
            pass  # There was none.
        except errors.KeyringError as error:
            raise HubTokenError(f"{store} does not give the token up.", hint="Remove it there.") from error
    return TokenState(store=store, is_kept=False, is_in_use=False)


def ask_hub() -> str:
    """Ask the hub whom the token in use belongs to, and return the name.

    Raises:
        HubTokenError: The hub refuses it, or cannot be reached.
    """
    token = os.environ.get(VARIABLE, "")
    if not token:
        raise HubTokenError("There is no token to test.", hint=f"Paste one first. {_SIGN_IN}")
    hub, errors = importlib.import_module("huggingface_hub"), importlib.import_module("huggingface_hub.errors")
    unreachable = (OSError, *_network_errors())
    try:
        return str(hub.HfApi(token=token).whoami().get("name", ""))
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", 0)
        if status in {401, 403}:
            raise HubTokenError(
                "Hugging Face says no to this token.", hint=f"It may have been revoked. {_SIGN_IN}", detail=str(error)
            ) from error
        raise HubTokenError(
            f"Hugging Face answered with an error ({status}).", hint="Try again in a while.", detail=str(error)
        ) from error
    except unreachable as error:
        raise HubTokenError(
            "Hugging Face cannot be reached.", hint="Check the connection, and try again.", detail=str(error)
        ) from error


def _network_errors() -> Iterator[type[Exception]]:
    """Yield what the libraries raise that speak to the network; which of them is used depends on the hub's version."""
    for module, name in (("httpx2", "TransportError"), ("httpx", "TransportError")):
        if importlib.util.find_spec(module) is not None:
            yield getattr(importlib.import_module(module), name)
