// Stops a run whose loss stays too high.
package main

import (
	_ "embed"
	"errors"

	host "github.com/train-host/host/sdk/go"
)

//go:embed settings.schema.json
var schema string

// settings are what stands in [plugin.config]; settings.schema.json says the same to the host.
type settings struct {
	Ceiling  float64 `json:"ceiling"`
	Patience uint32  `json:"patience"`
}

// state is what is learned on the way. It is saved in checkpoints.
type state struct {
	Strikes uint32 // steps in a row with a loss that was too high
}

type callback struct {
	settings
	state state
}

func init() {
	host.Export(host.Manifest{
		Name:         "loss-ceiling",
		Version:      "0.1.0",
		Summary:      "Stops a run whose loss stays too high.",
		Requests:     host.MayStop,
		ConfigSchema: schema,
	}, settings{Patience: 3}, start)
}

func main() {}

func start(settings settings, _ *host.Run, subscriptions *host.Subscriptions) (*callback, error) {
	if settings.Patience == 0 {
		return nil, errors.New("patience is 0: it has to be 1 or more")
	}
	subscriptions.On(host.StepEnd, "loss")
	return &callback{settings: settings}, nil
}

// State is saved in checkpoints.
func (it *callback) State() any { return &it.state }

func (it *callback) StepEnd(event *host.Event, answer *host.Answer) error {
	loss, known := event.Get("loss")
	if !known {
		return nil
	}
	if loss > it.Ceiling {
		it.state.Strikes++
	} else {
		it.state.Strikes = 0
	}
	if it.state.Strikes == it.Patience {
		answer.Stop("the loss was above %v %d times in a row: now %v", it.Ceiling, it.Patience, loss)
	}
	return nil
}
