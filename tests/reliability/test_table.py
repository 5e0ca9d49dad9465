"""The published fault table is the one that the tests make true."""

from tests.reliability.table import GROUPS, PAGE, page, rows_of_tests


def test_every_row_has_a_test_or_says_why_it_needs_none() -> None:
    tests = rows_of_tests()
    rows = [row for group in GROUPS.values() for row in group]
    assert [row.number for row in rows if not row.why_not and row.number not in tests] == []
    assert sorted(tests) == [row.number for row in rows if row.number in tests]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.reliability.table"
