//! `host show`: a run as a story that people can read.
//!
//! It reads a run's folder and changes nothing in it; how the story comes about is [`story`](mod@crate::story)'s part.
//! Main function: [`run`].

use std::{borrow::Cow, fmt::Write as _, fs, path::Path};

use console::{Alignment, Style, Term, measure_text_width, pad_str};

use crate::{
    args::{Color, ShowArgs},
    exit::Exit,
    problem::{Problem, Problems},
    story::{self, Filter, Line, Member, Story, Tone, Wanted},
    terminal::{self, Look},
};

/// How many runs are named to somebody who named the folder that they are in.
const MOST_RUNS: usize = 5;
/// What the rest of a wrapped line begins with.
const INDENT: &str = "        ";

/// Tells a run.
///
/// # Errors
///
/// When the folder is none of a run, or no line fits the filters.
pub(crate) fn run(args: &ShowArgs, color: Color) -> Result<Exit, Problems> {
    if !story::is_run(&args.run) {
        return Err((Exit::RunFolder, no_run(&args.run)).into());
    }
    let filter = Filter { knob: args.knob.clone(), by: args.by.clone(), steps: args.steps.clone() };
    let whole = filter.is_open();
    let story = story::read(&args.run, Wanted { filter, all: args.all })
        .map_err(|error| Problems::from((Exit::RunFolder, Problem::new(error.to_string()))))?;
    story.notes.iter().for_each(|note| terminal::err(&format!("note: {note}\n")));
    story.check()?;
    let text = match args.json {
        true => json(&story, whole),
        false => Page::new(Look::of_stdout(color)).story(&story, whole),
    };
    terminal::out(&text);
    Ok(Exit::Success)
}

/// Says what the folder is instead.
fn no_run(folder: &Path) -> Problem {
    let place = folder.display();
    if !folder.is_dir() {
        let problem = Problem::new(format!("there is no folder `{place}`"));
        return problem.help("a run's folder is <run.folder>/<run.name>-<n>, such as runs/digits-1");
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<_> = entries.filter(|path| story::is_run(path)).collect();
    runs.sort_by_key(|path| path.metadata().and_then(|about| about.modified()).ok());
    let newest: Vec<String> = runs.iter().rev().take(MOST_RUNS).map(|path| path.display().to_string()).collect();
    let help = match newest.as_slice() {
        [] => "a run's folder is <run.folder>/<run.name>-<n>, such as runs/digits-1".to_owned(),
        newest => format!("runs in it, the newest first: {}", newest.join(", ")),
    };
    Problem::new(format!("`{place}` is not the folder of a run: it has no timeline.jsonl")).help(help)
}

/// One line for the run, one for each callback and each line of the story; with filters only the latter.
fn json(story: &Story, whole: bool) -> String {
    let top = Some(&story.facts).filter(|_| whole).map(story::Facts::json);
    let cast = story.cast.iter().filter(|_| whole).map(Member::json);
    let lines = top.into_iter().chain(cast).chain(story.lines.iter().map(Line::json));
    lines.map(|line| format!("{line}\n")).collect()
}

/// How text is set.
struct Page {
    look: Look,
    /// Columns of the terminal; nothing is wrapped where there is none.
    width: Option<usize>,
}

impl Page {
    fn new(look: Look) -> Self {
        let width = look.terminal.then(|| Term::stdout().size_checked()).flatten();
        Self { look, width: width.map(|(_, columns)| usize::from(columns)) }
    }

    /// The whole page; with filters the lines that fit and nothing else.
    fn story(&self, story: &Story, whole: bool) -> String {
        let mut text = String::new();
        if whole {
            let rows = story.facts.rows().into_iter();
            self.table(&mut text, rows.map(|(name, value)| ([name], value, Tone::Plain)).collect());
            text.push_str("\nCallbacks:\n");
            let cast: Vec<_> = story.cast.iter().map(Member::row).collect();
            if cast.is_empty() {
                text.push_str("none\n");
            }
            self.table(&mut text, cast.into_iter().map(|[a, b, c, did]| ([a, b, c], did, Tone::Plain)).collect());
            text.push_str("\nStory:\n");
        }
        let row =
            |line: &Line| ([line.steps(), line.epochs(), line.moment().to_owned(), line.who()], line.what(), line.tone);
        self.table(&mut text, story.lines.iter().map(row).collect());
        text
    }

    /// Columns of which the last one is as wide as it is; in a terminal long lines are wrapped between words.
    fn table<const N: usize>(&self, text: &mut String, rows: Vec<([String; N], String, Tone)>) {
        let width = |column: usize| rows.iter().map(|row| measure_text_width(&row.0[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..N).map(width).collect();
        for (cells, last, tone) in &rows {
            let cells = cells.iter().zip(&widths).filter(|(_, width)| **width > 0);
            let cells = cells.map(|(cell, width)| pad_str(cell, *width, Alignment::Left, None) + "  ");
            let line = cells.collect::<String>() + &self.toned(last, *tone);
            for piece in self.wrapped(line.trim_end()) {
                writeln!(text, "{piece}").expect("a String takes everything");
            }
        }
    }

    fn toned(&self, text: &str, tone: Tone) -> String {
        let style = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Landmark => Style::new().bold(),
            Tone::Warning => Style::new().yellow(),
        };
        style.force_styling(self.look.color).apply_to(text).to_string()
    }

    fn wrapped<'a>(&self, line: &'a str) -> Vec<Cow<'a, str>> {
        // At blanks only: a name such as `eval/loss` stays whole.
        let blanks = textwrap::WordSeparator::AsciiSpace;
        let whole = textwrap::WordSplitter::NoHyphenation;
        let options = |width| textwrap::Options::new(width).word_separator(blanks).word_splitter(whole);
        match self.width {
            Some(width) => textwrap::wrap(line, options(width).subsequent_indent(INDENT)),
            None => vec![line.into()],
        }
    }
}
