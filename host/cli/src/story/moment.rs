//! From entries of the timeline to lines: what was decided at one hook becomes a line for each callback, and one
//! line for all that wrote the same knob.
//!
//! It folds nothing and leaves nothing out. Main type: [`Moments`].

use std::collections::BTreeSet;

use host_callback::{Decision, Hook};

use super::{
    entry::{Actor, Decided, Entry, Outcome, Results, What},
    line::{Line, Place, Then, Tone, Track},
    path::Path,
    telling,
};
use crate::telemetry::{kind, words};

/// More names of one family, and more deeds at one hook, than this are counted and not told.
const MOST_NAMES: usize = 4;
const MOST_DEEDS: usize = 6;

/// Makes lines.
#[derive(Debug)]
pub(super) struct Moments<'a> {
    /// The knobs of the run, as far as they are known.
    knobs: &'a BTreeSet<String>,
    open: Option<Moment>,
    /// A restore that was carried out and whose decision is still to come: its tag, and the step of the weights.
    restored: Option<(Place, String, u64)>,
    evaluations: Vec<Results>,
    lines: Vec<Line>,
}

/// What was decided at one hook.
#[derive(Debug)]
struct Moment {
    place: Place,
    hook: Hook,
    decisions: Vec<Decided>,
}

/// A knob and what became of it.
struct Move {
    knob: String,
    before: f64,
    after: f64,
    writers: Vec<(String, f64)>,
}

/// What one callback decided at one hook.
#[derive(Default)]
struct Part {
    by: Actor,
    moves: Vec<Move>,
    refused: Vec<String>,
    deeds: Vec<String>,
    shapes: Vec<String>,
    /// What it said of its reasons.
    words: Vec<String>,
    reports: Vec<String>,
    restores: bool,
    warns: bool,
}

impl<'a> Moments<'a> {
    pub(super) fn new(knobs: &'a BTreeSet<String>) -> Self {
        Self { knobs, open: None, restored: None, evaluations: Vec::new(), lines: Vec::new() }
    }

    /// Takes an entry, and gives the lines that are complete by now.
    pub(super) fn take(&mut self, entry: Entry) -> Vec<Line> {
        let place = Place { step: entry.step, epoch: entry.epoch };
        match entry.what {
            What::Decided(decided) => self.decided(place, decided),
            What::Restored { tag, from_step } => {
                self.close();
                self.restored = Some((place, tag, from_step));
            }
            other => {
                self.close();
                let line = telling::line(place, &other);
                if let What::Evaluated { values } = other {
                    self.evaluations.push(values);
                }
                self.lines.extend(line.map(|line| self.placed(line)));
            }
        }
        std::mem::take(&mut self.lines)
    }

    /// The lines that were still open, and all evaluations.
    pub(super) fn finish(mut self) -> (Vec<Line>, Vec<Results>) {
        self.close();
        (self.lines, self.evaluations)
    }

    fn decided(&mut self, place: Place, decided: Decided) {
        let goes_on = self
            .open
            .as_ref()
            .is_some_and(|open| open.place == place && open.hook == decided.hook && !open.has_skipped_before(&decided));
        if !goes_on {
            self.close();
        }
        let hook = decided.hook;
        let open = self.open.get_or_insert(Moment { place, hook, decisions: Vec::new() });
        open.decisions.push(decided);
    }

    fn placed(&self, line: Line) -> Line {
        Line { evaluations: (self.evaluations.len(), self.evaluations.len()), ..line }
    }

    fn close(&mut self) {
        let Some(moment) = self.open.take() else { return };
        let mut parts: Vec<Part> = Vec::new();
        for decided in moment.decisions {
            let at = parts.iter().position(|part| part.by == decided.by).unwrap_or_else(|| {
                parts.push(Part { by: decided.by.clone(), ..Part::default() });
                parts.len() - 1
            });
            let restored = self.restored.as_ref().map(|(_, tag, step)| (tag.as_str(), *step));
            parts[at].take(moment.hook, decided, restored);
        }
        let told = parts.iter().any(|part| part.restores);
        if let Some((place, tag, step)) = self.restored.take().filter(|_| !told) {
            let text =
                format!("weights and optimizer put back to step {} (`{}`)", words::count(step), words::short(&tag));
            self.lines.push(self.placed(Line::deed(place, "restored", text)));
        }
        for group in joined(parts) {
            let line = Line { hook: Some(moment.hook), ..line(self.knobs, moment.place, group) };
            let line = self.placed(line);
            self.lines.push(line);
        }
    }
}

impl Moment {
    /// Two batches that are dropped one after the other are two moments at one step: the first who asks for a
    /// skip at a hook is the only one whose skip is applied.
    fn has_skipped_before(&self, decided: &Decided) -> bool {
        let skips = |one: &Decided| matches!(one.decision, Decision::Skip(_)) && one.outcome == Outcome::Applied;
        skips(decided) && self.decisions.iter().any(skips)
    }
}

impl Part {
    fn take(&mut self, hook: Hook, decided: Decided, restored: Option<(&str, u64)>) {
        let Decided { decision, outcome, why, changes, .. } = decided;
        let carried_out = matches!(outcome, Outcome::Applied | Outcome::Merged);
        match &decision {
            Decision::Note(text) if carried_out => return self.words.push(words::short(text)),
            Decision::Report { name, value } if carried_out => {
                return self.reports.push(format!("{} {}", words::short(name), words::figure(*value)));
            }
            Decision::Set { .. } | Decision::Scale { .. } if carried_out => return self.wrote(changes),
            Decision::Set { knob, .. } | Decision::Scale { knob, .. } => {
                self.refused.push(knob.clone());
            }
            _ => {}
        }
        // Names that a guest may make up are no part of it: every name would be a line of its own.
        self.shapes.push(format!("{} {}", kind(&decision), outcome.word()));
        self.warns |= !carried_out;
        if !carried_out {
            let (what, why) = (words::short(&decision.to_string()), words::short(&why.unwrap_or_default()));
            return self.deeds.push(format!("{what} {}: {why}", outcome.word()));
        }
        let again = if outcome == Outcome::Merged { ", asked for already" } else { "" };
        let deed = match decision {
            Decision::Stop(why) => self.because(why, "stop the run"),
            Decision::EndEpoch(why) => self.because(why, "end the epoch"),
            Decision::Skip(why) => self.because(why, skipped(hook)),
            Decision::Restore(tag) => {
                self.restores = true;
                let from = restored.filter(|(restored, _)| *restored == tag);
                let from = from.map(|(_, step)| format!(", saved at step {}", words::count(step)));
                format!("restore `{}`{}", words::short(&tag), from.unwrap_or_default())
            }
            other => words::short(&other.to_string()),
        };
        self.deeds.push(format!("{deed}{again}"));
    }

    fn because(&mut self, why: String, what: &str) -> String {
        self.words.push(words::short(&why));
        what.to_owned()
    }

    /// What one callback writes to a knob at one hook is one move, in however many writes.
    fn wrote(&mut self, changes: Vec<host_callback::Change>) {
        for change in changes {
            match self.moves.iter_mut().find(|one| one.knob == change.knob) {
                Some(one) => one.after = change.after,
                None => {
                    let host_callback::Change { knob, before, after } = change;
                    self.moves.push(Move { knob, before, after, writers: Vec::new() });
                }
            }
        }
    }

    fn shares_a_knob_with(&self, other: &Self) -> bool {
        self.moves.iter().any(|one| other.moves.iter().any(|two| one.knob == two.knob))
    }
}

fn skipped(hook: Hook) -> &'static str {
    match hook {
        Hook::StepBegin => "drop the batch",
        Hook::Gradients => "drop the update",
        Hook::EvaluateBegin => "drop the evaluation",
        _ => "drop the save",
    }
}

/// Puts together who wrote the same knob.
fn joined(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let shares = |group: &Vec<Part>| group.iter().any(|other| other.shares_a_knob_with(&part));
        let (mut together, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(shares);
        together.push(vec![part]);
        groups = apart;
        groups.push(together.into_iter().flatten().collect());
    }
    groups
}

/// The line about those who belong together.
fn line(knobs: &BTreeSet<String>, place: Place, group: Vec<Part>) -> Line {
    let several = group.len() > 1;
    let mut line = Line::at(place);
    let (mut moves, mut deeds, mut shapes) = (Vec::<Move>::new(), Vec::new(), Vec::new());
    let (mut why, mut reports) = (Vec::new(), Vec::new());
    for part in group {
        let name = words::short(&part.by.instance);
        let said = |text: String| if several { format!("{name}: {text}") } else { text };
        why.extend(Some(part.words.join("; ")).filter(|text| !text.is_empty()).map(said));
        deeds.extend(part.deeds.into_iter().map(said));
        reports.extend(part.reports);
        shapes.extend(part.shapes);
        part.moves.into_iter().for_each(|one| join(&mut moves, one, &part.by.instance));
        line.refused.extend(part.refused);
        line.matters |= part.restores;
        line.by.push(part.by);
        if part.warns {
            line.tone = Tone::Warning;
        }
    }
    line.matters |= moves.iter().any(|one| one.before != one.after);
    line.knobs = tracks(knobs, moves);
    why.extend(line.knobs.iter().filter_map(contest));
    let said = Some(reports.join(", ")).filter(|text| !text.is_empty()).map(|text| format!("reports {text}"));
    if line.knobs.is_empty() && deeds.is_empty() {
        // Nothing but words, or nothing but reports: they are what was done.
        line.quiet = why.is_empty();
        shapes.push(if line.quiet { "report" } else { "note" }.to_owned());
        deeds = if line.quiet { said.into_iter().collect() } else { std::mem::take(&mut why) };
    } else if why.is_empty() && !line.knobs.is_empty() {
        why.extend(said);
    }
    shapes.dedup();
    line.deeds = few(deeds);
    line.shape = shapes.join(", ");
    line.why = few(why);
    line
}

/// The first of many things, and how many more there are.
fn few(mut things: Vec<String>) -> String {
    if let Some(more) = things.len().checked_sub(MOST_DEEDS).filter(|&more| more > 0) {
        things.truncate(MOST_DEEDS);
        things.push(format!("and {more} more"));
    }
    things.join("; ")
}

/// Adds a move to those of callbacks before it.
fn join(moves: &mut Vec<Move>, next: Move, by: &str) {
    let writer = (by.to_owned(), next.after);
    match moves.iter_mut().find(|one| one.knob == next.knob) {
        Some(one) => {
            one.after = next.after;
            one.writers.push(writer);
        }
        None => moves.push(Move { writers: vec![writer], ..next }),
    }
}

/// Knobs of one family that went the same way are told as one.
fn tracks(known: &BTreeSet<String>, moves: Vec<Move>) -> Vec<Track> {
    let mut tracks: Vec<Track> = Vec::new();
    for Move { knob, before, after, writers } in moves {
        let path = Path::from(before).to(after);
        let writers = if writers.len() > 1 { writers } else { Vec::new() };
        let is_one = |track: &&mut Track| {
            track.path == path && track.writers == writers && family(&track.names[0]).0 == family(&knob).0
        };
        match tracks.iter_mut().find(is_one) {
            Some(track) if family(&knob).1.is_some() => track.names.push(knob),
            _ => tracks.push(Track { name: String::new(), names: vec![knob], path, writers }),
        }
    }
    for track in &mut tracks {
        track.name = words::short(&called(known, &track.names));
    }
    tracks
}

/// `learning-rate`, and the group where there is one.
fn family(knob: &str) -> (&str, Option<&str>) {
    knob.split_once('/').map_or((knob, None), |(family, group)| (family, Some(group)))
}

/// One name for several knobs of a family.
fn called(known: &BTreeSet<String>, names: &[String]) -> String {
    let (family_name, group) = family(&names[0]);
    if names.len() == 1 || group.is_none() {
        return names[0].clone();
    }
    let all = known.iter().filter(|name| family(name).0 == family_name);
    let mut all = all.peekable();
    if all.peek().is_some() && all.all(|name| names.contains(name)) {
        return format!("{family_name}/*");
    }
    let mut groups: Vec<&str> = names.iter().filter_map(|name| family(name).1).take(MOST_NAMES).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let rest = format!("and {more} more");
    groups.extend((more > 0).then_some(rest.as_str()));
    format!("{family_name}/{{{}}}", groups.join(", "))
}

/// Who wrote what, where several wrote one knob; the last value counts.
fn contest(track: &Track) -> Option<String> {
    let writes: Vec<String> =
        track.writers.iter().map(|(by, value)| format!("{} {}", words::short(by), words::setting(*value))).collect();
    (writes.len() > 1).then(|| format!("{}, which counts", writes.join(", then ")))
}

/// What the evaluations around a line say of it.
pub(super) fn follow(line: &mut Line, evaluations: &[Results]) {
    let (first, last) = line.evaluations;
    let results = evaluations.get(last).filter(|_| line.matters);
    let decisive = results.and_then(|results| results.get_key_value("eval/loss").or_else(|| results.first_key_value()));
    let Some((name, after)) = decisive else { return };
    let before = first.checked_sub(1).and_then(|at| evaluations[at].get(name)).map(|number| number.0);
    // Of what went on since the beginning, a value at its end alone says nothing.
    if before.is_some() || line.times == 1 {
        line.then = Some(Then { name: name.clone(), before, after: after.0 });
    }
}
