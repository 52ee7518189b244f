//! Makes a guest's words fit to be shown: not too long, and unable to steer a terminal.
//!
//! It does not know what the words are for. Main functions: [`clean`], [`few`].

/// Faults that are listed; what has more has one mistake many times.
const MAX_FAULTS: usize = 20;

/// The first of a list of faults, and a word about the others.
pub(crate) fn few(mut faults: Vec<String>) -> Vec<String> {
    let rest = faults.len().saturating_sub(MAX_FAULTS);
    if rest > 0 {
        faults.truncate(MAX_FAULTS);
        faults.push(format!("and {rest} more"));
    }
    faults
}

/// The text, cut to `max_bytes` (then it ends in `…`), with control characters other than `\n` and `\t` escaped.
pub(crate) fn clean(mut text: String, max_bytes: usize) -> String {
    const MARK: &str = "…";
    if text.len() > max_bytes {
        let mut end = max_bytes.saturating_sub(MARK.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MARK);
    }
    // Control characters are below 0x20, 0x7f, or two bytes of which the first is 0xc2.
    let suspicious = |byte: u8| byte < 0x20 && byte != b'\n' && byte != b'\t' || byte == 0x7f || byte == 0xc2;
    if !text.bytes().any(suspicious) {
        return text;
    }
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.chars().fold(String::with_capacity(text.len() + 16), |mut clean, c| {
        if harmful(c) {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
        clean
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_cut_at_a_character() {
        assert_eq!(clean("abc".into(), 3), "abc");
        assert_eq!(clean("äöüäöü".into(), 8), "äö…");
        assert_eq!(clean("x".repeat(100), 16), format!("{}…", "x".repeat(13)));
    }

    #[test]
    fn a_long_list_is_cut() {
        let faults = |count: usize| vec!["a fault".to_owned(); count];
        assert_eq!(few(faults(20)), faults(20));
        assert_eq!(few(faults(50))[19..], ["a fault", "and 30 more"]);
    }

    #[test]
    fn a_terminal_is_not_steered() {
        assert_eq!(clean("a\x1b[2Jb\r\n\tc\u{9b}".into(), 100), "a\\u{1b}[2Jb\\r\n\tc\\u{9b}");
        assert_eq!(clean("¬ \x7f".into(), 100), "¬ \\u{7f}");
    }
}
