"""Files of weights are looked at before a run: what is wrong with one is said by name, in a moment."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from tests.support.weights import write_like, write_weights

from diffusionforce.engines.musubi.families import FAMILIES, Family, WeightFile
from diffusionforce.engines.musubi.headers import read_header, split_parts
from diffusionforce.engines.musubi.weights_check import check_file, recognised
from diffusionforce.errors import WeightsError

KLEIN, WAN, HUNYUAN = FAMILIES["flux2-klein-base-9b"], FAMILIES["wan2.1-t2v-14b"], FAMILIES["hunyuan-video"]


def needed(family: Family, role: str = "dit") -> WeightFile:
    file = family.file(role)
    assert file is not None
    return file


def check(path: Path, family: Family = KLEIN, role: str = "dit") -> str:
    return check_file(needed(family, role), path, family=family)


def refusal(path: Path, family: Family = KLEIN, role: str = "dit") -> str:
    with pytest.raises(WeightsError) as caught:
        check(path, family, role)
    assert path.name in caught.value.sentence
    return caught.value.sentence


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_a_file_with_the_right_header_passes(tmp_path: Path, family: Family):
    for file in family.files:
        if file.signature is not None and not file.is_folder:
            dtype = "F8_E4M3" if family.eight_bit == "already" else "BF16"
            path = write_like(tmp_path / f"{file.role}.safetensors", file.signature, dtype=dtype)
            assert check_file(file, path, family=family) == ("fp8" if dtype == "F8_E4M3" else "bf16")


@pytest.mark.parametrize("name", ["wan2.1-t2v-14b", "flux1-kontext", "qwen-image"])
def test_an_all_in_one_file_passes_where_the_engine_loads_it(tmp_path: Path, name: str):
    family = FAMILIES[name]
    path = write_like(tmp_path / "x.safetensors", needed(family).signature, prefix="model.diffusion_model.")
    assert check(path, family) == "bf16"


def test_an_all_in_one_file_is_refused_where_it_does_not(tmp_path: Path):
    path = write_like(tmp_path / "x.safetensors", needed(KLEIN).signature, prefix="model.diffusion_model.")
    assert "is an all-in-one checkpoint, which the engine does not load for FLUX.2 Klein Base 9B" in refusal(path)


def test_another_models_file_is_named_for_what_it_is(tmp_path: Path):
    small = write_like(tmp_path / "x.safetensors", needed(FAMILIES["flux2-klein-4b"]).signature)
    assert "it is FLUX.2 Klein 4B, distilled or base" in refusal(small)
    strange = write_weights(tmp_path / "y.safetensors", {"a.b": (2, 2)})
    assert "its layers have other names or sizes" in refusal(strange)
    assert recognised(read_header(strange)) == ""
    i2v = write_like(tmp_path / "z.safetensors", needed(FAMILIES["wan2.1-i2v-14b"]).signature)
    assert "it is Wan 2.1 I2V 14B" in refusal(i2v, WAN)
    assert "it is Wan 2.1 I2V 14B" in refusal(i2v, FAMILIES["wan2.2-i2v-a14b"])


def test_a_text_encoder_that_sees_is_not_taken_for_one_that_reads(tmp_path: Path):
    signature = needed(FAMILIES["krea2"], "text_encoder").signature
    assert signature is not None
    tensors = {f"model.language_model.{name}": shape for name, shape in signature.tensors.items()}
    path = write_weights(tmp_path / "vl.safetensors", {**tensors, "model.visual.blocks.0.norm1.weight": (8,)})
    assert "is not the text encoder (Qwen3 4B)" in refusal(path, FAMILIES["z-image"], "text_encoder")
    assert check(path, FAMILIES["krea2"], "text_encoder") == "bf16"
    plain = write_weights(tmp_path / "q.safetensors", {f"model.{name}": s for name, s in signature.tensors.items()})
    assert check(plain, FAMILIES["z-image"], "text_encoder") == "bf16"


def test_a_half_downloaded_file_says_how_much_of_it_is_there(tmp_path: Path):
    tensors = dict(needed(WAN).signature.tensors)  # pyright: ignore[reportOptionalMemberAccess]
    path = write_weights(tmp_path / "x.safetensors", tensors, missing_bytes=100 * 1024**2)
    assert "is half downloaded: it has 35.6 MB of 135.6 MB" in refusal(path, WAN)
    write_weights(path, tensors, missing_bytes=100)
    assert "it has 142213238 bytes of 142213338 bytes." in refusal(path, WAN)  # It was 135.6 MB of 135.6 MB.
    path.write_bytes(path.read_bytes()[:60])
    assert "is half downloaded: not even its header is whole" in refusal(path, WAN)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "it is the pointer that git leaves"),
        (b"<!DOCTYPE html><html>", "it is a web page"),
        (b"GGUF\x03\x00\x00\x00\x00", "it is a GGUF file"),
        (b"\x80\x02}q\x00", "it is in PyTorch's own format"),
        (b"just a text", "is no safetensors file."),
        (b"\x05\x00\x00\x00\x00\x00\x00\x00{nono}", "has a damaged header"),
        (b"\x06\x00\x00\x00\x00\x00\x00\x00[1, 2]", "is no safetensors file"),
        (b'\x07\x00\x00\x00\x00\x00\x00\x00{"a":1}', "has a damaged header"),
    ],
)
def test_what_is_no_file_of_weights_is_named(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    assert words in refusal(path)


def test_tensors_that_take_another_size_than_their_shape_says(tmp_path: Path):
    entry = {"dtype": "BF16", "shape": [4, 4], "data_offsets": [0, 0]}
    header = json.dumps({"img_in.weight": entry}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert "has a damaged header" in refusal(path)


def test_a_lora_is_named_for_what_it_is(tmp_path: Path):
    for name in ("lora_unet_blocks_0.lora_down.weight", "diffusion_model.blocks.0.lora_A.weight"):
        assert "it is a LoRA." in refusal(write_weights(tmp_path / "x.safetensors", {name: (16, 4096)}))


@pytest.mark.parametrize("name", ["x.ckpt", "x.pth"])
def test_pytorchs_own_format_is_refused_where_the_engine_does_not_load_it(tmp_path: Path, name: str):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    assert "is in PyTorch's own format, which the engine does not load for FLUX.2 Klein" in refusal(tmp_path / name)
    assert check(tmp_path / name, FAMILIES["framepack"], "vae") == "unknown"


def test_a_path_that_no_file_system_takes_is_a_sentence(tmp_path: Path):
    for path in (tmp_path / ("a" * 5000), tmp_path / ("b" * 300 + "-00001-of-00002.safetensors")):
        with pytest.raises(WeightsError, match=r"cannot be read: File name too long|is not (there|beside it)"):
            check(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "x.safetensors")
    assert "it is a device or a pipe" in refusal(tmp_path / "x.safetensors")


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path):
    assert "is not there" in refusal(tmp_path / "none.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    assert "is a folder, not a file" in refusal(tmp_path / "folder.safetensors")


def test_split_files_belong_together(tmp_path: Path):
    tensors = dict(needed(KLEIN, "text_encoder").signature.tensors)  # pyright: ignore[reportOptionalMemberAccess]
    first, second = ({name: shape} for name, shape in tensors.items())
    one = write_weights(tmp_path / "model-00001-of-00002.safetensors", first)
    with pytest.raises(WeightsError, match=r"model-00002-of-00002\.safetensors is not beside it"):
        check(one, role="text_encoder")
    two = write_weights(tmp_path / "model-00002-of-00002.safetensors", second, missing_bytes=4)
    with pytest.raises(WeightsError, match=r"model-00002-of-00002\.safetensors is half downloaded"):
        check(one, role="text_encoder")
    write_weights(two, second)
    assert check(one, role="text_encoder") == "bf16"
    assert split_parts(one) == [one, two]


def test_number_formats_that_do_not_load(tmp_path: Path):
    tensors = dict(needed(KLEIN).signature.tensors)  # pyright: ignore[reportOptionalMemberAccess]
    plain = write_weights(tmp_path / "plain.safetensors", tensors, dtype="F8_E4M3")
    assert "is in 8 bits, which the engine does not load" in refusal(plain)
    scaled = write_weights(tmp_path / "s.safetensors", {**tensors, "img_in.scale_weight": (1,)}, dtype="F8_E4M3")
    assert "fp8_scaled" in refusal(scaled)
    wan = write_like(tmp_path / "wan.safetensors", needed(WAN).signature, dtype="F8_E4M3")
    assert check(wan, WAN) == "fp8"  # Plain 8-bit files of Wan load.
    ideogram = FAMILIES["ideogram4"]
    assert "is not in 8 bits" in refusal(write_like(tmp_path / "i.safetensors", needed(ideogram).signature), ideogram)


def test_pytorchs_own_format_is_checked_for_its_end(tmp_path: Path):
    path = tmp_path / "mp_rank_00_model_states.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.pkl", b"\x80\x02." * 200)
    assert check(path, HUNYUAN) == "unknown"
    path.write_bytes(path.read_bytes()[:-80])
    assert "is half downloaded: its end is missing" in refusal(path, HUNYUAN)
    path.write_bytes(b"<html>")
    assert "it is a web page" in refusal(path, HUNYUAN)


def test_a_folder_of_a_model(tmp_path: Path):
    kandinsky, role = FAMILIES["kandinsky5-pro-t2v"], "text_encoder_qwen"
    folder = tmp_path / "Qwen2.5-VL"
    assert "is not a folder" in refusal(folder, kandinsky, role)
    folder.mkdir()
    assert "has no config.json" in refusal(folder, kandinsky, role)
    (folder / "config.json").write_text("{}")
    assert "has no weights in it" in refusal(folder, kandinsky, role)
    clip, qwen = needed(kandinsky, "text_encoder_clip").signature, needed(kandinsky, role).signature
    assert clip is not None and qwen is not None
    write_like(folder / "model.safetensors", clip)
    assert "it is CLIP-L text encoder" in refusal(folder, kandinsky, role)  # Two folders, swapped.
    write_weights(folder / "model.safetensors", {"a": (4, 4)})
    write_like(folder / "more.safetensors", qwen, prefix="model.")
    assert check(folder, kandinsky, role) == "unknown"


_WRONG = {
    # ComfyUI's text encoder for Wan, which the engine refused after all pictures had been prepared.
    ("wan2.1-t2v-14b", "t5"): {
        "encoder.block.23.layer.1.DenseReluDense.wo.weight": (4096, 10240),
        "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight": (32, 64),
    },
    # ComfyUI's clip_vision_h.
    ("wan2.1-i2v-14b", "clip"): {"vision_model.encoder.layers.31.mlp.fc1.weight": (5120, 1280)},
    # The autoencoder of FLUX.1 in the layout of diffusers.
    ("flux1-kontext", "vae"): {
        "encoder.conv_in.weight": (128, 3, 3, 3),
        "encoder.conv_out.weight": (32, 512, 3, 3),
        "encoder.mid_block.attentions.0.to_q.weight": (512, 512),
    },
    # ComfyUI's autoencoder of HunyuanVideo.
    ("framepack", "vae"): {
        "decoder.conv_in.conv.weight": (512, 16, 3, 3, 3),
        "encoder.mid.attn_1.q.weight": (512, 512, 1, 1, 1),
    },
}
"""What is published under names that are easily mistaken, by family and role."""


@pytest.mark.parametrize(("name", "role"), [*_WRONG, ("flux1-kontext", "text_encoder1")])
def test_what_other_programs_have_for_the_same_model_is_refused(tmp_path: Path, name: str, role: str):
    tensors = _WRONG.get((name, role), _WRONG["wan2.1-t2v-14b", "t5"])
    path = write_weights(tmp_path / "x.safetensors", tensors)
    assert f"is not the {needed(FAMILIES[name], role).title} of" in refusal(path, FAMILIES[name], role)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_a_transformer_is_no_autoencoder(tmp_path: Path, family: Family):
    """Of nine models any file passed for the autoencoder, and the engine ended with a traceback."""
    signature = needed(family).signature
    assert signature is not None
    path = write_like(tmp_path / "x.safetensors", signature)
    assert f"it is {signature.title}." in refusal(path, family, "vae")


@pytest.mark.parametrize(
    ("name", "role", "file_name"),
    [
        ("wan2.2-t2v-a14b", "dit", "wan2.2_t2v_high_noise_14B_fp16.safetensors"),
        ("wan2.2-i2v-a14b", "dit_high_noise", "Wan2_2-I2V-A14B-LOW_bf16.safetensors"),
        ("wan2.2-t2v-a14b", "dit", "wan2.1_t2v_14B_bf16.safetensors"),
        ("flux2-klein-base-9b", "dit", "flux2-klein-9b.safetensors"),
        ("qwen-image", "dit", "qwen_image_edit_2509_bf16.safetensors"),
        ("krea2", "dit", "turbo.safetensors"),
        ("kandinsky5-pro-i2v", "dit", "kandinsky5pro_t2v_pretrain_5s.safetensors"),
    ],
)
def test_models_of_one_shape_are_told_apart_by_their_names(tmp_path: Path, name: str, role: str, file_name: str):
    """The two models of Wan 2.2, swapped, and a distilled model in place of its base, were trained without a word."""
    family = FAMILIES[name]
    signature = needed(family, role).signature
    assert signature is not None
    assert "by its name" in refusal(write_like(tmp_path / file_name, signature), family, role)
    for right in (needed(family, role).name, "anything else.safetensors"):
        assert check(write_like(tmp_path / right, signature), family, role) == "bf16"
