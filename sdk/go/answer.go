package host

import "fmt"

// Kind is a kind of decision.
type Kind uint8

// The kinds of decisions.
const (
	Stop Kind = iota
	EndEpoch
	Evaluate
	Save
	Log
	Skip
	Restore
	Set
	Scale
	Report
	Mute
	Note
)

// Decision is one thing that a callback decided.
type Decision struct {
	Kind  Kind
	Words string  // the words, the tag, or the name of the knob or report
	Value float64 // of Set, Scale and Report
}

// Answer is the decisions of one call, in order. An empty answer is "go on". Words are in the manner of fmt.Sprintf.
type Answer struct{ Decisions []Decision }

func (answer *Answer) decide(kind Kind, words string, value float64) {
	answer.Decisions = append(answer.Decisions, Decision{kind, words, value})
}

// Stop ends the run after this event, cleanly. The words are the reason that people read.
func (answer *Answer) Stop(format string, arguments ...any) {
	answer.decide(Stop, fmt.Sprintf(format, arguments...), 0)
}

// EndEpoch goes on with the next epoch.
func (answer *Answer) EndEpoch(format string, arguments ...any) {
	answer.decide(EndEpoch, fmt.Sprintf(format, arguments...), 0)
}

// Evaluate asks for an evaluation at the next safe point.
func (answer *Answer) Evaluate() { answer.decide(Evaluate, "", 0) }

// Save asks for a checkpoint, and points tag to it; lower-case letters, digits, -; empty for none.
func (answer *Answer) Save(tag string) { answer.decide(Save, tag, 0) }

// Log asks for a log record at the next safe point.
func (answer *Answer) Log() { answer.decide(Log, "", 0) }

// Skip drops what this hook announces.
func (answer *Answer) Skip(format string, arguments ...any) {
	answer.decide(Skip, fmt.Sprintf(format, arguments...), 0)
}

// Restore puts weights and optimizer state back to the checkpoint that tag points to.
func (answer *Answer) Restore(tag string) { answer.decide(Restore, tag, 0) }

// Set gives a knob a value. A name such as learning-rate addresses all of learning-rate/<group>.
func (answer *Answer) Set(knob string, value float64) { answer.decide(Set, knob, value) }

// Scale multiplies a knob by a factor.
func (answer *Answer) Scale(knob string, factor float64) { answer.decide(Scale, knob, factor) }

// Report publishes a measurement of the callback's own, which others see as <instance>/<name>.
func (answer *Answer) Report(name string, value float64) { answer.decide(Report, name, value) }

// Mute leaves a name (* allowed) out of the record, at LogRecord.
func (answer *Answer) Mute(name string) { answer.decide(Mute, name, 0) }

// Note leaves a line in the run's timeline.
func (answer *Answer) Note(format string, arguments ...any) {
	answer.decide(Note, fmt.Sprintf(format, arguments...), 0)
}
