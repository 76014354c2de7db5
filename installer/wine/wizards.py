"""Installing and uninstalling by hand: the pages of the wizards, driven by keys, with a picture of each."""

import time
from pathlib import Path

from installer.wine.check import UNINSTALL_KEY, Check, wait_for, window_ids

BOX_OF_ENVIRONMENT_PX = (214, 163)
"""Where the second box of the uninstaller's page of components is, in its window."""
START_S, PAGE_S = 12.0, 3.0


def install(check: Check) -> None:
    """Install by the wizard, page after page, and let its last page start the program."""
    prefix = check.prefix
    process = prefix.start(check.setup)
    time.sleep(START_S)
    for page in ("welcome", "folder", "links"):
        take(check, f"install-{page}")
        prefix.press("Return")
        time.sleep(PAGE_S)
    take(check, "install-unpacking")
    is_there = wait_for(lambda: bool(prefix.registry(UNINSTALL_KEY)), limit_s=900)
    check.expect(is_there, "installed by the wizard: it is registered")
    time.sleep(START_S)
    take(check, "install-done")
    prefix.prepare_program()
    prefix.press("Return")
    check.expect(wait_for(lambda: process.poll() is not None, limit_s=60), "the wizard ends")
    check.expect(wait_for(lambda: bool(window_ids(prefix)), limit_s=120), "its last page starts the program")
    check.expect(len(prefix.find("DiffusionForce.lnk")) == 2, "both links are there again")


def uninstall(check: Check) -> None:
    """Uninstall by the wizard, with the training environment ticked."""
    prefix, data = check.prefix, check.prefix.data_folder
    goes, stays = ("env", "cache/uv", "cache/decoder"), ("runs", "profiles")
    before = [name for name in (*goes, *stays) if (data / name).is_dir()]
    check.expect(before == [*goes, *stays], f"before, the data have {', '.join(before)}")
    prefix.start(prefix.program_folder / "Uninstall.exe")
    wait_for(lambda: bool(window_ids(prefix)), limit_s=60)
    time.sleep(PAGE_S)
    take(check, "uninstall-folder")
    prefix.press("Return")
    time.sleep(PAGE_S)
    x_px, y_px = BOX_OF_ENVIRONMENT_PX
    prefix.click(window_ids(prefix)[0], x_px=x_px, y_px=y_px)
    time.sleep(1)
    take(check, "uninstall-what")
    prefix.press("Return")
    is_gone = wait_for(lambda: not prefix.registry(UNINSTALL_KEY) and not left(data, goes), limit_s=900)
    time.sleep(PAGE_S)
    take(check, "uninstall-done")
    prefix.press("Return")
    check.expect(is_gone, f"of the environment nothing is left: {', '.join(left(data, goes)) or 'no folder'}")
    check.expect(left(data, stays) == list(stays), f"what is the user's is there: {', '.join(left(data, stays))}")
    check.expect(not (prefix.program_folder / "python").exists(), "the program is gone")


def left(data: Path, names: tuple[str, ...]) -> list[str]:
    """Return which of some folders are there."""
    return [name for name in names if (data / name).is_dir()]


def take(check: Check, name: str) -> None:
    """Keep a picture of the screen."""
    check.prefix.picture(check.out / f"wizard-{name}.png")
