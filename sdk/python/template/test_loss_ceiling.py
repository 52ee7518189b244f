"""What the callback decides, in plain Python."""

import unittest

from host_sdk.testing import Harness, Moment, Stop

from loss_ceiling import LossCeiling


class Test(unittest.TestCase):
    def test_a_loss_that_stays_too_high_stops_the_run(self) -> None:
        harness = Harness(LossCeiling, {"ceiling": 5, "patience": 2})
        for step, loss in enumerate([6.0, 4.0, 7.0], 1):
            self.assertEqual(harness.send(Moment("step-end", step, {"loss": loss})), [])
        harness.resume(3)
        decisions = harness.send(Moment("step-end", 4, {"loss": 8.0}))
        self.assertEqual(decisions, [Stop("the loss was above 5 2 times in a row: now 8")])


if __name__ == "__main__":
    unittest.main()
