import csv
import io
import math
from pathlib import Path

import pytest

from diffusionforce.gui.model.chart_table import ChartFileError, TableColumn, of_rows, over_steps, write_file


def test_every_column_has_a_name_and_a_unit():
    text = over_steps([TableColumn(name="loss", values={1: 0.5}), TableColumn(name="time", values={}, unit="s")])
    assert text.splitlines() == ["step [number],loss [no unit],time [s]", "1,0.5,"]


def test_steps_of_all_columns_stand_in_their_order():
    columns = [TableColumn(name="a", values={3: 0.1, 1: 0.25}), TableColumn(name="b", values={2: math.nan, 3: 7.0})]
    rows = list(csv.reader(io.StringIO(over_steps(columns))))
    assert rows[1:] == [["1", "0.25", ""], ["2", "", ""], ["3", "0.1", "7.0"]]


def test_names_with_commas_and_letters_of_any_language_survive():
    text = of_rows(["run “Füchse, 日本”"], [[1.5]])
    assert next(csv.reader(io.StringIO(text))) == ["run “Füchse, 日本”"]


def test_a_folder_that_is_gone_is_said_in_a_sentence(tmp_path: Path):
    with pytest.raises(ChartFileError) as caught:
        write_file(tmp_path / "gone" / "loss.csv", b"")
    assert caught.value.sentence == "loss.csv could not be written."
    assert caught.value.hint
