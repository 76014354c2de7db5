"""The rows that are measured on cards."""

import pytest
from tools.engine_on_cards.rows import ROWS


@pytest.mark.parametrize("name", ROWS)
def test_a_step_of_every_run_has_the_pictures_of_the_profiles_step(name: str) -> None:
    row = ROWS[name]
    values = row.settings(num_steps=1, saves_at=1, samples=False, tiny=False)
    at_a_time = values.get("training.batch_size", row.batch_size)
    assert at_a_time * values.get("training.gradient_accumulation", 1) == row.batch_size
    assert all(row.batch_size % number == 0 for number in row.swaps)


def test_ones_with_a_budget_hold_every_card_to_it() -> None:
    limited = {name: row for name, row in ROWS.items() if "-one-" in name}
    assert limited
    for name, row in limited.items():
        given = row.settings(num_steps=1, saves_at=1, samples=True, tiny=False)["memory.budget_gb"]
        assert row.num_cards == 1 and given == [row.budget_gib]
        assert str(row.budget_gib) in name.split("-")
