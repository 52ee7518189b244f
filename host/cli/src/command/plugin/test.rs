//! `host plugin test`: plays scenarios to a plugin, shows what it decides, and says what is wrong with that.
//!
//! It does not know how a scenario is played: `rehearsal` does. Main function: [`run`].

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use host_callback::{Decision, Manifest, Verdict};
use host_trainer::task::Course;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    load::{refused, sandbox},
    settings::settings,
};
use crate::{
    args::PluginTestArgs,
    config::folder_of,
    exit::Exit,
    problem::{Problem, Problems},
    rehearsal::{Cue, EPOCHS, Play, Stage, picture},
    run_folder::write_whole,
    telemetry::words,
    terminal,
};

/// Steps after which a new instance takes the plugin's place with its state, as after a resume.
const CHANGES: [u64; 4] = [37, 85, 104, 151];

/// More lines of one scenario are counted.
const MOST_LINES: usize = 16;

/// What a plugin did in the scenarios, as `--save` writes and `--expect` reads it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Answers {
    plugin: String,
    config: serde_json::Value,
    scenarios: BTreeMap<Course, Answer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Answer {
    ending: String,
    decided: Vec<Cue>,
}

/// Plays, shows and judges.
///
/// # Errors
///
/// A file that does not load or start, settings that are wrong, an answer file that cannot be read or written. What is
/// wrong with the plugin's answers is in the exit code.
pub(super) fn run(args: &PluginTestArgs) -> Result<Exit, Problems> {
    let plugin = sandbox()?.load(&args.file).map_err(|error| refused(&error))?;
    let manifest = plugin.manifest();
    let config = settings(manifest, args.tried.config.as_deref())?;
    let expected = args.expect.as_deref().map(read).transpose()?;
    let stage = Stage { file: &args.file, name: &manifest.name, config, set: args.tried.set.clone(), epochs: EPOCHS };
    let chosen = |course: &Course| args.scenario.is_empty() || args.scenario.contains(course);
    let mut played = BTreeMap::new();
    for course in Course::ALL.into_iter().filter(chosen) {
        let play = stage.play(course, &[])?;
        let mut faults = faults(&play);
        // What reads a clock decides otherwise each time: there is nothing to compare.
        if play.unsteady.is_none() {
            faults.extend(unequal(&play, &stage.play(course, &[])?, &stage.play(course, &CHANGES)?));
        }
        played.insert(course, (play, faults));
    }
    let answer = |play: &Play| Answer { ending: play.ending.clone(), decided: play.cues.clone() };
    if let Some(expected) = &expected {
        for (course, (play, faults)) in &mut played {
            faults.extend(differences(expected.scenarios.get(course), &answer(play)));
        }
    }
    let is_right = played.values().all(|(_, faults)| faults.is_empty());
    let mut remarks = Vec::new();
    if args.scenario.is_empty() {
        remarks.extend(never_made(manifest, played.values().map(|(play, _)| play)));
    }
    if let Some(name) = played.values().find_map(|(play, _)| play.unsteady.as_ref()) {
        remarks.push(format!(
            "it reads `{name}`, which is another number each time: whether it decides the same again, and after a resume, is \
             not compared"
        ));
    }
    let scenarios = played.iter().map(|(course, (play, _))| (*course, answer(play))).collect();
    let config = stage.instance(Course::Healthy)?.config;
    if expected.as_ref().is_some_and(|expected| expected.config != config) {
        remarks.push("what is expected was saved with other settings".into());
    }
    let answers = Answers { plugin: format!("{} {}", manifest.name, manifest.version), config, scenarios };
    if args.json {
        let faults: BTreeMap<_, _> = played.iter().map(|(course, (_, faults))| (course, faults)).collect();
        let all = json!({ "passed": is_right, "faults": faults, "remarks": remarks, "answers": answers });
        terminal::out(&format!("{all:#}\n"));
    } else {
        terminal::out(&told(&answers.plugin, &played, &remarks, args.all));
    }
    if let Some(file) = &args.save {
        let text = format!("{:#}\n", json!(answers));
        write_whole(&folder_of(file), file, text.as_bytes())
            .map_err(|error| about(file, "cannot be written", error))?;
    }
    Ok(if is_right { Exit::Success } else { Exit::PluginTest })
}

fn about(file: &Path, what: &str, error: impl std::error::Error + Send + Sync + 'static) -> Problems {
    (Exit::RunFolder, Problem::new(format!("the answers {} {what}", file.display())).caused_by(error)).into()
}

fn read(file: &Path) -> Result<Answers, Problems> {
    let text = fs::read_to_string(file).map_err(|error| about(file, "cannot be read", error))?;
    serde_json::from_str(&text).map_err(|error| about(file, "are no answers; `--save` writes such a file", error))
}

/// What is wrong with a plugin whatever it is for.
fn faults(play: &Play) -> Vec<String> {
    let mut faults = Vec::new();
    for cue in &play.cues {
        let at = format!("{} at step {}", cue.hook, cue.step);
        faults.extend(cue.failures.iter().map(|failure| format!("it fails in {at}: {failure}")));
        for (decision, verdict) in &cue.decisions {
            if let Verdict::Refused(why) = verdict {
                faults.push(format!("in {at} `{decision}` is refused: {why}"));
            }
        }
    }
    faults
}

/// How it differs when the same is played again, and when it is resumed on the way.
fn unequal(play: &Play, again: &Play, resumed: &Play) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(words) = first_difference(&play.cues, &again.cues) {
        faults.push(format!("it does not decide the same when the same is played again: {words}"));
    }
    if let Some(words) = first_difference(&play.cues, &resumed.cues) {
        faults.push(format!("it does not go on after a resume as it would have without: {words}"));
    }
    faults
}

/// Where the answers are others than those that were saved.
fn differences(expected: Option<&Answer>, answer: &Answer) -> Vec<String> {
    let Some(expected) = expected else {
        return vec!["nothing is expected of this scenario; `--save` writes all of them".into()];
    };
    let decided = first_difference(&expected.decided, &answer.decided);
    let ending = (expected.ending != answer.ending)
        .then(|| format!("the run ends with `{}` and not with `{}`", answer.ending, expected.ending));
    decided.map(|words| format!("it does not decide what is expected: {words}")).into_iter().chain(ending).collect()
}

/// The first moment at which two rows of decisions differ, in words.
fn first_difference(wanted: &[Cue], found: &[Cue]) -> Option<String> {
    let at = (0..wanted.len().max(found.len())).find(|&at| match (wanted.get(at), found.get(at)) {
        (Some(wanted), Some(found)) => comparable(wanted) != comparable(found),
        _ => true,
    })?;
    let words = |cue: Option<&Cue>| match cue {
        None => "nothing more".to_owned(),
        Some(cue) => {
            let decisions = cue.decisions.iter().map(|(decision, _)| format!("`{decision}`"));
            let all: Vec<String> = decisions.chain(cue.failures.iter().map(|why| format!("failure: {why}"))).collect();
            format!("{} in {} at step {}", all.join(", "), cue.hook, cue.step)
        }
    };
    let (wanted, found) = (words(wanted.get(at)), words(found.get(at)));
    Some(if wanted == found {
        format!("{found}, with other values or another outcome")
    } else {
        format!("{found}; and not {wanted}")
    })
}

/// A moment without the words of refusals, which name files of one rehearsal.
fn comparable(cue: &Cue) -> serde_json::Value {
    let mut cue = cue.clone();
    for (_, verdict) in &mut cue.decisions {
        if let Verdict::Refused(why) = verdict {
            why.clear();
        }
    }
    json!(cue)
}

/// What the manifest asks for and no scenario brought about.
fn never_made<'a>(manifest: &Manifest, plays: impl Iterator<Item = &'a Play>) -> Vec<String> {
    let decisions: Vec<&Decision> = plays.flat_map(Play::decisions).map(|(decision, _)| decision).collect();
    let is_made = |request| decisions.iter().any(|decision| decision.request() == Some(request));
    let missing = manifest.requests.iter().filter(|request| !is_made(**request));
    let mut remarks: Vec<String> =
        missing.map(|request| format!("it asks for `{request}`, and no scenario made it do that")).collect();
    let writes = |decision: &&Decision| matches!(decision, Decision::Set { .. } | Decision::Scale { .. });
    if !manifest.knobs.is_empty() && !decisions.iter().any(writes) {
        remarks.push("it asks for knobs, and no scenario made it turn one".into());
    }
    remarks
}

fn told(plugin: &str, played: &BTreeMap<Course, (Play, Vec<String>)>, remarks: &[String], all: bool) -> String {
    let mut text = format!("{plugin}\n");
    for (course, (play, faults)) in played {
        let name = json!(course).as_str().unwrap_or_default().to_owned();
        let calls: usize = play.calls.values().map(|calls| calls.seconds.len()).sum();
        writeln!(text, "\n{name}: {} steps, {calls} calls; {}", play.steps, words::short(&play.ending))
            .expect("a String");
        text += &picture(play);
        text += &lines(play, all);
        for fault in faults {
            writeln!(text, "  wrong: {}", words::short(fault)).expect("a String");
        }
    }
    text.push('\n');
    for remark in remarks {
        writeln!(text, "note: {remark}").expect("a String");
    }
    let faults: usize = played.values().map(|(_, faults)| faults.len()).sum();
    match faults {
        0 => writeln!(text, "{}, nothing wrong", count(played.len(), "scenario")).expect("a String"),
        _ => writeln!(text, "{}, {}", count(played.len(), "scenario"), count(faults, "fault")).expect("a String"),
    }
    text
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A table of what was decided; reports are counted unless all are wanted.
fn lines(play: &Play, all: bool) -> String {
    let mut text = String::new();
    let (mut reports, mut rows) = (0, Vec::new());
    for cue in &play.cues {
        for (decision, verdict) in &cue.decisions {
            if matches!(decision, Decision::Report { .. }) && *verdict == Verdict::Applied && !all {
                reports += 1;
                continue;
            }
            let values: Vec<String> = cue.values.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
            let became = match verdict {
                Verdict::Applied => String::new(),
                Verdict::Merged => " (merged)".into(),
                Verdict::Overruled(by) => format!(" (overruled by {by})"),
                Verdict::Refused(_) => " (refused)".into(),
            };
            rows.push((cue.step, cue.hook, format!("{decision}{became}"), values.join(", ")));
        }
    }
    let shown = if all { rows.len() } else { rows.len().min(MOST_LINES) };
    for (step, hook, decided, values) in &rows[..shown] {
        let (decided, values) = (words::short(decided), words::shortened(&words::printable(values), 100));
        writeln!(text, "  {step:>5}  {:<14}  {decided}", hook.to_string()).expect("a String");
        if all && !values.is_empty() {
            writeln!(text, "  {:>5}  {:<14}  shown: {values}", "", "").expect("a String");
        }
    }
    if rows.len() > shown {
        writeln!(text, "         and {} more; --all shows them", rows.len() - shown).expect("a String");
    }
    if reports > 0 {
        writeln!(text, "         and {reports} reports").expect("a String");
    }
    text
}
