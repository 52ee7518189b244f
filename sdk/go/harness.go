//go:build !wasip1

package host

import "fmt"

// Harness plays the host in a native test, to the callback that the package exports: events reach it only where it
// subscribed, with only what it reads. There is one at a time.
type Harness struct {
	config        string
	subscriptions []subscription
	occurrences   map[Hook]uint32
}

// Moment is a moment of a run, with what can be observed then.
type Moment struct {
	Hook     Hook
	Progress Progress
	Detail   string
	Numbers  map[string]float64
	Vectors  map[string][]float32
	Texts    map[string]string
}

// Start joins a run with a configuration in JSON.
func Start(config string) (*Harness, error) {
	shapes, known, keys = map[uint32][]string{}, map[uint32]string{}, map[string]uint32{}
	var subscriptions Subscriptions
	err := exported.start([]byte(config), &Run{Name: "test", WorldSize: 1, Description: "{}"}, &subscriptions)
	return &Harness{config, subscriptions.list, map[Hook]uint32{}}, err
}

// Send lets a moment happen. There are no decisions where the callback is not called for it.
func (harness *Harness) Send(moment Moment) ([]Decision, error) {
	harness.occurrences[moment.Hook]++
	var reads []string
	isDue := false
	for _, it := range harness.subscriptions {
		if it.hook == moment.Hook && harness.occurrences[moment.Hook]%it.every == 0 {
			isDue, reads = true, append(reads, it.reads...)
		}
	}
	if !isDue {
		return nil, nil
	}
	fake = moment
	fake.Vectors, fake.Texts = shown(moment.Vectors, reads), shown(moment.Texts, reads)
	event := Event{Hook: moment.Hook, Progress: moment.Progress, names: []string{}}
	for name, value := range shown(moment.Numbers, reads) {
		event.names, event.Values = append(event.names, name), append(event.Values, value)
	}
	var answer Answer
	err := exported.handle(&event, &answer)
	fake = Moment{}
	return answer.Decisions, err
}

// Resume does what a resumed run does: a new callback with the same configuration, which is given the saved state.
func (harness *Harness) Resume() error {
	saved, err := exported.save()
	if err != nil {
		return err
	}
	resumed, err := Start(harness.config)
	if err != nil {
		return err
	}
	harness.subscriptions = resumed.subscriptions
	return exported.load(saved, exported.manifest().stateVersion())
}

func shown[T any](all map[string]T, reads []string) map[string]T {
	some := map[string]T{}
	for name, value := range all {
		for _, pattern := range reads {
			if Matches(pattern, name) {
				some[name] = value
			}
		}
	}
	return some
}

// fake is what the host would know at the moment that is being handled.
var fake Moment

var catalog []string

func hostLog(level uint32, line string) {
	fmt.Println([]string{"debug", "info", "warn", "error"}[level]+":", line)
}

func hostKeyOf(name string) (uint32, bool) {
	for key, known := range catalog {
		if known == name {
			return uint32(key), true
		}
	}
	catalog = append(catalog, name)
	return uint32(len(catalog) - 1), true
}

func hostNameOf(key uint32) (string, bool) { return catalog[key], true }

func hostKeys() []uint32 { return nil }

func hostDetail() string { return fake.Detail }

func hostVector(key uint32) ([]float32, bool) {
	values, known := fake.Vectors[catalog[key]]
	return values, known
}

func hostText(key uint32) (string, bool) {
	words, known := fake.Texts[catalog[key]]
	return words, known
}
