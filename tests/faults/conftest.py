"""One fork server, and one run that nothing happens to, for all tests of a module."""

from collections.abc import Iterator

import pytest
from tests.support.fault_runs import ForkServer, Undisturbed, fork_server, undisturbed
from tests.support.small_pocket import eventful_job


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with fork_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="module")
def reference(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    job = eventful_job(tmp_path_factory.mktemp("reference"), checkpoints__keep=2)
    undisturbed(server, job)  # The first one warms up what the others share.
    return undisturbed(server, job.model_copy(update={"run_dir": job.run_dir.with_name("again")}))
