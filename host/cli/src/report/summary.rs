//! The summary of a run for the terminal: a few aligned lines, none longer than 100 characters.
//!
//! Every foreign text is made [`printable`](words::printable). It does not print. Main function: [`summary`].

use host_callback::{Standing, Summary};

use super::{ReportInputs, markdown::percent};
use crate::telemetry::{status, words};

/// The longest line, in characters.
const WIDTH: usize = 100;
/// The longest name of a measurement before it breaks the alignment.
const LONGEST_NAME: usize = 28;
/// How many measurements and callbacks are shown; the report has all.
const MOST_ROWS: usize = 12;

/// The lines, each ended with a newline.
pub(crate) fn summary(inputs: &ReportInputs<'_>) -> String {
    let history = inputs.history;
    let mut lines = vec![(status(&inputs.ending).to_owned(), words::short(&inputs.ending.words()))];
    lines.push(("length".into(), length(inputs)));
    lines.push(("time".into(), time(inputs)));
    lines.extend(history.series.keys().take(MOST_ROWS).map(|name| {
        let last = history.last(name).map(words::figure).unwrap_or_default();
        let best = history.best.get(name);
        let best =
            best.map(|best| format!(" (best {} at step {})", words::figure(best.value), words::count(best.step)));
        (words::shortened(&words::printable(name), LONGEST_NAME), format!("{last}{}", best.unwrap_or_default()))
    }));
    lines.extend(history.callbacks.iter().take(MOST_ROWS).map(|callback| line_of(inputs, callback)));
    if let Some(hidden) = history.callbacks.len().checked_sub(MOST_ROWS).filter(|&hidden| hidden > 0) {
        lines.push(("…".into(), format!("and {hidden} more callbacks")));
    }
    if let Some(slowest) = inputs.slowest().filter(|_| history.callbacks.len() > 1) {
        let share = percent(inputs.share(slowest));
        lines.push((
            "slowest".into(),
            format!("{}, {} ({share})", slowest.by.instance, words::seconds(slowest.seconds)),
        ));
    }
    lines.push(("report".into(), words::printable(&inputs.place.join("report.md").to_string_lossy()).into_owned()));
    aligned(&lines)
}

fn length(inputs: &ReportInputs<'_>) -> String {
    let progress = inputs.history.progress;
    let tokens =
        if progress.tokens > 0 { format!(", {} tokens", words::count(progress.tokens)) } else { String::new() };
    let (steps, samples) = (words::count(progress.step), words::count(progress.samples));
    format!("{steps} steps, {:.2} epochs, {samples} samples{tokens}", progress.epoch)
}

fn time(inputs: &ReportInputs<'_>) -> String {
    let rates = [(inputs.samples_per_second(), "samples/s"), (inputs.tokens_per_second(), "tokens/s")];
    let rates = rates.into_iter().filter_map(|(rate, unit)| Some(format!(", {} {unit}", words::figure(rate?))));
    format!("{}{}", words::stretch(inputs.elapsed), rates.collect::<String>())
}

fn line_of(inputs: &ReportInputs<'_>, callback: &Summary) -> (String, String) {
    let plugin = words::short(&format!("{} {}", callback.by.plugin, callback.by.version));
    let several = |count, one: &str| format!("{} {one}{}", words::count(count), if count == 1 { "" } else { "s" });
    let failures = match callback.failures {
        0 => String::new(),
        n => format!(", {}", several(n, "failure")),
    };
    let state = match callback.state {
        Standing::Running => String::new(),
        other => format!("{}, ", other.word()),
    };
    let (calls, decisions) = (several(callback.calls, "call"), several(callback.decisions, "decision"));
    let share = percent(inputs.share(callback));
    let text = format!("{state}{calls}, {decisions}{failures}, {share} of the time ({plugin})");
    (words::shortened(callback.by.instance.as_str(), LONGEST_NAME), text)
}

fn aligned(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, text): &(String, String)| words::shortened(&format!("{name:<width$}  {text}"), WIDTH - 1) + "\n";
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};

    #[test]
    fn the_summary_is_aligned_narrow_and_printable() {
        let (history, environment) = (sample::history(), crate::environment::tests::sample());
        let text = summary(&sample::inputs(&history, &environment, &[]));
        let expected = "\
stopped        early: no improvement | for 3 evaluations\\u{1b}[31m
length         1,000 steps, 100.00 epochs, 4,000 samples
time           1m 40s, 80.00 samples/s
eval/accuracy  0.9091 (best 0.9091 at step 1,000)
eval/loss      1.637 (best 0.7814 at step 600)
loss           NaN
quick          100 calls, 12 decisions, 1 failure, < 0.1 % of the time (plug 1.2.3)
slow           100 calls, 12 decisions, 1 failure, 20.0 % of the time (plug 1.2.3)
slowest        slow, 20s (20.0 %)
report         runs/quickstart-3/report.md
";
        assert_eq!(text, expected);
        let mut inputs = sample::inputs(&history, &environment, &[]);
        inputs.ending = host_trainer::Ending::Failed { error: "long ".repeat(100) };
        assert!(summary(&inputs).lines().all(|line| line.chars().count() <= WIDTH));
    }
}
