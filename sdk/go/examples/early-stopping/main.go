// Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.
package main

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"

	host "github.com/train-host/host/sdk/go"
)

//go:embed settings.schema.json
var schema string

type settings struct {
	Monitor             string   `json:"monitor"`
	Mode                string   `json:"mode"`
	Patience            uint32   `json:"patience"`
	MinDelta            float64  `json:"min-delta"`
	CheckAt             string   `json:"check-at"`
	CheckEvery          uint32   `json:"check-every"`
	WarmUp              uint64   `json:"warm-up"`
	StartFromEpoch      uint64   `json:"start-from-epoch"`
	RestoreBest         bool     `json:"restore-best"`
	Tag                 string   `json:"tag"`
	Rule                string   `json:"rule"`
	StoppingThreshold   *float64 `json:"stopping-threshold"`
	DivergenceThreshold *float64 `json:"divergence-threshold"`
	CheckFinite         *bool    `json:"check-finite"`
	Baseline            *float64 `json:"baseline"`
}

var hooks = map[string]host.Hook{
	"evaluate-end": host.EvaluateEnd,
	"epoch-end":    host.EpochEnd,
	"step-end":     host.StepEnd,
}

// state is what has been seen so far.
type state struct {
	Best        *host.Number
	Wait        uint32
	BestStep    *uint64 // the step of the weights that the tag points to
	ToldMissing bool    // somebody has been told that the monitored value is missing
}

type earlyStopping struct {
	settings
	terms terms
	state state
}

func init() {
	host.Export(host.Manifest{
		Name:         "early-stopping",
		Version:      "0.1.0",
		Summary:      "Ends a run whose evaluation no longer gets better, and puts the best weights back.",
		Requests:     host.MayStop | host.MaySave | host.MayRestore,
		ConfigSchema: schema,
	}, settings{
		Monitor: "eval/loss", Mode: "min", Patience: 3, CheckAt: "evaluate-end", CheckEvery: 1, RestoreBest: true,
		Tag: "best", Rule: "sound",
	}, start)
}

func main() {}

func start(settings settings, _ *host.Run, subscriptions *host.Subscriptions) (*earlyStopping, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	subscriptions.Every(settings.CheckEvery, hooks[settings.CheckAt], settings.Monitor)
	subscriptions.On(host.TrainEnd)
	checkFinite := settings.Rule == "lightning"
	if settings.CheckFinite != nil {
		checkFinite = *settings.CheckFinite
	}
	return &earlyStopping{settings: settings, terms: terms{
		highest:     settings.Mode == "max",
		patience:    settings.Patience,
		minDelta:    settings.MinDelta,
		stopping:    settings.StoppingThreshold,
		divergence:  settings.DivergenceThreshold,
		baseline:    settings.Baseline,
		checkFinite: checkFinite,
	}}, nil
}

// check refuses settings that make no sense, by themselves or together.
func (settings *settings) check() error {
	_, isRule := rules[settings.Rule]
	_, isHook := hooks[settings.CheckAt]
	switch {
	case !isRule:
		return fmt.Errorf("rule is %q: it has to be one of sound, huggingface, lightning, keras", settings.Rule)
	case !isHook:
		return fmt.Errorf("check-at is %q: it has to be one of evaluate-end, epoch-end, step-end", settings.CheckAt)
	case settings.Mode != "min" && settings.Mode != "max":
		return fmt.Errorf("mode is %q: it has to be one of min, max", settings.Mode)
	case !(settings.MinDelta >= 0 && isFinite(settings.MinDelta)):
		return fmt.Errorf("min-delta is %s: it has to be 0 or more", text(settings.MinDelta))
	case settings.CheckEvery == 0:
		return fmt.Errorf("check-every is 0: it has to be 1 or more")
	}
	for _, it := range []struct {
		key     string
		isGiven bool
		rules   string // those that have it, besides sound
	}{
		{"stopping-threshold", settings.StoppingThreshold != nil, "lightning"},
		{"divergence-threshold", settings.DivergenceThreshold != nil, "lightning"},
		{"check-finite", settings.CheckFinite != nil, "lightning"},
		{"baseline", settings.Baseline != nil, "keras"},
	} {
		if it.isGiven && settings.Rule != "sound" && settings.Rule != it.rules {
			return fmt.Errorf("%s is not part of the %s rule; leave it out, or the rule", it.key, settings.Rule)
		}
	}
	return nil
}

// State is saved in checkpoints.
func (it *earlyStopping) State() any { return &it.state }

func (it *earlyStopping) Handle(event *host.Event, answer *host.Answer) error {
	if event.Hook == host.TrainEnd {
		it.putBack(event, answer)
	} else {
		it.check(event, answer)
	}
	return nil
}

func (it *earlyStopping) check(event *host.Event, answer *host.Answer) {
	step, epoch := event.Progress.Step, epochIndex(event.Progress.Epoch)
	if step < it.WarmUp || epoch < it.StartFromEpoch {
		return
	}
	value, known := event.GetOrTell(it.Monitor, &it.state.ToldMissing, answer)
	if !known {
		return
	}
	memory := memory{(*float64)(it.state.Best), it.state.Wait}
	verdict := rules[it.Rule](&it.terms, &memory, value, epoch)
	it.state.Best, it.state.Wait = (*host.Number)(memory.Best), memory.Wait
	if verdict.improved {
		it.state.BestStep = &step
		if it.RestoreBest {
			answer.Save(it.Tag)
		}
	}
	if memory.Best != nil {
		answer.Report("best", *memory.Best)
	}
	answer.Report("wait", float64(memory.Wait))
	if verdict.stop != none {
		answer.Stop("%s", it.reason(verdict.stop, value))
	}
}

func (it *earlyStopping) putBack(event *host.Event, answer *host.Answer) {
	// The weights of this very step are the best ones already.
	if it.RestoreBest && it.state.BestStep != nil && *it.state.BestStep != event.Progress.Step {
		answer.Restore(it.Tag)
	}
}

func (it *earlyStopping) reason(cause cause, value float64) string {
	best := "never a best"
	if it.state.Best != nil && it.state.BestStep != nil {
		best = fmt.Sprintf("best %s at step %d", text(float64(*it.state.Best)), *it.state.BestStep)
	}
	now := text(value)
	switch cause {
	case patience:
		return fmt.Sprintf("%s has not improved for %d checks: now %s, %s", it.Monitor, it.state.Wait, now, best)
	case notFinite:
		return fmt.Sprintf("%s is %s, which is not finite; %s", it.Monitor, now, best)
	case reached:
		return fmt.Sprintf("%s is %s and has passed its stopping threshold; %s", it.Monitor, now, best)
	}
	return fmt.Sprintf("%s is %s and has passed its divergence threshold; %s", it.Monitor, now, best)
}

// text is the shortest that reads back as the same number, without an exponent.
func text(number float64) string {
	switch {
	case math.IsInf(number, 1):
		return "inf"
	case math.IsInf(number, -1):
		return "-inf"
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// epochIndex is the epoch, from 0, that the last step belonged to: a check at the very end of an epoch is still about it.
func epochIndex(epoch float64) uint64 {
	// Counting up is exact here: an epoch that has ended is a whole number.
	return uint64(max(math.Ceil(epoch), 1)) - 1
}
