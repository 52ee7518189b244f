"""When a diagnosis begins, goes on and is over, and which steps of it are remembered."""

import unittest

from run_advisor.course import MAX_SPANS, Course, Turn
from run_advisor.text import spans


def turns(found: str, patience: int = 2, cooldown: int = 0) -> list[tuple[int, Turn]]:
    """The turns of a diagnosis, with their steps: a judgement each 10 steps finds it at `+` and not at `-`."""
    course = Course()
    taken = [
        (step, course.take("seen" if it == "+" else None, step, patience, cooldown))
        for step, it in zip(range(10, 10 * len(found) + 10, 10), found)
    ]
    return [(step, turn) for step, turn in taken if turn]


class Courses(unittest.TestCase):
    def test_it_begins_and_is_over_after_so_many_in_a_row(self) -> None:
        self.assertEqual(turns("+-+-+-"), [])
        self.assertEqual(turns("-++-+--+-++"), [(30, Turn.BEGINS), (70, Turn.ENDS), (110, Turn.BEGINS)])
        self.assertEqual(turns("+-", patience=1), [(10, Turn.BEGINS), (20, Turn.ENDS)])

    def test_it_is_told_anew_after_a_cooldown(self) -> None:
        again = [(10, Turn.BEGINS), (40, Turn.GOES_ON), (70, Turn.GOES_ON)]
        self.assertEqual(turns("+++++++", patience=1, cooldown=30), again)
        self.assertEqual(turns("+++++++", patience=1), again[:1])

    def test_its_steps_are_those_of_judgements_that_found_it(self) -> None:
        course = Course()
        for step, evidence in [(10, "a"), (20, "b"), (30, None), (40, None)]:
            course.take(evidence, step, 2, 0)
        self.assertEqual((course.spans, course.evidence, course.holds, course.held), ([(10, 20)], "b", False, True))

    def test_only_the_latest_times_are_remembered_one_by_one(self) -> None:
        course = Course()
        for step in range(2 * MAX_SPANS + 5):
            course.take("seen" if step % 2 == 0 else None, step, 1, 0)
        self.assertEqual(course.all_spans(), [(4, 4), (6, 6), (8, 8), (10, 10), (12, 12)])
        self.assertEqual(spans(course), "steps 4 to 4, 6 to 6, 8 to 8, 10 to 10, 12 to 12, and 2 times before")
