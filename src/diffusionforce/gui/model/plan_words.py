"""A plan in plain words: the facts of a profile, and what a run will do, in order."""

from diffusionforce.gui.model import held_out, preview_cost, words
from diffusionforce.gui.model.plan import Plan
from diffusionforce.job import Profile

_OPTIMISERS = {"adamw": "AdamW"}
_ENGINES = {"pocket": "pocket, comes with the app", "musubi": "musubi"}


def short_facts(profile: Profile) -> str:
    """Return the four facts people check, in one line."""
    size = f"{profile.dataset.width} px"
    if profile.dataset.width != profile.dataset.height:
        size = f"{profile.dataset.width} × {profile.dataset.height} px"
    steps = words.count(profile.training.steps, "step")
    number_format = "" if profile.model.precision == "auto" else f"{profile.model.precision} · "
    return f"{number_format}rank {profile.lora.rank} · {size} · {steps}"


def precision(profile: Profile) -> str:
    """Return the number format in words."""
    return "the best the device has" if profile.model.precision == "auto" else profile.model.precision


def facts(profile: Profile) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the settings of a profile by section, each with its value in words."""
    training, samples, lora = profile.training, profile.samples, profile.lora
    return [
        (
            "Model",
            [
                ("Family", profile.model.family),
                ("Engine", _ENGINES[profile.model.engine]),
                ("Weights", profile.model.weights or "the ones the engine knows"),
                ("Precision", precision(profile)),
                ("Devices", ", ".join(profile.devices.use).replace("auto", "found by the app")),
            ],
        ),
        (
            "LoRA",
            [
                ("Rank", f"{lora.rank}"),
                ("Strength (alpha)", f"{lora.alpha:g}, so it acts at {lora.alpha / lora.rank:g}×"),
                ("Dropout", words.percent(lora.dropout) if lora.dropout else "off"),
            ],
        ),
        (
            "Training",
            [
                ("Steps", f"{training.steps:,}"),
                ("Pictures a step", _batch(profile)),
                ("Learning rate", f"{training.learning_rate:g}, {training.schedule}"),
                ("Warm-up", words.count(training.warmup_steps, "step") if training.warmup_steps else "none"),
                ("Optimiser", f"{_OPTIMISERS[training.optimizer]}, weight decay {training.weight_decay:g}"),
                ("Noise levels", training.timestep_sampling.replace("_", "-")),
                ("Memory saving", "recompute in the backward pass" if training.gradient_checkpointing else "off"),
                ("Seed", f"{training.seed}"),
            ],
        ),
        (
            "Pictures",
            [
                ("Size", f"{profile.dataset.width} × {profile.dataset.height} px"),
                ("Trigger word", profile.dataset.trigger or "none"),
                ("Generic pictures mixed in", words.percent(profile.dataset.regularisation_share)),
            ],
        ),
        (
            "Previews and files",
            [
                ("Previews", _previews(profile)),
                ("Drawn with", f"{samples.num_steps} steps, guidance {samples.guidance:g}, seed {samples.seed}"),
                ("Preview size", f"{samples.width} × {samples.height} px" + _frames(samples.num_frames)),
                ("LoRA files", when_due(profile.checkpoints.every_steps, training.steps)),
                ("Kept", f"the newest {profile.checkpoints.keep}"),
            ],
        ),
    ]


def facts_of_run(plan: Plan) -> list[tuple[str, str]]:
    """Return the facts that people check before they start, each with its value in words."""
    profile = plan.fitted_profile
    if profile is None:
        return []
    known = {name: value for _, section in facts(profile) for name, value in section}
    wanted = ("Rank", "Pictures a step", "Learning rate", "Previews", "LoRA files")
    return [(name, known[name].removesuffix(" and at the end")) for name in wanted]


def what_will_happen(plan: Plan) -> list[tuple[str, str, str]]:
    """Return what the run will do, in order: icon, what, why."""
    profile = plan.fitted_profile
    if profile is None:
        return []
    events: list[tuple[str, str, str]] = []
    number = len(plan.dataset.items) if plan.dataset is not None else None
    pictures = words.count(number, "picture") if number is not None else "the pictures"
    size = f"{profile.dataset.width} × {profile.dataset.height}"
    why = "Captions are read once. Your files are only read, never changed."
    events.append(("images", f"Prepare {pictures} at {size}", why))
    what, why = _held_out(plan)
    if what:
        events.append(("lock", what, why))
    prompts = len(profile.samples.prompts)
    if prompts and profile.samples.before_training:
        words_ = f"Draw {words.count(prompts, 'preview')} before training"
        events.append(("eye", words_, "The same seeds come again later, so that you see what the training changed."))
    events.append(("play", _training_words(profile, number), _loss_words(plan)))
    if prompts:
        when = when_due(profile.samples.every_steps, profile.training.steps)
        cost = preview_cost.sentence(profile, plan.memory.current)
        events.append(("camera", f"Draw previews {when}", f"{cost} {_prompt_words(plan, profile)}".strip()))
    when = when_due(profile.checkpoints.every_steps, profile.training.steps)
    name, place = plan.output_words
    where = f"Into {name.lower()} in {place}" if plan.output is None else f"Into {plan.output_dir}"
    events.append(("download", f"Save the LoRA {when}", where))
    return events


def _held_out(plan: Plan) -> tuple[str, str]:
    """Return which pictures the loss is measured on, and why; empty texts where that is not known."""
    if plan.profile is None or plan.dataset is None:
        return "", ""
    # Whoever read the dataset has loaded this package, which the start of the window does without.
    from diffusionforce.datasets.intakes import intake_of  # noqa: PLC0415

    fewest = intake_of(plan.profile).fewest_to_split
    if fewest and plan.held_out_dir is not None:
        return "Pictures of a folder of their own are held out", held_out.WHAT_FOR
    return held_out.told(len(plan.dataset.items), fewest=fewest)


def about_trigger(plan: Plan) -> str:
    """Return in a few words where the trigger word of a run comes from."""
    if plan.profile is None or plan.dataset is None:
        return ""
    if plan.trigger_choice:
        return f"Your choice. Clear it to take {plan.found_trigger} again." if plan.found_trigger else "Your choice."
    if not plan.trigger:
        told = "No word is in every caption"
        return f"{told}, so captions are the prompts." if plan.profile.samples.prompts else f"{told}."
    if plan.trigger == plan.profile.dataset.trigger:
        return "From the profile; it calls the subject."
    return "The word in every caption; it calls the subject."


def _prompt_words(plan: Plan, profile: Profile) -> str:
    if plan.dataset is None:
        return "They grow in the gallery while the training goes on."
    first, *others = profile.samples.prompts
    return f"“{first}” and {len(others)} more" if others else f"“{first}”"


def _training_words(profile: Profile, num_pictures: int | None) -> str:
    steps = words.count(profile.training.steps, "step")
    if not num_pictures:
        return f"Train {steps}"
    seen = profile.training.steps * profile.training.batch_size * profile.training.gradient_accumulation
    own = seen * (1 - profile.dataset.regularisation_share)
    passes = own / num_pictures
    rounded = f"{passes:.0f}" if passes >= 10 else f"{passes:.1f}"
    return f"Train {steps}: about {rounded} passes over the data"


def _loss_words(plan: Plan) -> str:
    share = plan.profile.dataset.regularisation_share if plan.profile else 0
    mixed = f"{words.percent(share)} other pictures keep what it knew before. " if share else ""
    return mixed + "Stopping early keeps what was learned."


def _batch(profile: Profile) -> str:
    training = profile.training
    if training.gradient_accumulation == 1:
        return f"{training.batch_size}"
    return f"{training.batch_size} × {training.gradient_accumulation} added up"


def _previews(profile: Profile) -> str:
    samples = profile.samples
    if not samples.prompts:
        return "none: the profile names no prompts"
    prompts = words.count(len(samples.prompts), "prompt")
    if 0 < samples.every_steps < profile.training.steps:
        return f"{prompts}, every {samples.every_steps:,} steps"
    return f"{prompts}, at the end"


def when_due(every: int, num_steps: int) -> str:
    """Return when something is due that happens every so many steps, 0 for never, and at the end of a run."""
    return f"every {every:,} steps and at the end" if 0 < every < num_steps else "at the end"


def _frames(num_frames: int) -> str:
    return f", {num_frames} frames" if num_frames > 1 else ""
