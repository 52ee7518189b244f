"""A callback as a host would run it: settings, events, answers, state, and mistakes that are found early."""

import math
import unittest
from dataclasses import dataclass
from typing import Annotated, Any

from host_sdk import (
    Answer,
    Callback,
    Event,
    Hook,
    Lane,
    Manifest,
    Range,
    Request,
    Run,
    Saved,
    Subscription,
    Unknown,
    log,
    on,
)
from host_sdk.plugin import Plugin
from host_sdk.testing import (
    EndEpoch,
    Evaluate,
    Harness,
    Log,
    Moment,
    Mute,
    Note,
    Report,
    Restore,
    Save,
    Scale,
    Set,
    Skip,
    Stop,
)


@dataclass
class Settings:
    ceiling: Annotated[float, "The run stops after some steps in a row with a loss above this."] = 20.0
    strikes: Annotated[int, Range(minimum=1)] = 2


@dataclass
class State:
    strikes: int = 0
    worst: float = -math.inf


class LossCeiling(Callback):
    """Stops a run whose loss is too high.

    And more.
    """

    manifest = Manifest("loss-ceiling", "0.1.0", requests=[Request.STOP, "end-epoch"], state_version=2)
    settings: Settings
    state: State

    def start(self, run: Run) -> list[Subscription]:
        return [on(Hook.STEP_END, "loss", every=2), on("train-end")]

    def step_end(self, event: Event, answer: Answer) -> None:
        self.state.strikes = self.state.strikes + 1 if event["loss"] > self.settings.ceiling else 0
        self.state.worst = max(self.state.worst, event["loss"])
        if self.state.strikes == self.settings.strikes:
            answer.stop(f"the loss is {event['loss']}")

    def train_end(self, event: Event, answer: Answer) -> None:
        answer.note(event.detail)

    def migrate(self, saved: Saved) -> State:
        if saved.version != 1:
            return super().migrate(saved)  # type: ignore[no-any-return]
        return State(strikes=saved.json["count"])


class Lifecycle(unittest.TestCase):
    def test_events_come_when_they_are_due(self) -> None:
        harness = Harness(LossCeiling, {"ceiling": 1})
        answers = [harness.send(Moment("step-end", step, {"loss": 2.0})) for step in range(1, 5)]
        self.assertEqual(answers, [[], [], [], [Stop("the loss is 2.0")]])
        self.assertEqual(harness.send(Moment(Hook.TRAIN_END, 4, detail="stopped")), [Note("stopped")])
        self.assertEqual(harness.send(Moment(Hook.LOG, 4)), [])

    def test_a_resumed_run_goes_on(self) -> None:
        harness = Harness(LossCeiling, {"ceiling": 1})
        harness.send(Moment("step-end", 1))
        harness.send(Moment("step-end", 2, {"loss": math.inf}))
        before = harness.callback
        harness.resume(2)
        self.assertIsNot(harness.callback, before)
        self.assertEqual(harness.state, State(1, math.inf))
        harness.send(Moment("step-end", 3))
        self.assertEqual(harness.send(Moment("step-end", 4, {"loss": 3.0})), [Stop("the loss is 3.0")])

    def test_saving_changes_nothing(self) -> None:
        harness = Harness(LossCeiling)
        self.assertEqual(harness.save(), harness.save())
        self.assertEqual(harness.save(), b'{"strikes":0,"worst":"-Infinity"}')

    def test_older_state_is_migrated_and_unknown_state_refused(self) -> None:
        harness = Harness(LossCeiling)
        harness.load({"count": 1}, 1)
        self.assertEqual(harness.state, State(1))
        harness.load(State(5), 2)
        kept = harness.save()
        harness.load(State(0), 2)
        harness.load(kept, 2)
        self.assertEqual(harness.state, State(5))
        with self.assertRaisesRegex(ValueError, "state of version 7 was saved, and this version of the plugin reads 2"):
            harness.load({}, 7)
        with self.assertRaisesRegex(ValueError, "state of version 2: strikes is 'x': it has to be a whole number"):
            harness.load({"strikes": "x"}, 2)

    def test_what_changes_belongs_into_the_state(self) -> None:
        class Forgetful(LossCeiling):
            def step_end(self, event: Event, answer: Answer) -> None:
                self.seen = 1

        harness = Harness(Forgetful)
        harness.send(Moment("step-end"))
        with self.assertRaisesRegex(AttributeError, r"Forgetful\.seen is set after `start`"):
            harness.send(Moment("step-end"))

    def test_a_configuration_that_does_not_fit_is_refused_with_the_reason(self) -> None:
        with self.assertRaisesRegex(ValueError, "^configuration: unknown key ceil; is ceiling meant?"):
            Harness(LossCeiling, {"ceil": 1})
        with self.assertRaisesRegex(ValueError, "^configuration: strikes is 0: it has to be at least 1"):
            Harness(LossCeiling, {"strikes": 0})

    def test_the_description_of_the_run_is_read(self) -> None:
        class Groups(Callback):
            manifest = Manifest("groups", "0.1.0")

            def start(self, run: Run) -> list[Subscription]:
                self.names = [group.name for group in run.description.groups_matching(["lora-*"])]
                self.knob = run.description.knobs["learning-rate/lora-a"]
                self.seed = run.seed
                return []

        groups = [{"name": "lora-a", "learning-rate": 1, "parameters": ["a"]}, {"name": "head", "learning-rate": 2}]
        knobs = {"learning-rate/lora-a": {"min": 0, "max": None, "unit": "1", "value": 1e-3}}
        callback = Harness(Groups, description={"groups": groups, "knobs": knobs, "new": 1}, seed=3).callback
        self.assertEqual((callback.names, callback.seed), (["lora-a"], 3))
        self.assertEqual((callback.knob.min, callback.knob.max, callback.knob.value), (0.0, None, 1e-3))
        with self.assertRaisesRegex(ValueError, r"no parameter group fits lora-\*; this run has head"):
            Harness(Groups, description={"groups": groups[1:]})


class Everything(Callback):
    """Hands out what it sees."""

    manifest = Manifest("everything", "0.1.0")
    seen: Any = None

    def start(self, run: Run) -> list[Subscription]:
        return [on(Hook.LOG, "a", "x/*"), on(Hook.LOG, "b", every=2), on(Hook.GRADIENTS)]

    def log(self, event: Event, answer: Answer) -> None:
        EVENTS.append(event)
        log.warn("seen")

    def gradients(self, event: Event, answer: Answer) -> None:
        answer.stop("a")
        answer.end_epoch("b")
        answer.evaluate()
        answer.save()
        answer.log()
        answer.skip("c")
        answer.restore("best")
        answer.set("learning-rate", 1)
        answer.scale("learning-rate", 0.5)
        answer.report("d", math.inf)
        answer.mute("e")
        answer.note("f")


EVENTS: list[Event] = []


class EventsAndAnswers(unittest.TestCase):
    def event(self, moment: Moment) -> Event:
        with self.assertLogs("host_sdk", "WARNING"):
            self.harness.send(moment)
        return EVENTS[-1]

    def setUp(self) -> None:
        self.harness = Harness(Everything)

    def test_an_event_has_what_was_subscribed_to_and_is_known(self) -> None:
        scalars = {"b": 1.0, "x/1": 2.0, "a": math.nan, "c": 4.0}
        event = self.event(Moment("log", 7, scalars, epoch=1.5, total_steps=9))
        self.assertEqual((event.hook, event.step, event.progress.epoch), (Hook.LOG, 7, 1.5))
        self.assertEqual(event.progress.total_steps, 9)
        self.assertEqual(list(event), ["x/1", "a"])
        self.assertTrue(math.isnan(event["a"]))
        self.assertIsNone(event.get("b"))
        self.assertNotIn("c", event)
        with self.assertRaises(Unknown) as caught:
            event["b"]
        self.assertEqual(str(caught.exception), "b is not known here; this event has x/1, a")
        # The second one is due for both subscriptions.
        event = self.event(Moment("log", 8, scalars))
        self.assertEqual((len(event), event["b"]), (3, 1.0))
        self.assertEqual(event.matching("x/*"), {"x/1": 2.0})
        self.assertEqual(dict(event.items())["x/1"], 2.0)

    def test_the_rest_is_asked_for(self) -> None:
        vectors = {"x/v": [1.0, 2.0], "y": [3.0]}
        event = self.event(Moment("log", 1, vectors=vectors, texts={"a": "hello"}, detail="why"))
        self.assertEqual((event.vector("x/v"), event.text("a"), event.detail), ([1.0, 2.0], "hello", "why"))
        self.assertEqual((event.vector("y"), event.vector("a"), event.text("x/v")), (None, None, None))
        self.assertEqual((event.vectors(), event.texts()), ({"x/v": [1.0, 2.0]}, {"a": "hello"}))

    def test_every_decision_is_there(self) -> None:
        learning_rate = "learning-rate"
        self.assertEqual(
            self.harness.send(Moment("gradients")),
            [
                Stop("a"),
                EndEpoch("b"),
                Evaluate(),
                Save(""),
                Log(),
                Skip("c"),
                Restore("best"),
                Set(learning_rate, 1.0),
                Scale(learning_rate, 0.5),
                Report("d", math.inf),
                Mute("e"),
                Note("f"),
            ],
        )

    def test_answers_of_the_wrong_type_are_refused_where_they_are_given(self) -> None:
        answer = Answer()
        with self.assertRaisesRegex(TypeError, "expected text, got None"):
            answer.stop(None)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "expected a number, got '1'"):
            answer.report("a", "1")  # type: ignore[arg-type]


class Mistakes(unittest.TestCase):
    def test_a_manifest_knows_its_words(self) -> None:
        plugin = Plugin(LossCeiling)
        self.assertEqual(plugin.summary, "Stops a run whose loss is too high.")
        self.assertEqual(plugin.manifest.requests, (Request.STOP, Request.END_EPOCH))
        self.assertEqual(plugin.manifest.lane, Lane.INLINE)
        for wrong in ({"requests": ["halt"]}, {"requests": "stop"}, {"knobs": "learning-rate"}, {"lane": "fast"}):
            with self.assertRaises(ValueError):
                Manifest("a", "0.1.0", **wrong)
        with self.assertRaisesRegex(TypeError, "Callback has no `manifest"):
            Plugin(Callback)

    def test_subscriptions_are_checked(self) -> None:
        with self.assertRaises(ValueError):
            on("step")
        with self.assertRaises(ValueError):
            on(Hook.LOG, every=0)

        class Idle(Callback):
            manifest = Manifest("idle", "0.1.0")

            def start(self, run: Run) -> Any:
                return [on(Hook.LOG)]

        class Wrong(Idle):
            def start(self, run: Run) -> Any:
                return "log"

        with self.assertRaisesRegex(TypeError, "Idle subscribes to log and has no method log"):
            Harness(Idle)
        with self.assertRaisesRegex(TypeError, "Wrong.start returned 'log'"):
            Harness(Wrong)

    def test_state_has_to_have_defaults(self) -> None:
        @dataclass
        class Open:
            count: int

        Kind = type("Kind", (LossCeiling,), {"__annotations__": {"state": Open}})
        with self.assertRaisesRegex(TypeError, r"Kind\.state: Open\.count has no default"):
            Plugin(Kind)

    def test_without_hints_there_are_no_settings_and_no_state(self) -> None:
        harness = Harness(Everything)
        self.assertEqual((harness.state, harness.save()), (None, b""))
        harness.resume(1)
        with self.assertRaisesRegex(ValueError, "unknown key a; known: none"):
            Harness(Everything, {"a": 1})
