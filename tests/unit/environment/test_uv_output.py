"""What uv 0.13.9 said into a pipe, recorded, and what is made of it."""

import types

import pytest

from diffusionforce.environment import uv_output
from diffusionforce.environment.failures import failure_of, last_error
from diffusionforce.environment.uv_output import UvOutput

INSTALLED = """\
Using Python 3.11.7 environment at: env
Resolved 3 packages in 355ms
Downloading pillow (6.8MiB)
Downloading numpy (16.1MiB)
 Downloaded pillow
 Downloaded numpy
Prepared 3 packages in 1.08s
Installed 3 packages in 100ms
 + numpy==2.4.6
 + pillow==13.0.0
 + tqdm==4.70.1
"""
NO_NETWORK = """\
Using Python 3.11.7 environment at: env
error: Failed to fetch: https://index.invalid/simple/einops/
  cause: error sending request for url (https://index.invalid/simple/einops/)
  cause: client error (Connect)
  cause: dns error
  cause: error resolving DNS
  cause: failed to lookup address information: Name or service not known
"""
HASH = """\
Resolved 1 package in 155ms
error: Failed to download `easydict==1.14`
  cause: Hash mismatch for `easydict==1.14`

         Expected:
           sha256:0000000000000000000000000000000000000000000000000000000000000000

         Computed:
           sha256:5c39cce9403961b4d281767cbc7f048271d4ee7a703b40505e728807f9264082
"""
FULL = """\
Resolved 3 packages in 286ms
Downloading scipy (33.7MiB)
error: Failed to download `scipy==1.17.1`
  cause: Failed to extract archive: scipy-1.17.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
  cause: I/O operation failed during extraction
  cause: failed to write to file `/small/cache/.tmpnWDAHe/scipy/linalg/_decomp_qz.py`: No space left on device (os error 28)
"""  # noqa: E501 - as it was said.
NOT_IN_WHEELS = """\
error: No solution found when resolving dependencies
  cause: Because einops was not found in the provided package locations and you require einops==0.8.2, we can conclude that your requirements are unsatisfiable.
"""  # noqa: E501
MIB = 1 << 20


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """What the network has brought so far."""
    counters = types.SimpleNamespace(bytes_recv=1000)
    monkeypatch.setattr(uv_output.psutil, "net_io_counters", lambda: counters)
    return counters


def test_packages_and_bytes_are_counted_as_they_come(received: types.SimpleNamespace) -> None:
    output = UvOutput("torch")
    seen = []
    for line in INSTALLED.splitlines():
        output.take(line)
        seen.append(output.progress())
        received.bytes_recv += MIB
    assert [one.total for one in seen[:2]] == [0, 3]
    pillow = round(6.8 * MIB)
    both = pillow + round(16.1 * MIB)
    assert (seen[2].package, seen[2].done_bytes, seen[2].total_bytes) == ("pillow", 0, pillow)
    assert (seen[3].package, seen[3].done_bytes, seen[3].total_bytes) == ("numpy", MIB, both)
    assert (seen[4].package, seen[4].done_bytes, seen[4].done) == ("numpy", pillow, 1)
    assert (seen[5].package, seen[5].done_bytes, seen[5].done) == ("", both, 2)
    assert [one.done_bytes for one in seen] == sorted(one.done_bytes for one in seen)


def test_never_more_has_come_than_was_announced(received: types.SimpleNamespace) -> None:
    output = UvOutput("torch")
    output.take("Downloading torch (2.3GiB)")
    received.bytes_recv += 10 << 30
    assert output.progress().done_bytes == output.progress().total_bytes == round(2.3 * (1 << 30))


def test_what_is_in_the_cache_is_no_download() -> None:
    output = UvOutput("libraries")
    output.take("Checked 42 packages in 3ms")
    progress = output.progress()
    assert (progress.total, progress.total_bytes, progress.package) == (42, 0, "")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (NO_NETWORK, "PyTorch could not be downloaded: the network, or the server, cannot be reached."),
        (HASH, "A downloaded package is not the one that was pinned, so it was not installed."),
        (FULL, "The disk is full."),
        (NOT_IN_WHEELS, "PyTorch is not to be had for this computer in the version that was chosen."),
        ("error: No interpreter found at path `/nonexistent/python`", "The Python of the application does not start."),
        ("error: failed to remove file `env`: Access is denied. (os error 5)", "A file of the environment is in use"),
        ("error: failed to create directory `env`: Permission denied (os error 13)", "The folder of the environment"),
        ("error: something else\n  cause: of all things.\n", "PyTorch could not be installed: something else: of all"),
        ("", "PyTorch could not be installed: uv gave no reason."),
    ],
)
def test_a_failure_is_one_sentence_with_the_rest_as_detail(said: str, sentence: str) -> None:
    failure = failure_of(said, doing="PyTorch")
    assert failure.sentence.startswith(sentence)
    assert failure.hint
    assert failure.detail == said.strip()


def test_wheels_that_lack_something_are_named() -> None:
    assert failure_of(NOT_IN_WHEELS, doing="A library", wheels="D:\\wheels").sentence == (
        "A library is not in D:\\wheels, or not for this computer."
    )


def test_the_last_error_counts() -> None:
    assert last_error("error: one\nerror: two\n  cause: three\n  cause: four\n") == "two: three"
    assert last_error("nothing") == ""
