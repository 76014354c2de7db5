"""A forecast in one line, and the notes that follow from it."""

from tests.gui import recorded
from tests.support import forecasts

from diffusionforce.errors import UserError
from diffusionforce.gui.model import forecast_strip, preview_cost
from diffusionforce.gui.model.forecast_desk import ForecastStatus
from diffusionforce.gui.model.profile_texts import fields_by_name
from diffusionforce.gui.model.setting_notes import note


def told(status: ForecastStatus, *, has_problems: bool = False) -> forecast_strip.StripView:
    return forecast_strip.view_of(status, profile=None if has_problems else recorded.profile())


def test_what_fits_is_told_with_a_meter_a_card_and_the_time():
    view = told(ForecastStatus(forecast=forecasts.forecast(), is_current=True))
    assert (view.word, view.tone) in {("Fits", "ok"), ("Tight", "warn")}
    assert [meter.label for meter in view.meters] == ["GPU 0", "GPU 1"]
    assert all(0 < meter.share <= 1 for meter in view.meters)
    assert "a step" in view.sentence
    assert "in all" in view.sentence


def test_what_does_not_fit_says_what_would_help():
    forecast = forecasts.refused()
    view = told(ForecastStatus(forecast=forecast, is_current=True))
    assert (view.word, view.tone) == ("Does not fit", "err")
    assert forecast.refusal[0] in view.sentence
    assert forecast.ways_out[-1] in view.tip


def test_a_processor_has_a_meter_of_its_ram():
    view = told(ForecastStatus(forecast=forecasts.without_cards(), is_current=True))
    assert [(meter.label, meter.index) for meter in view.meters] == [("RAM", None)]


def test_the_states_in_between():
    assert told(ForecastStatus(is_checking=True)).word == "Checking"
    assert told(ForecastStatus()).word == ""
    failed = told(ForecastStatus(problem=UserError("No.", hint="Do.")))
    assert (failed.word, failed.sentence, failed.can_retry) == ("Not known", "No. Do.", True)
    assert told(ForecastStatus(forecast=forecasts.forecast(), is_current=True), has_problems=True).word == "Waiting"


def test_what_previews_cost_is_part_of_the_time():
    profile, forecast = recorded.profile(), forecasts.forecast()
    samples = profile.samples.model_copy(update={"num_steps": 40, "prompts": ("a fox", "a hen")})
    costly = profile.model_copy(update={"samples": samples})
    phases = [
        phase.model_copy(update={"step_s": 2.0}) if phase.phase == "sampling" else phase for phase in forecast.phases
    ]
    timed = forecast.model_copy(update={"phases": tuple(phases)})
    assert preview_cost.sentence(profile, forecast) == ""
    number = costly.num_samples
    assert number == 2 * (len(range(samples.every_steps, profile.training.steps, samples.every_steps)) + 2)
    assert preview_cost.all_s(costly, timed) == 80 * number
    assert preview_cost.sentence(costly, timed).startswith("About 1 min 20 s for each, ")
    without, with_them = (
        forecast_strip.view_of(ForecastStatus(forecast=one, is_current=True), profile=costly).sentence
        for one in (forecast, timed)
    )
    assert without != with_them
    assert note(fields_by_name()["samples.num_steps"], costly, timed) == "about 1 min 20 s a preview"


def test_a_profile_without_pictures_is_forecast_by_the_size_it_names():
    profile = recorded.profile()
    bare = profile.model_copy(update={"dataset": profile.dataset.model_copy(update={"folder": ""})})
    assert forecast_strip.job_of("x", bare).dataset_dir.name == forecast_strip.NO_PICTURES
    gone = profile.model_copy(update={"dataset": profile.dataset.model_copy(update={"folder": "demo:nobody"})})
    assert forecast_strip.job_of("x", gone).dataset_dir.name == forecast_strip.NO_PICTURES


def test_notes_say_what_a_value_means():
    profile, forecast = recorded.profile(), forecasts.forecast()
    fields = fields_by_name()

    def said(name: str) -> str:
        return note(fields[name], profile, forecast, original=profile)

    assert said("training.steps").endswith("on this PC")
    assert said("dataset.width").endswith("megapixels")
    assert said("training.learning_rate").startswith("usual: ")
    assert said("samples.guidance") == "1 is off"
    assert note(fields["training.steps"], None, None) == "how long it learns"
