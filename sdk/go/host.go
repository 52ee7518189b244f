// Package host is for callbacks that steer a training run: a type, and a method for each hook that it wants.
//
// A callback is made from its settings when it joins a run. What it learns on the way is its state, which is saved in
// checkpoints. At a hook it is shown an [Event] with the measurements that it subscribed to, and fills in an [Answer]
// with decisions. The package does not decide what a callback may do; the host checks every answer.
package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
)

// Requests are kinds of decisions that a plugin has to announce. Reports and notes are free; writes to knobs go by
// their names.
type Requests uint8

// The kinds of decisions, to be combined with |.
const (
	MayStop Requests = 1 << iota
	MayEndEpoch
	MayEvaluate
	MaySave
	MayLog
	MaySkip
	MayRestore
	MayMute
)

// Manifest is what a plugin is, whatever its configuration. What it asks here is the most that it can ever get.
type Manifest struct {
	Name         string   // lower-case letters, digits and -
	Version      string   // semantic version
	Summary      string   // one sentence on what it does
	Requests     Requests // MayStop | MaySave
	Knobs        []string // knobs that it may want to write, * allowed
	Background   bool     // handle events on another thread: only reports and notes are taken
	Order        int32    // lower runs earlier; the configuration can override it
	ConfigSchema string   // JSON Schema of the settings; empty for none
	StateVersion uint32   // raise it when older state no longer reads; 0 counts as 1
}

func (manifest Manifest) stateVersion() uint32 { return max(manifest.StateVersion, 1) }

// Run is the run that a callback joins.
type Run struct {
	Name        string // its name
	Seed        uint64 // what everything random in the run comes from
	Rank        uint32 // this process among WorldSize, from 0
	WorldSize   uint32 // how many processes train together; at least 1
	Step        uint64 // where the callback joins: 0 at the beginning, more after a resume
	Description string // JSON: model, task, parameters, groups, knobs
}

// Subscriptions say when the callback is called, and what it is shown then. A hook that is not subscribed to is never
// called.
type Subscriptions struct{ list []subscription }

type subscription struct {
	hook  Hook
	every uint32
	reads []string
}

// On asks for a call at each occurrence of the hook. reads are names of measurements, * allowed.
func (subscriptions *Subscriptions) On(hook Hook, reads ...string) {
	subscriptions.Every(1, hook, reads...)
}

// Every asks for a call at every n-th occurrence of the hook, counted from the beginning of the run. The host refuses 0.
func (subscriptions *Subscriptions) Every(n uint32, hook Hook, reads ...string) {
	subscriptions.list = append(subscriptions.list, subscription{hook, n, reads})
}

// Number is a float64 whose JSON keeps NaN and the infinities, for state and settings; every bit of other numbers is
// kept as well.
type Number float64

// MarshalJSON writes "NaN", "Infinity" and "-Infinity" as words, as JSON has no numbers for them.
func (number Number) MarshalJSON() ([]byte, error) {
	value := float64(number)
	switch {
	case math.IsNaN(value):
		return []byte(`"NaN"`), nil
	case math.IsInf(value, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(value, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (number *Number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*number = Number(math.NaN())
	case `"Infinity"`:
		*number = Number(math.Inf(1))
	case `"-Infinity"`:
		*number = Number(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(number))
	}
	return nil
}

// exported is the callback of this component.
var exported = component{start: func([]byte, *Run, *Subscriptions) error { return errors.New("nothing is exported") }}

type component struct {
	manifest func() Manifest
	start    func(config []byte, run *Run, subscriptions *Subscriptions) error
	callback any
}

// Stateful is a callback with state: a pointer to a struct, which is saved in checkpoints as JSON and read back into a
// new instance. Numbers in it that may be NaN have the type [Number].
type Stateful interface{ State() any }

// Migrator takes back state of another version.
type Migrator interface {
	Migrate(saved []byte, version uint32) error
}

// Export makes a callback that of this component; called once, in init. defaults are the settings that are not
// configured; a key that the type does not have is a mistake. start joins a run, and its error is shown to whoever wrote
// the configuration.
func Export[Settings, Callback any](manifest Manifest, defaults Settings,
	start func(settings Settings, run *Run, subscriptions *Subscriptions) (Callback, error)) {
	exported = component{manifest: func() Manifest { return manifest }}
	exported.start = func(config []byte, run *Run, subscriptions *Subscriptions) error {
		settings := defaults
		decoder := json.NewDecoder(bytes.NewReader(config))
		decoder.DisallowUnknownFields()
		if len(bytes.TrimSpace(config)) > 0 {
			if err := decoder.Decode(&settings); err != nil {
				return named(err)
			}
		}
		callback, err := start(settings, run, subscriptions)
		exported.callback = callback
		return err
	}
}

// named says which key has a value of another type.
func named(err error) error {
	var mistake *json.UnmarshalTypeError
	if errors.As(err, &mistake) {
		return fmt.Errorf("%s is a %s: it has to be %s", mistake.Field, mistake.Value, kind(mistake.Type))
	}
	return err
}

func kind(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float64, reflect.Float32:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.String:
		return "words"
	}
	return of.String()
}

func (it *component) save() ([]byte, error) {
	if stateful, is := it.callback.(Stateful); is {
		return json.Marshal(stateful.State())
	}
	return nil, nil
}

func (it *component) load(saved []byte, version uint32) error {
	stateful, is := it.callback.(Stateful)
	if !is || len(saved) == 0 {
		return nil
	}
	if current := it.manifest().stateVersion(); version != current {
		if migrator, is := it.callback.(Migrator); is {
			return migrator.Migrate(saved, version)
		}
		return fmt.Errorf("state of version %d was saved, and this version of the plugin reads %d", version, current)
	}
	return json.Unmarshal(saved, stateful.State())
}
