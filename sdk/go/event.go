package host

import (
	"fmt"
	"strings"
)

// Hook is a moment in the training loop. A callback's method for it has the same name.
type Hook uint8

// The hooks, in the order in which a run meets them.
const (
	TrainBegin    Hook = iota // once in the life of a run, before its first step; not sent again after a resume
	EpochBegin                // before the first step of an epoch
	StepBegin                 // before the batch is fetched; a skip drops the batch
	Gradients                 // not yet clipped or applied; a skip drops the update
	StepEnd                   // the optimizer has been applied, or the update was dropped
	EvaluateBegin             // a skip drops this evaluation
	EvaluateEnd               // an evaluation is complete, and was not cut short
	LogRecord                 // a log record is about to be written
	SaveBegin                 // a skip drops this save
	SaveEnd                   // the checkpoint is durable on disk
	EpochEnd                  // after the last step, evaluation and save of an epoch
	Failure                   // the loop failed; Event.Detail says how
	TrainEnd                  // the run ends; Event.Detail says why
)

// Progress is how far the run is, counted from its beginning, resumed parts included.
type Progress struct {
	Step       uint64  // steps finished: 0 at StepBegin of the first one, 1 at its StepEnd
	TotalSteps *uint64 // steps that the run will do if nothing stops it; nil where that is not known
	Epoch      float64 // epochs finished, with the fraction of the running one
	Samples    uint64  // training samples seen
	Tokens     uint64  // tokens seen; 0 where the task has none
}

// Event is what a callback is shown at a hook: what it subscribed to, as far as it is known now.
type Event struct {
	Hook     Hook      // the moment
	Progress Progress  // how far the run is
	Values   []float64 // the single numbers, until the hook returns; Names says what they are called
	shape    uint32
	names    []string
	next     int
}

// Names says what the numbers in Values are called. The host is asked once for all events that are alike.
func (event *Event) Names() []string {
	if event.names == nil {
		event.names = namesOf(event.shape)
	}
	return event.names
}

// Get reads the measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN.
func (event *Event) Get(name string) (value float64, known bool) {
	names := event.Names()
	place := event.next
	if place >= len(names) || names[place] != name {
		for place = 0; place < len(names) && names[place] != name; {
			place++
		}
		if place == len(names) {
			return 0, false
		}
	}
	event.next = place + 1
	return event.Values[place], true
}

// GetOrTell is Get, and the first time that it is missing says so in the log and the timeline: for a name from the
// settings, which the run may offer and yet not know at this hook. told is part of the callback's state.
func (event *Event) GetOrTell(name string, told *bool, answer *Answer) (value float64, known bool) {
	value, known = event.Get(name)
	if !known && !*told {
		line := name + " is not known here, so nothing was checked"
		Warn("%s", line)
		answer.Note("%s", line)
		*told = true
	}
	return value, known
}

// Vector reads the measurement of this name, if it is several numbers. Each call asks the host.
func (event *Event) Vector(name string) (values []float32, known bool) {
	if key, known := keyOf(name); known {
		return hostVector(key)
	}
	return nil, false
}

// Text reads the measurement of this name, if it is words. Each call asks the host.
func (event *Event) Text(name string) (words string, known bool) {
	if key, known := keyOf(name); known {
		return hostText(key)
	}
	return "", false
}

// Detail says why: the stop reason at TrainEnd, the error at Failure, the tag at SaveBegin and SaveEnd; else empty.
func (event *Event) Detail() string { return hostDetail() }

// Matches says whether name fits pattern, in which * stands for any characters, also none.
func Matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	left, fits := strings.CutPrefix(name, parts[0])
	// Each part between two stars is taken where it comes first, which leaves the most for those behind it.
	for _, part := range parts[1 : len(parts)-1] {
		place := strings.Index(left, part)
		if place < 0 {
			return false
		}
		left = left[place+len(part):]
	}
	return fits && strings.HasSuffix(left, parts[len(parts)-1])
}

// Debug writes a line of use while the callback is being written, in the manner of fmt.Printf.
func Debug(format string, arguments ...any) { hostLog(0, fmt.Sprintf(format, arguments...)) }

// Info writes a line of use to whoever watches the run.
func Info(format string, arguments ...any) { hostLog(1, fmt.Sprintf(format, arguments...)) }

// Warn says that the run goes on, perhaps not as wanted.
func Warn(format string, arguments ...any) { hostLog(2, fmt.Sprintf(format, arguments...)) }

// Error says that something failed.
func Error(format string, arguments ...any) { hostLog(3, fmt.Sprintf(format, arguments...)) }

// maxShapes are remembered at one time. A callback has one or two for each of its hooks, as a rule.
const maxShapes = 64

var (
	shapes = map[uint32][]string{}
	known  = map[uint32]string{}
	keys   = map[string]uint32{}
)

func namesOf(shape uint32) []string {
	if names, asked := shapes[shape]; asked {
		return names
	}
	if len(shapes) == maxShapes {
		clear(shapes)
	}
	names := []string{}
	for _, key := range hostKeys() {
		name, asked := known[key]
		if !asked {
			name, _ = hostNameOf(key)
			known[key] = name
		}
		names = append(names, name)
	}
	shapes[shape] = names
	return names
}

func keyOf(name string) (uint32, bool) {
	if key, asked := keys[name]; asked {
		return key, true
	}
	key, found := hostKeyOf(name)
	if found {
		keys[name] = key
	}
	return key, found
}
