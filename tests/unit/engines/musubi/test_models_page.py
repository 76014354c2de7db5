"""docs/models.md says what the records say."""

from models_page import PAGE, page


def test_the_page_is_that_of_the_records():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/models_page.py"
