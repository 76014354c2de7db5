"""What can be done with keys, place by place, as the window lists it. A test looks that no shortcut is left out."""

from dataclasses import dataclass

from diffusionforce.gui.model.language import noted


@dataclass(frozen=True, kw_only=True)
class KeyGroup:
    """The keys of one place: what to press, and what it does."""

    title: str
    keys: tuple[tuple[str, str], ...]


KEY_GROUPS = (
    KeyGroup(
        title=noted("Everywhere"),
        keys=(
            ("Ctrl+1 – Ctrl+6", noted("Open a place")),
            ("Ctrl+,", noted("Open the settings")),
            ("F1", noted("Show these keys")),
            ("Tab", noted("Go on to the next button or field")),
            ("Esc", noted("Close the top message, or end a search")),
        ),
    ),
    KeyGroup(
        title=noted("Run"),
        keys=(
            ("Ctrl+Enter", noted("Start training")),
            ("Ctrl+P", noted("Pause, and go on")),
            ("Ctrl+S", noted("Save now")),
            ("Ctrl+Shift+P", noted("Preview now")),
            ("Ctrl+F", noted("Find in the log")),
            ("← →", noted("Read the chart; move the cut between the cards")),
            ("+ − 0", noted("Look at fewer steps of a chart, at more, at all")),
            ("Shift+← →", noted("Move along a chart that is looked at closely")),
        ),
    ),
    KeyGroup(
        title=noted("Datasets"),
        keys=(
            ("Ctrl+O", noted("Add a folder")),
            ("F5", noted("Check again")),
            ("Ctrl+F", noted("Find in names and captions")),
            ("Alt+↑, Alt+↓", noted("The picture before, or after")),
            ("Ctrl+S", noted("Save the caption")),
            ("Ctrl+A", noted("Choose all pictures")),
            ("Del", noted("Set the chosen pictures aside")),
            ("Ctrl+Z", noted("Undo the last edit or repair")),
        ),
    ),
    KeyGroup(
        title=noted("Profiles"),
        keys=(
            ("Ctrl+F", noted("Find a setting")),
            ("Ctrl+S", noted("Save the profile")),
            ("Ctrl+Z", noted("Undo a change")),
            ("Ctrl+Shift+Z, Ctrl+Y", noted("Do it again")),
            ("↑ ↓", noted("Step a number")),
            ("Ctrl+D", noted("Duplicate")),
            ("F2", noted("Rename")),
            ("Del", noted("Delete")),
        ),
    ),
    KeyGroup(
        title=noted("Gallery"),
        keys=(
            ("← → ↑ ↓", noted("Go through the previews")),
            ("Space", noted("Large view; play and pause a clip")),
            ("F", noted("Favourite, or not")),
            ("C", noted("Compare with before")),
            ("F11", noted("Whole screen")),
            (", .", noted("A frame of a clip back, or on")),
            ("+ −", noted("Larger and smaller, where two are compared")),
            ("Ctrl+Z", noted("Undo a change")),
        ),
    ),
    KeyGroup(
        title=noted("Queue"),
        keys=(
            ("↑ ↓", noted("Move a run that waits, on its handle")),
            ("Ctrl+Z", noted("Bring back what was removed last")),
        ),
    ),
)
