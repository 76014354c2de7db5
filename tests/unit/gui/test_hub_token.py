"""The token is in the key store or nowhere."""

import os
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest

from diffusionforce.gui.model import hub_token
from diffusionforce.gui.model.hub_token import HubTokenError

TOKEN = "hf_abcdefgh"


class Store(keyring.backend.KeyringBackend):
    """A key store in memory that calls itself as one of the trusted ones."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise keyring.errors.KeyringLocked("locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise keyring.errors.PasswordSetError("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise keyring.errors.PasswordDeleteError("not there")
        del self.kept[service, username]


class Plaintext(Store):
    """A key store that writes what it is given into a file."""


Store.__module__ = "keyring.backends.SecretService"
Plaintext.__module__ = "keyrings.alt.file"


@pytest.fixture(autouse=True)
def before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    own = keyring.get_keyring()
    yield
    os.environ.pop("HF_TOKEN", None)
    keyring.set_keyring(own)


def use(store: keyring.backend.KeyringBackend) -> None:
    keyring.set_keyring(store)


def test_a_token_is_kept_used_and_forgotten():
    store = Store()
    use(store)
    state = hub_token.keep(f" {TOKEN}\n")
    assert (state.is_kept, state.is_in_use) == (True, True)
    assert state.sentence == "Kept in the keyring of your desktop."
    assert list(store.kept.values()) == [TOKEN]
    os.environ.pop("HF_TOKEN")
    assert hub_token.look().is_in_use
    assert os.environ["HF_TOKEN"] == TOKEN
    assert not hub_token.forget().is_in_use
    assert (store.kept, os.environ.get("HF_TOKEN")) == ({}, None)
    hub_token.forget()


@pytest.mark.parametrize("store", [keyring.backends.fail.Keyring(), Plaintext()])
def test_without_a_key_store_that_encrypts_nothing_is_kept_and_that_is_said(
    store: keyring.backend.KeyringBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    use(store)
    state = hub_token.keep(TOKEN)
    assert (state.store, state.is_kept, state.is_in_use) == ("", False, True)
    assert "no key store" in state.sentence
    assert getattr(store, "kept", {}) == {}
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    hub_token.forget()
    assert "HF_TOKEN" not in os.environ


def test_the_key_store_is_not_opened_without_need():
    store = Store()
    store.is_locked = True
    use(store)
    assert hub_token.look(asks=False) == hub_token.TokenState(
        store="the keyring of your desktop", is_kept=False, is_in_use=False
    )
    assert not hub_token.look().is_kept


def test_a_locked_store_is_told_and_the_token_still_serves():
    store = Store()
    store.is_locked = True
    use(store)
    with pytest.raises(HubTokenError, match="not kept"):
        hub_token.keep(TOKEN)
    assert os.environ["HF_TOKEN"] == TOKEN


@pytest.mark.parametrize("text", ["", "  ", "two words"])
def test_what_is_no_token_is_refused(text: str):
    use(Store())
    with pytest.raises(HubTokenError, match="not a token"):
        hub_token.keep(text)


def test_the_users_own_variable_comes_first(monkeypatch: pytest.MonkeyPatch):
    store = Store()
    use(store)
    hub_token.keep(TOKEN)
    monkeypatch.setenv("HF_TOKEN", "hf_own")
    hub_token.look()
    assert os.environ["HF_TOKEN"] == "hf_own"


def test_the_hub_is_asked_only_with_a_token_and_its_silence_has_words(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(HubTokenError, match="no token to test"):
        hub_token.ask_hub()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    # The library reads its settings when it is loaded, so the refusal to go online is put where it looks.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubTokenError, match="cannot be reached"):
        hub_token.ask_hub()
