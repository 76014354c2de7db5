"""The child behind `diffusionforce models` and `lora`: one JSON object a line, the last of them the answer."""

from pathlib import Path

import pytest
from tests.support.fake_hub import FolderHub
from tests.support.weights import write_like, write_weights

from diffusionforce.engines.musubi.families import FAMILIES
from diffusionforce.engines.musubi.terms import are_accepted, require_accepted
from diffusionforce.engines.musubi.weights_command import main
from diffusionforce.engines.musubi.weights_settings import read_settings
from diffusionforce.errors import EngineError
from diffusionforce.job import builtin_profiles
from diffusionforce.wire import Failed
from diffusionforce.wire.weights import (
    Chosen,
    DownloadProgress,
    EngineOptions,
    LoraInfo,
    Models,
    WeightsRecord,
    read_weights_record,
)

KLEIN = FAMILIES["flux2-klein-base-9b"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "data"))


@pytest.fixture
def ask(capfdbinary: pytest.CaptureFixture[bytes]):
    def asked(*arguments: str, hub: FolderHub | None = None) -> list[WeightsRecord]:
        code = main(arguments, hub=hub)
        records = [read_weights_record(line) for line in capfdbinary.readouterr().out.splitlines()]
        assert code == (1 if isinstance(records[-1], Failed) else 0)
        return records

    return asked


def test_all_models_with_their_profiles(ask):
    (models,) = ask("list")
    assert isinstance(models, Models)
    assert {model.family for model in models.models} == set(FAMILIES)
    assert {name for model in models.models for name in model.profiles} == set(builtin_profiles()) - {"pocket-demo"}
    assert all(file.state == "missing" for model in models.models for file in model.files)
    assert {model.name for model in models.unavailable} >= {"ltx-video", "ltx-2"}
    assert not any(model.terms_accepted for model in models.models if model.family.startswith("hunyuan"))


@pytest.mark.parametrize("name", ["klein-9b-1024", "flux2-klein-base-9b"])
def test_one_model_by_profile_or_family(ask, name: str):
    (models,) = ask("show", name)
    assert isinstance(models, Models) and [model.family for model in models.models] == [KLEIN.name]
    assert [file.role for file in models.models[0].files] == ["dit", "vae", "text_encoder"]


def test_the_files_of_an_own_profile_count(ask, tmp_path: Path):
    file = KLEIN.file("dit")
    assert file is not None
    write_like(tmp_path / "mine.safetensors", file.signature)
    text = builtin_profiles()["klein-9b-1024"].read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(
        text.replace('engine = "musubi"', 'engine = "musubi"\nweights = "mine.safetensors"'), encoding="utf-8"
    )
    (models,) = ask("show", str(own))
    assert isinstance(models, Models)
    dit = models.models[0].files[0]
    assert (dit.state, dit.path, dit.precision) == ("here", str(tmp_path / "mine.safetensors"), "bf16")


def test_a_file_is_chosen_after_it_was_looked_at(ask, tmp_path: Path):
    file = KLEIN.file("dit")
    assert file is not None
    path = write_like(tmp_path / "mine.safetensors", file.signature)
    (chosen,) = ask("use", "klein-9b-1024", "dit", str(path))
    assert isinstance(chosen, Chosen) and chosen.path == str(path)
    (models,) = ask("show", "klein-9b-1024")
    assert isinstance(models, Models) and models.models[0].files[0].state == "here"
    (refused,) = ask("use", "wan21-14b", "dit", str(path))
    assert isinstance(refused, Failed) and "it is FLUX.2 Klein 9B" in refused.sentence
    (refused,) = ask("use", "wan21-14b", "ddit", str(path))
    assert isinstance(refused, Failed) and "has no file 'ddit'" in refused.sentence
    assert list(read_settings().files) == ["flux2-klein-base-9b.dit"]
    path.write_bytes(path.read_bytes()[:-1])
    (models,) = ask("show", "klein-9b-1024")
    assert isinstance(models, Models)
    assert models.models[0].files[0].state == "wrong" and "half downloaded" in models.models[0].files[0].problem


def test_a_folder_is_looked_into_from_then_on(ask, tmp_path: Path):
    file = KLEIN.file("vae")
    assert file is not None
    folder = tmp_path / "models"
    write_like(folder / "vae" / "ae.safetensors", file.signature)
    (chosen,) = ask("folder", str(folder))
    assert isinstance(chosen, Chosen)
    (models,) = ask("show", "klein-9b-1024")
    assert isinstance(models, Models) and models.folders == (str(folder),)
    assert [one.state for one in models.models[0].files] == ["missing", "here", "missing"]
    (refused,) = ask("folder", str(folder / "none"))
    assert isinstance(refused, Failed) and "is not a folder" in refused.sentence


def test_a_download_reports_and_ends_with_what_is_here(ask, tmp_path: Path):
    family = FAMILIES["kandinsky5-lite-t2v"]
    ask("accept", family.name)
    repositories: dict[str, dict[str, bytes]] = {}
    for file in family.files:
        assert file.signature is not None
        content = write_like(tmp_path / "x.safetensors", file.signature).read_bytes()
        paths = {"config.json": b"{}", "model.safetensors": content} if file.is_folder else {file.path: content}
        repositories.setdefault(file.repository, {}).update(paths)
    *progress, last = ask("download", "kandinsky5-lite", hub=FolderHub(repositories))
    assert all(isinstance(record, DownloadProgress) for record in progress)
    ends = [
        record
        for record in progress
        if isinstance(record, DownloadProgress) and record.done_bytes == record.total_bytes
    ]
    assert {record.number for record in ends} == set(range(1, ends[0].num_files + 1))
    assert isinstance(last, Models) and all(file.state == "here" for file in last.models[0].files)
    assert ask("download", "kandinsky5-lite", hub=FolderHub({})) == [last]


def test_terms_are_shown_before_a_model_is_used(ask):
    hunyuan = FAMILIES["hunyuan-video"]
    with pytest.raises(EngineError, match="under terms of its own, Tencent Hunyuan Community License") as refusal:
        require_accepted(hunyuan, profile_name="hunyuan-video")
    assert "European Union" in refusal.value.hint and "diffusionforce models accept hunyuan-video" in refusal.value.hint
    (refused,) = ask("download", "hunyuan-video", hub=FolderHub({}))
    assert isinstance(refused, Failed) and "which have to be accepted" in refused.sentence
    (models,) = ask("accept", "hunyuan-video")
    assert isinstance(models, Models) and models.models[0].terms_accepted
    require_accepted(hunyuan, profile_name="hunyuan-video")
    assert not are_accepted(FAMILIES["hunyuan-video-1.5"]) and are_accepted(KLEIN)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("klein-9b-1023", "There is no profile 'klein-9b-1023'. Did you mean klein-9b-1024?"),
        ("pocket-demo", "trains the pocket model, which comes with DiffusionForce"),
        ("ltx-2", "LTX-2 cannot be trained: the engine has no trainer for it."),
    ],
)
def test_what_is_no_model_to_download_is_said(ask, name: str, words: str):
    (refused,) = ask("show", name)
    assert isinstance(refused, Failed) and words in refused.sentence


def test_the_options_that_a_profile_can_set(ask):
    (options,) = ask("options", "wan22-t2v-14b")
    assert isinstance(options, EngineOptions)
    by_name = {option.name: option for option in options.options}
    assert "timestep_boundary" in by_name and "output_dir" not in by_name and "task" not in by_name
    assert "flux_shift" in by_name["timestep_sampling"].choices
    assert by_name["network_args"].type == "a list, each item a text"


def test_a_lora_is_converted_beside_itself_and_never_over_a_file(ask, tmp_path: Path):
    name = "lora_unet_layers_0_attention_to_q"
    tensors = {f"{name}.lora_down.weight": (4, 3840), f"{name}.lora_up.weight": (3840, 4)}
    path = write_weights(tmp_path / "x.safetensors", tensors)
    (info,) = ask("convert", str(path))
    assert isinstance(info, LoraInfo) and info.path == str(tmp_path / "x-comfyui.safetensors") and info.comfy == "loads"
    (refused,) = ask("convert", str(path))
    assert isinstance(refused, Failed) and "is there already" in refused.sentence
    (info,) = ask("convert", str(path), str(tmp_path / "other.safetensors"))
    assert isinstance(info, LoraInfo) and info.path.endswith("other.safetensors")


def test_a_lora(ask, tmp_path: Path):
    name = "lora_unet_blocks_0_self_attn_q"
    tensors = {f"{name}.lora_down.weight": (4, 5120), f"{name}.lora_up.weight": (5120, 4)}
    (info,) = ask("lora", str(write_weights(tmp_path / "x.safetensors", tensors)))
    assert isinstance(info, LoraInfo) and info.ranks == (4,)
    (refused,) = ask("lora", str(tmp_path / "none.safetensors"))
    assert isinstance(refused, Failed) and "is not there" in refused.sentence
