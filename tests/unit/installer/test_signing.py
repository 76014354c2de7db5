"""`--sign`: launcher, set-up program and the uninstaller in it are signed, with a certificate made for the test."""

import shutil
import subprocess
from pathlib import Path

import pytest

from installer import artwork, launcher, nsis, release
from installer.problems import BuildError
from installer.toolbox import PROGRAMS

NEEDED = (*PROGRAMS, "openssl", "osslsigncode")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
NAME = "/CN=DiffusionForce test"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate that nobody trusts, with its key beside it."""
    place = tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", NAME]
    command += ["-addext", "extendedKeyUsage=codeSigning", "-keyout", str(place.with_name("key.pem"))]
    subprocess.run([*command, "-out", str(place)], check=True, capture_output=True)
    return place


@pytest.fixture
def command(tmp_path: Path, certificate: Path) -> str:
    """What `--sign` is given."""
    script = tmp_path / "sign.sh"
    keys = f"-certs {certificate} -key {certificate.with_name('key.pem')}"
    script.write_text(
        f'set -e\nosslsigncode sign {keys} -in "$1" -out "$1.signed"\nmv "$1.signed" "$1"\n', encoding="utf-8"
    )
    return f"sh {script} %1"


def is_signed(program: Path, certificate: Path) -> bool:
    """Return whether a program bears the signature of the test."""
    verify = ["osslsigncode", "verify", "-CAfile", str(certificate), "-in", str(program)]
    said = subprocess.run(verify, capture_output=True, text=True, check=False).stdout
    return "Signature verification: ok" in said and NAME in said


@pytest.mark.skipif(bool(MISSING), reason=f"without {', '.join(MISSING)}")
def test_launcher_setup_and_uninstaller_are_signed(tmp_path: Path, certificate: Path, command: str):
    payload, art = tmp_path / "payload", artwork.draw_all(tmp_path / "art")
    payload.mkdir()
    program = launcher.build(icon=art / "app.ico", version="1.2.3", scratch=tmp_path / "launcher", target=payload)
    assert not is_signed(program, certificate)
    release.sign(program, command=command)
    given = nsis.Setup(
        payload=payload,
        art=art,
        version="1.2.3",
        date_s=1_700_000_000,
        compression="zlib",
        scratch=tmp_path / "nsis",
        sign=command,
    )
    setup = nsis.build(given, target=tmp_path / "tiny-setup.exe")
    subprocess.run(["7z", "x", "-y", f"-o{tmp_path / 'unpacked'}", str(setup)], check=True, capture_output=True)
    made = (program, setup, tmp_path / "unpacked" / "Uninstall.exe")
    assert [is_signed(one, certificate) for one in made] == [True, True, True]


def test_a_command_that_fails_stops_the_build(tmp_path: Path):
    with pytest.raises(BuildError, match="did not succeed"):
        release.sign(tmp_path / "a.exe", command="false %1")
