//! Which lines of a story are wanted, and what there is where none of them is.
//!
//! Main types: [`Filter`], [`Steps`].

use std::{collections::BTreeSet, ops::RangeInclusive, str::FromStr};

use host_callback::{Pattern, did_you_mean};

use super::{cast::Member, line::Line};
use crate::{
    exit::Exit,
    problem::{Problem, Problems},
    telemetry::words,
};

/// What a line must be about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// A knob that was written, or was to be.
    pub(crate) knob: Option<Pattern>,
    /// A callback that had a part in it.
    pub(crate) by: Option<Pattern>,
    /// Finished steps.
    pub(crate) steps: Option<Steps>,
}

/// Some steps, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps(RangeInclusive<u64>);

/// A text that names no steps.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` names no steps: write one, such as 1200, or the first and the last, such as 1000..1300, 1000.. or ..1300"
)]
pub(crate) struct BadSteps(String);

impl FromStr for Steps {
    type Err = BadSteps;

    fn from_str(text: &str) -> Result<Self, BadSteps> {
        let bad = || BadSteps(text.to_owned());
        let step = |text: &str, open: u64| match text {
            "" => Ok(open),
            text => text.replace(['_', ','], "").parse().map_err(|_| bad()),
        };
        let range = match text.split_once("..") {
            None if text.is_empty() => return Err(bad()),
            None => step(text, 0)?..=step(text, 0)?,
            Some((first, last)) => step(first, 0)?..=step(last.trim_start_matches('='), u64::MAX)?,
        };
        if range.is_empty() { Err(bad()) } else { Ok(Self(range)) }
    }
}

/// What was seen while lines were chosen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    chosen: u64,
    /// Every knob that a line is about.
    knobs: BTreeSet<String>,
    /// Of lines that fit in all but their steps: the last one before and the first one after them.
    before: Option<u64>,
    after: Option<u64>,
}

impl Filter {
    /// Whether every line is wanted.
    pub(crate) fn is_open(&self) -> bool {
        self.knob.is_none() && self.by.is_none() && self.steps.is_none()
    }

    /// Whether a line is wanted.
    pub(super) fn wants(&self, line: &Line, seen: &mut Seen) -> bool {
        let knobs = || line.knobs.iter().flat_map(|track| &track.names).chain(&line.refused);
        for knob in knobs() {
            if !seen.knobs.contains(knob) {
                seen.knobs.insert(knob.clone());
            }
        }
        let knob = self.knob.as_ref().is_none_or(|pattern| knobs().any(|knob| pattern.covers(knob)));
        let by = self.by.as_ref().is_none_or(|pattern| line.by.iter().any(|by| pattern.matches(&by.instance)));
        let fits = knob && by && self.fits_steps(line.first.step, seen);
        seen.chosen += u64::from(fits);
        fits
    }

    fn fits_steps(&self, step: u64, seen: &mut Seen) -> bool {
        let Some(Steps(steps)) = &self.steps else { return true };
        if step < *steps.start() {
            seen.before = Some(step);
        } else if step > *steps.end() {
            seen.after.get_or_insert(step);
        }
        steps.contains(&step)
    }

    /// Says what there is instead, where no line was wanted.
    ///
    /// # Errors
    ///
    /// When a filter fits no line.
    pub(super) fn check(&self, seen: &Seen, cast: &[Member]) -> Result<(), Problems> {
        if seen.chosen > 0 || self.is_open() {
            return Ok(());
        }
        let callbacks: BTreeSet<&str> = cast.iter().map(Member::name).collect();
        if let Some(by) = self.by.as_ref().filter(|by| !callbacks.iter().any(|name| by.matches(name))) {
            return Err(unknown("--by", "callback of this run", by, &callbacks));
        }
        let knobs: BTreeSet<&str> = seen.knobs.iter().map(String::as_str).collect();
        if let Some(knob) = self.knob.as_ref().filter(|knob| !knobs.iter().any(|name| knob.covers(name))) {
            return Err(unknown("--knob", "knob that was written", knob, &knobs));
        }
        let near: Vec<String> = [seen.before, seen.after].into_iter().flatten().map(words::count).collect();
        let help = if near.is_empty() {
            "each filter by itself fits some line, and no line fits all of them".to_owned()
        } else {
            format!("the nearest ones are at step {}", near.join(" and "))
        };
        Err(usage("no line of the story fits these filters".to_owned(), help))
    }
}

fn unknown(flag: &str, what: &str, pattern: &Pattern, names: &BTreeSet<&str>) -> Problems {
    let near = did_you_mean(pattern.as_str(), names.iter().copied());
    let all = names.iter().copied().collect::<Vec<_>>().join(", ");
    let all = if all.is_empty() { "there is none".to_owned() } else { format!("there are: {all}") };
    usage(format!("`{flag} {pattern}`: no {what} is called so{near}"), all)
}

fn usage(message: String, help: String) -> Problems {
    (Exit::Usage, Problem::new(message).help(help)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_or_a_range_with_both_ends() {
        let steps = |text: &str| text.parse::<Steps>().map(|steps| steps.0);
        assert_eq!(steps("1200").unwrap(), 1200..=1200);
        assert_eq!(steps("1,000..1_300").unwrap(), 1000..=1300);
        assert_eq!(steps("1000..=1300").unwrap(), 1000..=1300);
        assert_eq!(steps("1000..").unwrap(), 1000..=u64::MAX);
        assert_eq!(steps("..7").unwrap(), 0..=7);
        assert_eq!(steps("..").unwrap(), 0..=u64::MAX);
        for bad in ["", "a", "1-2", "9..3", "-1", "1..2..3", "1.5"] {
            assert!(steps(bad).unwrap_err().to_string().contains("1000..1300"), "{bad}");
        }
    }
}
