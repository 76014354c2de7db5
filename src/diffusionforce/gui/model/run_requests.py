"""What can be asked of a run that goes on: nothing is offered that would do nothing, or would be done twice."""

from diffusionforce.gui.model.run_model import RunModel


def why_no_save(model: RunModel) -> str:
    """Return why a run is not to be asked for a file now; empty where it may be."""
    if model.saved and model.saved[-1].step == model.step:
        return f"Step {model.step:,} is saved."
    return _why_neither(model) or ("A file was asked for; it comes after this step." if model.save_asked else "")


def why_no_preview(model: RunModel) -> str:
    """Return why a run is not to be asked for previews now; empty where it may be."""
    if model.job is not None and not model.prompts:
        return "The profile has no prompts for previews."
    if model.step and model.step in model.samples.done_steps:
        return f"The previews of step {model.step:,} are drawn."
    if model.phase == "sampling":
        return "Previews are being drawn."
    return _why_neither(model) or ("Previews were asked for; they come after this step." if model.preview_asked else "")


def _why_neither(model: RunModel) -> str:
    if model.stop_asked:
        return "The run is stopping."
    if not model.last_step:
        return "Possible after the first step."
    if model.step >= model.num_steps:
        return "All steps are done. The last file and the last previews come by themselves."
    return "The run is paused. Stopping it saves what was learned." if model.is_paused else ""
