"""Single modules of the engine, imported without what their packages would load."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.engine import needs_engine

from diffusionforce.engines.musubi.modules import import_light
from diffusionforce.errors import EngineError

PROGRAM = """
import sys
from diffusionforce.engines.musubi import open_engine
from diffusionforce.engines.musubi.modules import import_light

source = open_engine()
model = import_light("musubi_tuner.wan.modules.model", source=source)
lora = import_light("musubi_tuner.networks.lora_wan", source=source)
assert model.__file__.startswith(str(source)), model.__file__
assert {"musubi_tuner.wan.modules", "musubi_tuner.wan.modules.t5", "ftfy", "torchvision"}.isdisjoint(sys.modules)
assert not hasattr(sys.modules.get("transformers"), "CLIPTextModel") or sys.modules["transformers"].__file__
print(model.WanModel.__name__, lora.WAN_TARGET_REPLACE_MODULES)
"""


@needs_engine
def test_a_model_is_imported_alone_and_leaves_no_stand_in_behind() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["WanModel", "['WanAttentionBlock']"]


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine_of_a_test.py").write_text("import no_such_library.part\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    with pytest.raises(EngineError, match="library no_such_library, which is not installed") as caught:
        import_light("engine_of_a_test", source=tmp_path)
    assert ".[musubi]" in caught.value.hint
    assert not {name for name in set(sys.modules) - before if name.startswith("musubi_tuner")}
