package main

import "math"

// When a value is better and when to stop: our own rule, and those of three libraries to the letter.

// terms are what a value is compared with.
type terms struct {
	highest              bool // higher is better
	patience             uint32
	minDelta             float64
	stopping, divergence *float64
	baseline             *float64
	checkFinite          bool
}

// memory is what a rule remembers from check to check.
type memory struct {
	Best *float64 // the best value so far, as the rule sees it
	Wait uint32   // checks since the last improvement that counted
}

// cause is why a run should end.
type cause int

const (
	none cause = iota
	patience
	notFinite
	reached
	diverged
)

// verdict is what a check comes to.
type verdict struct {
	improved bool // the weights are the best so far
	stop     cause
}

// isBetter is strict; never with NaN.
func (terms *terms) isBetter(value, than float64) bool {
	if terms.highest {
		return value > than
	}
	return value < than
}

// beats says whether value is better by more than minDelta, or there is nothing to beat; never with NaN.
func (terms *terms) beats(value float64, than *float64) bool {
	switch {
	case than == nil:
		return true
	case terms.highest:
		return value-terms.minDelta > *than
	}
	return value+terms.minDelta < *than
}

func (terms *terms) hasReached(value float64) bool {
	return terms.stopping != nil && terms.isBetter(value, *terms.stopping)
}

func (terms *terms) hasDiverged(value float64) bool {
	return terms.divergence != nil && terms.isBetter(*terms.divergence, value)
}

// bestOrWorst is the best so far, or what every number but itself is better than.
func (terms *terms) bestOrWorst(memory *memory) float64 {
	switch {
	case memory.Best != nil:
		return *memory.Best
	case terms.highest:
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// isOver says that the patience is over.
func (terms *terms) isOver(memory *memory, improved bool) verdict {
	if memory.Wait >= terms.patience {
		return verdict{improved, patience}
	}
	return verdict{improved, none}
}

func isFinite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

func (memory *memory) waitLonger() {
	if memory.Wait < math.MaxUint32 {
		memory.Wait++
	}
}

// rules by name. epoch is the running epoch, counted from 0.
var rules = map[string]func(terms *terms, memory *memory, value float64, epoch uint64) verdict{
	"sound":       sound,
	"huggingface": huggingface,
	"lightning":   lightning,
	"keras":       keras,
}

// sound is ours: only a finite value can be the best, and every check without improvement counts.
func sound(terms *terms, memory *memory, value float64, _ uint64) verdict {
	// An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing would
	// ever be better than it.
	improved := isFinite(value) && terms.beats(value, memory.Best)
	if improved {
		memory.Best = &value
	}
	if improved && terms.beats(value, terms.baseline) {
		memory.Wait = 0
	} else {
		memory.waitLonger()
	}
	switch {
	case terms.checkFinite && !isFinite(value):
		return verdict{improved, notFinite}
	case isFinite(value) && terms.hasReached(value):
		return verdict{improved, reached}
	case terms.hasDiverged(value):
		return verdict{improved, diverged}
	case improved:
		return verdict{improved, none}
	}
	return terms.isOver(memory, improved)
}

// huggingface is EarlyStoppingCallback of transformers, with its patience counter kept on resume.
func huggingface(terms *terms, memory *memory, value float64, _ uint64) verdict {
	best := terms.bestOrWorst(memory)
	improved := terms.isBetter(value, best)
	if memory.Best == nil || (improved && math.Abs(value-best) > terms.minDelta) {
		memory.Wait = 0
	} else {
		memory.waitLonger()
	}
	// The best takes any gain, also one below the threshold: a slow steady gain stops the run.
	if improved {
		best = value
	}
	memory.Best = &best
	return terms.isOver(memory, improved)
}

// lightning is EarlyStopping of lightning.
func lightning(terms *terms, memory *memory, value float64, _ uint64) verdict {
	best := terms.bestOrWorst(memory)
	memory.Best = &best
	improved := terms.beats(value, &best)
	switch {
	case terms.checkFinite && !isFinite(value):
		return verdict{false, notFinite}
	// Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
	case terms.hasReached(value):
		return verdict{improved, reached}
	case terms.hasDiverged(value):
		return verdict{false, diverged}
	case improved:
		memory.Best, memory.Wait = &value, 0
		return verdict{true, none}
	}
	memory.waitLonger()
	return terms.isOver(memory, false)
}

// keras is EarlyStopping of keras, with its state kept on resume.
func keras(terms *terms, memory *memory, value float64, epoch uint64) verdict {
	memory.waitLonger()
	// The first value is always the best, NaN included, and then nothing is ever better.
	if terms.beats(value, memory.Best) {
		memory.Best = &value
		if terms.beats(value, terms.baseline) {
			memory.Wait = 0
		}
		return verdict{true, none}
	}
	if epoch == 0 {
		return verdict{}
	}
	return terms.isOver(memory, false)
}
