from pathlib import Path

import pytest
from PIL import Image
from tests.gui import recorded
from tests.support import forecasts

from diffusionforce.datasets import read_folder
from diffusionforce.errors import DatasetError
from diffusionforce.gui.model import held_out, run_time
from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.plan_checks import NO_CARD, checks, standing
from diffusionforce.gui.model.plan_notices import memory_refusal, notices
from diffusionforce.gui.model.plan_words import about_trigger, facts, facts_of_run, short_facts, what_will_happen
from diffusionforce.gui.model.readiness import CHECKING, of_answer
from diffusionforce.job import builtin_profiles, dataset_folder, read_job, read_profile, write_job
from diffusionforce.wire.readiness import Readiness


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "cats"
    root.mkdir()
    for i in range(3):
        Image.new("RGB", (64, 64)).save(root / f"{i}.png")
        (root / f"{i}.txt").write_text("LoRAnne, sleeping" if i else "a cat", encoding="utf-8")
    return root


@pytest.fixture
def plan(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plan:
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path / "home"))
    made = Plan()
    made.choose_profile("pocket-demo", recorded.profile())
    made.choose_dataset(str(folder))
    made.dataset = read_folder(folder)
    return made


def test_an_empty_plan_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DIFFUSIONFORCE_HOME", str(tmp_path))
    texts = [check.text for check in checks(Plan()) if check.tone == "err"]
    assert texts == ["No profile is chosen", "No dataset is chosen"]


def test_a_good_plan_is_ready_and_makes_the_job(plan: Plan, folder: Path):
    assert standing(plan).reason == ""
    job = plan.job()
    assert job.dataset_dir == folder
    assert job.run_dir == plan.output_dir
    assert job.profile_name == "pocket-demo"


def test_start_waits_for_the_dataset_check(plan: Plan, folder: Path):
    plan.choose_dataset(str(folder))
    assert plan.is_checking
    assert standing(plan).reason == "The dataset is still being checked."


def test_a_dataset_that_cannot_be_used_says_why(plan: Plan):
    plan.dataset, plan.dataset_problem = None, DatasetError("No pictures.", hint="Add some.")
    assert "No pictures. Add some." in standing(plan).reason


def test_captions_without_the_trigger_are_counted(plan: Plan):
    assert not any("not contain" in check.text for check in checks(plan))
    plan.choose_trigger("LoRAnne")
    assert any(c.text == "1 of 3 captions does not contain LoRAnne" and c.tone == "warn" for c in checks(plan))
    plan.choose_trigger("Glorbix")
    assert any(c.text == "3 of 3 captions do not contain Glorbix" for c in checks(plan))


def test_the_subject_is_that_of_the_pictures(plan: Plan, folder: Path):
    # Symptom: one's own pictures were trained as LoRAnne, and previews asked for her.
    for caption in folder.glob("*.txt"):
        caption.write_text("Glorbix, asleep", encoding="utf-8")
    plan.dataset = read_folder(folder)
    assert plan.trigger == plan.found_trigger == "Glorbix"
    assert about_trigger(plan).startswith("The word in every caption")
    assert any(why == "“Glorbix, waving, on a beach, smiling” and 3 more" for _, _, why in what_will_happen(plan))
    assert plan.job().profile.dataset.trigger == "Glorbix"
    assert plan.job().profile.samples.prompts[1] == "close-up of Glorbix, in the snow, happy"


def test_the_word_can_be_chosen_and_given_back(plan: Plan, folder: Path):
    plan.choose_trigger(" Mina ")
    assert plan.trigger == plan.job().profile.dataset.trigger == "Mina"
    assert about_trigger(plan).startswith("Your choice")
    plan.choose_trigger("")
    assert plan.trigger == "" and about_trigger(plan).startswith("No word is in every caption")
    assert plan.job().profile.samples.prompts[:2] == ("a cat", "LoRAnne, sleeping")
    plan.choose_trigger("Mina")
    plan.choose_dataset(str(folder))
    plan.dataset = read_folder(folder)
    assert plan.trigger == ""


def test_a_demo_set_is_measured_with_its_own_pictures(plan: Plan):
    plan.choose_dataset("demo:rolwayne")
    plan.dataset = read_folder(dataset_folder("demo:rolwayne"), decode=False)
    assert plan.held_out_dir == dataset_folder("demo:rolwayne-held-out")


def test_a_profile_of_ones_own_finds_its_pictures_beside_it(plan: Plan, folder: Path):
    profile = recorded.profile()
    dataset = profile.dataset.model_copy(update={"folder": "cats"})
    plan.choose_profile("own.toml", profile.model_copy(update={"dataset": dataset}), profile_dir=folder.parent)
    plan.choose_dataset("")
    assert plan.dataset_dir == folder


def test_a_taken_output_folder_keeps_the_run_from_starting(plan: Plan, folder: Path):
    plan.output = folder
    assert "already holds" in standing(plan).reason


@pytest.fixture
def klein(plan: Plan, folder: Path) -> Plan:
    """The plan with a real model's profile, and pictures."""
    plan.choose_profile("klein-9b-1024", read_profile(builtin_profiles()["klein-9b-1024"]))
    plan.choose_dataset(str(folder))
    plan.dataset = read_folder(folder)
    return plan


def test_a_real_model_starts_when_all_that_it_needs_is_here(klein: Plan):
    klein.readiness = CHECKING
    assert standing(klein).reason == "Engine and files of the model are still being looked for."
    klein.readiness = of_answer(Readiness(model="klein-9b-1024"))
    assert klein.refusal() is None
    assert standing(klein).reason == ""
    assert checks(klein)[0].text == "Engine and files are here"
    job = klein.readiness_job()
    assert job is not None and job.profile.model.family == "flux2-klein-base-9b"


def test_what_a_real_model_lacks_is_said_in_a_sentence_with_the_way_out(klein: Plan):
    missing = Readiness(lack="files", sentence="Two files are not here.", hint="Download: x", model="klein-9b-1024")
    klein.readiness = of_answer(missing)
    refusal = klein.refusal()
    assert refusal is not None and refusal.sentence == "Two files are not here."
    assert standing(klein).reason == "Files of the model are not here. Two files are not here. Download: x"


# Symptom: somebody without a card was told of the engine alone, and brought it for nothing.
def test_that_there_is_no_card_for_a_real_model_is_said_before_what_else_it_lacks(klein: Plan):
    klein.has_no_card = True
    klein.readiness = of_answer(Readiness(lack="engine", sentence="The engine is not installed."))
    assert [check.text for check in checks(klein) if check.tone == "err"] == [
        "No NVIDIA card was found",
        "The engine is not here",
    ]
    assert any(check.text == "Files of the model are looked for once the engine is here" for check in checks(klein))
    assert standing(klein).reason == "No NVIDIA card was found. This model needs one."
    notice = notices(klein)[0]
    assert notice.title == f"{NO_CARD}: this model needs one"
    assert notice.text.startswith("The pocket demo trains on the processor, with your own pictures if you like.")
    assert "The engine is not installed. It trains and forecasts the real models." in notice.text
    assert (notice.bring, notice.profile) == ("Install the engine", "pocket-demo")
    klein.has_no_card = False
    assert (notices(klein)[0].title, notices(klein)[0].profile) == ("The engine is not installed.", "")
    klein.has_no_card = True
    klein.readiness = of_answer(Readiness(lack="card", sentence="It cannot be trained without a graphics card."))
    assert [check.text for check in checks(klein) if check.tone == "err"] == ["There is no graphics card"]
    assert notices(klein)[0].profile == "pocket-demo"
    klein.choose_profile("pocket-demo", read_profile(builtin_profiles()["pocket-demo"]))
    assert not any("card" in check.text for check in checks(klein))


def test_the_pocket_model_needs_no_engine_whatever_was_found_before(klein: Plan):
    klein.readiness = of_answer(Readiness(lack="engine", sentence="The engine is not installed."))
    klein.choose_profile("pocket-demo", read_profile(builtin_profiles()["pocket-demo"]))
    assert klein.refusal() is None
    assert klein.readiness_job() is None


def test_the_held_out_pictures_of_a_profile_go_with_its_own_dataset_only(plan: Plan, folder: Path):
    plan.choose_profile("pocket-demo", read_profile(builtin_profiles()["pocket-demo"]))
    plan.choose_dataset("")
    assert plan.held_out_dir is not None
    plan.choose_dataset(str(folder))
    assert plan.held_out_dir is None


def test_what_is_held_out_is_said_and_what_for(plan: Plan, folder: Path):
    # Symptom: "7 trained, 1 held out" was the first that somebody read of held-out pictures, and nothing said why.
    def said() -> dict[str, str]:
        return {what: why for _, what, why in what_will_happen(plan) if "held out" in what}

    (told,) = said().items()
    assert told[0] == "No picture is held out" and "fewer than 8" in told[1]
    for i in range(3, 9):
        Image.new("RGB", (64, 64)).save(folder / f"{i}.png")
        (folder / f"{i}.txt").write_text("LoRAnne, sleeping", encoding="utf-8")
    plan.dataset = read_folder(folder)
    assert said() == {"A few pictures are held out": held_out.WHAT_FOR}
    plan.choose_profile("pocket-demo", read_profile(builtin_profiles()["pocket-demo"]))
    plan.choose_dataset("demo:rolwayne")
    plan.dataset = read_folder(dataset_folder("demo:rolwayne"), decode=False)
    assert said() == {"Pictures of a folder of their own are held out": held_out.WHAT_FOR}
    plan.choose_profile("klein-9b-1024", read_profile(builtin_profiles()["klein-9b-1024"]))
    plan.choose_dataset("demo:rolwayne")
    plan.dataset = read_folder(dataset_folder("demo:rolwayne"), decode=False)
    assert said() == {}, "this engine measures nothing"


def test_fewer_steps_than_the_warm_up_are_possible(plan: Plan):
    plan.choose_profile("pocket-demo", read_profile(builtin_profiles()["pocket-demo"]))
    plan.set_steps(4)
    assert plan.profile is not None
    assert plan.profile.training.steps == 4
    assert plan.profile.training.warmup_steps <= 4


@pytest.mark.parametrize("name", sorted(builtin_profiles()))
def test_every_setting_that_people_ask_about_has_words(name: str):
    profile = read_profile(builtin_profiles()[name])
    assert f"rank {profile.lora.rank}" in short_facts(profile)
    assert all(value for _, section in facts(profile) for _, value in section)


def test_what_will_happen_is_told_in_order(plan: Plan):
    plan.choose_trigger("LoRAnne")
    told = [what for _, what, _ in what_will_happen(plan)]
    assert told == [
        "Prepare 3 pictures at 256 × 256",
        "No picture is held out",
        "Draw 4 previews before training",
        "Train 300 steps: about 200 passes over the data",
        "Draw previews every 100 steps and at the end",
        "Save the LoRA every 100 steps and at the end",
    ]


def test_a_run_that_does_not_fit_cannot_start_and_says_why(plan: Plan):
    plan.memory = ForecastStatus(forecast=forecasts.refused(), is_current=True)
    assert standing(plan).reason.startswith("The memory does not suffice. GPU 0 (RTX 4070 Ti SUPER) needs 3.0 GB more")
    assert "Choose fp8 weights" in standing(plan).reason


def test_a_former_refusal_does_not_keep_another_choice_from_starting(plan: Plan):
    plan.memory = ForecastStatus(forecast=forecasts.refused(), is_checking=True)
    assert standing(plan).reason == ""
    assert any(check.text == "Working out the memory" for check in checks(plan))


def test_a_forecast_that_failed_is_a_warning_only(plan: Plan):
    plan.memory = ForecastStatus(problem=DatasetError("No.", hint="Try again."))
    assert standing(plan).reason == ""
    assert [check.hint for check in checks(plan) if check.tone == "warn"] == ["No. Try again."]


def test_a_forecast_that_fits_is_a_line_of_the_checklist(plan: Plan):
    plan.memory = ForecastStatus(forecast=forecasts.forecast(), is_current=True)
    assert "Fits on 2 cards" in [check.text for check in checks(plan)]
    plan.memory = ForecastStatus(forecast=forecasts.without_cards(), is_current=True)
    assert "Fits in memory" in [check.text for check in checks(plan)]


def test_a_forecast_needs_a_profile_and_a_dataset_that_are_good(plan: Plan):
    job = plan.forecast_job()
    assert job is not None
    assert job.dataset_dir == plan.dataset_dir
    plan.dataset = None
    assert plan.forecast_job() is None


def test_a_refusal_lists_what_is_missing_and_what_would_help():
    title, text = memory_refusal(forecasts.refused())
    assert title == "Training would run out of memory"
    assert text.splitlines()[0].endswith("GPU 1 (RTX 3060) needs 1.2 GB more for training.")
    assert text.splitlines()[1:3] == ["What would help:", "•  Choose fp8 weights: it fits, with 1.1 GB to spare."]
    one = forecasts.refused().model_copy(update={"refusal": ("GPU 0 needs 1 GB more.",), "ways_out": ()})
    assert memory_refusal(one) == ("GPU 0 needs 1 GB more.", "")


def test_a_new_run_folder_has_no_name_before_the_start(plan: Plan, folder: Path):
    assert plan.output_words[0] == "A new folder"
    plan.output = folder.parent / "mine"
    assert plan.output_words == ("mine", str(folder.parent))


def test_what_is_due_later_than_the_last_step_is_due_at_the_end(plan: Plan):
    # Symptom: of a run of 40 steps it was said that previews come every 150.
    plan.set_steps(40)
    said = dict(facts_of_run(plan))
    assert (said["Previews"], said["LoRA files"]) == ("3 prompts, at the end", "at the end")
    plan.set_steps(400)
    assert dict(facts_of_run(plan))["LoRA files"] == "every 100 steps"


def test_what_is_told_of_holds_the_forecast_up_and_not_a_choice_that_lacks(plan: Plan, folder: Path):
    # Symptom: "Choose a profile and a dataset" where both were chosen and the training environment was not there.
    assert not Plan().holds_up_forecast and not plan.holds_up_forecast
    plan.needs_environment = True
    assert plan.holds_up_forecast and plan.forecast_job() is None
    plan.needs_environment = False
    plan.dataset, plan.dataset_problem = None, DatasetError("It has no pictures.")
    assert plan.holds_up_forecast and plan.forecast_job() is None


def test_how_long_a_run_takes_is_told_by_what_is_known(plan: Plan, tmp_path: Path):
    # Symptom: nobody could tell before a first run on a processor whether it takes minutes or hours.
    assert run_time.told(Plan()) == ""
    assert run_time.told(plan) == "measured once it runs", "nothing is known of its cards"
    plan.has_no_card = True
    assert run_time.told(plan) == "about 5 min on two cores"
    plan.set_steps(30)
    assert run_time.told(plan) == "about 1 min 20 s on two cores"
    assert plan.profile is not None
    dataset = plan.profile.dataset.model_copy(update={"width": 512})
    plan.profile = plan.profile.model_copy(update={"dataset": dataset})
    assert run_time.told(plan) == "measured once it runs"
    plan.memory = ForecastStatus(forecast=forecasts.forecast(), is_current=True)
    assert run_time.told(plan) == "about 1 min 20 s"


def test_the_last_runs_of_the_profile_tell_how_long_the_next_takes(plan: Plan, tmp_path: Path):
    root = tmp_path / "runs"
    assert run_time.pace_before(root, "pocket-demo") is None
    folder = recorded.run_folder(root / "a", end="done")  # 300 steps in 124 s.
    recorded.run_folder(root / "b", end="stopped", upto=120)
    other = recorded.run_folder(root / "c", end="done")
    other.write_state(other.read_state().model_copy(update={"profile_name": "other"}))
    onward = recorded.run_folder(root / "d", end="done")
    job = read_job(onward.job_path).model_copy(update={"resume": folder.root / "checkpoints" / "x_step_000100-state"})
    write_job(onward.job_path, job)
    plan.pace_before_s = run_time.pace_before(root, "pocket-demo")
    assert plan.pace_before_s == pytest.approx(124 / 300)
    plan.set_steps(600)
    assert run_time.told(plan) == "about 4 min, as before"
