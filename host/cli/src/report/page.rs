//! A page of Markdown: headings, paragraphs, tables, blocks, and how foreign text is kept from being markup.
//!
//! It does not know what a report says. Main type: [`Page`].

use std::fmt::Write;

use crate::telemetry::words;

/// The longest text of a block, in characters.
const LONGEST_BLOCK: usize = 8_000;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// Starts a page with its title.
    pub(super) fn new(title: &str) -> Self {
        Self { text: format!("# {}\n", escaped(title)) }
    }

    /// Starts a section.
    pub(super) fn section(&mut self, title: &str) {
        let _ = write!(self.text, "\n## {title}\n");
    }

    /// Adds a paragraph of finished Markdown.
    pub(super) fn paragraph(&mut self, markdown: &str) {
        let _ = write!(self.text, "\n{markdown}\n");
    }

    /// Adds a list of finished Markdown.
    pub(super) fn list(&mut self, items: impl IntoIterator<Item = String>) {
        self.text.push('\n');
        for item in items {
            let _ = writeln!(self.text, "- {item}");
        }
    }

    /// Adds a table of finished Markdown. Columns whose title begins with `#` hold numbers and are set right;
    /// the sign itself is left out.
    pub(super) fn table(&mut self, titles: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        self.text.push('\n');
        self.row(titles.iter().map(|title| title.trim_start_matches('#')));
        self.row(titles.iter().map(|title| if title.starts_with('#') { "---:" } else { "---" }));
        for row in rows {
            self.row(row.iter().map(String::as_str));
        }
    }

    fn row<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        self.text.push('|');
        for cell in cells {
            let _ = write!(self.text, " {cell} |");
        }
        self.text.push('\n');
    }

    /// Adds a foreign text of several lines as it is, in a fence that the text cannot close.
    pub(super) fn block(&mut self, text: &str) {
        let text = words::shortened(&words::printable_lines(text), LONGEST_BLOCK);
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = write!(self.text, "\n{fence}text\n{text}\n{fence}\n");
    }

    /// The whole page.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// A foreign text as one line of Markdown that says exactly this text: nothing in it is markup, ends a table's
/// cell, or begins another line.
pub(super) fn escaped(text: &str) -> String {
    let text = words::short(text);
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // A backslash may stand before any ASCII punctuation; what means something only at the beginning of a
        // line is left readable.
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!' | '$' | '@'
        ) {
            safe.push('\\');
        }
        safe.push(c);
    }
    // Many readers turn a bare address into a link.
    safe.replace("://", "\\://").replace("www.", "www\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_never_markup() {
        for (text, safe) in [
            ("plain (text), 1.5", "plain (text), 1.5"),
            ("a|b", "a\\|b"),
            ("`code`", "\\`code\\`"),
            ("a\nb", "a\\\\nb"),
            ("**bold** _it_", "\\*\\*bold\\*\\* \\_it\\_"),
            ("<script>", "\\<script\\>"),
            ("![x](http://y)", "\\!\\[x\\](http\\://y)"),
            ("a\\|b", "a\\\\\\|b"),
            ("&lt;", "\\&lt;"),
            ("\x1b[31m", "\\\\u\\{1b\\}\\[31m"),
        ] {
            assert_eq!(escaped(text), safe, "{text:?}");
        }
    }

    #[test]
    fn a_block_cannot_be_closed_from_inside() {
        let mut page = Page::new("x");
        page.block("a\n```\n# b\n````\nc");
        assert_eq!(page.finish(), "# x\n\n`````text\na\n```\n# b\n````\nc\n`````\n");
    }

    #[test]
    fn a_table_sets_numbers_right() {
        let mut page = Page::default();
        page.table(&["name", "#n"], [vec!["a".to_owned(), "1".to_owned()]]);
        assert_eq!(page.finish(), "\n| name | n |\n| --- | ---: |\n| a | 1 |\n");
    }
}
