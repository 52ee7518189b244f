package main

import (
	"testing"

	host "github.com/train-host/host/sdk/go"
)

func TestALossThatStaysTooHighStopsTheRun(t *testing.T) {
	harness, err := host.Start(`{"ceiling": 5, "patience": 2}`)
	if err != nil {
		t.Fatal(err)
	}
	at := func(loss float64) []host.Decision {
		decisions, err := harness.Send(host.Moment{Hook: host.StepEnd, Numbers: map[string]float64{"loss": loss}})
		if err != nil {
			t.Fatal(err)
		}
		return decisions
	}
	for _, loss := range []float64{6, 4, 7} {
		if decisions := at(loss); len(decisions) != 0 {
			t.Fatal(loss, decisions)
		}
	}
	if err := harness.Resume(); err != nil {
		t.Fatal(err)
	}
	decisions := at(8)
	if len(decisions) != 1 || decisions[0].Words != "the loss was above 5 2 times in a row: now 8" {
		t.Fatal(decisions)
	}
}
