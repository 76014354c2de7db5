"""The text that NSIS is given, and the program that it makes."""

import re
from pathlib import Path

import pytest

from installer import nsis, source
from installer.launcher import SOURCES, filled
from installer.problems import BuildError


def test_files_are_unpacked_in_one_order_whatever_the_file_system_says(tmp_path: Path):
    files = ["python/b.py", "a.exe", "python/Lib/z.py", "python/a$b.py"]
    lines = nsis.unpack_lines(files, payload=tmp_path)
    assert lines == nsis.unpack_lines(reversed(files), payload=tmp_path)
    root = tmp_path.as_posix()
    assert lines.splitlines() == [
        'SetOutPath "$INSTDIR"',
        f'File "{root}/a.exe"',
        'SetOutPath "$INSTDIR\\python"',
        f'File "{root}/python/a$$b.py"',
        f'File "{root}/python/b.py"',
        'SetOutPath "$INSTDIR\\python\\Lib"',
        f'File "{root}/python/Lib/z.py"',
    ]


def test_only_what_is_ours_is_deleted():
    lines = nsis.delete_lines(["DiffusionForce.exe", "uv.exe", "python/python.exe"]).splitlines()
    assert 'Delete "$INSTDIR\\DiffusionForce.exe"' in lines
    assert 'RMDir /r "$INSTDIR\\python"' in lines
    assert not [line for line in lines if re.search(r'"\$INSTDIR\\?"', line)], "never the whole folder"


def test_a_folder_that_the_uninstaller_would_leave_stops_the_build():
    with pytest.raises(BuildError, match="surprise"):
        nsis.delete_lines(["surprise/file.txt"])


def test_the_script_never_deletes_the_whole_folder_with_what_is_in_it():
    for script in nsis.SCRIPTS.iterdir():
        text = script.read_text(encoding="utf-8")
        assert not re.search(r'RMDir\s+/r\s+"?\$(INSTDIR|LOCALAPPDATA)\\?"?\s*$', text, re.M), script.name
        assert not re.search(r'RMDir\s+/r\s+"?\$LOCALAPPDATA\\\$\{APP\}\\?"?\s*$', text, re.M), script.name


def test_every_word_is_there_in_both_languages():
    text = (nsis.SCRIPTS / "words.nsh").read_text(encoding="utf-8")
    words = {
        language: set(re.findall(rf"LangString (\w+) \$\{{LANG_{language}}}", text))
        for language in ("ENGLISH", "GERMAN")
    }
    assert words["ENGLISH"] == words["GERMAN"]
    scripts = [nsis.SCRIPTS / name for name in ("installer.nsi", "links.nsh")]
    used = {word for path in scripts for word in re.findall(r"\$\(([A-Z_]+)\)", path.read_text(encoding="utf-8"))}
    assert used == words["ENGLISH"]


def test_space_is_counted_in_clusters(tmp_path: Path):
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "large").write_bytes(bytes(4097))
    assert nsis.size_kb(tmp_path) == 4 + 8


def test_the_version_is_put_in_as_windows_wants_it():
    assert filled("@VERSION@ @FOUR@ @COMMAS@", version="0.1.0") == "0.1.0 0.1.0.0 0,1,0,0"
    assert filled("@VERSION@ @FOUR@", version="1.2rc1") == "1.2rc1 1.2.0.0"
    with pytest.raises(BuildError):
        filled("@FOUR@", version="unknown")


def test_program_launcher_and_setup_agree_on_the_mutex():
    script = (nsis.SCRIPTS / "installer.nsi").read_text(encoding="utf-8")
    launcher = (SOURCES / "launcher.c").read_text(encoding="utf-8").replace("\\\\", "\\")
    program = (source.ROOT / "src/diffusionforce/desktop/instance.py").read_text(encoding="utf-8").replace("\\\\", "\\")
    for text in (script, launcher, program):
        assert "Local\\DiffusionForce.App" in text
    for text in (script, launcher):
        assert "Local\\DiffusionForce.Launcher" in text


def test_links_bear_the_id_that_the_window_gives_itself():
    # Windows pins a window whose id no link has as the Python that runs it.
    script = (nsis.SCRIPTS / "links.nsh").read_text(encoding="utf-8")
    program = (source.ROOT / "src/diffusionforce/desktop/taskbar.py").read_text(encoding="utf-8")
    ids = [
        re.search(pattern, text, re.M) for pattern, text in ((r'APP_ID "(.+)"', script), (r'^APP_ID = "(.+)"', program))
    ]
    assert ids[0] is not None and ids[1] is not None
    assert ids[0][1] == ids[1][1]
    assert "CreateShortCut" not in (nsis.SCRIPTS / "installer.nsi").read_text(encoding="utf-8")
