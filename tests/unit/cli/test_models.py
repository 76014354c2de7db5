"""`diffusionforce models` and `lora`: the child's records become words, and its refusals errors."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from diffusionforce.cli import main
from diffusionforce.wire import Failed, to_json
from diffusionforce.wire.engine import EngineTerms
from diffusionforce.wire.messages import Record
from diffusionforce.wire.weights import (
    Chosen,
    DownloadProgress,
    EngineOption,
    EngineOptions,
    LoraInfo,
    Model,
    ModelFile,
    Models,
    NoModel,
    read_weights_record,
)

TERMS = EngineTerms(folder="f", licence="Own Licence", origin="o/o", url="https://x", words="Not in Y.", models=("M",))


def file_of(state: str, **more) -> ModelFile:
    fields = {
        "role": "dit",
        "title": "transformer",
        "name": "m.safetensors",
        "repository": "o/m",
        "page": "https://huggingface.co/o/m",
        "licence": "MIT",
        "gated": True,
        "optional": False,
        "size_bytes": 3 * 1024**3,
        "state": state,
    }
    return ModelFile.model_validate({**fields, **more})


def models_of(*files: ModelFile, terms: tuple[EngineTerms, ...] = ()) -> Models:
    model = Model(
        family="m",
        title="Model M",
        profiles=("m-1024",),
        makes="pictures",
        trains_on="pictures",
        validated="listed",
        files=files,
        traps=("It bites.",),
        terms=terms,
        terms_accepted=not terms,
    )
    no_model = NoModel(name="n", title="Model N", reason="it is not", instead="m")
    return Models(models=(model,), unavailable=(no_model,), folders=("/models",))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch):
    """Let the child answer what is put here; returns what it was asked."""
    asked: list[list[str]] = []

    def put(*records: Record) -> list[list[str]]:
        def lines(module: str, arguments: Sequence[str]):
            asked.append(list(arguments))
            return iter([to_json(record) + b"\n" for record in records])

        monkeypatch.setattr("diffusionforce.cli.models.answer_lines", lines)
        return asked

    return put


def test_all_models_on_a_line_each(answers, capsys: pytest.CaptureFixture[str]):
    asked = answers(models_of(file_of("here"), file_of("missing", role="vae"), file_of("missing", optional=True)))
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert asked == [["list"]]
    assert "Model M  m-1024: 1 of 2 files, 3.0 GB missing" in out
    assert "Model N: it is not." in out and "Looked in: /models" in out


def test_one_model_with_all_that_is_to_know(answers, capsys: pytest.CaptureFixture[str]):
    wrong = file_of("wrong", role="vae", problem="It is half.", hint="Get it.")
    asked = answers(models_of(file_of("missing"), wrong, file_of("here", path="/x", precision="bf16"), terms=(TERMS,)))
    assert main(["models", "m-1024"]) == 1
    out = capsys.readouterr().out
    assert asked == [["show", "--", "m-1024"]]
    assert "Own Licence (o/o). Not in Y. https://x" in out and "diffusionforce models accept m" in out
    assert "m.safetensors from https://huggingface.co/o/m (MIT; its terms have to be accepted there)" in out
    assert "It is half. Get it." in out and "3.0 GB, bf16" in out and "Mind: It bites." in out
    assert "diffusionforce models download m" in out


def test_the_exit_code_says_whether_everything_is_here(answers):
    answers(models_of(file_of("here"), file_of("missing", optional=True)))
    assert main(["models", "m"]) == 0
    answers(models_of(file_of("here"), file_of("wrong")))
    assert main(["models", "m", "--json"]) == 1


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["download", "m"], ["download", "--", "m"]),
        (["download", "m", "--all"], ["download", "--all", "--", "m"]),
        (["use", "m", "vae", "-x.safetensors"], None),
        (["use", "m", "vae", "x.safetensors"], ["use", "--", "m", "vae", "x.safetensors"]),
        (["options", "m"], ["options", "--", "m"]),
        (["folder", "/d"], ["folder", "--", "/d"]),
        (["accept", "m"], ["accept", "--", "m"]),
    ],
)
def test_words_become_what_the_child_is_asked(answers, words: list[str], asked: list[str] | None):
    calls = answers(models_of(file_of("here")))
    main(["models", *words])
    assert calls == ([asked] if asked is not None else [])


def test_accepting_says_what_was_accepted(answers, capsys: pytest.CaptureFixture[str]):
    # Symptom: a model without terms was shown with all its files, as if there had been something to accept.
    answers(models_of(file_of("missing")))
    assert main(["models", "accept", "m"]) == 0
    assert capsys.readouterr().out == "Model M has no terms of its own that would have to be accepted here.\n"
    answers(models_of(file_of("missing"), terms=(TERMS,)))
    assert main(["models", "accept", "m"]) == 0
    assert capsys.readouterr().out == "Accepted for Model M: Own Licence (o/o). Not in Y. https://x\n"


@pytest.mark.parametrize("words", [["download"], ["use", "m", "vae"], ["folder"], ["accept", "a", "b"], ["m", "n"]])
def test_words_that_are_not_understood(answers, capsys: pytest.CaptureFixture[str], words: list[str]):
    calls = answers()
    assert main(["models", *words]) == 1
    assert calls == [] and "Try: diffusionforce models --help" in capsys.readouterr().err


def test_the_options_of_the_engine(answers, capsys: pytest.CaptureFixture[str]):
    option = EngineOption(name="lr_scheduler", type="a text", many=False, choices=("constant", "cosine"))
    answers(EngineOptions(family="m", options=(option,)))
    assert main(["models", "options", "m"]) == 0
    assert capsys.readouterr().out == "lr_scheduler  a text: constant, cosine\n"


def test_a_choice_and_a_download(answers, capsys: pytest.CaptureFixture[str]):
    answers(Chosen(what="autoencoder of M", path="/x/v"))
    assert main(["models", "use", "m", "vae", "/x/v"]) == 0
    assert "From now on: /x/v (autoencoder of M)." in capsys.readouterr().out
    progress = DownloadProgress(file="a/m.safetensors", number=1, num_files=2, done_bytes=5, total_bytes=10)
    answers(progress, models_of(file_of("here", path="/x")))
    assert main(["models", "download", "m", "--json"]) == 0
    assert capsys.readouterr().out.count("\n") == 2


@pytest.mark.parametrize("as_json", [False, True])
def test_a_refusal(answers, capsys: pytest.CaptureFixture[str], as_json: bool):
    answers(Failed(sentence="It is gated.", hint="Accept its terms."))
    assert main(["models", "download", "m", *(["--json"] if as_json else [])]) == 1
    captured = capsys.readouterr()
    if as_json:
        assert '"kind":"failed"' in captured.out and captured.err == ""
    else:
        assert captured.err == "It is gated.\nAccept its terms.\n"


def lora_of(**more) -> LoraInfo:
    fields = {
        "path": "/x.safetensors",
        "size_bytes": 10 * 1024**2,
        "base_model": "z_image",
        "families": ("z-image",),
        "titles": ("Z-Image",),
        "algorithm": "LoRA",
        "num_modules": 210,
        "num_expected": 210,
        "unknown_modules": (),
        "ranks": (32,),
        "alphas": (16.0,),
        "precision": "fp32",
        "step": 1250,
        "comfy": "loses layers",
        "comfy_lost": 120,
        "comfy_words": "Names have to be in dots.",
        "metadata": {"ss_tag": "y" * 300},
    }
    return LoraInfo.model_validate({**fields, **more})


def test_what_a_lora_file_says_of_itself_cannot_command_the_terminal(answers, capsys: pytest.CaptureFixture[str]):
    # Escape sequences in the metadata of a file from elsewhere reached the terminal.
    answers(lora_of(metadata={"title": "a\x1b[31mred\nline – ü"}))
    assert main(["lora", "info", "x.safetensors"]) == 0
    assert "title: a\\x1b[31mred\\nline – ü" in capsys.readouterr().out


def test_an_answer_that_cannot_be_written_is_no_success(answers, monkeypatch: pytest.MonkeyPatch):
    # On a full disk the exit code was 0 beside an empty file.
    def refuse(content: bytes) -> None:
        raise OSError(28, "No space left on device")

    answers(lora_of())
    monkeypatch.setattr("diffusionforce.cli.models.write_answer", refuse)
    assert main(["lora", "info", "--json", "x.safetensors"]) == 1


def test_a_lora_in_words(answers, capsys: pytest.CaptureFixture[str]):
    asked = answers(lora_of())
    assert main(["lora", "info", "x.safetensors"]) == 0
    out = capsys.readouterr().out
    assert asked == [["lora", "--", "x.safetensors"]]
    assert "LoRA for Z-Image, 10 MB, fp32." in out and "Rank 32, alpha 16, 210 of 210 layers." in out
    assert "Trained for 1,250 steps." in out
    assert "ComfyUI passes over 120 of its 210 layers. Names have to be in dots." in out
    assert "y" * 100 + "…" in out and "y" * 101 not in out


@pytest.mark.parametrize(("more", "asked"), [([], []), (["y.safetensors"], ["y.safetensors"])])
def test_a_lora_is_converted(answers, capsys: pytest.CaptureFixture[str], more: list[str], asked: list[str]):
    calls = answers(lora_of(path="/x-comfyui.safetensors", comfy="loads", comfy_lost=0, comfy_words=""))
    assert main(["lora", "convert", "x.safetensors", *more]) == 0
    assert calls == [["convert", "--", "x.safetensors", *asked]]
    assert "ComfyUI loads all of its layers." in capsys.readouterr().out


def test_a_lora_of_an_unknown_model(answers, capsys: pytest.CaptureFixture[str]):
    unknown = lora_of(
        families=(), titles=(), base_model="", num_expected=0, ranks=(), alphas=(), step=None, comfy="not known"
    )
    answers(unknown.model_copy(update={"unknown_modules": ("a_b",)}))
    assert main(["lora", "info", "x"]) == 0
    out = capsys.readouterr().out
    assert "for a model that is not known here" in out and "Rank not known, 210 layers." in out
    assert "Layers that the model does not have: a_b." in out


def test_without_a_file_the_parser_says_so(capsys: pytest.CaptureFixture[str]):
    assert main(["lora", "info"]) == 1
    assert "Try: diffusionforce lora info --help" in capsys.readouterr().err


def test_a_lora_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """With the real child."""
    assert main(["lora", "info", str(tmp_path / "none.safetensors")]) == 1
    assert "none.safetensors is not there." in capsys.readouterr().err


def test_all_models_as_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary):
    """With the real child."""
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    assert main(["models", "--json"]) == 0
    (line,) = capfdbinary.readouterr().out.splitlines()
    record = read_weights_record(line)
    assert isinstance(record, Models) and len(record.models) >= 25
