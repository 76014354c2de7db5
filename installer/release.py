"""The steps of a build, under the build's own Python: from pinned inputs to the files that people download."""

import argparse
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from installer import archives, artwork, binaries, inputs, launcher, listing, nsis, offline, payload, signatures, source
from installer.places import DIST, WORK, version
from installer.problems import BuildError


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be chosen about a build."""

    out: Path
    compression: str
    working_tree: bool
    twice: bool
    engine: Path | None
    sign: str
    version: str
    size_kb: int | None


def main(arguments: Sequence[str]) -> int:
    """Build, and return the exit code."""
    if list(arguments[:1]) == ["offline"]:
        return offline.main(arguments[1:])
    options = _options(arguments)
    try:
        revision = "" if options.working_tree else source.commit()
        products = build(options, revision=revision, scratch=WORK / "first", out=options.out)
        if options.twice:
            again = build(options, revision=revision, scratch=WORK / "second", out=WORK / "second" / "dist")
            compare(products, again)
    except BuildError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    for product in products:
        say(f"{product.stat().st_size:12,d} bytes  {inputs.sha256_of(product)[:16]}  {product}")
    return 0


def build(options: Options, *, revision: str, scratch: Path, out: Path) -> list[Path]:
    """Make everything once and return the files.

    Args:
        options: What was chosen.
        revision: The commit that the product is taken from; empty for the files as they lie here.
        scratch: A folder of this build alone, which is emptied.
        out: The folder for the results.

    Raises:
        BuildError: A step refuses.
    """
    started_s = time.monotonic()
    shutil.rmtree(scratch, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    date_s = source.date_s(revision)
    files = inputs.fetched(inputs.wanted_pins().values())
    say(f"{len(files)} inputs are the pinned ones ({_since(started_s)})")
    art = artwork.draw_all(scratch / "art")
    # The pictures are unpacked for the wizard, with their dates.
    payload.level(art, date_s=date_s)
    source.take(revision, target=scratch / "source")
    given = payload.Ingredients(
        version=options.version,
        revision=revision,
        date_s=date_s,
        files=files,
        source=scratch / "source",
        icon=art / "app.ico",
        scratch=scratch,
        engine=options.engine,
    )
    folder = scratch / "payload"
    payload.assemble(given, target=folder)
    say(f"payload put together ({_since(started_s)})")
    say(f"{binaries.check(folder)} binaries find the libraries that they need ({_since(started_s)})")
    signed = signatures.signatures_of(folder)
    signatures.check(signed)
    for words, count in listing.signers(signed).items():
        say(f"  {count} binaries {words}")
    if options.sign:
        program = folder / launcher.NAME
        sign(program, command=options.sign)
        payload.level(folder, date_s=date_s)
        signed[launcher.NAME] = signatures.read_signature(program.read_bytes())
    name = f"DiffusionForce-{options.version}"
    setup = nsis.Setup(
        payload=folder,
        art=art,
        version=options.version,
        date_s=date_s,
        compression=options.compression,
        scratch=scratch / "nsis",
        sign=options.sign,
        size_kb=options.size_kb,
    )
    products = [nsis.build(setup, target=(out / f"{name}-setup.exe").absolute())]
    say(f"set-up program made ({_since(started_s)})")
    level = 9 if options.compression == "lzma" else 1
    portable = out / f"{name}-win64-portable.zip"
    products.append(archives.write_zip(folder, target=portable, top=name, date_s=date_s, level=level))
    contents = out / f"{name}-contents.txt"
    contents.write_text(listing.contents(folder, signatures=signed, version=options.version), encoding="utf-8")
    products.append(contents)
    products.append(archives.write_sums(products, target=out / "SHA256SUMS"))
    say(f"all made ({_since(started_s)})")
    return products


def compare(first: Sequence[Path], second: Sequence[Path]) -> None:
    """Say that two builds are the same, byte for byte.

    Raises:
        BuildError: They are not.
    """
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise BuildError(f"Two builds differ in {one.name}. Compare {one} and {other}.")
        say(f"built twice, the same bytes: {one.name}")


def say(text: str) -> None:
    """Write one line for the person who watches."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _since(started_s: float) -> str:
    return f"{time.monotonic() - started_s:.0f} s"


def sign(program: Path, *, command: str) -> None:
    """Sign a program in its place.

    Args:
        program: The file.
        command: What signs, with `%1` where the file comes.

    Raises:
        BuildError: It does not succeed.
    """
    done = subprocess.run([part.replace("%1", str(program)) for part in shlex.split(command)], check=False)
    if done.returncode != 0:
        raise BuildError("The command that signs did not succeed.")


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="installer/build.py", description="Build DiffusionForce for Windows.")
    parser.add_argument("--out", type=Path, default=DIST, metavar="DIR", help="where the files come to (dist)")
    parser.add_argument("--compression", choices=("lzma", "zlib"), default="lzma", help="zlib is quicker, for trying")
    parser.add_argument("--working-tree", action="store_true", help="take files as they lie here, not the commit's")
    parser.add_argument("--twice", action="store_true", help="build twice and compare the results byte by byte")
    parser.add_argument("--engine", type=Path, metavar="ZIP", help="ship this snapshot of the engine along")
    parser.add_argument("--sign", default="", metavar="COMMAND", help="sign with this command; %%1 is the file")
    parser.add_argument("--version", default=version(), help="another version number, to try an upgrade with")
    parser.add_argument("--size-kb", type=int, metavar="N", help="ask for so much space, to try a full disk with")
    return Options(**vars(parser.parse_args(list(arguments))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
