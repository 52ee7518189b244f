//! When a value is better and when to stop: our own rule, and those of three libraries to the letter.
//! Plain arithmetic on what has been seen; knows nothing of hooks and decisions.

const std = @import("std");
const isFinite = std.math.isFinite;

/// Which direction of a measurement is better.
pub const Mode = enum {
    min,
    max,

    /// Strictly better; never with NaN.
    fn isBetter(mode: Mode, value: f64, than: f64) bool {
        return switch (mode) {
            .min => value < than,
            .max => value > than,
        };
    }

    fn worst(mode: Mode) f64 {
        return switch (mode) {
            .min => std.math.inf(f64),
            .max => -std.math.inf(f64),
        };
    }
};

/// What a value is compared with.
pub const Terms = struct {
    mode: Mode,
    patience: u32,
    min_delta: f64,
    stopping_threshold: ?f64,
    divergence_threshold: ?f64,
    check_finite: bool,
    baseline: ?f64,

    /// Better by more than `min_delta`, or there is nothing to beat; never with NaN.
    fn beats(terms: *const Terms, value: f64, than: ?f64) bool {
        const reference = than orelse return true;
        return switch (terms.mode) {
            .min => value + terms.min_delta < reference,
            .max => value - terms.min_delta > reference,
        };
    }

    fn hasReached(terms: *const Terms, value: f64) bool {
        return terms.mode.isBetter(value, terms.stopping_threshold orelse return false);
    }

    fn hasDiverged(terms: *const Terms, value: f64) bool {
        return terms.mode.isBetter(terms.divergence_threshold orelse return false, value);
    }
};

/// What a rule remembers from check to check.
pub const Memory = struct {
    /// The best value so far, as the rule sees it.
    best: ?f64 = null,
    /// Checks since the last improvement that counted.
    wait: u32 = 0,
};

/// Why a run should end.
pub const Cause = enum { patience, not_finite, reached, diverged };

/// What a check comes to.
pub const Verdict = struct {
    /// The weights are the best so far.
    improved: bool = false,
    /// The run should end.
    stop: ?Cause = null,
};

/// Whose rule decides.
pub const Rule = enum {
    /// Ours: only a finite value can be the best, and every check without improvement counts.
    sound,
    /// `EarlyStoppingCallback` of transformers, with its patience counter kept on resume.
    huggingface,
    /// `EarlyStopping` of lightning.
    lightning,
    /// `EarlyStopping` of keras, with its state kept on resume.
    keras,

    /// Takes one value. `epoch` is the running epoch, counted from 0.
    pub fn judge(rule: Rule, terms: *const Terms, memory: *Memory, value: f64, epoch: u64) Verdict {
        return switch (rule) {
            .sound => sound(terms, memory, value),
            .huggingface => huggingface(terms, memory, value),
            .lightning => lightning(terms, memory, value),
            .keras => keras(terms, memory, value, epoch),
        };
    }
};

fn sound(terms: *const Terms, memory: *Memory, value: f64) Verdict {
    // An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing would
    // ever be better than it.
    const improved = isFinite(value) and terms.beats(value, memory.best);
    if (improved) memory.best = value;
    const gives_patience_back = improved and terms.beats(value, terms.baseline);
    memory.wait = if (gives_patience_back) 0 else memory.wait +| 1;
    const stop: ?Cause = if (terms.check_finite and !isFinite(value))
        .not_finite
    else if (isFinite(value) and terms.hasReached(value))
        .reached
    else if (terms.hasDiverged(value))
        .diverged
    else
        patience(terms, memory, !improved);
    return .{ .improved = improved, .stop = stop };
}

fn huggingface(terms: *const Terms, memory: *Memory, value: f64) Verdict {
    const best = memory.best orelse terms.mode.worst();
    const improved = terms.mode.isBetter(value, best);
    const is_good = memory.best == null or (improved and @abs(value - best) > terms.min_delta);
    memory.wait = if (is_good) 0 else memory.wait +| 1;
    // The best takes any gain, also one below the threshold: a slow steady gain stops the run.
    memory.best = if (improved) value else best;
    return .{ .improved = improved, .stop = patience(terms, memory, true) };
}

fn lightning(terms: *const Terms, memory: *Memory, value: f64) Verdict {
    const best = memory.best orelse terms.mode.worst();
    memory.best = best;
    const improved = terms.beats(value, best);
    if (terms.check_finite and !isFinite(value)) return .{ .stop = .not_finite };
    // Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
    if (terms.hasReached(value)) return .{ .improved = improved, .stop = .reached };
    if (terms.hasDiverged(value)) return .{ .stop = .diverged };
    if (improved) {
        memory.* = .{ .best = value };
        return .{ .improved = true };
    }
    memory.wait +|= 1;
    return .{ .stop = patience(terms, memory, true) };
}

fn keras(terms: *const Terms, memory: *Memory, value: f64, epoch: u64) Verdict {
    memory.wait +|= 1;
    // The first value is always the best, NaN included, and then nothing is ever better.
    if (terms.beats(value, memory.best)) {
        memory.best = value;
        if (terms.beats(value, terms.baseline)) memory.wait = 0;
        return .{ .improved = true };
    }
    return .{ .stop = patience(terms, memory, epoch > 0) };
}

/// The patience is over, where it counts.
fn patience(terms: *const Terms, memory: *const Memory, counts: bool) ?Cause {
    return if (counts and memory.wait >= terms.patience) .patience else null;
}
