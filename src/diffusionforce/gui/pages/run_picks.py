"""The three choices at the top of a plan: profile, dataset, output."""

from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QWidget

from diffusionforce.errors import UserError
from diffusionforce.gui.model import dataset_title, plan_words, words
from diffusionforce.gui.model.language import tr
from diffusionforce.gui.model.plan import Plan
from diffusionforce.gui.model.profile_list import in_order
from diffusionforce.gui.pictures import PictureStore
from diffusionforce.gui.preferences import Preferences
from diffusionforce.gui.widgets.pick_card import PickCard
from diffusionforce.job import Profile, builtin_profiles, own_profiles, read_profile

THUMB_PX = 160


class RunPicks(QWidget):
    """Three cards with menus. The dataset card also takes a dropped folder."""

    profile_chosen = Signal(str)
    dataset_chosen = Signal(str)
    output_chosen = Signal(str)

    def __init__(self, preferences: Preferences, store: PictureStore) -> None:
        super().__init__()
        self.setObjectName("clear")
        self._preferences, self._store = preferences, store
        self._plan = Plan()
        self.profile = PickCard(tr("Profile"), "sliders")
        self.dataset = PickCard(tr("Dataset"), "images", takes_folders=True)
        self.output = PickCard(tr("Output"), "folder")
        self.profile.menu.aboutToShow.connect(self._fill_profiles)
        self.dataset.menu.aboutToShow.connect(self._fill_datasets)
        self.output.menu.aboutToShow.connect(self._fill_outputs)
        self.dataset.folder_dropped.connect(self.dataset_chosen)
        # A method of its own, which Qt lets go of together with the widget; a lambda would be called on a dead one.
        store.arrived.connect(self._on_arrived)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        for card in (self.profile, self.dataset, self.output):
            layout.addWidget(card, 1)

    @Slot(str)
    def _on_arrived(self, _path: str) -> None:
        self._show_dataset()

    def show_plan(self, plan: Plan) -> None:
        """Show what is chosen."""
        self._plan = plan
        if plan.profile is not None:
            self.profile.show_choice(plan.profile.title, plan_words.short_facts(plan.profile))
        elif plan.profile_problem is not None:
            self.profile.show_choice(plan.profile_name, "cannot be used", mark="err", tone="err")
        else:
            self.profile.show_choice("", "what to train, and how")
        self._show_dataset()
        name, place = plan.output_words
        self.output.show_choice(tr(name), place)

    def _show_dataset(self) -> None:
        plan, name = self._plan, dataset_title.choice_title(self._plan.dataset_name)
        if not plan.dataset_name:
            self.dataset.show_choice("", "a folder of pictures, each with a caption")
        elif plan.dataset_problem is not None:
            self.dataset.show_choice(name, plan.dataset_problem.sentence, mark="err", tone="err")
        elif plan.dataset is None:
            self.dataset.show_choice(name, "Checking the pictures")
        else:
            left_out = sum(finding.left_out for finding in plan.dataset.findings)
            number = words.count(len(plan.dataset.items), "picture")
            facts = f"{number} used · {left_out} left out" if left_out else f"{number}, all captioned"
            mark = "warn" if left_out else "ok"
            picture = self._store.get(plan.dataset.items[0].picture, edge_px=THUMB_PX)
            self.dataset.show_choice(name, facts, mark=mark, tone=mark, picture=picture)

    def _fill_profiles(self) -> None:
        menu = self.profile.menu
        menu.clear()
        for paths in (own_profiles(), builtin_profiles()):
            for name, profile in in_order({name: _read(path) for name, path in paths.items()}):
                title = profile.title if isinstance(profile, Profile) else name
                action = _entry(menu, title, is_chosen=name == self._plan.profile_name)
                action.triggered.connect(lambda _=False, n=name: self.profile_chosen.emit(n))
            menu.addSeparator()
        menu.addAction(tr("Open a profile file…")).triggered.connect(self._browse_profile)

    def _fill_datasets(self) -> None:
        menu = self.dataset.menu
        menu.clear()
        recent = [path for path in self._preferences.recent_datasets if Path(path).is_dir()]
        for choices in (recent, dataset_title.demo_choices()):
            for choice in choices:
                title = dataset_title.choice_title(choice)
                action = _entry(menu, title, is_chosen=choice == self._plan.dataset_name)
                action.setToolTip("" if choice.startswith("demo:") else choice)
                action.triggered.connect(lambda _=False, c=choice: self.dataset_chosen.emit(c))
            menu.addSeparator()
        menu.addAction(tr("Choose a folder…")).triggered.connect(self.browse_dataset)

    def _fill_outputs(self) -> None:
        menu = self.output.menu
        menu.clear()
        fresh = menu.addAction(tr("A new folder among your runs"))
        fresh.triggered.connect(lambda _=False: self.output_chosen.emit(""))
        menu.addAction(tr("Choose a folder…")).triggered.connect(self._browse_output)

    def _browse_profile(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Open a profile"), "", "Profiles (*.toml)")
        if path:
            self.profile_chosen.emit(path)

    def browse_dataset(self) -> None:
        """Ask for a dataset folder."""
        path = QFileDialog.getExistingDirectory(self, tr("Choose a folder of captioned pictures"))
        if path:
            self.dataset_chosen.emit(path)

    def _browse_output(self) -> None:
        path = QFileDialog.getExistingDirectory(self, tr("Choose an empty folder for this run"))
        if path:
            self.output_chosen.emit(path)


def _entry(menu: QMenu, words: str, *, is_chosen: bool) -> QAction:
    """Add a choice to a menu, marked where it is the present one."""
    action = menu.addAction(words)
    action.setCheckable(True)
    action.setChecked(is_chosen)
    return action


def _read(path: Path) -> Profile | UserError:
    try:
        return read_profile(path)
    except UserError as error:
        return error
