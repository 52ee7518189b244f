"""The rules: from what was measured to findings, each with its evidence in numbers.

A rule is a function of a :class:`View`. It does not remember anything; `course` says when a finding counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from .observed import Broken, Observed
from .settings import FEWEST, SHORTEST, Diagnosis, Settings
from .statistics import Trend, median, trend

HARDLY_BELOW = 0.9
"""A loss above this part of its beginning has hardly fallen."""


@dataclass(frozen=True, slots=True)
class Finding:
    """That a diagnosis is right now."""

    diagnosis: Diagnosis
    evidence: str
    branch: str = ""
    """The part of the model that it is about; empty for all of it."""

    @property
    def name(self) -> str:
        """What its course is remembered under."""
        return f"{self.diagnosis} {self.branch}".rstrip()


@dataclass
class View:
    """What the rules look at: everything measured, with the trends that several of them need."""

    settings: Settings
    observed: Observed

    @cached_property
    def loss(self) -> Trend | None:
        """The trend of the training loss, once there are enough values."""
        return self.trend("loss")

    @cached_property
    def gradients(self) -> Trend | None:
        """The trend of the gradient norm, once there are enough values."""
        return self.trend("gradient-norm")

    @cached_property
    def ratio(self) -> float | None:
        """The median update ratio."""
        return self.observed.median("update-ratio")

    @property
    def recently_broken(self) -> dict[str, Broken]:
        """What was not finite in the last window, by name."""
        looks, window = self.observed.looks, self.settings.window
        return {name: broken for name, broken in self.observed.broken.items() if looks - broken.look < window}

    @property
    def has_hardly_fallen(self) -> bool:
        """Whether the loss is near, or above, where it began."""
        first = self.observed.first_loss
        return self.loss is not None and first is not None and self.loss.level > HARDLY_BELOW * first

    @property
    def is_rate_at_its_height(self) -> bool:
        """Whether the rate was at least half its peak in the whole window: no schedule warms up or cools down."""
        return all(rate >= self.observed.peak_rate / 2 for rate in self.observed.values("learning-rate"))

    def trend(self, name: str, shortest: int = SHORTEST) -> Trend | None:
        """The trend of a series of at least so many values."""
        values = self.observed.values(name)
        return trend(values) if len(values) >= shortest else None

    def falls(self, trend: Trend) -> bool:
        """Whether a series falls significantly."""
        return trend.z <= -self.settings.significance

    def rises(self, trend: Trend) -> bool:
        """Whether a series rises significantly."""
        return trend.z >= self.settings.significance

    @property
    def span(self) -> str:
        """How long the trend of the loss is, in words."""
        return f"over {len(self.observed.values('loss')) * self.settings.every} steps"


def non_finite(view: View) -> Iterator[Finding]:
    """Numbers of the whole run that are NaN or infinite, in the last window."""
    branches = view.settings.norms().values()
    recent = {name: broken for name, broken in view.recently_broken.items() if name not in branches}
    if recent:
        counts = ", ".join(f"{name} {broken.count} x" for name, broken in recent.items())
        last = max(broken.step for broken in recent.values())
        yield Finding(Diagnosis.NON_FINITE, f"NaN or infinite: {counts}, last at step {last}")


def rate_too_high(view: View) -> Iterator[Finding]:
    """Two signs at once, where the loss does not fall fast: large updates; parameters that blew up at the beginning; a
    growing gradient norm; and, as one sign, a loss that rises, oscillates or has hardly fallen since the beginning."""
    loss, settings = view.loss, view.settings
    if loss is None or view.falls(loss) and loss.change <= -settings.slow_fall:
        return
    signs = []
    if view.ratio is not None and view.ratio >= settings.high_update_ratio:
        signs.append(f"update-ratio {view.ratio:.2g}")
    if view.observed.early_growth >= settings.blow_up:
        signs.append(f"parameter-norm grew {view.observed.early_growth:.3g}-fold at the beginning")
    if view.rises(loss):
        signs.append(f"loss {loss.start:.4g} to {loss.end:.4g} (z {loss.z:+.1f})")
    elif not view.falls(loss) and loss.scatter >= settings.oscillation:
        signs.append(f"loss scatters by {loss.scatter:.0%} of {loss.level:.4g}")
    elif not view.falls(loss) and view.has_hardly_fallen:
        signs.append(f"loss {loss.level:.4g} after {view.observed.first_loss:.4g} at the beginning")
    gradients = view.gradients if signs else None
    if gradients and view.rises(gradients) and gradients.change >= settings.growth:
        signs.append(f"gradient-norm {gradients.start:.3g} to {gradients.end:.3g} (z {gradients.z:+.1f})")
    if len(signs) >= 2:
        yield Finding(Diagnosis.RATE_TOO_HIGH, ", ".join(signs))


def exploding_branch(view: View) -> Iterator[Finding]:
    """A branch whose gradients are not finite, or far above the median of the other branches."""
    norms, broken = view.settings.norms(), view.recently_broken
    medians = {branch: view.observed.median(name) for branch, name in norms.items()}
    for branch, name in norms.items():
        own = medians[branch]
        others = [value for other, value in medians.items() if other != branch and value]
        if name in broken:
            evidence = f"NaN or infinite: {name} {broken[name].count} x, last at step {broken[name].step}"
            yield Finding(Diagnosis.EXPLODING_BRANCH, evidence, branch)
        elif own and others and own >= view.settings.exploding_ratio * median(others):
            evidence = f"{name} {own:.3g}, that of the other branches {median(others):.3g}"
            yield Finding(Diagnosis.EXPLODING_BRANCH, evidence, branch)


def dead_branch(view: View) -> Iterator[Finding]:
    """A branch whose gradients are next to nothing beside those of the whole model, which has some."""
    whole = view.observed.median("gradient-norm")
    for branch, name in view.settings.norms().items():
        own = view.observed.median(name)
        if whole and own is not None and own <= view.settings.dead_ratio * whole:
            yield Finding(Diagnosis.DEAD_BRANCH, f"{name} {own:.3g}, gradient-norm {whole:.3g}", branch)


def overfitting(view: View) -> Iterator[Finding]:
    """Evaluations that rise significantly since the best one, while the loss in training does not."""
    evaluated, trained, best = view.trend("evaluated", FEWEST), view.trend("trained", 2), view.observed.best
    if evaluated and trained and view.rises(evaluated) and not view.rises(trained):
        count = len(view.observed.values("evaluated"))
        yield Finding(
            Diagnosis.OVERFITTING,
            f"over {count} evaluations {view.settings.evaluated} {evaluated.start:.4g} to {evaluated.end:.4g} "
            f"(z {evaluated.z:+.1f}), best {best.value:.4g} at step {best.step}; loss {trained.start:.4g} to "
            f"{trained.end:.4g}",
        )


def rate_too_low(view: View) -> Iterator[Finding]:
    """Small updates at the height of the learning rate, and a loss that falls slowly or has hardly fallen at all."""
    loss, ratio = view.loss, view.ratio
    if loss is None or ratio is None or ratio >= view.settings.low_update_ratio or not view.is_rate_at_its_height:
        return
    if view.rises(loss) or loss.change <= -view.settings.slow_fall:
        return
    if view.falls(loss) or view.has_hardly_fallen:
        yield Finding(
            Diagnosis.RATE_TOO_LOW,
            f"update-ratio {ratio:.2g}, loss {loss.start:.4g} to {loss.end:.4g} {view.span} (z {loss.z:+.1f})",
        )


def plateau(view: View) -> Iterator[Finding]:
    """A whole window without a significant trend of the loss, for which no learning rate is to blame."""
    loss = view.loss
    if loss is None or len(view.observed.values("loss")) < view.settings.window:
        return
    if view.falls(loss) or view.rises(loss) or loss.change <= -view.settings.slow_fall:
        return
    if any(rate_too_high(view)) or any(rate_too_low(view)):
        return
    yield Finding(
        Diagnosis.PLATEAU,
        f"loss {loss.level:.4g} ± {loss.noise:.2g} without a trend {view.span} (z {loss.z:+.1f})",
    )


def data_starvation(view: View) -> Iterator[Finding]:
    """A large part of a step's time goes into waiting for data."""
    yield from _slow(view, Diagnosis.DATA_STARVATION, "time/data", view.settings.data_share)


def slow_callbacks(view: View) -> Iterator[Finding]:
    """A large part of a step's time goes into callbacks."""
    yield from _slow(view, Diagnosis.SLOW_CALLBACKS, "time/callbacks", view.settings.callbacks_share)


def _slow(view: View, diagnosis: Diagnosis, name: str, limit: float) -> Iterator[Finding]:
    share = view.observed.shares.get(name)
    if share and share.count >= SHORTEST and share.value >= limit:
        yield Finding(diagnosis, f"{name} is {share.value:.0%} of time/step")


RULES: dict[Diagnosis, Callable[[View], Iterator[Finding]]] = {
    Diagnosis.NON_FINITE: non_finite,
    Diagnosis.RATE_TOO_HIGH: rate_too_high,
    Diagnosis.EXPLODING_BRANCH: exploding_branch,
    Diagnosis.DEAD_BRANCH: dead_branch,
    Diagnosis.OVERFITTING: overfitting,
    Diagnosis.RATE_TOO_LOW: rate_too_low,
    Diagnosis.PLATEAU: plateau,
    Diagnosis.DATA_STARVATION: data_starvation,
    Diagnosis.SLOW_CALLBACKS: slow_callbacks,
}
