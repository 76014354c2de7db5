"""Downloads: planned whole, refused before the first byte where they cannot end well, checked when they are there."""

import collections
from pathlib import Path

import pytest
from tests.support.fake_hub import FolderHub
from tests.support.weights import write_like, write_weights

from diffusionforce.engines.musubi.downloads import Part, download, plan_download
from diffusionforce.engines.musubi.families import FAMILIES, Family, WeightFile
from diffusionforce.engines.musubi.weights import locate
from diffusionforce.engines.musubi.weights_settings import models_dir
from diffusionforce.errors import DiskError, WeightsError

KANDINSKY = FAMILIES["kandinsky5-pro-t2v"]
ZIMAGE = FAMILIES["z-image"]
Usage = collections.namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "data"))


def needed(family: Family, role: str) -> WeightFile:
    file = family.file(role)
    assert file is not None
    return file


def split_hub(folder: Path, *, breaks_after: int | None = None) -> FolderHub:
    """A hub with the text encoder of Z-Image in two files, and other things beside them."""
    signature = needed(ZIMAGE, "text_encoder").signature
    assert signature is not None
    files = {"README.md": b"# Z", "text_encoder/config.json": b"{}"}
    # The tensors are made small by halving what they hold to bytes: only names and shapes are looked at.
    for number, (name, shape) in enumerate(signature.tensors.items(), start=1):
        part = f"model-0000{number}-of-00002.safetensors"
        path = write_weights(folder / part, {name: shape})
        files[f"text_encoder/{part}"] = path.read_bytes()
    return FolderHub({"Tongyi-MAI/Z-Image": files}, breaks_after=breaks_after)


def no_report(part: Part, number: int, num_parts: int, done_bytes: int) -> None:
    """Say nothing."""


def test_split_files_arrive_together_and_are_found(tmp_path: Path):
    hub, reports = split_hub(tmp_path), list[tuple[str, int, int, int]]()
    files = [needed(ZIMAGE, "text_encoder")]
    found = download(ZIMAGE, files, hub, report=lambda part, *numbers: reports.append((part.path, *numbers)))
    assert found["text_encoder"].name == "model-00001-of-00002.safetensors"
    assert (
        {path for path, *_ in reports}
        == set(hub.fetched)
        == {f"text_encoder/model-0000{n}-of-00002.safetensors" for n in (1, 2)}
    )
    assert [number for _, number, *_ in reports] == sorted(number for _, number, *_ in reports)
    assert next(one for one in locate(ZIMAGE) if one.file.role == "text_encoder").path == found["text_encoder"]


def test_what_is_here_is_not_fetched_again(tmp_path: Path):
    hub = split_hub(tmp_path)
    files = [needed(ZIMAGE, "text_encoder")]
    download(ZIMAGE, files, hub, report=no_report)
    hub.fetched.clear()
    (models_dir() / "Tongyi-MAI--Z-Image/text_encoder/model-00002-of-00002.safetensors").write_bytes(b"x")
    download(ZIMAGE, files, hub, report=no_report)
    assert hub.fetched == ["text_encoder/model-00002-of-00002.safetensors"]


def test_a_file_that_did_not_arrive_whole_is_named(tmp_path: Path):
    with pytest.raises(WeightsError, match=r"model-00001-of-00002\.safetensors from Tongyi-MAI/Z-Image did not arrive"):
        download(ZIMAGE, [needed(ZIMAGE, "text_encoder")], split_hub(tmp_path, breaks_after=9), report=no_report)


def test_a_disk_without_room_is_refused_before_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(0, 0, 1024**3))
    hub = split_hub(tmp_path)
    with pytest.raises(DiskError, match=r"The download takes 0\.0 GB, and the disk with .* has 1\.0 GB free"):
        download(ZIMAGE, [needed(ZIMAGE, "text_encoder")], hub, report=no_report)
    assert not hub.fetched and not models_dir().exists()


def test_everything_is_looked_up_before_the_first_byte(tmp_path: Path):
    hub = split_hub(tmp_path)
    with pytest.raises(WeightsError, match=r"Tongyi-MAI/Z-Image has no vae/diffusion_pytorch_model\.safetensors") as it:
        download(ZIMAGE, [needed(ZIMAGE, "text_encoder"), needed(ZIMAGE, "vae")], hub, report=no_report)
    assert not hub.fetched
    assert "diffusionforce models use PROFILE vae FILE" in it.value.hint
    with pytest.raises(WeightsError, match="is not there, or not for you"):
        plan_download([needed(KANDINSKY, "dit")], hub)


def test_a_file_that_was_moved_within_its_repository_is_found(tmp_path: Path):
    file = needed(ZIMAGE, "text_encoder")
    dit = needed(FAMILIES["wan2.1-t2v-1.3b"], "dit")
    content = write_like(tmp_path / "x.safetensors", dit.signature).read_bytes()
    hub = FolderHub({dit.repository: {f"elsewhere/{dit.name}": content}})
    family = FAMILIES["wan2.1-t2v-1.3b"]
    found = download(family, [dit], hub, report=no_report)
    assert found["dit"].parent.name == "elsewhere"
    assert next(one for one in locate(family) if one.file is dit).path == found["dit"]
    with pytest.raises(WeightsError, match="has no text_encoder/model"):
        plan_download([file], FolderHub({file.repository: {"model.safetensors": b""}}))


def test_another_models_file_under_the_right_name_is_refused(tmp_path: Path):
    wan = FAMILIES["wan2.1-t2v-1.3b"]
    file = needed(wan, "dit")
    content = write_like(tmp_path / "x.safetensors", needed(FAMILIES["krea2"], "dit").signature)
    small = write_weights(content, {"first.weight": (8, 8)}).read_bytes()
    with pytest.raises(WeightsError, match=r"is not the transformer of Wan 2\.1 T2V 1\.3B"):
        download(wan, [file], FolderHub({file.repository: {file.path: small}}), report=no_report)


def test_a_folder_comes_without_the_same_weights_for_other_libraries(tmp_path: Path):
    signature = needed(KANDINSKY, "text_encoder_clip").signature
    assert signature is not None
    weights = write_like(tmp_path / "x.safetensors", signature).read_bytes()
    names = ("config.json", "merges.txt", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "README.md")
    files = {name: weights if name == "model.safetensors" else b"{}" for name in names}
    file = needed(KANDINSKY, "text_encoder_clip")
    hub = FolderHub({file.repository: {**files, "onnx/model.onnx": b"o"}})
    found = download(KANDINSKY, [file], hub, report=no_report)
    assert sorted(hub.fetched) == ["config.json", "merges.txt", "model.safetensors"]
    assert found["text_encoder_clip"] == models_dir() / "openai--clip-vit-large-patch14"
    assert next(one for one in locate(KANDINSKY) if one.file is file).path == found["text_encoder_clip"]
