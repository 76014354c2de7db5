"""Where the files of models are found, in what order, and what is said of those that are missing or wrong."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.weights import write_like, write_weights

from diffusionforce.engines.musubi.families import FAMILIES, Family, WeightFile
from diffusionforce.engines.musubi.weights import (
    FOLDERS_VARIABLE,
    Located,
    download_path,
    locate,
    require_files,
    search_folders,
)
from diffusionforce.engines.musubi.weights_settings import (
    WeightsSettings,
    models_dir,
    read_settings,
    settings_path,
    write_settings,
)
from diffusionforce.errors import WeightsError
from diffusionforce.job import Profile

KLEIN, WAN = FAMILIES["flux2-klein-base-9b"], FAMILIES["wan2.1-t2v-14b"]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer on which nothing lies yet."""
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    for name in (FOLDERS_VARIABLE, "HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def needed(family: Family, role: str = "dit") -> WeightFile:
    file = family.file(role)
    assert file is not None
    return file


def found(family: Family, role: str = "dit", **more: Any) -> Located:
    return next(located for located in locate(family, **more) if located.file.role == role)


def profile_of(family: Family, **model: Any) -> Profile:
    table = {"schema_version": 1, "title": "T", "training": {"steps": 1}}
    return Profile.model_validate({**table, "model": {"family": family.name, "engine": "musubi", **model}})


def test_nothing_is_here_at_first():
    located = locate(KLEIN)
    assert [one.path for one in located] == [None, None, None]
    with pytest.raises(WeightsError) as refusal:
        require_files(located, family=KLEIN, uses=frozenset({"training"}), profile_name="klein-9b-1024")
    assert refusal.value.sentence == "FLUX.2 Klein Base 9B needs a file that is not here: transformer."
    assert "diffusionforce models download klein-9b-1024" in refusal.value.hint
    assert "flux2-klein-base-9b.safetensors from black-forest-labs/FLUX.2-klein-base-9B" in refusal.value.hint
    with pytest.raises(WeightsError, match="needs 3 files that are not here: transformer, autoencoder"):
        require_files(located, family=KLEIN, uses=frozenset({"training", "samples"}), profile_name="x")


def test_files_in_comfyui_are_found(own_home: Path):
    models = own_home / "ComfyUI" / "models"
    dit = write_like(
        models / "diffusion_models" / "wan2.1_t2v_14B_fp16.safetensors", needed(WAN).signature, dtype="F16"
    )
    vae = write_like(models / "vae" / "wan" / "Wan_2.1_VAE.safetensors", needed(WAN, "vae").signature)
    assert found(WAN).path == dit and found(WAN).precision == "fp16"
    assert found(WAN, "vae").path == vae


@pytest.mark.parametrize("how", ["environment", "settings"])
def test_further_folders_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str):
    folder = tmp_path / "Modelle ☃"
    path = write_like(folder / "deep" / "er" / needed(KLEIN).name, needed(KLEIN).signature)
    assert found(KLEIN).path is None
    if how == "environment":
        monkeypatch.setenv(FOLDERS_VARIABLE, str(folder))
    else:
        write_settings(WeightsSettings(folders=(str(folder),)))
    assert found(KLEIN).path == path and folder in search_folders()


def test_a_name_that_many_models_use_is_recognised_by_its_header(own_home: Path):
    vae = own_home / "ComfyUI" / "models" / "vae"
    write_weights(vae / "flux1" / "ae.safetensors", {"encoder.conv_in.weight": (128, 3, 3, 3)})
    assert found(KLEIN, "vae").path is None and found(KLEIN, "vae").problem is None
    right = write_like(vae / "flux2" / "ae.safetensors", needed(KLEIN, "vae").signature)
    assert found(KLEIN, "vae").path == right


def test_a_name_that_tells_nothing_is_taken_from_its_publishers_folder_only(own_home: Path):
    """Both transformers of HunyuanVideo 1.5 bear this name and this header: the other one was trained silently."""
    hunyuan, other = FAMILIES["hunyuan-video-1.5"], FAMILIES["hunyuan-video-1.5-i2v"]
    write_like(own_home / "ComfyUI/models/unet/diffusion_pytorch_model.safetensors", needed(hunyuan).signature)
    cache = own_home / ".cache/huggingface/hub/models--tencent--HunyuanVideo-1.5/snapshots/0"
    path = write_like(cache / needed(other).path, needed(other).signature)
    assert found(other).path == path
    assert found(hunyuan).path is None
    path = write_weights(cache / needed(hunyuan, "vae").path, {"a": (2, 2)})
    located = found(hunyuan, "vae")
    assert located.path == path and located.problem is not None


def test_split_files_are_found_by_their_first(own_home: Path):
    file = needed(KLEIN, "text_encoder")
    assert file.signature is not None
    folder = own_home / ".cache/huggingface/hub/models--black-forest-labs--FLUX.2-klein-9B/snapshots/0/text_encoder"
    for number, (name, shape) in enumerate(file.signature.tensors.items(), start=1):
        write_weights(folder / f"model-0000{number}-of-00002.safetensors", {name: shape})
    assert found(KLEIN, "text_encoder").path == folder / "model-00001-of-00002.safetensors"
    assert found(FAMILIES["flux2-klein-4b"], "text_encoder").path is None
    settings = WeightsSettings(files={f"{KLEIN.name}.text_encoder": str(folder)})
    assert found(KLEIN, "text_encoder", settings=settings).path == folder / "model-00001-of-00002.safetensors"


def test_the_profile_counts_before_the_choice_and_that_before_what_is_found(tmp_path: Path, own_home: Path):
    signature = needed(KLEIN).signature
    lying = write_like(own_home / "ComfyUI/models/unet" / needed(KLEIN).name, signature)
    chosen = write_like(tmp_path / "chosen.safetensors", signature)
    named = write_like(tmp_path / "named.safetensors", signature)
    assert found(KLEIN).path == lying
    write_settings(WeightsSettings(files={f"{KLEIN.name}.dit": str(chosen)}))
    assert found(KLEIN).path == chosen
    assert found(KLEIN, profile=profile_of(KLEIN, weights=str(named))).path == named
    assert found(KLEIN, profile=profile_of(KLEIN, files={"dit": str(named)})).path == named


def test_a_wrong_file_is_named_and_the_run_refused(tmp_path: Path):
    wrong = write_like(tmp_path / "x.safetensors", needed(WAN).signature)
    located = locate(KLEIN, profile=profile_of(KLEIN, weights=str(wrong)))
    assert located[0].problem is not None and not located[0].is_usable
    with pytest.raises(
        WeightsError, match=r"x\.safetensors is not the transformer of FLUX\.2 Klein Base 9B: it is Wan"
    ):
        require_files(located, family=KLEIN, uses=frozenset({"training"}), profile_name="x")


def test_a_path_that_no_file_system_takes_is_a_sentence():
    located = locate(KLEIN, profile=profile_of(KLEIN, weights="x" * 5000))
    assert located[0].problem is not None and "cannot be read: File name too long" in located[0].problem.sentence


def test_every_file_that_is_wrong_or_missing_is_named_at_once(tmp_path: Path):
    wrong = write_like(tmp_path / "x.safetensors", needed(WAN).signature)
    located = locate(KLEIN, profile=profile_of(KLEIN, files={"dit": str(wrong), "vae": str(tmp_path / "none")}))
    with pytest.raises(WeightsError, match="it is Wan") as refusal:
        require_files(located, family=KLEIN, uses=frozenset({"samples"}), profile_name="x")
    assert "none is not there." in refusal.value.hint
    assert "needs a file that is not here: text encoder" in refusal.value.hint


def test_a_half_downloaded_file_is_named(own_home: Path):
    folder = own_home / "ComfyUI/models/diffusion_models"
    tensors = dict(needed(KLEIN).signature.tensors)  # pyright: ignore[reportOptionalMemberAccess]
    path = write_weights(folder / needed(KLEIN).name, tensors, missing_bytes=10)
    problem = found(KLEIN).problem
    assert problem is not None and "is half downloaded" in problem.sentence
    path.rename(folder / f"{path.name}.crdownload")
    problem = found(KLEIN).problem
    assert problem is not None and problem.sentence.endswith(".crdownload is half downloaded.")
    write_weights(models_dir() / "anywhere" / path.name, tensors)
    assert found(KLEIN).is_usable


def test_downloads_have_a_place_of_their_own():
    assert download_path(needed(KLEIN)) == models_dir() / "black-forest-labs--FLUX.2-klein-base-9B" / needed(KLEIN).name
    assert download_path(needed(KLEIN, "text_encoder")).name == "text_encoder"
    folder = download_path(needed(FAMILIES["kandinsky5-pro-t2v"], "text_encoder_clip"))
    assert folder == models_dir() / "openai--clip-vit-large-patch14"


def test_links_in_circles_end(own_home: Path):
    models = own_home / "ComfyUI" / "models"
    models.mkdir(parents=True)
    (models / "again").symlink_to(models, target_is_directory=True)
    path = write_like(models / needed(KLEIN).name, needed(KLEIN).signature)
    assert found(KLEIN).path == path


def test_optional_files_may_be_missing(tmp_path: Path):
    krea = FAMILIES["krea2"]
    files = {file.role: str(write_like(tmp_path / f"{file.role}.safetensors", file.signature)) for file in krea.files}
    files.pop("turbo_dit")
    located = locate(krea, profile=profile_of(krea, files=files))
    found_files = require_files(located, family=krea, uses=frozenset({"training", "samples"}), profile_name="x")
    assert set(found_files) == {"dit", "vae", "text_encoder"}


def test_damaged_settings_are_named():
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text("folders = 3\n", encoding="utf-8")
    # The sentence kept to itself what is wrong, and "Fix it" was all the help.
    with pytest.raises(WeightsError, match=r"models\.toml cannot be read: folders: "):
        read_settings()
    settings_path().write_text("folders = [\n", encoding="utf-8")
    with pytest.raises(WeightsError, match=r"models\.toml cannot be read: .*at end of document"):
        read_settings()
    settings_path().unlink()
    settings_path().mkdir()
    with pytest.raises(WeightsError, match=r"models\.toml cannot be read: (Is a directory|Permission denied)"):
        read_settings()
