"""A profile while it is edited."""

import pytest
from tests.gui import recorded

from diffusionforce.gui.model.profile_draft import ProfileDraft
from diffusionforce.job import Profile, builtin_profiles, read_profile


@pytest.fixture
def original() -> Profile:
    return read_profile(builtin_profiles()["pocket-demo"])


@pytest.fixture
def draft(original: Profile) -> ProfileDraft:
    saved = original.model_copy(update={"title": "Mine", "based_on": "pocket-demo"})
    return ProfileDraft(saved, original=original, engines={"pocket": "pocket", "flux2-klein-9b": "musubi"})


def test_a_fresh_copy_changes_nothing(draft: ProfileDraft):
    assert (draft.changed, draft.edited, draft.problems, draft.cautions) == ((), (), {}, {})
    assert draft.profile == draft.saved


def test_an_edit_counts_until_it_means_the_same_again(draft: ProfileDraft):
    draft.set_text("training.steps", "400")
    assert draft.edited == draft.changed == ("training.steps",)
    assert draft.profile is not None
    assert draft.profile.training.steps == 400
    draft.set_text("training.steps", " 300 ")
    assert draft.edited == ()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("training.steps", "0", "Too small: 1 to 1,000,000 steps"),
        ("training.steps", "1.5", "This is not a whole number"),
        ("lora.rank", "2000", "Too large: 1 to 1,024"),
        ("dataset.width", "250", "Not a multiple of 16: take 240 or 256"),
        ("training.warmup_steps", "500", "Warm-up (500) is larger than steps (300)"),
        ("devices.use", "gpu", "no device"),
        ("devices.use", "", "This cannot be empty"),
        ("advanced", "fp8 = true", "musubi only"),
        ("samples.prompts", "\n".join("x" * 65), "Too many: at most 64"),
    ],
)
def test_what_is_wrong_is_said_at_the_field(draft: ProfileDraft, name: str, text: str, said: str):
    draft.set_text(name, text)
    assert list(draft.problems) == [name]
    assert said in draft.problems[name]
    assert draft.profile is None


def test_what_is_unusual_is_said_and_can_be_saved(draft: ProfileDraft):
    draft.set_text("training.learning_rate", "0.06")
    assert draft.cautions["training.learning_rate"] == "20 × the usual 0.003, may break"
    assert draft.profile is not None
    draft.set_text("training.steps", "x")
    assert "training.learning_rate" in draft.cautions


def test_typing_is_undone_a_field_at_a_time(draft: ProfileDraft):
    for text in ("3", "32", "32.", "32.5"):
        draft.set_text("lora.alpha", text)
    draft.set_text("lora.rank", "8")
    assert draft.undo() == ("lora.rank",)
    assert draft.undo() == ("lora.alpha",)
    assert (draft.text("lora.alpha"), draft.can_undo) == ("16", False)
    assert draft.redo() == ("lora.alpha",)
    assert draft.text("lora.alpha") == "32.5"


def test_a_sealed_edit_is_undone_by_itself(draft: ProfileDraft):
    draft.set_text("lora.rank", "8")
    draft.seal()
    draft.set_text("lora.rank", "4")
    draft.undo()
    assert draft.text("lora.rank") == "8"


def test_going_back_to_what_is_saved_can_be_undone(draft: ProfileDraft):
    draft.set_text("lora.rank", "8")
    draft.set_text("training.steps", "x")
    draft.revert()
    assert draft.edited == ()
    draft.undo()
    assert draft.edited == ("lora.rank", "training.steps")


def test_a_field_can_take_the_built_in_value_again(draft: ProfileDraft):
    draft.set_text("lora.rank", "8")
    assert draft.profile is not None
    draft.mark_saved()
    assert (draft.edited, draft.changed) == ((), ("lora.rank",))
    draft.reset("lora.rank")
    assert (draft.edited, draft.changed) == (("lora.rank",), ())


def test_what_is_not_saved_survives_the_window(draft: ProfileDraft, original: Profile):
    draft.set_text("lora.rank", "eight")
    later = ProfileDraft(draft.saved, original=original)
    later.restore({**draft.kept_texts, "no.such": "x"})
    assert later.text("lora.rank") == "eight"
    assert "lora.rank" in later.problems


def test_another_family_brings_its_engine(draft: ProfileDraft):
    draft.set_text("model.family", "flux2-klein-9b")
    assert draft.profile is not None
    assert draft.profile.model.engine == "musubi"


def test_options_of_the_engine_keep_their_types():
    profile = recorded.profile()
    model = profile.model.model_copy(update={"engine": "musubi", "family": "flux2-klein-9b"})
    draft = ProfileDraft(profile.model_copy(update={"model": model}))
    draft.set_text("advanced", 'zzz = 4\nflag = true\nname = "x"\nrates = [1.5, 2.0]')
    assert draft.profile is not None
    assert draft.profile.advanced == {"zzz": 4, "flag": True, "name": "x", "rates": [1.5, 2.0]}
    assert draft.cautions["advanced"] == "zzz is no option of the engine"
    draft.set_text("advanced", "blocks_to_swp = 3")
    assert draft.cautions["advanced"] == "blocks_to_swp is no option of the engine. Did you mean blocks_to_swap?"
    draft.set_text("advanced", "blocks_to_swap = 3")
    assert "advanced" not in draft.cautions
    draft.set_text("advanced", "[table]\nx = 1")
    assert "Table has to be true or false" in draft.problems["advanced"]
