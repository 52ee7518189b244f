//! `report.md`: the outcome of a run for people, the most important things first.
//!
//! Every text that a guest, a task or a person gave goes through [`escaped`] or a fenced block. Main function:
//! [`page`].

use std::time::Duration;

use host_callback::{Consequence, Summary};
use host_trainer::Artifact;

use super::{
    ReportInputs, chart,
    page::{Page, escaped},
};
use crate::{
    story::Line,
    telemetry::{Checkpoint, Evaluation, Failed, status, words},
};

/// How many columns a table of evaluations has at most.
const MOST_COLUMNS: usize = 8;

/// How many lines of the story are told, from its beginning and from its end.
const STORY: (usize, usize) = (40, 60);

/// The whole page.
pub(super) fn page(inputs: &ReportInputs<'_>, story: &[Line], has_chart: bool) -> String {
    let mut page = Page::new(&inputs.run);
    outcome(&mut page, inputs);
    if has_chart {
        page.paragraph(&format!("![Training and validation loss over steps]({})", chart::FILE));
    }
    evaluations(&mut page, inputs);
    tell(&mut page, inputs, story);
    callbacks(&mut page, inputs);
    decisions(&mut page, inputs);
    failures(&mut page, inputs);
    checkpoints(&mut page, &inputs.checkpoints);
    inputs.artifacts.iter().for_each(|artifact| left(&mut page, artifact));
    environment(&mut page, inputs);
    page.finish()
}

fn outcome(page: &mut Page, inputs: &ReportInputs<'_>) {
    let history = inputs.history;
    page.paragraph(&format!("**{}** – {}", capitalised(status(&inputs.ending)), escaped(&inputs.ending.words())));
    let progress = history.progress;
    let mut rows = vec![
        ("steps", words::count(progress.step)),
        ("epochs", format!("{:.2}", progress.epoch)),
        ("samples", words::count(progress.samples)),
    ];
    if progress.tokens > 0 {
        rows.push(("tokens", words::count(progress.tokens)));
    }
    rows.push(("time", words::stretch(inputs.elapsed)));
    let rates = [("samples/s", inputs.samples_per_second()), ("tokens/s", inputs.tokens_per_second())];
    rows.extend(rates.into_iter().filter_map(|(name, rate)| Some((name, words::figure(rate?)))));
    if history.began.step > 0 {
        rows.push(("resumed at step", words::count(history.began.step)));
    }
    rows.push(("parameters", words::count(history.parameters as u64)));
    rows.push(("device", escaped(history.device.as_deref().unwrap_or(&inputs.environment.device))));
    page.table(&["", "#"], rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    measurements(page, inputs);
}

/// Best and final values of the losses and of what evaluations measured.
fn measurements(page: &mut Page, inputs: &ReportInputs<'_>) {
    let rows: Vec<Vec<String>> = inputs
        .history
        .series
        .keys()
        .map(|name| {
            let best = inputs.history.best.get(name);
            vec![
                escaped(name),
                best.map_or("–".to_owned(), |best| words::figure(best.value)),
                best.map_or("–".to_owned(), |best| words::count(best.step)),
                inputs.history.last(name).map_or("–".to_owned(), words::figure),
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.table(&["measurement", "#best", "#at step", "#final"], rows);
    }
}

fn evaluations(page: &mut Page, inputs: &ReportInputs<'_>) {
    let history = inputs.history;
    let Some(newest) = history.evaluations.back() else { return };
    page.section("Evaluations");
    let mut names: Vec<&str> = newest.values.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.truncate(MOST_COLUMNS);
    let titles: Vec<String> = names.iter().map(|name| format!("#{}", escaped(name))).collect();
    let titles: Vec<&str> = ["#step", "#epoch"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let best = history.best_evaluation.as_ref();
    let is_best = |one: &Evaluation| best.is_some_and(|best| best.step == one.step);
    // The best one is shown too when it is older than all that are kept.
    let older = best.filter(|best| !history.evaluations.iter().any(|one| one.step == best.step));
    let shown = older.into_iter().chain(&history.evaluations);
    page.table(&titles, shown.map(|one| evaluation(one, &names, is_best(one))));
    if let Some(name) = history.decisive().filter(|_| best.is_some()) {
        page.paragraph(&format!("The best one by `{}` is in bold.", name.replace('`', "'")));
    }
}

fn evaluation(one: &Evaluation, names: &[&str], best: bool) -> Vec<String> {
    let value = |name: &&str| one.values.iter().find(|(own, _)| own == name).map(|(_, value)| words::figure(*value));
    let values = names.iter().map(|name| value(name).unwrap_or_else(|| "–".to_owned()));
    let cells = [words::count(one.step), format!("{:.2}", one.epoch)].into_iter().chain(values);
    if best { cells.map(|cell| format!("**{cell}**")).collect() } else { cells.collect() }
}

fn callbacks(page: &mut Page, inputs: &ReportInputs<'_>) {
    let callbacks = &inputs.history.callbacks;
    page.section("Callbacks");
    if callbacks.is_empty() {
        return page.paragraph("This run had none.");
    }
    let row = |one: &Summary| {
        vec![
            escaped(one.by.instance.as_str()),
            escaped(&format!("{} {}", one.by.plugin, one.by.version)),
            one.by.sha256.as_deref().map_or("built in".to_owned(), |sha256| format!("`{}`", prefix(sha256))),
            one.state.word().to_owned(),
            words::count(one.calls),
            words::count(one.decisions),
            words::count(one.failures),
            words::count(one.fuel),
            words::seconds(one.seconds),
            percent(inputs.share(one)),
        ]
    };
    let titles = [
        "instance",
        "plugin",
        "sha256",
        "state",
        "#calls",
        "#decisions",
        "#failures",
        "#fuel",
        "#time",
        "#share of run",
    ];
    page.table(&titles, callbacks.iter().map(row));
    if inputs.history.began.step > 0 {
        let step = words::count(inputs.history.began.step);
        page.paragraph(&format!("Counted from step {step} on, where this process began."));
    }
    if let Some(slowest) = inputs.slowest() {
        page.paragraph(&format!(
            "The slowest is **{}** with {}, {} of the run.",
            escaped(slowest.by.instance.as_str()),
            words::seconds(slowest.seconds),
            percent(inputs.share(slowest)),
        ));
    }
}

/// What was decided, by whom, and what followed. What happened again and again is one line.
fn tell(page: &mut Page, inputs: &ReportInputs<'_>, story: &[Line]) {
    page.section("Story");
    let (beginning, end) = STORY;
    let line = |line: &Line| escaped(&line.words());
    match story.len().checked_sub(beginning + end).filter(|&hidden| hidden > 0) {
        None => page.list(story.iter().map(line)),
        Some(hidden) => {
            page.list(story[..beginning].iter().map(line));
            page.paragraph(&format!("{} lines are left out here.", words::count(hidden as u64)));
            page.list(story[story.len() - end..].iter().map(line));
        }
    }
    let place = inputs.place.display().to_string().replace('`', "'");
    page.paragraph(&format!(
        "`host show {place}` tells all of it, also by knob, by callback or by steps; every decision, with its outcome \
         and the values before and after, is in `timeline.jsonl`."
    ));
}

fn decisions(page: &mut Page, inputs: &ReportInputs<'_>) {
    let decisions = &inputs.history.decisions;
    if decisions.is_empty() {
        return;
    }
    page.section("Decisions");
    let rows = decisions.iter().map(|one| {
        let counts = [one.applied, one.merged, one.overruled, one.refused].map(words::count);
        [escaped(&one.instance), one.decision.to_owned()].into_iter().chain(counts).collect()
    });
    page.table(&["instance", "decision", "#applied", "#merged", "#overruled", "#refused"], rows);
}

fn failures(page: &mut Page, inputs: &ReportInputs<'_>) {
    let failures = &inputs.history.failures;
    if failures.total() == 0 {
        return;
    }
    page.section("Failed calls");
    let row = |one: &Failed| {
        let failure = &one.failure.failure;
        vec![
            words::count(one.step),
            plugin(one.failure.by.instance.as_str(), &one.failure.by.plugin, &one.failure.by.version),
            one.hook.to_string(),
            failure.kind.words().to_owned(),
            escaped(&failure.message),
            words::count(failure.fuel),
            duration(failure.time),
            follows(failure.consequence).to_owned(),
        ]
    };
    let titles = ["#step", "instance", "hook", "cause", "message", "#fuel", "#time", "then"];
    page.table(&titles, failures.iter().map(row));
    let (shown, total) = (failures.iter().len() as u64, failures.total());
    if shown < total {
        page.paragraph(&format!("These are the last {shown} of {}.", words::count(total)));
    }
}

fn plugin(instance: &str, plugin: &str, version: &str) -> String {
    escaped(&format!("{instance} ({plugin} {version})"))
}

fn follows(consequence: Consequence) -> &'static str {
    match consequence {
        Consequence::Restart => "restarted",
        Consequence::Disabled => "disabled",
        Consequence::StopRun => "run stopped",
    }
}

fn checkpoints(page: &mut Page, checkpoints: &[Checkpoint]) {
    if checkpoints.is_empty() {
        return;
    }
    page.section("Checkpoints");
    let row = |one: &Checkpoint| {
        let tags: Vec<String> = one.tags.iter().map(|tag| escaped(tag)).collect();
        vec![format!("checkpoints/{}", escaped(&one.name)), words::count(one.step), tags.join(", ")]
    };
    page.table(&["folder", "#step", "tags"], checkpoints.iter().map(row));
}

fn left(page: &mut Page, artifact: &Artifact) {
    match artifact {
        Artifact::Text { name, text } => {
            page.section(&capitalised(&escaped(name)));
            page.block(text);
        }
        Artifact::Table { name, columns, rows } => {
            page.section(&capitalised(&escaped(name)));
            let titles: Vec<String> = columns.iter().map(|column| format!("#{}", escaped(column))).collect();
            let titles: Vec<&str> = [""].into_iter().chain(titles.iter().map(String::as_str)).collect();
            page.table(&titles, rows.iter().map(|(name, values)| row(name, values)));
        }
    }
}

fn row(name: &str, values: &[f64]) -> Vec<String> {
    [escaped(name)].into_iter().chain(values.iter().map(|value| words::setting(*value))).collect()
}

fn environment(page: &mut Page, inputs: &ReportInputs<'_>) {
    let environment = inputs.environment;
    page.section("Environment");
    let mut rows = vec![
        ("program", format!("host {} ({})", environment.version, environment.target)),
        ("device", format!("{}: {}", environment.device, environment.device_reason)),
        ("backend", environment.backend.clone()),
        ("threads", environment.threads.to_string()),
        ("started", environment.started.clone()),
        ("command", environment.command.join(" ")),
    ];
    let optional = [
        ("processor", &environment.cpu),
        ("git commit", &environment.git_commit),
        ("resumed from", &environment.resumed_from),
    ];
    rows.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    page.table(&["", ""], rows.into_iter().map(|(name, value)| vec![name.to_owned(), escaped(&value)]));
}

fn duration(time: Duration) -> String {
    words::stretch(time)
}

/// A part of a whole, for people.
pub(super) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.001 { "< 0.1 %".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

/// The beginning of a hash, long enough to tell files apart.
fn prefix(sha256: &str) -> String {
    sha256.chars().filter(char::is_ascii_hexdigit).take(12).collect()
}

/// A text with its first letter large.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};

    fn written() -> String {
        let (history, environment) = (sample::history(), crate::environment::tests::sample());
        let artifacts = sample::artifacts();
        page(&sample::inputs(&history, &environment, &artifacts), &sample::story(3), true)
    }

    #[test]
    fn the_page_says_what_happened() {
        let page = written();
        for part in [
            "# quickstart-3\n\n**Stopped** – early: no improvement \\| for 3 evaluations\\\\u\\{1b\\}\\[31m\n",
            "| steps | 1,000 |",
            "| time | 1m 40s |",
            "![Training and validation loss over steps](loss.svg)",
            "| eval/loss | 0.7814 | 600 | 1.637 |",
            "| **600** | **60.00** | **0.5455** | **0.7814** |",
            "| slow | plug 1.2.3 | `abababababab` | running | 100 | 12 | 1 | 60,000 | 20s | 20.0 % |",
            "The slowest is **slow** with 20s, 20.0 % of the run.",
            "| a | stop | 1 | 0 | 0 | 0 |",
            "| 1,000 | a (plug 1.2.3) | evaluate-end | trap | index \\`7\\` out of \\| bounds\\\\n\\# not a heading | 1,234 | 2ms | restarted |",
            "- step 2 · epoch 0.20 · evaluate-end · a 1.2.3: stop the run (a \\| b\\\\u\\{1b\\}\\[31m)\n",
            "`host show runs/quickstart-3` tells all of it",
            "| checkpoints/step-600 | 600 | best |",
            "## Sample\n\n````text\nonce ```upon\n# a time\\u{1b}[2J\n````\n",
            "|  | cat | d\\|og |\n| --- | ---: | ---: |\n| cat | 9 | NaN |\n| d\\|og | 2 | 8.5 |\n",
            "| processor | A \\| B |",
        ] {
            assert!(page.contains(part), "{part}\nis not in\n{page}");
        }
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn a_long_story_is_told_from_both_ends() {
        let (history, environment) = (sample::history(), crate::environment::tests::sample());
        let inputs = sample::inputs(&history, &environment, &[]);
        let told = |lines: usize| page(&inputs, &sample::story(lines), false);
        let count = |page: &str| page.lines().filter(|line| line.starts_with("- step")).count();
        let whole = told(100);
        assert_eq!((count(&whole), whole.contains("left out")), (100, false));
        let long = told(5_000);
        assert_eq!(count(&long), 100);
        for part in ["- step 39 ", "4,900 lines are left out here.", "- step 4,940 ", "- step 4,999 "] {
            assert!(long.contains(part), "{part}\nis not in\n{long}");
        }
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells_as_its_head() {
        let page = written();
        let cells = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
        let mut head = None;
        for line in page.lines() {
            let count = line.starts_with('|').then(|| cells(line));
            assert!(head.is_none() || count.is_none() || head == count, "{line}");
            head = count;
        }
    }

    #[test]
    fn a_small_share_is_not_nothing() {
        for (share, text) in [(0.0, "0.0 %"), (0.0004, "< 0.1 %"), (0.1234, "12.3 %"), (1.0, "100.0 %")] {
            assert_eq!(percent(share), text);
        }
    }
}
