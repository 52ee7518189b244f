"""What ten Python callbacks that read eight values each cost the trainer of Hugging Face Transformers, per event.

Prints nanoseconds: the fastest of many rounds, as the Rust side of the comparison does. Needs `transformers` alone; the
callbacks do what the sandboxed ones of the benchmark do: read eight measurements by name and keep a count.
"""

import time

from transformers.trainer_callback import CallbackHandler, TrainerCallback, TrainerControl, TrainerState

CALLBACKS, CALLS, ROUNDS = 10, 1000, 50
NAMES = [f"measurement-{number}" for number in range(8)]


class Reader(TrainerCallback):
    """Reads eight values at the end of a step."""

    def __init__(self):
        self.seen = 0
        self.total = 0.0

    def on_step_end(self, args, state, control, **kwargs):
        values = state.log_history[-1]
        for name in NAMES:
            self.total += values[name]
            self.seen += 1


def main():
    handler = CallbackHandler([type(f"Reader{n}", (Reader,), {})() for n in range(CALLBACKS)], None, None, None, None)
    state, control = TrainerState(), TrainerControl()
    state.log_history.append({name: float(number) for number, name in enumerate(NAMES)})
    fastest = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(CALLS):
            control = handler.on_step_end(None, state, control)
        fastest = min(fastest, (time.perf_counter_ns() - began) / CALLS)
    readers = [callback for callback in handler.callbacks if isinstance(callback, Reader)]
    if len(readers) != CALLBACKS or any(reader.seen != 8 * CALLS * ROUNDS for reader in readers):
        raise SystemExit("the trainer did not call each callback")
    print(f"{fastest:.0f}")


main()
