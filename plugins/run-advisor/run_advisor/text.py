"""The words: what a diagnosis asks for, and the notes. Knows no thresholds."""

from collections.abc import Iterable

from .course import Course, Turn
from .settings import Diagnosis

SUGGESTIONS = {
    Diagnosis.NON_FINITE: "nan-guard, a lower learning rate or clip-norm; look for a log or a division by 0",
    Diagnosis.RATE_TOO_HIGH: "a learning rate 3 to 10 times lower, a warm-up, or clip-norm",
    Diagnosis.EXPLODING_BRANCH: "a lower rate for its group, a normalization before it, or clip-norm",
    Diagnosis.DEAD_BRANCH: "look whether its output reaches the loss, and for dead ReLUs; leave it out if it is frozen",
    Diagnosis.OVERFITTING: "early-stopping, more data or augmentation, dropout or weight decay",
    Diagnosis.RATE_TOO_LOW: "a learning rate 3 to 10 times higher",
    Diagnosis.PLATEAU: "a lower learning rate (lr-plateau), a larger model, or stop: what is left may be noise",
    Diagnosis.DATA_STARVATION: "faster storage, data decoded beforehand, or a larger batch",
    Diagnosis.SLOW_CALLBACKS: "profiler names the slowest; make it measure less often, or give it the background lane",
}
"""What to try."""


def told(name: str, course: Course, turn: Turn) -> str:
    """The note of a turn."""
    if turn is Turn.ENDS:
        first, last = course.spans[-1]
        return f"{name} is over: it held in steps {first} to {last}"
    goes_on = f" goes on since step {course.since}" if turn is Turn.GOES_ON else ""
    return f"{name}{goes_on}: {course.evidence}. Try: {suggestion(name)}"


def summary(courses: dict[str, Course]) -> Iterable[str]:
    """The notes at the end: all diagnoses by name, then each with its numbers, the gravest first."""
    held = sorted((name for name, course in courses.items() if course.held), key=weight)
    yield f"diagnoses in this run: {', '.join(held) or 'none'}"
    for number, name in enumerate(held, 1):
        course = courses[name]
        yield f"{number}. {name}, {spans(course)}: {course.evidence}. Try: {suggestion(name)}"


def spans(course: Course) -> str:
    """The steps in which it held."""
    times = ", ".join(f"{first} to {last}" for first, last in course.all_spans())
    return f"steps {times}" + (f", and {course.earlier} times before" if course.earlier else "")


def suggestion(name: str) -> str:
    """What to try about a finding."""
    return SUGGESTIONS[diagnosis_of(name)]


def diagnosis_of(name: str) -> Diagnosis:
    """The diagnosis of a finding's name."""
    return Diagnosis(name.partition(" ")[0])


def weight(name: str) -> tuple[int, str]:
    """The place of a finding among others."""
    return list(Diagnosis).index(diagnosis_of(name)), name
