"""Files of unknown origin: each reader returns, or says what is wrong in a sentence, within two seconds."""

import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image
from tests.support.broken_dataset import clip
from tests.support.corpus import Read, cases, keeps_promise, mutations
from tests.support.jobs import small_job
from tests.support.small_pocket import small_weights

from diffusionforce.datasets import pictures
from diffusionforce.datasets.captions import read_caption
from diffusionforce.datasets.clips import look_at_clip, read_frames
from diffusionforce.datasets.repair_log import read_entries
from diffusionforce.datasets.sets import SET_NAME, read_set
from diffusionforce.engines.musubi.headers import read_header
from diffusionforce.engines.musubi.lora_files import describe_lora
from diffusionforce.engines.musubi.sources import ZipSource
from diffusionforce.engines.pocket.files import quick_config
from diffusionforce.engines.pocket.weights import check_weights, load_base
from diffusionforce.errors import UserError
from diffusionforce.job import builtin_profiles, read_job, read_profile, write_job
from diffusionforce.runs import (
    RunFolder,
    RunQueue,
    list_states,
    manifest_of,
    read_telemetry,
    require_whole,
    write_checkpoint,
)
from diffusionforce.runs.checkpoints import MANIFEST
from diffusionforce.runs.labels import LABEL_NAME, read_label
from diffusionforce.ugpum.learned import Lesson, Lessons

NUM_MUTATIONS = int(os.environ.get("DIFFUSIONFORCE_FUZZ", "150"))
"""Damaged copies for each reader; more for a night's work."""


class Reader(NamedTuple):
    """What is read, and good files to begin with."""

    make: Callable[[Path], Read]
    good: Callable[[Path], Sequence[bytes]]


def of_file(name: str, read: Callable[[Path], object]) -> Callable[[Path], Read]:
    """Return a reader of bytes from one of files."""

    def make(folder: Path) -> Read:
        def write_and_read(content: bytes) -> object:
            (folder / name).write_bytes(content)
            return read(folder / name)

        return write_and_read

    return make


def good_profiles(_folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in list(builtin_profiles().values())[:3]]


def good_job(folder: Path) -> list[bytes]:
    write_job(folder / "good.toml", small_job(folder))
    return [(folder / "good.toml").read_bytes()]


def good_pictures(_folder: Path) -> list[bytes]:
    noise = np.random.default_rng(0).integers(0, 255, (24, 36, 4), dtype=np.uint8)
    found: list[bytes] = []
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind, mode in (
        ("PNG", "RGBA"),
        ("PNG", "I;16"),
        ("JPEG", "RGB"),
        ("WEBP", "RGBA"),
        ("GIF", "P"),
        ("BMP", "RGB"),
        ("TIFF", "RGB"),
        ("JPEG", "CMYK"),
    ):
        deep = Image.fromarray(noise[:, :, 0].astype(np.uint16) * 200)
        picture = deep if mode == "I;16" else Image.fromarray(noise).convert(mode)
        stream = io.BytesIO()
        picture.save(stream, kind, **({"exif": exif} if kind in {"JPEG", "PNG", "WEBP", "TIFF"} else {}))
        found.append(stream.getvalue())
    return found


def safetensors(header: object, data: bytes = bytes(64)) -> bytes:
    table = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(table).to_bytes(8, "little") + table + data


def good_weights(_folder: Path) -> list[bytes]:
    down = {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}
    up = {"dtype": "F16", "shape": [4, 2], "data_offsets": [32, 48]}
    alpha = {"dtype": "F32", "shape": [], "data_offsets": [48, 52]}
    name = "lora_unet_blocks_0_self_attn_q"
    tensors = {f"{name}.lora_down.weight": down, f"{name}.lora_up.weight": up, f"{name}.alpha": alpha}
    return [safetensors({**tensors, "__metadata__": {"ss_steps": "12"}}), safetensors({"x.weight": down})]


def good_zip(_folder: Path) -> list[bytes]:
    found: list[bytes] = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as archive:
            archive.writestr("musubi-tuner-1/src/musubi_tuner/__init__.py", "x = 1\n" * 20)
            archive.writestr("musubi-tuner-1/LICENSE", "words")
        found.append(stream.getvalue())
    return found


def read_zip(path: Path) -> None:
    source = ZipSource(path, title="the zip")
    for name in source.names():
        source.read(name)


def read_picture(path: Path) -> None:
    for read in (
        pictures.upright_size_px,
        pictures.load_rgb,
        lambda path: pictures.small_rgb(path, edge_px=16),
    ):
        read(path)


def read_weights(path: Path) -> None:
    header = read_header(path)
    _ = header.precision, header.has_scales
    describe_lora(path)


def read_state(path: Path) -> None:
    (path.parent / "run.json").write_bytes(path.read_bytes())
    RunFolder(path.parent).read_state()


def read_run_telemetry(path: Path) -> None:
    read_telemetry(RunFolder(path.parent))


def good_clip(folder: Path) -> list[bytes]:
    clip(folder / "good.mp4")
    return [(folder / "good.mp4").read_bytes()]


def read_clip(path: Path) -> None:
    look_at_clip(path)
    list(read_frames(path, num_frames=4, target_fps=4.0))


def good_manifest(folder: Path) -> list[bytes]:
    job = small_job(folder)
    job.run_dir.mkdir()
    target = job.run_dir / "a_step_000004-state"
    write_checkpoint(target, manifest_of(job, step=4, held_out_loss=0.5), {"x": b"1"})
    return [(target / MANIFEST).read_bytes()]


def read_checkpoint(path: Path) -> None:
    states = list_states(path.parent.parent)
    assert [state.path for state in states] == [path.parent]
    require_whole(path.parent)


def checkpoint_reader(folder: Path) -> Read:
    state = folder / "runs" / "a_step_000004-state"
    state.mkdir(parents=True)
    return of_file(MANIFEST, read_checkpoint)(state)


def lessons_reader(folder: Path) -> Read:
    lessons, profile = Lessons(folder), small_job(folder).profile
    lessons.keep(Lesson(extra_bytes=(1,)), "a", profile, rig=("card",))
    (path,) = folder.glob("*.json")
    return of_file(path.name, lambda _path: lessons.find("a", profile, rig=("card",)))(folder)


def good_base(folder: Path) -> list[bytes]:
    return [small_weights(folder / "good.safetensors").read_bytes()]


def read_base(path: Path) -> None:
    quick_config(path)
    check_weights(path)
    load_base(path)


READERS = {
    "profile": Reader(of_file("x.toml", read_profile), good_profiles),
    "job": Reader(of_file("x.toml", read_job), good_job),
    "caption": Reader(of_file("x.txt", read_caption), lambda _: ["ein Fuchs, grün".encode(), b"\xff\xfea\0b\0"]),
    "picture": Reader(of_file("x.png", read_picture), good_pictures),
    "weights": Reader(of_file("x.safetensors", read_weights), good_weights),
    "zip": Reader(of_file("x.zip", read_zip), good_zip),
    "base": Reader(of_file("x.safetensors", read_base), good_base),
    "clip": Reader(of_file("x.mp4", read_clip), good_clip),
    "checkpoint": Reader(checkpoint_reader, good_manifest),
    "label": Reader(
        of_file(LABEL_NAME, lambda path: read_label(path.parent)), lambda _: [b'{"name":"a fox","notes":"x"}']
    ),
    "lessons": Reader(
        lessons_reader,
        lambda _: [b'{"format": 1, "extra_bytes": [1], "step_factor": 1.5, "num_runs": 2}'],
    ),
    "set": Reader(
        of_file(SET_NAME, lambda path: read_set(path.parent)),
        lambda _: [b'schema_version = 1\n[[folders]]\npath = "/a"\nrepeats = 2\n'],
    ),
    "repairs": Reader(
        of_file("repairs.jsonl", read_entries),
        lambda _: [b'{"repair": "a", "action": "b", "before": "x.png", "now": "originals/x.png"}\n'],
    ),
    "state": Reader(
        of_file("x.json", read_state),
        lambda _: [b'{"state":"done","profile_name":"a","title":"b","pid":1,"process_started_s":1,"started_at":"x",'
                   b'"num_steps":3}'],
    ),
    "queue": Reader(of_file("queue.json", lambda path: RunQueue(path).runs), lambda _: [b'{"format":1,"runs":[{}]}']),
    "telemetry": Reader(
        of_file("telemetry.jsonl", read_run_telemetry),
        lambda _: [b'{"kind":"step","step":1,"num_steps":2,"loss":1.5,"learning_rate":1,"seconds":1,"eta_s":1}\n'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    read, good = reader.make(tmp_path), reader.good(tmp_path)
    for content in good:
        keeps_promise(read, content, raises=UserError)
    for content in mutations(good, seed=1, number=NUM_MUTATIONS):
        try:
            keeps_promise(read, content, raises=UserError)
        except BaseException:
            (tmp_path / "found").write_bytes(content)  # To be kept in tests/corpus, once it is mended.
            raise


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"{name}/{path.name}") for name in READERS for path in cases(name)]
)
def test_what_once_broke_a_reader_does_no_more(path: Path, tmp_path: Path) -> None:
    keeps_promise(READERS[path.parent.name].make(tmp_path), path.read_bytes(), raises=UserError)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("profile", b"x = " + b"[" * 200_000),
        ("profile", b"x = " + b"9" * 200_000),
        ("profile", b"x" * (5 << 20)),
        ("profile", b"\xef\xbb\xbf"),
        ("set", b"x = " + b"{a=" * 50_000),
        ("repairs", b"[" * 500_000 + b"\n"),
        ("state", b"[" * 500_000),
        ("queue", b'{"runs":' + b"[" * 500_000),
        ("telemetry", b'{"kind":' + b"[" * 500_000),
        ("telemetry", b'{"kind":"step","step":' + b"9" * 500_000 + b"}"),
        ("telemetry", b"x" * (9 << 20)),
        ("weights", safetensors(b'{"a":' + b"[" * 500_000)),
        ("weights", safetensors(b'{"a":' + b"9" * 500_000 + b"}")),
        ("weights", safetensors({"a": {"dtype": "F32", "shape": [10**18] * 50_000, "data_offsets": [0, 4]}})),
        ("weights", safetensors({"a": {"dtype": "F32", "shape": [-1, 2], "data_offsets": [-5, -1]}})),
        *(("weights", safetensors({f"{n}.lora_down.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
                                 for n in range(size)})) for size in (19_000, 60_000)),
        ("weights", (1 << 62).to_bytes(8, "little") + b"{}"),
        ("weights", (90 << 20).to_bytes(8, "little") + b"{"),
        ("checkpoint", b"[" * 500_000),
        ("checkpoint", b'{"engine":"pocket","step":' + b"9" * 500_000 + b"}"),
        ("checkpoint", b'{"engine":"pocket","step":1,"num_steps":2,"files":{"../../x":{"size_bytes":1,"sha256":"0"}}}'),
        ("label", b"[" * 500_000),
        ("lessons", b"[" * 500_000),
        ("clip", b"\0\0\0\x18ftypmp42" + bytes(100_000)),
        ("clip", b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"),
        ("clip", b"ffconcat version 1.0\nfile /etc/passwd\n"),
        ("base", safetensors({"__metadata__": {"family": "pocket", "config": "[" * 300_000}})),
        ("base", (1 << 62).to_bytes(8, "little") + b"{}"),
        ("caption", b"\xff\xfe" * 30_000),
        ("caption", b"\0" * 60_000),
    ],
)  # fmt: skip
def test_files_made_to_break_a_reader(name: str, content: bytes, tmp_path: Path) -> None:
    keeps_promise(READERS[name].make(tmp_path), content, raises=UserError)


def test_an_archive_cannot_write_elsewhere_and_links_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("m/src/musubi_tuner/__init__.py", "")
        archive.writestr("m/../../evil.py", "x")
        link = zipfile.ZipInfo("m/src/musubi_tuner/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    source = ZipSource(io.BytesIO(stream.getvalue()), title="the zip")
    with pytest.raises(UserError, match="link"):
        source.read("src/musubi_tuner/link.py")
    assert not list(tmp_path.rglob("*"))


def test_a_log_of_repairs_cannot_move_files_elsewhere(tmp_path: Path) -> None:
    # Symptom: undoing a repair in a downloaded folder moved what its log named, wherever that was.
    names = ["../x", "/etc/x", "a/../../x", "originals/ok.png"]
    lines = [json.dumps({"repair": "r", "action": "a", "before": "x.png", "now": name}) for name in names]
    lines += [json.dumps({"repair": "r", "action": "a", "before": "../y", "now": "x.png"})]
    (tmp_path / "log").write_text("\n".join(lines))
    assert [entry.now for entry in read_entries(tmp_path / "log")] == ["originals/ok.png"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
@pytest.mark.parametrize("name", ["profile", "set"])
def test_a_device_or_a_pipe_is_no_file(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    for path in ("pipe.toml", "endless.toml"):
        with pytest.raises(UserError, match="not a file with an end"):
            read_profile(tmp_path / path)
