//! What happened again and again is told in one line: a schedule that writes a knob at every step must not drown
//! everything else.
//!
//! It does not look at words of reasons and values: lines are the same when the same callbacks did the same kind
//! of thing to the same knobs at the same hook. Main type: [`Folds`].

use std::collections::HashMap;

use super::line::Line;

/// What happened no more often than this is told each time.
const FEW: u64 = 8;
/// The same where every time would be told in the same words.
const FEW_EQUAL: u64 = 3;
/// A pause of so many steps, and of so many times the usual one, begins a new line.
const PAUSE_STEPS: f64 = 20.0;
const PAUSE_FACTOR: f64 = 10.0;

/// Takes lines in order and folds those that are the same, in memory that depends on how many different ones there
/// are.
#[derive(Debug, Default)]
pub(super) struct Folds {
    groups: Vec<Group>,
    open: HashMap<String, usize>,
    taken: usize,
}

#[derive(Debug)]
struct Group {
    /// The first few, each with its place in the story.
    few: Vec<(usize, Line)>,
    /// All of them in one.
    whole: Line,
}

impl Folds {
    pub(super) fn take(&mut self, line: Line) {
        self.taken += 1;
        let key = key(&line);
        let open = self.open.get(&key).map(|&at| &mut self.groups[at]);
        match open.filter(|group| !group.paused_before(&line)) {
            Some(group) => {
                if group.whole.times < FEW {
                    group.few.push((self.taken, line.clone()));
                }
                group.whole.absorb(line);
            }
            None => {
                self.groups.push(Group { few: vec![(self.taken, line.clone())], whole: line });
                self.open.insert(key, self.groups.len() - 1);
            }
        }
    }

    /// The story: what was folded stands where it began.
    pub(super) fn finish(self) -> Vec<Line> {
        let mut lines: Vec<(usize, Line)> = self.groups.into_iter().flat_map(Group::told).collect();
        lines.sort_by_key(|(place, _)| *place);
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

impl Group {
    fn told(self) -> Vec<(usize, Line)> {
        let few = if self.whole.is_equal_each_time() { FEW_EQUAL } else { FEW };
        if self.whole.times > few { vec![(self.few[0].0, self.whole)] } else { self.few }
    }

    fn paused_before(&self, line: &Line) -> bool {
        let Line { first, last, times, .. } = &self.whole;
        if *times < 2 {
            return false;
        }
        let usual = last.step.saturating_sub(first.step) as f64 / (times - 1) as f64;
        let pause = line.first.step.saturating_sub(last.step) as f64;
        pause > PAUSE_STEPS && pause > PAUSE_FACTOR * usual
    }
}

impl Line {
    fn is_equal_each_time(&self) -> bool {
        self.knobs.is_empty() && self.results.is_empty() && self.last_deeds.is_none() && !self.why_differs
    }

    /// Takes a later line that is the same.
    fn absorb(&mut self, next: Self) {
        self.times += next.times;
        self.last = next.last;
        for (own, next) in [(&mut self.knobs, next.knobs), (&mut self.results, next.results)] {
            for (track, next) in own.iter_mut().zip(next) {
                track.path = track.path.then(&next.path);
                track.writers = next.writers;
            }
        }
        if self.last_deeds.is_some() || next.deeds != self.deeds {
            self.last_deeds = Some(next.deeds);
        }
        self.why_differs |= self.why != next.why;
        self.why = next.why;
        self.evaluations.1 = next.evaluations.1;
    }
}

/// What is the same in lines that are told as one.
fn key(line: &Line) -> String {
    let by: Vec<String> = line.by.iter().map(|actor| format!("{actor:?}")).collect();
    let knob = |track: &super::line::Track| format!("{} {}", track.name, track.path.is_flat());
    let knobs: Vec<String> = line.knobs.iter().map(knob).collect();
    let results: Vec<&str> = line.results.iter().map(|track| track.name.as_str()).collect();
    format!("{:?}\n{by:?}\n{knobs:?}\n{results:?}\n{}", line.hook, line.shape)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            entry::Actor,
            line::{Place, Track},
            path::Path,
        },
        *,
    };

    fn write(step: u64, by: &str, before: f64, after: f64) -> Line {
        let name = "learning-rate/*".to_owned();
        let path = Path::from(before).to(after);
        let track = Track { names: vec![name.clone()], name, path, writers: Vec::new() };
        Line { knobs: vec![track], ..Line::at(Place { step, epoch: step as f64 / 100.0 }) }.by(Actor::named(by))
    }

    fn told(lines: impl IntoIterator<Item = Line>) -> Vec<String> {
        let mut folds = Folds::default();
        lines.into_iter().for_each(|line| folds.take(line));
        folds.finish().iter().map(Line::words).collect()
    }

    /// Up to 0.2 in 200 steps, and down again in 600.
    fn rate(step: u64) -> f64 {
        if step < 200 { step as f64 / 1e3 } else { 0.2 - (step - 200) as f64 / 3e3 }
    }

    #[test]
    fn a_schedule_is_one_line_and_what_comes_in_between_is_told() {
        let schedule = (0..800).map(|step| write(step, "schedule", rate(step), rate(step + 1)));
        let plateau = [write(300, "plateau", 0.1, 0.05), write(600, "plateau", 0.05, 0.025)];
        let mut lines: Vec<Line> = schedule.chain(plateau).collect();
        lines.sort_by_key(|line| line.first.step);
        assert_eq!(
            told(lines),
            [
                "steps 0–799 · epochs 0.00–7.99 · schedule: learning-rate/* 0 → 0.2 → 0, 800 times",
                "step 300 · epoch 3.00 · plateau: learning-rate/* 0.1 → 0.05",
                "step 600 · epoch 6.00 · plateau: learning-rate/* 0.05 → 0.025",
            ]
        );
    }

    #[test]
    fn few_lines_are_told_one_by_one_and_a_long_pause_ends_a_fold() {
        let steps = (0..FEW).map(|step| write(step, "a", 0.0, 1.0));
        assert_eq!(told(steps).len(), 8);
        let saves = (0..4).map(|step| Line::deed(Place { step, epoch: 0.0 }, "save", "save `best`"));
        assert_eq!(told(saves), ["steps 0–3 · epoch 0.00: save `best`, 4 times"]);
        let twice = (0..50).chain(700..720).map(|step| write(step, "a", 0.0, 1.0));
        assert_eq!(
            told(twice),
            [
                "steps 0–49 · epochs 0.00–0.49 · a: learning-rate/* 0 → 1, 50 times",
                "steps 700–719 · epochs 7.00–7.19 · a: learning-rate/* 0 → 1, 20 times",
            ]
        );
    }

    #[test]
    fn a_value_that_stays_is_another_thing_than_one_that_moves() {
        let lines = (0..30).map(|step| {
            let (before, after) = if step == 12 { (0.1, 0.01) } else { (0.1, 0.1) };
            write(step, "a", before, after)
        });
        assert_eq!(
            told(lines),
            [
                "steps 0–29 · epochs 0.00–0.29 · a: learning-rate/* stays 0.1, 29 times",
                "step 12 · epoch 0.12 · a: learning-rate/* 0.1 → 0.01",
            ]
        );
    }

    #[test]
    fn the_last_reason_is_told_and_that_there_were_others() {
        let lines = |why: fn(u64) -> String| {
            (0..10).map(move |step| Line { why: why(step), ..Line::deed(Place { step, epoch: 0.0 }, "skip", "drop") })
        };
        assert_eq!(told(lines(|_| "NaN".into())), ["steps 0–9 · epoch 0.00: drop, 10 times (NaN)"]);
        assert_eq!(
            told(lines(|step| format!("loss {step}"))),
            ["steps 0–9 · epoch 0.00: drop, 10 times (the last time: loss 9)"]
        );
    }

    #[test]
    fn memory_depends_on_different_lines_only() {
        let mut folds = Folds::default();
        (0..10_000).for_each(|step| folds.take(write(step, "a", 0.0, 1.0)));
        assert_eq!((folds.groups.len(), folds.groups[0].few.len() as u64), (1, FEW));
    }
}
