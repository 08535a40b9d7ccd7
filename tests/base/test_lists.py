"""Lists of whole numbers as commands read them: ranges have both ends, k is 1024, and what is no list is refused."""

from __future__ import annotations

import re

import pytest

from specsim.base.lists import MOST_OF_A_RANGE, distinct_numbers, whole_numbers

MOST = 1 << 20


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4", (4,)),
        ("1-3,8", (1, 2, 3, 8)),
        ("5-5", (5,)),
        (" 1 - 2 , 1k", (1, 2, 1024)),
        ("1k-1026", (1024, 1025, 1026)),
        ("8,2,8", (8, 2, 8)),
    ],
)
def test_a_list_is_read_with_its_ranges(text: str, numbers: tuple[int, ...]) -> None:
    assert whole_numbers(text, "batch", 1, MOST) == numbers


def test_the_longest_range_is_read_and_one_more_is_refused() -> None:
    assert len(whole_numbers(f"1-{MOST_OF_A_RANGE}", "batch", 1, MOST)) == MOST_OF_A_RANGE
    with pytest.raises(ValueError, match=f"a range of more than {MOST_OF_A_RANGE} numbers"):
        whole_numbers(f"1-{MOST_OF_A_RANGE + 1}", "batch", 1, MOST)


BAD = {
    "3-1": "batch has '3-1', an empty range; write the smaller number first",
    "": "batch has '', which is no whole number; write 1,8,64 or 1-8 or 1k,32k",
    "1,,2": "batch has '', which is no whole number",
    "1-": "batch has '1-', which is no whole number",
    "1.5": "batch has '1.5', which is no whole number",
    "-1": "batch has '-1', which is no whole number",
    "0": "batch must be at least 1, got 0",
    "1024k,1025k": f"batch is 1025k; it must be at most {MOST}",
    "9" * 400: "batch is 99999999999999999999; it must be at most",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(BAD[text])}"):
        whole_numbers(text, "batch", 1, MOST)


def test_a_number_of_a_set_stands_once() -> None:
    assert distinct_numbers("1-2,8", "gamma", 1, 100) == (1, 2, 8)
    with pytest.raises(ValueError, match=r"^gamma has 2 twice; leave out one of them$"):
        distinct_numbers("1-3,2", "gamma", 1, 100)
