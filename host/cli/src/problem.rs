//! Errors as people read them: a message, the place where the mistake is, what helps, and the causes.
//!
//! It does not end the program: `main` does, with [`Problems::exit`]. Main types: [`Problem`], [`Problems`].

use std::{error::Error, fmt, ops::Range, sync::Arc};

use miette::{
    Diagnostic, GraphicalTheme, LabeledSpan, MietteHandler, MietteHandlerOpts, NamedSource, ReportHandler, SourceCode,
    ThemeCharacters, ThemeStyles,
};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{exit::Exit, terminal::Look};

/// One thing that is wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    message: String,
    place: Option<Place>,
    help: Option<String>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Problem {
    /// A problem with a message: a fragment that begins in lower case and ends without a full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: printable(&message.into()), place: None, help: None, cause: None }
    }

    /// Says where it is.
    pub(crate) fn at(self, place: Option<Place>) -> Self {
        Self { place, ..self }
    }

    /// Says what to do about it; nothing where the text is empty.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        let help = printable(&help.into());
        Self { help: if help.is_empty() { None } else { Some(help) }, ..self }
    }

    /// Says what it follows from; the cause's own causes are shown too.
    pub(crate) fn caused_by(self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Where it is, if that is known.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        causes
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl Diagnostic for Problem {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|place| &place.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.place.as_ref().map(|place| Box::new(place.spans.iter().cloned()) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

/// For `--json`: `message`, `causes`, `help`, and where there is a place `source`, `line`, `column`, `label`.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Problem", 7)?;
        fields.serialize_field("message", &self.message)?;
        if let Some(place) = &self.place {
            let (line, column) = place.position();
            fields.serialize_field("source", place.source.name())?;
            fields.serialize_field("line", &line)?;
            fields.serialize_field("column", &column)?;
            fields.serialize_field("label", &place.spans[0].label())?;
        }
        fields.serialize_field("help", &self.help)?;
        fields.serialize_field("causes", &self.causes())?;
        fields.end()
    }
}

/// A stretch of a text, with a word on it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    source: Arc<NamedSource<String>>,
    /// Never empty; the first one is the place, others are shown with it.
    spans: Vec<LabeledSpan>,
}

impl Place {
    /// The bytes `span` of a text.
    pub(crate) fn new(source: &Arc<NamedSource<String>>, span: Range<usize>, label: impl Into<String>) -> Self {
        let primary = LabeledSpan::new_primary_with_span(worded(label), visible(source.inner(), span));
        Self { source: Arc::clone(source), spans: vec![primary] }
    }

    /// Shows another stretch of the same text too.
    pub(crate) fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.spans.push(LabeledSpan::new_with_span(worded(label), span));
        self
    }

    /// Whether it is a stretch of this text.
    pub(crate) fn is_in(&self, source: &Arc<NamedSource<String>>) -> bool {
        Arc::ptr_eq(&self.source, source)
    }

    /// The first byte.
    pub(crate) fn offset(&self) -> usize {
        self.spans[0].offset()
    }

    /// Line and column of the beginning, both from 1, the column in characters.
    fn position(&self) -> (usize, usize) {
        let text = self.source.inner();
        let before = text.get(..self.spans[0].offset()).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// A stretch that can be seen: the end of a text is shown on its last character.
fn visible(text: &str, span: Range<usize>) -> Range<usize> {
    let end = text.trim_end().len();
    if span.start < end {
        return span;
    }
    let last = text[..end].chars().next_back().map_or(0, char::len_utf8);
    end - last..end
}

fn worded(label: impl Into<String>) -> Option<String> {
    Some(printable(&label.into())).filter(|label| !label.is_empty())
}

/// Text without what a terminal would take for a command: it may come from a plugin's schema.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Everything that keeps a command from doing its work, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Problems {
    exit: Exit,
    problems: Vec<Problem>,
}

impl Problems {
    /// One problem or several of one kind.
    pub(crate) fn new(exit: Exit, problems: Vec<Problem>) -> Self {
        Self { exit, problems }
    }

    /// The exit code that they call for.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The first problem in one line, with its place.
    pub(crate) fn first(&self) -> String {
        let Some(problem) = self.problems.first() else { return self.exit.meaning().to_owned() };
        let Some(place) = &problem.place else { return problem.to_string() };
        let (line, column) = place.position();
        let label = place.spans[0].label().map(|label| format!(" ({label})")).unwrap_or_default();
        format!("{}:{line}:{column}: {problem}{label}", place.source.name())
    }

    /// All problems, each with its excerpt, and their number at the end where there are several.
    pub(crate) fn render(&self, look: Look) -> String {
        let handler = handler(look);
        let mut text = String::new();
        for problem in &self.problems {
            text.push_str(&Shown(&handler, problem).to_string());
            text.push('\n');
        }
        if self.problems.len() > 1 {
            text.push_str(&format!("{} problems: {}\n", self.problems.len(), self.exit.meaning()));
        }
        text
    }
}

impl From<(Exit, Problem)> for Problems {
    fn from((exit, problem): (Exit, Problem)) -> Self {
        Self::new(exit, vec![problem])
    }
}

impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.problems.serialize(to)
    }
}

struct Shown<'a>(&'a MietteHandler, &'a Problem);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}

fn handler(look: Look) -> MietteHandler {
    // The word and not only a sign: what is red in a terminal must be found by `grep error` in a log.
    let characters = if look.terminal { ThemeCharacters::unicode() } else { ThemeCharacters::ascii() };
    let characters = ThemeCharacters { error: "error:".into(), ..characters };
    let styles = if look.color { ThemeStyles::ansi() } else { ThemeStyles::none() };
    MietteHandlerOpts::new()
        .graphical_theme(GraphicalTheme { characters, styles })
        .color(look.color)
        .force_graphical(true)
        .terminal_links(false)
        .with_cause_chain()
        .without_syntax_highlighting()
        .context_lines(1)
        // Wrapped lines are good to read in a terminal and bad to search in a log.
        .wrap_lines(look.terminal)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Problem {
        let text = "[train]\nepochs = 60\nbatch-size = 0\n";
        let source = Arc::new(NamedSource::new("train.toml", text.to_owned()));
        let start = text.find("0\n\u{0}").unwrap_or(text.rfind('0').unwrap());
        Problem::new("`train.batch-size` is 0")
            .at(Some(Place::new(&source, start..start + 1, "must be a whole number, at least 1")))
            .help("samples of one forward pass")
    }

    #[test]
    fn a_plain_rendering_has_message_place_label_and_help() {
        let text = Problems::from((Exit::Configuration, sample())).render(Look::PLAIN);
        let expected = "  error: `train.batch-size` is 0
   ,-[train.toml:3:14]
 2 | epochs = 60
 3 | batch-size = 0
   :              |
   :              `-- must be a whole number, at least 1
   `----
  help: samples of one forward pass

";
        assert_eq!(text, expected, "{text}");
        assert!(text.is_ascii());
    }

    #[test]
    fn causes_are_shown_down_to_the_root() {
        #[derive(Debug, thiserror::Error)]
        #[error("the checkpoint cannot be read")]
        struct Outer(#[source] std::io::Error);
        let problem =
            Problem::new("`--resume runs/a-1` is not possible").caused_by(Outer(std::io::Error::other("disk on fire")));
        let text = Problems::from((Exit::Checkpoint, problem)).render(Look::PLAIN);
        let [top, middle, root] =
            ["--resume", "the checkpoint", "disk on fire"].map(|word| text.find(word).expect("it is shown"));
        assert!(top < middle && middle < root, "{text}");
    }

    #[test]
    fn the_end_of_a_text_is_shown_on_its_last_character() {
        for (text, span, expected) in [
            ("ab\n", 0..1, 0..1),
            ("ab\n", 1..1, 1..1),
            ("ab\n", 3..3, 1..2),
            ("ab", 2..2, 1..2),
            ("a\u{e9}\n\n", 4..5, 1..3),
            ("", 0..0, 0..0),
        ] {
            assert_eq!(visible(text, span.clone()), expected, "{text:?} {span:?}");
        }
    }

    #[test]
    fn colors_come_only_where_they_are_wanted() {
        let problems = Problems::from((Exit::Configuration, sample()));
        assert!(problems.render(Look { color: true, terminal: true }).contains("\u{1b}["));
        assert!(!problems.render(Look { color: false, terminal: true }).contains("\u{1b}["));
    }

    #[test]
    fn nobody_sends_commands_to_the_terminal() {
        let problem = Problem::new("a\u{1b}[2Jb").help("c\u{7}d");
        let text = Problems::from((Exit::Plugin, problem)).render(Look::PLAIN);
        assert_eq!(text, "  error: a\u{fffd}[2Jb\n  help: c\u{fffd}d\n\n");
    }

    #[test]
    fn json_has_line_and_column_from_one() {
        let json = serde_json::to_value(Problems::from((Exit::Configuration, sample()))).unwrap();
        assert_eq!(json[0]["source"], "train.toml");
        assert_eq!((&json[0]["line"], &json[0]["column"]), (&3.into(), &14.into()));
        assert_eq!(json[0]["label"], "must be a whole number, at least 1");
    }
}
