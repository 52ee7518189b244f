"""The decisions of one call, collected in order. Does not check them against grants and ranges: the host does."""

from host_sdk import decision


class Answer(list[decision.Decision]):
    """What a callback answers to one event: a list of decisions, in order. An empty answer is "go on".

    Every method adds one decision; those that were made elsewhere can be appended. A text that is no `str`, and a
    value that is no number, is a `TypeError` at the line that gave it.
    """

    __slots__ = ()

    def stop(self, reason: str) -> None:
        """End the run after this event, cleanly. `reason` is what people read."""
        self.append(decision.Stop(_text(reason)))

    def end_epoch(self, reason: str) -> None:
        """Go on with the next epoch."""
        self.append(decision.EndEpoch(_text(reason)))

    def evaluate(self) -> None:
        """Evaluate at the next safe point, once, however many ask."""
        self.append(decision.Evaluate())

    def save(self, tag: str = "") -> None:
        """Save a checkpoint at the next safe point, and point `tag` to it.

        A tag is of lower-case letters, digits and `-`; empty for none.
        """
        self.append(decision.Save(_text(tag)))

    def log(self) -> None:
        """Write a log record at the next safe point."""
        self.append(decision.Log())

    def skip(self, reason: str) -> None:
        """Drop what this hook announces: a batch, an update, an evaluation, a save."""
        self.append(decision.Skip(_text(reason)))

    def restore(self, tag: str) -> None:
        """Put weights and optimizer state back to the checkpoint of `tag`: `best`, `last`, `step-1200`."""
        self.append(decision.Restore(_text(tag)))

    def set(self, knob: str, value: float) -> None:
        """Give a knob a value, in the knob's unit. `learning-rate` addresses all of `learning-rate/<group>`."""
        self.append(decision.Set(_text(knob), _number(value)))

    def scale(self, knob: str, factor: float) -> None:
        """Multiply a knob by a factor."""
        self.append(decision.Scale(_text(knob), _number(factor)))

    def report(self, name: str, value: float) -> None:
        """Publish a measurement of the callback's own, which others see as `<instance>/<name>`.

        A name is 1 to 64 of lower-case letters, digits, `-`, `_`, `.` and `/`. NaN and infinities are kept.
        """
        self.append(decision.Report(_text(name), _number(value)))

    def mute(self, name: str) -> None:
        """At the `log` hook: leave a name (`*` allowed) out of the record."""
        self.append(decision.Mute(_text(name)))

    def note(self, line: str) -> None:
        """Leave a line in the run's timeline."""
        self.append(decision.Note(_text(line)))


def _text(value: str) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"expected text, got {value!r}")


def _number(value: float) -> float:
    # Not `float(value)` alone, which would read text.
    if isinstance(value, (float, int)):
        return float(value)
    raise TypeError(f"expected a number, got {value!r}")
