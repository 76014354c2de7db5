"""What leaves the computer names nobody."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffusionforce.runs import cleaning
from diffusionforce.runs.cleaning import Cleaner


@pytest.mark.parametrize(
    "text",
    [
        "/mnt/photos/Anna Smith/at the beach.jpg cannot be read",
        "'/mnt/Anna' is not there",
        r"D:\\Bilder\\Anna\\a b.png is too large",
        r"\\\\server\\Anna\\x.txt",
        '{"path": "/srv/Anna Smith"}',
        "Anna.jpg has no caption",
        "in /srv/Anna/x and /srv/Anna",
        "mail anna@example.org, Anna-2.safetensors",
        "<dataset>/Anna in red.png: a note",
        "file:///srv/Anna/x",
        "path=/srv/Anna/x",
    ],
)
def test_paths_and_names_of_files_go(text: str) -> None:
    assert "anna" not in Cleaner({}).clean(text).lower()


def test_the_same_thing_stays_the_same_and_its_kind_is_seen() -> None:
    text = Cleaner({}).clean('"/srv/a/x.jpg", "/srv/a/y.jpg", "/srv/a/x.jpg"')
    assert text == '"<path 1>.jpg", "<path 2>.jpg", "<path 1>.jpg"'


def test_what_a_bug_report_is_about_stays() -> None:
    cleaner = Cleaner({"loranne": "<trigger>", "/data/run 1": "<run>"})
    file = str(Path(cleaning.__file__))
    line = f'  File "{file}", line 3, in x'
    assert cleaner.clean(line) == '  File "<diffusionforce>/runs/cleaning.py", line 3, in x'
    elsewhere = 'File "/opt/a b/venv/lib/python3.11/site-packages/torch/nn.py", line 1'
    assert cleaner.clean("/opt/venv/site-packages/torch/nn.py") == "<packages>/torch/nn.py"
    assert "opt" not in cleaner.clean(elsewhere)
    plain = "Step 3/4: loss 0.1 in 1.5 s; 1/2 done, see https://huggingface.co/o/m and log.txt."
    assert cleaner.clean(plain) == plain
    assert cleaner.clean("LoRAnne in /data/run 1/samples/step_000001_prompt_00.png") == (
        "<trigger> in <run>/samples/step_000001_prompt_00.png"
    )
    assert cleaner.num_replaced["paths"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "hf_abcdefghijSECRETabcdefghijklmn",
        "Authorization: Bearer abcSECRETdefghi",
        "https://me:SECRETpass@example.org/x",
        'HF_TOKEN="SECRETabc123"',
        "api_key: SECRETabc",
        "password=SECRETabc",
        "ghp_SECRETabcdefghijklmnopq",
    ],
)
def test_secrets_go(text: str) -> None:
    assert "SECRET" not in Cleaner({}).clean(f"before {text} after")


@given(
    st.text(max_size=300), st.text(alphabet="abcXYZ0 ä_.-", min_size=5, max_size=40).filter(lambda s: s == s.strip())
)
@settings(max_examples=150, deadline=2000)
def test_what_is_known_to_be_private_is_nowhere(text: str, private: str) -> None:
    cleaned = Cleaner({private: "<?>"}, kept={}).clean(f"{text} {private} '{private}'")
    assert f" {private} " not in cleaned and f"'{private}'" not in cleaned


@pytest.mark.parametrize(
    "piece", ["(", "a-", "/", "a/", "\\", "x.", "token", "@", "<dataset>/", "site-", "C:\\a ", '"/']
)
def test_no_text_takes_long(piece: str) -> None:
    begin_s = time.perf_counter()
    Cleaner({}).clean(piece * (100_000 // len(piece)))
    assert time.perf_counter() - begin_s < 2.0
