package host

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
)

type everything struct {
	settings struct {
		MinDelta float64 `json:"min-delta"`
	}
	state struct{ Numbers []Number }
}

func (it *everything) State() any { return &it.state }

func (it *everything) StepEnd(event *Event, answer *Answer) error {
	for index, name := range event.Names() {
		answer.Report(name, event.Values[index])
	}
	if loads, known := event.Vector("loads"); known {
		answer.Scale("learning-rate", float64(loads[1]))
	}
	if sample, known := event.Text("sample"); known {
		answer.Note("%s", sample)
	}
	if _, known := event.Get("hidden"); known {
		return errors.New("hidden")
	}
	return nil
}

func (it *everything) TrainEnd(event *Event, answer *Answer) error {
	answer.Stop("%s", event.Detail())
	return nil
}

func export(running **everything) {
	Export(Manifest{Name: "everything"}, everything{}.settings, func(settings struct {
		MinDelta float64 `json:"min-delta"`
	}, _ *Run, subscriptions *Subscriptions) (*everything, error) {
		subscriptions.Every(2, StepEnd, "loss", "loads", "sample")
		subscriptions.On(TrainEnd)
		*running = &everything{settings: settings}
		return *running, nil
	})
}

func TestAnEventShowsWhatIsReadWhenItIsDue(t *testing.T) {
	var running *everything
	export(&running)
	harness, err := Start(`{"min-delta": 0.5}`)
	if err != nil || running.settings.MinDelta != 0.5 {
		t.Fatal(err, running)
	}
	moment := Moment{
		Hook:    StepEnd,
		Numbers: map[string]float64{"loss": 2, "hidden": 1},
		Vectors: map[string][]float32{"loads": {1, 3}},
		Texts:   map[string]string{"sample": "words"},
	}
	if decisions, err := harness.Send(moment); len(decisions) > 0 || err != nil {
		t.Fatal(decisions, err)
	}
	decisions, err := harness.Send(moment)
	wanted := []Decision{{Report, "loss", 2}, {Scale, "learning-rate", 3}, {Note, "words", 0}}
	if !reflect.DeepEqual(decisions, wanted) || err != nil {
		t.Fatal(decisions, err)
	}
	decisions, _ = harness.Send(Moment{Hook: TrainEnd, Detail: "done"})
	if !reflect.DeepEqual(decisions, []Decision{{Stop, "done", 0}}) {
		t.Fatal(decisions)
	}
}

func TestAMistakeInTheSettingsIsNamed(t *testing.T) {
	var running *everything
	export(&running)
	for config, wanted := range map[string]string{
		`{"min-delta": "x"}`: "min-delta is a string: it has to be a number",
		`{"min-dleta": 1}`:   `json: unknown field "min-dleta"`,
	} {
		if _, err := Start(config); err == nil || err.Error() != wanted {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestEveryBitOfTheStateComesBack(t *testing.T) {
	var running *everything
	export(&running)
	harness, _ := Start(`{}`)
	numbers := []Number{0.1, Number(math.Copysign(0, -1)), 5e-324, math.MaxFloat64, Number(math.NaN()), Number(math.Inf(-1))}
	running.state.Numbers = numbers
	if err := harness.Resume(); err != nil {
		t.Fatal(err)
	}
	for index, number := range running.state.Numbers {
		before, after := float64(numbers[index]), float64(number)
		if math.Float64bits(before) != math.Float64bits(after) && !math.IsNaN(before) {
			t.Errorf("%v became %v", before, after)
		}
	}
	if text, _ := json.Marshal(running.state.Numbers[4]); string(text) != `"NaN"` {
		t.Errorf("%s", text)
	}
}

func TestStarsStandForAnyCharacters(t *testing.T) {
	for _, it := range []struct {
		pattern, name string
		fits          bool
	}{
		{"loss", "losses", false}, {"*", "", true}, {"eval/*", "eval", false}, {"*/loss", "eval/loss/2", false},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "acb", false}, {"ab*ba", "aba", false}, {"*norm*", "gradient-norm/x", true},
	} {
		if Matches(it.pattern, it.name) != it.fits {
			t.Error(it)
		}
	}
}
