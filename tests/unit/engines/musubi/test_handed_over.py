"""The inputs that are known to train garbage in silence, each looked at where the engine really receives it.

The engine reads a folder of ours with its pictures, captions and a description; what is wrong with the user's folder is
either put right there, or said and left out. `tests/unit/datasets/test_traps.py` has the findings and their repairs.
"""

import dataclasses
import glob
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from safetensors import SafetensorError
from tests.support.broken_dataset import clear, save, scene, turned
from tests.support.jobs import small_job
from tests.support.weights import write_weights

from diffusionforce.datasets import read_folder
from diffusionforce.datasets.intake import Intake
from diffusionforce.desktop.instance import FileClaim
from diffusionforce.engines.musubi import preparation as preparations
from diffusionforce.engines.musubi.arguments import EngineArguments
from diffusionforce.engines.musubi.families import find_family
from diffusionforce.engines.musubi.preparation import Preparation, prepared_root
from diffusionforce.engines.musubi.readiness import Ready
from diffusionforce.engines.musubi.staging import sources_of
from diffusionforce.errors import DatasetError, DiskError, EngineError, RunFolderError
from diffusionforce.wire import Message, Warn

CAPTION = "gouachestyle, hills under a sun, number"


class Handed:
    """What the engine is given of a folder.

    Args:
        root: The user's folder.
        place: Where the engine's is made.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self.dataset = read_folder(root)
        (source,) = sources_of(self.dataset, usual_size=(64, 64), intake=Intake())
        source.lay_out(place)
        self.key = b"".join(source.key_parts())
        self.pictures = [Image.open(path) for path in sorted(place.glob("*.png"))]
        self.captions = [path.read_text(encoding="utf-8") for path in sorted(place.glob("*.txt"))]
        self.names = sorted(path.name for path in place.iterdir())
        self.said = " ".join(f"{found.path.name}: {found.sentence}" for found in self.dataset.findings)
        assert [picture.mode for picture in self.pictures] == ["RGB"] * len(self.pictures)
        assert len(self.pictures) == len(self.captions)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "[sks] girl"
    folder.mkdir()
    return folder


def handed(root: Path) -> Handed:
    return Handed(root, root.parent / "for the engine")


def test_pictures_of_one_name_are_two_or_one_is_named(root: Path) -> None:
    save(root / "z.png", 9)
    scene(1).save(root / "a.jpg")
    scene(2).save(root / "a.png")
    (root / "a.txt").write_text("one of two", encoding="utf-8")
    given = handed(root)
    if len(given.pictures) == 3:
        assert len({picture.tobytes() for picture in given.pictures}) == 3
    else:
        assert len(given.pictures) < 3 and "a." in given.said
    assert given.names == [f"{n:05d}.{end}" for n in range(len(given.pictures)) for end in ("png", "txt")]


def test_pictures_of_one_name_and_two_sizes_have_a_caption_each(root: Path) -> None:
    scene(1, (320, 240)).save(root / "a.jpg")
    scene(2, (200, 300)).save(root / "a.png")
    (root / "a.txt").write_text("one of two", encoding="utf-8")
    save(root / "z.png", 9)
    given = handed(root)
    assert len(given.pictures) == len(given.captions) and (len(given.pictures) == 3 or "a." in given.said)


def test_every_dataset_has_a_cache_of_its_own(tmp_path: Path) -> None:
    tables = []
    for number in range(2):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        save(folder / "a.png", number)
        (source,) = sources_of(read_folder(folder), usual_size=(64, 64), intake=Intake())
        tables.append(source.table(tmp_path / "prepared" / str(number)))
    assert len({table["cache_directory"] for table in tables}) == 2
    for table in tables:
        assert Path(table["cache_directory"]).parent == Path(table["image_directory"])


def test_what_is_prepared_follows_pixels_captions_and_size(root: Path) -> None:
    save(root / "a.png", 1)
    keys = [handed(root).key]
    scene(2).save(root / "a.png")
    keys.append(handed(root).key)
    (root / "a.txt").write_text("other words", encoding="utf-8")
    keys.append(handed(root).key)
    (larger,) = sources_of(read_folder(root), usual_size=(96, 64), intake=Intake())
    keys.append(b"".join(larger.key_parts()))
    assert len(set(keys)) == 4


def test_a_photo_on_its_side_is_upright(root: Path) -> None:
    turned(save(root / "a.jpg", 1, size=(300, 200)))
    assert [picture.size for picture in handed(root).pictures] == [(200, 300)]


def test_sixteen_bits_become_eight(root: Path) -> None:
    ramp = np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)
    Image.fromarray(ramp).save(root / "a.png")
    (root / "a.txt").write_text("a ramp", encoding="utf-8")
    (picture,) = handed(root).pictures
    levels = np.asarray(picture)[:, :, 0]
    assert (levels == 255).mean() < 0.02 and abs(float(levels.mean()) - 127.5) < 2


def test_what_was_clear_is_white(root: Path) -> None:
    clear(save(root / "a.png", 1))
    (picture,) = handed(root).pictures
    assert picture.getpixel((0, 0)) == (255, 255, 255)


def test_of_what_moves_the_first_frame_is_given_and_said(root: Path) -> None:
    frames = [scene(seed, (160, 120)) for seed in (1, 2)]
    frames[0].save(root / "a.webp", save_all=True, append_images=frames[1:], duration=100, lossless=True)
    (root / "a.txt").write_text("moving", encoding="utf-8")
    given = handed(root)
    (picture,) = given.pictures
    assert np.abs(np.asarray(picture).astype(int) - np.asarray(frames[0]).astype(int)).max() <= 8
    assert "a.webp" in given.said


@pytest.mark.parametrize("name", ["a.gif", "a.heic"])
def test_formats_that_are_not_used_are_named(root: Path, name: str) -> None:
    save(root / "z.png", 9)
    scene(1).save(root / name, format="GIF")
    (root / "a.txt").write_text("a hill", encoding="utf-8")
    given = handed(root)
    assert len(given.pictures) == 1 and name in given.said


def test_a_tiff_is_given_as_any_other_picture(root: Path) -> None:
    scene(1).save(root / "a.tiff")
    (root / "a.txt").write_text("a hill", encoding="utf-8")
    assert handed(root).names == ["00000.png", "00000.txt"]


@pytest.mark.parametrize("damage", ["no bytes", "half"])
def test_one_damaged_file_is_left_out_and_the_rest_is_given(root: Path, damage: str) -> None:
    save(root / "z.png", 9)
    bad = save(root / "a.jpg", 1)
    bad.write_bytes(b"" if damage == "no bytes" else bad.read_bytes()[: bad.stat().st_size // 2])
    given = handed(root)
    assert len(given.pictures) == 1 and given.captions == [f"{CAPTION} 9"] and "a.jpg" in given.said


def test_a_picture_of_200_million_pixels_is_scaled_down(root: Path) -> None:
    Image.new("L", (20_000, 10_000)).save(root / "a.png")
    (root / "a.txt").write_text("a wall", encoding="utf-8")
    (picture,) = handed(root).pictures
    assert picture.size == (10_000, 5_000)


@pytest.mark.parametrize("size", [(1, 1), (4000, 20)])
def test_tiny_and_long_pictures_are_named(root: Path, size: tuple[int, int]) -> None:
    save(root / "z.png", 9)
    Image.new("RGB", size, (200, 10, 10)).save(root / "a.png")
    (root / "a.txt").write_text("a line", encoding="utf-8")
    assert "a.png" in handed(root).said


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a hill".encode("utf-8-sig"), "a hill"),
        ("a hïll".encode("utf-16"), "a hïll"),
        ("a hïll".encode("cp1252"), "a hïll"),
        ("夕焼けの港".encode("cp932"), "夕焼けの港"),
    ],
    ids=["byte order mark", "UTF-16", "Western", "Japanese"],
)
def test_captions_of_any_encoding_are_plain_utf_8(root: Path, content: bytes, text: str) -> None:
    save(root / "a.png", 1, caption=content)
    save(root / "z.png", 9)
    given = handed(root)
    assert given.captions == [text, f"{CAPTION} 9"] or (given.captions == [f"{CAPTION} 9"] and "a.txt" in given.said)
    assert not any(caption.startswith("\ufeff") for caption in given.captions)


@pytest.mark.parametrize("caption", [b"", b" \r\n\t"], ids=["empty", "blank"])
def test_an_empty_caption_is_named_and_trains_nothing(root: Path, caption: bytes) -> None:
    save(root / "z.png", 9)
    scene(1).save(root / "a.png")
    (root / "a.txt").write_bytes(caption)
    given = handed(root)
    assert all(given.captions) and "a." in given.said and len(given.pictures) == 1


@pytest.mark.parametrize("caption", ["a\0hill", "a \u202ehill"], ids=["NUL", "turned writing"])
def test_signs_that_nobody_sees_do_not_reach_the_prompt(root: Path, caption: str) -> None:
    save(root / "a.png", 1, caption=caption.encode())
    given = handed(root)
    (said,) = given.captions
    assert not {"\0", "\u202e"} & set(said), repr(said)
    assert "hill" in said and "a.txt" in given.said


def test_pictures_without_a_caption_of_their_name_are_named(root: Path) -> None:
    save(root / "z.png", 9)
    save(root / "lone.png", 1, caption=None)
    save(root / "b.png", 2, caption=None)
    (root / "b.TXT").write_text("in capitals", encoding="utf-8")
    save(root / "A.png", 3, caption=None)
    (root / "a.txt").write_text("another case", encoding="utf-8")
    given = handed(root)
    assert "lone.png" in given.said
    for name, caption in (("b.", "in capitals"), ("A.", "another case")):
        assert caption in given.captions or name in given.said


def test_what_other_systems_leave_behind_is_no_picture(root: Path) -> None:
    save(root / "a.png", 1)
    (root / "._a.png").write_bytes(b"Mac OS X")
    assert len(handed(root).pictures) == 1


@pytest.mark.parametrize("mode", ["CMYK", "P", "LA", "L", "1", "RGBA"])
def test_every_kind_of_pixel_is_plain_rgb(root: Path, mode: str) -> None:
    name = "a.jpg" if mode == "CMYK" else "a.png"
    scene(1).convert(mode).save(root / name)
    (root / "a.txt").write_text("a hill", encoding="utf-8")
    (picture,) = handed(root).pictures
    assert picture.size == (320, 240)


@pytest.mark.parametrize("stem", ["日本 🦊", "it's", "100%", "a#b", "a.b.c", 'qu"ote', "[x]"])
def test_names_of_any_kind_become_numbers(root: Path, stem: str) -> None:
    save(root / f"{stem}.png", 1, caption=None)
    (root / f"{stem}.txt").write_text("a hill", encoding="utf-8")
    given = handed(root)
    assert given.names == ["00000.png", "00000.txt"] and given.captions == ["a hill"]


def test_a_picture_with_the_ending_of_another_format_is_given(root: Path) -> None:
    scene(1).save(root / "a.png", format="JPEG")
    (root / "a.txt").write_text("a hill", encoding="utf-8")
    assert len(handed(root).pictures) == 1


def test_a_name_of_240_letters_becomes_a_short_one(root: Path) -> None:
    save(root / f"{'n' * 240}.png", 1)
    assert handed(root).names == ["00000.png", "00000.txt"]


def test_a_folder_of_nothing_usable_is_refused_before_anything_is_made(root: Path) -> None:
    save(root / "a.png", 1).write_bytes(b"")
    with pytest.raises(DatasetError):
        handed(root)
    assert not (root.parent / "for the engine").exists()


class Programs:
    """The engine's programs, which write a file for every picture and every caption that has none yet.

    Args:
        breaks_at: Name of the file in the middle of which the process is ended; empty lets it live.
        in_turns: Whether the captions' program goes through them twice and adds to what is there.
        leaves_out: Name of a file that is not written.
    """

    def __init__(self, *, breaks_at: str = "", in_turns: bool = False, leaves_out: str = "") -> None:
        self.breaks_at, self.in_turns, self.leaves_out = breaks_at, in_turns, leaves_out
        self.written: list[str] = []

    def __call__(self, stage: str, arguments: EngineArguments, num: int) -> None:
        table = tomllib.loads(Path(str(arguments.values["dataset_config"])).read_text(encoding="utf-8"))
        for dataset in table["datasets"]:
            cache = Path(dataset["cache_directory"])
            names = [path.stem for path in sorted(Path(dataset["image_directory"]).glob("*.png"))]
            end = "_0064x0064_wan" if stage == "pictures" else "_wan_te"
            new = [path for name in names if not (path := cache / f"{name}{end}.safetensors").exists()]
            for turn in range(2 if self.in_turns and stage == "text" else 1):
                for path in new:
                    self._write(path, {f"{stage}{n}": (4, 4) for n in range(turn + 1)})

    def _write(self, path: Path, tensors: dict[str, tuple[int, ...]]) -> None:
        if path.name != self.leaves_out:
            write_weights(path, tensors)
            self.written.append(path.name)
        if path.name == self.breaks_at:
            path.write_bytes(path.read_bytes()[:-8])
            raise KeyboardInterrupt


PICTURES = [f"0000{number}_0064x0064_wan.safetensors" for number in range(3)]
CAPTIONS = [f"0000{number}_wan_te.safetensors" for number in range(3)]


def run_with(root: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch, **more: Any) -> list[str]:
    """Prepare a folder, and return the files that the programs wrote."""
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(root.parent / "data"))
    monkeypatch.setattr(Preparation, "_run", lambda self, *args: programs(*args))
    with suppress(KeyboardInterrupt):
        dataclasses.replace(preparation(root), **more).run()
    return programs.written


@pytest.fixture
def three(root: Path) -> Path:
    for number in range(3):
        save(root / f"{number}.png", number)
    return root


@pytest.mark.parametrize(
    ("breaks_at", "again"), [(PICTURES[1], [*PICTURES[1:], *CAPTIONS]), (CAPTIONS[1], CAPTIONS[1:])]
)
def test_what_a_killed_process_was_writing_is_made_anew(
    three: Path, breaks_at: str, again: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine passes over files that are there, and training ended in a traceback at the half one."""
    run_with(three, Programs(breaks_at=breaks_at), monkeypatch)
    assert run_with(three, Programs(), monkeypatch) == again
    assert run_with(three, Programs(), monkeypatch) == []


def test_captions_that_had_the_first_of_two_turns_get_both(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HunyuanVideo's program was ended after its first text encoder: the second found nothing to do."""
    ready = dataclasses.replace(preparation(three).ready, family=find_family("hunyuan-video"))
    programs = Programs(in_turns=True, breaks_at=CAPTIONS[2])
    run_with(three, programs, monkeypatch, ready=ready)
    assert run_with(three, Programs(in_turns=True), monkeypatch, ready=ready) == CAPTIONS * 2


@pytest.mark.parametrize("lost", [PICTURES[0], CAPTIONS[2]])
def test_what_was_deleted_or_damaged_later_is_made_anew(
    three: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It trained on the other pictures, and said nothing."""
    run_with(three, Programs(), monkeypatch)
    (path,) = (three.parent / "data").rglob(lost)
    path.unlink()
    assert run_with(three, Programs(), monkeypatch) == [lost]
    path.write_bytes(path.read_bytes()[:-1])
    assert run_with(three, Programs(), monkeypatch) == [lost]


def test_what_the_engine_leaves_out_is_no_success(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match="has prepared 2 of 3 pictures and captions"):
        run_with(three, Programs(leaves_out=PICTURES[1]), monkeypatch)


@pytest.mark.parametrize(
    "error", [SafetensorError("I/O error (os error 28)"), OSError("40 requested and 9 written"), OSError(28, "full")]
)
def test_a_disk_that_is_full_is_named(three: Path, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Programs):
        def _write(self, path: Path, tensors: dict[str, tuple[int, ...]]) -> None:
            raise error

    with pytest.raises(DiskError, match=r"data/prepared/wan/.* is full"):
        run_with(three, Full(), monkeypatch)


def test_two_runs_over_the_same_pictures_do_not_write_at_once(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both wrote the same files, and the description that the other was to train with."""
    said: list[Message] = []
    first, second = Programs(), Programs()

    def tell(message: Message) -> None:
        said.append(message)
        if len(said) == 2:  # It was told that it waits, and waits.
            holder.give_up()

    run_with(three, first, monkeypatch)
    (lock,) = (three.parent / "data").rglob("in-work.lock")
    for path in lock.parent.rglob("*_te.safetensors"):
        path.unlink()
    holder = FileClaim(lock)
    assert holder.take()
    monkeypatch.setattr(preparations, "_PATIENCE_S", 0.0)
    assert run_with(three, second, monkeypatch, announce=tell) == CAPTIONS
    assert isinstance(said[0], Warn) and "Another run prepares the same pictures" in said[0].sentence


def test_another_encoder_of_the_same_name_and_size_prepares_anew(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text encoder in several files is called model-00001-of-00004: the other's captions were trained on."""
    ready = preparation(three).ready
    first, second = three.parent / "model-00001-of-00002.safetensors", three.parent / "model-00002-of-00002.safetensors"
    first.touch()
    ready = dataclasses.replace(ready, files={**ready.files, "t5": first})
    second.write_bytes(b"a" * 1000)
    run_with(three, Programs(), monkeypatch, ready=ready)
    assert run_with(three, Programs(), monkeypatch, ready=ready) == []
    second.write_bytes(b"b" * 1000)
    assert run_with(three, Programs(), monkeypatch, ready=ready) == PICTURES + CAPTIONS


def test_runs_with_other_batches_have_another_description(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(three.parent / "data"))
    monkeypatch.setattr(Preparation, "_run", Programs())
    first = preparation(three)
    training = first.profile.training.model_copy(update={"batch_size": 3})
    second = dataclasses.replace(first, profile=first.profile.model_copy(update={"training": training}))
    configs = [one.run().config for one in (first, second)]
    batches = [tomllib.loads(path.read_text(encoding="utf-8"))["general"]["batch_size"] for path in configs]
    assert batches == [first.profile.training.batch_size, 3] and configs[0].parent == configs[1].parent


def preparation(root: Path) -> Preparation:
    job = small_job(root.parent, dataset_dir=root)
    files = {
        role: root.parent / f"{role}.safetensors" for role in ("vae", "t5", "dit", "text_encoder1", "text_encoder2")
    }
    ready = Ready(family=find_family("wan2.1-t2v-1.3b"), files=files, file_precision="bf16")
    return Preparation(
        ready=ready,
        dataset=read_folder(root),
        profile=job.profile,
        picture_device="cpu",
        caption_device="cpu",
        announce=lambda message: None,
    )


@pytest.mark.parametrize("name", ["C:\\Users\\new", "C:\\train\\new", "...it's", 'a "b"', "日本 🦊"])
def test_the_description_names_its_folders_as_they_are(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Symptom: written by hand, `"C:\train\new"` is a path with a tab and a new line in it.
    save(root / "a.png", 1)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(root.parent / name))
    made = preparation(root)
    monkeypatch.setattr(Preparation, "_run", Programs())
    config = made.run().config
    content = config.read_bytes()
    assert not content.startswith(b"\xef\xbb\xbf")
    (dataset,) = tomllib.loads(content.decode())["datasets"]
    folder = Path(dataset["image_directory"])
    assert folder.is_dir() and folder.is_relative_to(prepared_root())
    # The engine looks for its files in this way.
    assert glob.glob(f"{folder}/*.png")  # noqa: PTH207


@pytest.mark.parametrize("name", ["[my] data", "what?", "a*b"])
def test_a_data_folder_in_which_the_engine_would_find_nothing_is_refused(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine takes `[sks]` in the path of its cache for a choice of letters, and trains on no picture at all."""
    save(root / "a.png", 1)
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(root.parent / name))
    with pytest.raises(RunFolderError, match="cannot work in") as caught:
        preparation(root).run()
    assert name in caught.value.sentence and not (root.parent / name).exists()
