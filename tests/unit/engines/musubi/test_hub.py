"""The hub's library against a server on this computer: names, files, progress, resuming, and refusals in words."""

from pathlib import Path

import pytest
from tests.support.fake_hub import hub_server

from diffusionforce.engines.musubi.hub import HuggingFaceHub, in_words
from diffusionforce.errors import WeightsError

REPOSITORY = "someone/model"
CONTENT = bytes(range(256)) * 4096


@pytest.fixture(autouse=True)
def no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffusionforce.engines.musubi.hub.get_token", lambda: None)
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")


def test_a_file_is_listed_and_fetched(tmp_path: Path):
    reports: list[int] = []
    with hub_server({REPOSITORY: {"deep/a.safetensors": CONTENT, "b.md": b"b"}}) as address:
        hub = HuggingFaceHub(address)
        assert hub.listing(REPOSITORY) == {"deep/a.safetensors": len(CONTENT), "b.md": 1}
        hub.fetch(REPOSITORY, "deep/a.safetensors", folder=tmp_path, report=reports.append)
    assert (tmp_path / "deep" / "a.safetensors").read_bytes() == CONTENT
    assert reports and reports[-1] == len(CONTENT) and reports == sorted(reports)


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path: Path):
    content = CONTENT * 24  # The library keeps what it has in pieces of 10 MB.
    starts, reports = list[int](), list[int]()
    with hub_server({REPOSITORY: {"a.bin": content}}, cuts=[len(content) * 3 // 4], starts=starts) as address:
        HuggingFaceHub(address).fetch(REPOSITORY, "a.bin", folder=tmp_path, report=reports.append)
    assert (tmp_path / "a.bin").read_bytes() == content
    assert len(starts) == 1 and 0 < starts[0] <= len(content) * 3 // 4
    assert reports[-1] == len(content)


def test_a_gated_repository_says_where_its_terms_are():
    words = "gives its files only to those who accepted its terms"
    with (
        hub_server({REPOSITORY: {"a": b"a"}}, gated=(REPOSITORY,)) as address,
        pytest.raises(WeightsError, match=words) as refusal,
    ):
        HuggingFaceHub(address).listing(REPOSITORY)
    assert f"https://huggingface.co/{REPOSITORY}" in refusal.value.hint
    assert "hf auth login" in refusal.value.hint


def test_a_token_of_somebody_who_accepted_the_terms_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with hub_server({REPOSITORY: {"a.bin": CONTENT}}, gated=(REPOSITORY,), token="hf_accepted") as address:
        monkeypatch.setenv("HF_TOKEN", "hf_of_somebody_else")
        with pytest.raises(WeightsError, match="only to those who accepted its terms"):
            HuggingFaceHub(address).listing(REPOSITORY)
        monkeypatch.setenv("HF_TOKEN", "hf_accepted")
        assert HuggingFaceHub(address).listing(REPOSITORY) == {"a.bin": len(CONTENT)}
        HuggingFaceHub(address).fetch(REPOSITORY, "a.bin", folder=tmp_path, report=lambda _: None)
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_repository_or_file_that_is_not_there(tmp_path: Path):
    with hub_server({REPOSITORY: {"a": b"a"}}) as address:
        with pytest.raises(WeightsError, match="someone/other is not there, or not for you"):
            HuggingFaceHub(address).listing("someone/other")
        with pytest.raises(WeightsError, match="someone/model has not the file"):
            HuggingFaceHub(address).fetch(REPOSITORY, "none", folder=tmp_path, report=print)


def test_no_connection_is_a_sentence():
    with hub_server({}) as address:
        pass
    with pytest.raises(WeightsError, match="Hugging Face cannot be reached for someone/model"):
        HuggingFaceHub(address).listing(REPOSITORY)


@pytest.mark.parametrize(
    ("status", "words"), [(401, "does not know your token"), (404, "answers with an error"), (400, r"an error \(400\)")]
)
def test_other_answers_are_sentences(status: int, words: str):
    with hub_server({}, status=status) as address, pytest.raises(WeightsError, match=words):
        HuggingFaceHub(address).listing(REPOSITORY)


def test_with_a_token_the_hint_does_not_ask_for_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("diffusionforce.engines.musubi.hub.get_token", lambda: "hf_x")
    with (
        hub_server({REPOSITORY: {"a": b"a"}}, gated=(REPOSITORY,)) as address,
        pytest.raises(WeightsError) as refusal,
    ):
        HuggingFaceHub(address).listing(REPOSITORY)
    assert "hf auth login" not in refusal.value.hint


def test_bugs_are_not_put_into_words():
    with pytest.raises(ZeroDivisionError), in_words(REPOSITORY):
        raise ZeroDivisionError
