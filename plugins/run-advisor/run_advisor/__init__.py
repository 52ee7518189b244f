"""Advice on a training run: what is wrong with it, by rules over its measurements, and what to try.

Does not judge; `rules` does, `course` says when a finding counts, and this file takes measurements and tells.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from host_sdk import Answer, Callback, Event, Hook, Manifest, Run, Subscription, log, on

from .course import Course
from .observed import Observed
from .rules import RULES, View
from .settings import SHORTEST, Diagnosis, Settings
from .text import diagnosis_of, summary, told, weight

IN_STEPS = [diagnosis for diagnosis in Diagnosis if diagnosis is not Diagnosis.OVERFITTING]
"""What is judged while steps go on; the rest is judged at evaluations."""
SHARES = {Diagnosis.DATA_STARVATION: "time/data", Diagnosis.SLOW_CALLBACKS: "time/callbacks"}


@dataclass
class State:
    """What has been seen and told so far."""

    observed: Observed = field(default_factory=Observed)
    courses: dict[str, Course] = field(default_factory=dict)
    """By the names of findings."""
    told_missing: bool = False
    """Somebody has been told that nothing is known of evaluations."""


class RunAdvisor(Callback):
    """Says in words what is wrong with a training run, and what to try."""

    # Last, so that it sees what other callbacks have made of a step.
    manifest = Manifest("run-advisor", "0.1.0", order=1000)
    settings: Settings
    state: State

    def start(self, run: Run) -> list[Subscription]:
        settings = self.settings
        self.shares = [name for diagnosis, name in SHARES.items() if settings.makes(diagnosis)]
        times = [*self.shares, "time/step"] if self.shares else []
        subscriptions = [
            on(Hook.TRAIN_BEGIN, "parameter-norm"),
            on(Hook.GRADIENTS, "gradient-norm", *settings.norms().values(), every=settings.every),
            on(
                Hook.STEP_END, "loss", "update-ratio", "parameter-norm", "learning-rate/*", *times, every=settings.every
            ),
            on(Hook.FAILURE),
            on(Hook.TRAIN_END),
        ]
        if settings.makes(Diagnosis.OVERFITTING):
            subscriptions.append(on(Hook.EVALUATE_END, settings.evaluated))
        return subscriptions

    def train_begin(self, event: Event, answer: Answer) -> None:
        self.state.observed.first_norm = event.get("parameter-norm")

    def gradients(self, event: Event, answer: Answer) -> None:
        for name, value in event.items():
            limit = self.settings.window if name == "gradient-norm" else SHORTEST
            self.state.observed.take(name, value, event.step, limit)

    def step_end(self, event: Event, answer: Answer) -> None:
        self.look(event)
        observed = self.state.observed
        if observed.looks % self.settings.judge_every == 0:
            rate = max(event.matching("learning-rate/*").values(), default=0.0)
            observed.take_rate(rate, event.step, self.settings.judgements)
            self.report(self.judge(IN_STEPS, event, answer), answer)
        elif observed.has_broken:
            self.judge([Diagnosis.NON_FINITE], event, answer)

    def evaluate_end(self, event: Event, answer: Answer) -> None:
        evaluated = event.get(self.settings.evaluated)
        if evaluated is not None:
            self.state.observed.take_evaluation(evaluated, event.step, self.settings.evaluations)
            self.judge([Diagnosis.NON_FINITE, Diagnosis.OVERFITTING], event, answer)
        elif not self.state.told_missing:
            self.state.told_missing = True
            missing = f"{self.settings.evaluated} is not known here, so overfitting is not looked for"
            log.warn(missing)
            answer.note(missing)

    def failure(self, event: Event, answer: Answer) -> None:
        if event.detail.startswith("non-finite-loss"):
            self.state.observed.take_loss(math.nan, event.step, self.settings.window)
            self.judge([Diagnosis.NON_FINITE], event, answer)

    def train_end(self, event: Event, answer: Answer) -> None:
        for line in summary(self.state.courses):
            answer.note(line)

    def look(self, event: Event) -> None:
        """Takes what is known of a step."""
        observed, step, limit = self.state.observed, event.step, self.settings.window
        if "loss" in event:
            observed.take_loss(event["loss"], step, limit)
        if "update-ratio" in event:
            observed.take("update-ratio", event["update-ratio"], step, SHORTEST)
        if "parameter-norm" in event:
            observed.take_norm(event["parameter-norm"])
        seconds = event.get("time/step")
        for name in self.shares:
            if seconds and name in event:
                observed.take_share(name, event[name] / seconds, limit)
        observed.end_look()

    def judge(self, diagnoses: Collection[Diagnosis], event: Event, answer: Answer) -> View:
        """Looks for some of the diagnoses, and tells those that begin, go on or are over."""
        courses, settings = self.state.courses, self.settings
        view = View(settings, self.state.observed)
        wanted = [diagnosis for diagnosis in diagnoses if settings.makes(diagnosis)]
        found = {finding.name: finding.evidence for diagnosis in wanted for finding in RULES[diagnosis](view)}
        known = {name for name in courses if diagnosis_of(name) in diagnoses}
        for name in sorted(known | found.keys(), key=weight):
            patience = 1 if diagnosis_of(name) is Diagnosis.NON_FINITE else settings.patience
            course = courses.setdefault(name, Course())
            turn = course.take(found.get(name), event.step, patience, settings.cooldown)
            if turn is not None:
                answer.note(told(name, course, turn))
        return view

    def report(self, view: View, answer: Answer) -> None:
        """Publishes how many diagnoses hold, and where the loss goes."""
        answer.report("findings", sum(course.holds for course in self.state.courses.values()))
        if view.loss is not None:
            answer.report("loss-trend", view.loss.z)
            answer.report("loss-change", view.loss.change)
