"""Zips, hashes, the listing, the parts for computers without a network, and the notices."""

import os
import zipfile
from pathlib import Path

import pytest

from diffusionforce.environment import locked
from installer import archives, listing, notices, offline, release
from installer.problems import BuildError
from installer.signatures import Signature


def tree(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return folder


def test_a_zip_depends_on_names_and_contents_alone(tmp_path: Path):
    first = tree(tmp_path / "first", ("b/c.txt", "a.exe"))
    second = tree(tmp_path / "second", ("a.exe", "b/c.txt"))
    os.utime(second / "a.exe", (1, 1))
    (second / "a.exe").chmod(0o777)
    zips = [
        archives.write_zip(folder, target=tmp_path / f"{folder.name}.zip", top="Top", date_s=1_700_000_000)
        for folder in (first, second)
    ]
    assert zips[0].read_bytes() == zips[1].read_bytes()
    with zipfile.ZipFile(zips[0]) as archive:
        assert archive.namelist() == ["Top/a.exe", "Top/b/c.txt"]


def test_two_builds_that_differ_are_told(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"same")
    other.write_bytes(b"same")
    release.compare([one], [other])
    other.write_bytes(b"not the same")
    with pytest.raises(BuildError, match="differ in one"):
        release.compare([one], [other])


def test_the_sums_can_be_checked(tmp_path: Path):
    file = tmp_path / "a.exe"
    file.write_bytes(b"")
    sums = archives.write_sums([file], target=tmp_path / "SHA256SUMS").read_text(encoding="utf-8")
    assert sums == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.exe\n"


def test_the_sums_stand_in_the_order_of_names_wherever_the_files_are(tmp_path: Path):
    # Symptom: two builds differed in SHA256SUMS, where one of the paths was relative.
    for name in ("a/z.exe", "b/c.zip"):
        tree(tmp_path, (name,))
    sums = archives.write_sums([tmp_path / "a/z.exe", tmp_path / "b/c.zip"], target=tmp_path / "SHA256SUMS")
    assert [line.split()[1] for line in sums.read_text(encoding="utf-8").splitlines()] == ["c.zip", "z.exe"]


def test_the_listing_names_sizes_and_signers(tmp_path: Path):
    folder = tree(tmp_path, ("uv.exe", "python/Lib/site-packages/thing/__init__.py", "python/Lib/json.py"))
    signatures = {"uv.exe": Signature(state="valid", signer="Its Makers")}
    text = listing.contents(folder, signatures=signatures, version="0.1.0")
    assert "3 files" in text
    assert "uv.exe  [signed by Its Makers]" in text
    assert listing.parts(folder) == {"thing": 42, "python": 18, "uv.exe": 6}


def test_wheels_are_put_into_parts_that_a_release_takes(tmp_path: Path):
    files = [tmp_path / name for name in ("a", "b", "c")]
    for file in files:
        file.write_bytes(bytes(60))
    groups = offline.split(files, first_bytes=50, part_bytes=120)
    assert [[path.name for path in group] for group in groups] == [["a"], ["b", "c"]]
    with pytest.raises(BuildError, match="more than one part"):
        offline.split(files, first_bytes=0, part_bytes=59)


@pytest.mark.parametrize(
    ("expression", "free", "classifiers", "expected"),
    [
        ("MIT", "ignored", [], "MIT"),
        (None, "BSD-3-Clause", [], "BSD-3-Clause"),
        (None, "x" * 500, ["License :: OSI Approved :: MIT License"], "MIT License"),
        (None, None, [], "see its text"),
    ],
)
def test_a_licence_is_found_wherever_it_is_said(
    expression: str | None, free: str | None, classifiers: list[str], expected: str
):
    assert notices.licence_of(expression, free, classifiers) == expected


def test_notices_bring_the_texts_along(tmp_path: Path):
    site = tmp_path / "site"
    tree(site, ("thing-1.0.dist-info/licenses/LICENSE",))
    metadata = "Metadata-Version: 2.4\nName: thing\nVersion: 1.0\nLicense-Expression: MIT\n\nText\n"
    (site / "thing-1.0.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")
    (listed,) = notices.write(site_packages=site, target=tmp_path / "licences", version="0.1.0")
    assert (listed.name, listed.licence) == ("thing", "MIT")
    assert (tmp_path / "licences" / "thing-1.0" / "LICENSE").is_file()
    assert (tmp_path / "licences" / "LGPL-3.0.txt").is_file()
    assert "thing 1.0: MIT" in (tmp_path / "licences" / "NOTICES.txt").read_text(encoding="utf-8")


def test_the_offline_wheels_are_those_of_the_environment() -> None:
    assert (offline.WINDOW_ONLY, offline.BUILT) == (locked.WINDOW_ONLY, locked.BUILT)
