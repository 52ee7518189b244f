//! The line about an event for people, and which events are worth one.
//!
//! Writes to knobs are not: a schedule makes one a step. What a callback does again and again within a few
//! steps is told three times and then at each power of ten. It does not write lines anywhere, and needs no
//! clock, so two runs with one seed tell the same. Main type: [`Headlines`].

use host_callback::{CallbackFailure, Consequence, Decision, FailureRecord, Hook, Record, Value, Verdict};
use host_trainer::RunEvent;

use super::{lines::scalars, news::Story, words};

/// Steps without a repetition after which something counts as new.
const BURST_STEPS: u64 = 20;
/// How often something is told before only powers of ten are.
const TOLD_AT_FIRST: u64 = 3;
/// How many values a line has at most.
const MOST_VALUES: usize = 8;

/// Makes headlines, and remembers what was told already.
#[derive(Debug, Default)]
pub(super) struct Headlines {
    bursts: Vec<Burst>,
}

/// The same thing again and again: one for each instance, kind of decision and outcome.
#[derive(Debug)]
struct Burst {
    instance: String,
    kind: String,
    outcome: &'static str,
    last_step: u64,
    times: u64,
}

impl Headlines {
    /// The line about an event, if it is worth one now.
    pub(super) fn of(&mut self, event: &RunEvent<'_>) -> Option<String> {
        match event {
            RunEvent::Decided { progress, record, .. } => self.decided(progress.step, record),
            RunEvent::CallbackFailed { progress, hook, failure } => self.failed(progress.step, *hook, failure),
            other => plain(other),
        }
    }

    fn decided(&mut self, step: u64, record: &Record) -> Option<String> {
        if is_silent(record) {
            return None;
        }
        let (outcome, _) = super::lines::outcome(&record.verdict);
        let times = self.times(record.by.instance.as_str(), kind(&record.decision), outcome, step)?;
        Some(format!("step {} · {}{}", words::count(step), decision(record), again(times)))
    }

    fn failed(&mut self, step: u64, hook: Hook, record: &FailureRecord) -> Option<String> {
        let instance = record.by.instance.as_str();
        // What takes an instance out of the run happens once, and is told however often it failed before.
        let outcome = if record.failure.consequence == Consequence::Restart { "restart" } else { "lost" };
        let times = self.times(instance, "failure", outcome, step)?;
        let failure = failure(&record.failure);
        let who = format!("{instance} ({})", words::short(&format!("{} {}", record.by.plugin, record.by.version)));
        Some(format!("step {} · {who} failed at {hook}: {failure}{}", words::count(step), again(times)))
    }

    /// The line about a story, if it is worth one now. What the wiring says of the whole run always is.
    ///
    /// Before the loop has begun there is no step to name.
    pub(super) fn story(&mut self, step: u64, begun: bool, story: &Story) -> Option<String> {
        let level = story.details.get("level").and_then(serde_json::Value::as_str);
        // What a guest tells its author is in the timeline.
        if level == Some("debug") {
            return None;
        }
        let times = match &story.instance {
            Some(instance) => self.times(instance, &story.topic, if story.warning { "warning" } else { "" }, step)?,
            None => 1,
        };
        let warning = if story.warning { "warning: " } else { "" };
        let at = if begun { format!("step {} · ", words::count(step)) } else { String::new() };
        Some(format!("{at}{warning}{}{}", story.line(), again(times)))
    }

    /// How often this happened in the running burst, if this time is one to tell.
    fn times(&mut self, instance: &str, kind: &str, outcome: &'static str, step: u64) -> Option<u64> {
        let same = |burst: &&mut Burst| burst.kind == kind && burst.outcome == outcome && burst.instance == instance;
        let burst = match self.bursts.iter_mut().find(same) {
            Some(burst) => burst,
            None => {
                let (instance, kind) = (instance.to_owned(), kind.to_owned());
                let new = Burst { instance, kind, outcome, last_step: step, times: 0 };
                self.bursts.push(new);
                self.bursts.last_mut()?
            }
        };
        if step.saturating_sub(burst.last_step) > BURST_STEPS {
            burst.times = 0;
        }
        burst.last_step = step;
        burst.times += 1;
        let tell = burst.times <= TOLD_AT_FIRST || is_power_of_ten(burst.times);
        tell.then_some(burst.times)
    }
}

/// What is not worth a line when it is carried out: it is told in another way, or happens all the time.
fn is_silent(record: &Record) -> bool {
    let everyday = matches!(
        record.decision,
        Decision::Set { .. } | Decision::Scale { .. } | Decision::Report { .. } | Decision::Log | Decision::Mute(_)
    );
    everyday && matches!(record.verdict, Verdict::Applied | Verdict::Merged)
}

fn is_power_of_ten(n: u64) -> bool {
    n.checked_ilog10().is_some_and(|digits| 10_u64.pow(digits) == n)
}

fn again(times: u64) -> String {
    if times > TOLD_AT_FIRST { format!(" ({} times by now)", words::count(times)) } else { String::new() }
}

/// Who decided what, and what became of it.
fn decision(record: &Record) -> String {
    let what = words::short(&record.decision.to_string());
    let instance = &record.by.instance;
    match &record.verdict {
        Verdict::Applied => format!("{instance}: {what}"),
        Verdict::Merged => format!("{instance}: {what}, as another callback asked already"),
        Verdict::Overruled(why) => format!("{instance}: {what} overruled: {}", words::short(why)),
        Verdict::Refused(why) => format!("{instance}: {what} refused: {}", words::short(why)),
    }
}

/// How a call failed, and what follows.
fn failure(failure: &CallbackFailure) -> String {
    format!("{}: {}; {}", failure.kind.words(), words::short(&failure.message), follows(failure.consequence))
}

/// What follows from a failed call.
pub(crate) fn follows(consequence: Consequence) -> &'static str {
    match consequence {
        Consequence::Restart => "a new instance goes on",
        Consequence::Disabled => "it is not called again",
        Consequence::StopRun => "the run must not go on without it",
    }
}

/// The line about an event that is told each time.
fn plain(event: &RunEvent<'_>) -> Option<String> {
    let at = |step: u64| format!("step {}", words::count(step));
    Some(match event {
        RunEvent::Started { device, parameters, progress } => {
            let from = if progress.step == 0 { String::new() } else { format!(" from {}", at(progress.step)) };
            let parameters = words::count(*parameters as u64);
            format!("training {parameters} parameters on {}{from}", words::printable(device))
        }
        RunEvent::Evaluated { progress, values, seconds } => {
            format!("{} · evaluation: {} ({})", at(progress.step), figures(values), words::seconds(*seconds))
        }
        RunEvent::Saved { progress, checkpoint, tags, .. } => {
            format!("{} · saved {}{}", at(progress.step), words::short(checkpoint), tag_list(tags))
        }
        RunEvent::SaveFailed { progress, error } => {
            format!("{} · save failed, older checkpoints are as they were: {}", at(progress.step), words::short(error))
        }
        RunEvent::EvaluationFailed { progress, error } => format!("{} · {}", at(progress.step), words::short(error)),
        RunEvent::Restored { progress, tag, step } => {
            format!("{} · weights and optimizer put back to {} (`{}`)", at(progress.step), at(*step), words::short(tag))
        }
        _ => return None,
    })
}

fn tag_list(tags: &[String]) -> String {
    let tags: Vec<_> = tags.iter().filter(|tag| !tag.is_empty()).map(|tag| words::printable(tag)).collect();
    if tags.is_empty() { String::new() } else { format!(" ({})", tags.join(", ")) }
}

/// The first scalars among values, as `name value, name value`.
fn figures(values: &[(String, Value)]) -> String {
    let figures: Vec<String> = scalars(values).take(MOST_VALUES).map(figure).collect();
    figures.join(", ")
}

/// A measurement and its value.
pub(super) fn figure((name, value): (&str, f64)) -> String {
    format!("{} {}", words::printable(name), words::figure(value))
}

/// A decision's kind, as the contract names it.
pub(crate) fn kind(decision: &Decision) -> &'static str {
    match decision.request() {
        Some(request) => request.name(),
        None => match decision {
            Decision::Set { .. } => "set",
            Decision::Scale { .. } => "scale",
            Decision::Report { .. } => "report",
            _ => "note",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{super::samples, *};

    fn told(decision: &Decision, verdict: &Verdict, steps: impl IntoIterator<Item = u64>) -> Vec<String> {
        let record = samples::record(decision.clone(), verdict.clone());
        let mut headlines = Headlines::default();
        let mut of = |step| {
            let progress = samples::at(step);
            headlines.of(&RunEvent::Decided { progress, hook: Hook::StepEnd, record: &record })
        };
        steps.into_iter().filter_map(&mut of).collect()
    }

    #[test]
    fn a_schedule_is_silent_and_a_refusal_is_not() {
        let set = Decision::Set { knob: "learning-rate".into(), value: f64::NAN };
        assert_eq!(told(&set, &Verdict::Applied, 1..1000), Vec::<String>::new());
        let refused = told(&set, &Verdict::Refused("not a number".into()), 1..=1000);
        assert_eq!(refused[0], "step 1 · a: set learning-rate to NaN refused: not a number");
        assert_eq!(refused.len(), 6);
        assert_eq!(refused[5], "step 1,000 · a: set learning-rate to NaN refused: not a number (1,000 times by now)");
    }

    #[test]
    fn what_comes_now_and_then_is_told_each_time() {
        let save = Decision::Save("best".into());
        assert_eq!(told(&save, &Verdict::Applied, (1..=9).map(|n| n * 100)).len(), 9);
    }

    #[test]
    fn a_guests_words_cannot_move_the_cursor() {
        let line = told(&Decision::Stop("\x1b[2Jgone\n".into()), &Verdict::Applied, [7]).remove(0);
        assert_eq!(line, "step 7 · a: stop (\\u{1b}[2Jgone\\n)");
        let failure = samples::failure("\x07beep");
        let event = RunEvent::CallbackFailed { progress: samples::at(7), hook: Hook::StepEnd, failure: &failure };
        assert_eq!(
            Headlines::default().of(&event).unwrap(),
            "step 7 · a (plug 1.2.3) failed at step-end: trap: \\u{7}beep; a new instance goes on"
        );
        let story = Headlines::default().story(7, false, &Story::new("log", "\x1bc").about("a").warning());
        assert_eq!(story.unwrap(), "warning: a: \\u{1b}c");
    }

    #[test]
    fn a_guest_that_logs_all_the_time_does_not_flood_the_terminal() {
        let mut headlines = Headlines::default();
        let mut lines = |story: &Story, steps: u64| {
            (1..=steps).filter_map(|step| headlines.story(step, step > 1, story)).collect::<Vec<_>>()
        };
        let told = lines(&Story::new("log", "hello").about("a"), 1_000);
        assert_eq!(told.len(), 6);
        assert_eq!((&*told[0], &*told[3]), ("a: hello", "step 10 · a: hello (10 times by now)"));
        assert_eq!(lines(&Story::new("log", "hello").about("b"), 2).len(), 2);
        assert_eq!(lines(&Story::new("file", "not a component").warning(), 10).len(), 10);
        assert_eq!(lines(&Story::new("log", "detail").about("c").with("level", "debug"), 10).len(), 0);
    }
}
