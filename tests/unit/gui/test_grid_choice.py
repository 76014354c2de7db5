"""Where cells lie and which are chosen."""

from diffusionforce.gui.model.grid_choice import GridChoice, GridShape

SHAPE = GridShape(width=450, num_cells=10_000, usual_px=140, text_px=40, gap_px=10)


def test_cells_fill_the_width():
    assert SHAPE.columns == 3
    assert SHAPE.cell_px * 3 + 20 == 450
    assert SHAPE.num_rows == 3334


def test_only_cells_in_sight_are_named():
    seen = SHAPE.in_sight(5000, 5600)
    assert 0 < len(seen) <= 15
    assert all(SHAPE.place(i)[1] + SHAPE.pitch_px >= 5000 and SHAPE.place(i)[1] <= 5600 for i in seen)


def test_a_point_finds_its_cell_and_gaps_find_none():
    x, y = SHAPE.place(7)
    assert SHAPE.at(x + 5, y + 5) == 7
    assert SHAPE.at(x - 3, y + 5) is None
    assert SHAPE.at(x + 5, SHAPE.height + 500) is None


def test_keys_and_clicks_choose():
    choice = GridChoice()
    choice.reset(10)
    choice.choose(3)
    assert choice.chosen == {3}
    choice.choose(6, spans=True)
    assert choice.chosen == {3, 4, 5, 6}
    choice.choose(1, spans=True)
    assert choice.chosen == {1, 2, 3}
    choice.choose(8, adds=True)
    assert choice.chosen == {1, 2, 3, 8}
    choice.choose(8, adds=True)
    assert choice.chosen == {1, 2, 3}
    choice.choose(99)
    assert (choice.current, choice.chosen) == (9, {9})
    choice.choose_all()
    assert len(choice.chosen) == 10


def test_nothing_can_be_chosen_of_nothing():
    choice = GridChoice()
    choice.choose(3)
    assert choice.current == -1
    choice.reset(2, current=5)
    assert choice.current == 1
