"""The gates: who signed a binary, and whether it finds its libraries."""

import pytest

from installer import binaries, signatures
from installer.problems import BuildError
from installer.signatures import Signature

PSF = Signature(state="valid", signer="Python Software Foundation")
SOMEBODY = Signature(state="valid", signer="Somebody Else")
NONE = Signature(state="none")
BROKEN = Signature(state="a signature that does not hold (INVALID_DIGEST: ...)")


def test_what_is_signed_as_it_should_be_passes():
    signatures.check(
        {
            "DiffusionForce.exe": NONE,
            "python/python.exe": PSF,
            "python/Lib/site-packages/numpy/core.pyd": NONE,
            "python/Lib/site-packages/av/core.pyd": SOMEBODY,
        }
    )


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("python/python312.dll", NONE),
        ("python/python312.dll", SOMEBODY),
        ("python/DLLs/_ssl.pyd", BROKEN),
        ("python/Lib/venv/scripts/nt/python.exe", NONE),
        ("python/Lib/site-packages/PySide6/Qt6Core.dll", NONE),
        ("python/Lib/site-packages/numpy/core.pyd", BROKEN),
        ("uv.exe", NONE),
        ("uv.exe", PSF),
    ],
)
def test_what_is_not_stops_the_build_by_name(name: str, signature: Signature):
    with pytest.raises(BuildError, match=name.rpartition("/")[2]):
        signatures.check({"python/python.exe": PSF, name: signature})


def test_the_signer_is_the_common_name():
    assert signatures.common_name("CN=OpenAI OpCo\\, LLC, O=OpenAI OpCo\\, LLC, C=US") == "OpenAI OpCo, LLC"
    assert signatures.common_name("CN=Python Software Foundation, O=PSF") == "Python Software Foundation"


def test_a_library_that_is_not_there_is_told_with_who_needs_it():
    # Symptom: a runtime library was linked to one that had been left out.
    needed = {
        "python/vcamp140.dll": ("KERNEL32.dll".lower(), "gone.dll"),
        "python/python.exe": ("python312.dll", "api-ms-win-crt-heap-l1-1-0.dll"),
    }
    missing = binaries.missing_libraries(needed, present={"python312.dll"})
    assert missing == {"gone.dll": {"python/vcamp140.dll"}}
