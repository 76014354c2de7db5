"""How much is done for the first forecast of a large model, in numbers that do not depend on the machine."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import needs_engine
from torch import nn

from diffusionforce.job import Job, builtin_profiles, read_profile
from diffusionforce.pipeline.tracer.memory import StorageCounter
from diffusionforce.trainer.forecasting import forecast_job
from diffusionforce.trainer.forecasting.rigs import rig_imagined
from diffusionforce.trainer.forecasting.traces import Traces

MOST_OPERATIONS, MOST_MODULES = 12_500, 1_600
"""A little more than what is needed today. Three times as many operations came to the counter when PyTorch asked every
tensor without contents for its device by way of Python."""


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts operations and modules."""
    done: Counter[str] = Counter()
    dispatch, init = StorageCounter.__torch_dispatch__, nn.Module.__init__

    def counted(self: Any, func: Any, *others: Any, **named: Any) -> Any:
        done[str(func)] += 1
        return dispatch(self, func, *others, **named)

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        done["modules"] += 1
        init(self, *args, **kwargs)

    monkeypatch.setattr(StorageCounter, "__torch_dispatch__", counted)
    monkeypatch.setattr(nn.Module, "__init__", made)
    return done


@needs_engine
def test_the_first_forecast_of_14_billion_parameters_traces_little(work: Counter[str], tmp_path: Path) -> None:
    pytest.importorskip("einops", reason="the engine needs einops")
    profile = read_profile(builtin_profiles()["wan21-14b"])
    job = Job(profile_name="p", profile=profile, dataset_dir=tmp_path / "none", run_dir=tmp_path / "run")
    traces = Traces(tmp_path / "traces")
    found = forecast_job(job, rig=rig_imagined("5080, 4060 Ti 16GB"), traces=traces).forecast
    assert found.recommended is not None
    assert traces.num_traced == 8, "training in two formats, one of them divided; samples in both; three models beside"
    assert 1_000 < work.pop("modules") <= MOST_MODULES
    assert 5_000 < work.total() <= MOST_OPERATIONS, work.most_common(8)
