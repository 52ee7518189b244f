//! Numbers, times and foreign texts as people read them, in the terminal and in the report.
//!
//! The only way for a text that a guest, a task or a file gave to reach the terminal is [`printable`]. It does
//! not escape markup: the report's Markdown does that on top.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use indicatif::HumanCount;

/// The longest foreign text in one line, in characters.
const LONGEST_LINE: usize = 300;

/// What names of learning rates begin with; the group follows.
pub(super) const RATE: &str = "learning-rate/";

/// A foreign text as one line that cannot move the cursor, change colours or reverse the reading order.
///
/// Control characters (C0, DEL, C1), line and paragraph separators, and marks that turn the direction of text
/// become visible escapes such as `\n` and `\u{1b}`; everything else stays.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// A foreign text of several lines: like [`printable`], but line breaks stay and tabs become spaces.
pub(crate) fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| printable(&line.replace('\t', "    ")).into_owned()).collect();
    lines.join("\n")
}

/// [`printable`], cut after 300 characters.
pub(crate) fn short(text: &str) -> String {
    shortened(&printable(text), LONGEST_LINE)
}

/// At most `longest` characters of a text; what is cut is told by `…`.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{061c}')
}

/// A count with separators: `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    HumanCount(n).to_string()
}

/// A measured number in few characters: four significant digits, with an exponent when it is very small or
/// large. NaN and infinities keep their names.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return spelled(value).to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}").replace(".000e", "e");
    }
    if size >= 1000.0 {
        return format!("{}{}", if value < 0.0 { "-" } else { "" }, count(size.round() as u64));
    }
    // Digits before the point count as significant ones: 123.4, 12.34, 1.234, 0.1234.
    let decimals = (3 - size.log10().floor() as i32).clamp(1, 6) as usize;
    format!("{value:.decimals$}")
}

/// A value of a knob as it was written: `0.0003`, `3e-7`, `128`.
pub(crate) fn setting(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        spelled(value).to_owned()
    } else if value != 0.0 && !(1e-3..1e7).contains(&size) {
        let text = format!("{value:.3e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
    } else {
        let text = format!("{value:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// The learning rates among values: one for all groups where they are equal, else one for each.
pub(super) fn learning_rates<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> Vec<String> {
    let group = |(name, value): (&'a str, f64)| Some((name.strip_prefix(RATE)?, value));
    let rates: Vec<(&str, f64)> = values.filter_map(group).collect();
    match rates.first() {
        Some((_, first)) if rates.iter().all(|(_, rate)| rate == first) => vec![format!("lr {}", setting(*first))],
        _ => rates.iter().map(|(group, rate)| format!("lr/{} {}", printable(group), setting(*rate))).collect(),
    }
}

/// A number that is not finite, as JSON files of the run have it.
fn spelled(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// A stretch of time: `820ms`, `12s`, `1m 23s`, `2h 3m 11s`.
pub(crate) fn stretch(time: Duration) -> String {
    let round = match time.as_millis() {
        0 => Duration::from_micros(time.as_micros() as u64),
        millis if millis < 10_000 => Duration::from_millis(millis as u64),
        _ => Duration::from_secs(time.as_secs()),
    };
    humantime::format_duration(round).to_string().replace("us", "µs")
}

/// A stretch of time given in seconds; what is no time is 0.
pub(crate) fn seconds(seconds: f64) -> String {
    stretch(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// A moment in RFC 3339, UTC, with milliseconds. A clock before 1970 counts as 1970.
pub(crate) fn moment(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time.max(SystemTime::UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_get_through() {
        for (text, safe) in [
            ("plain, ünï© 中文", "plain, ünï© 中文"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("\x1b[2J\x1b]0;title\x07", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{7f}", "\\u{7f}"),
            ("\u{202e}evil", "\\u{202e}evil"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("a\u{2028}b", "a\\u{2028}b"),
        ] {
            assert_eq!(printable(text), safe);
        }
        assert_eq!(printable_lines("a\tb\r\nc\x1b[1m"), "a    b\nc\\u{1b}[1m");
        assert_eq!(short(&"x".repeat(1000)).chars().count(), 301);
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.123456, "0.1235"),
            (1.0, "1.000"),
            (12.3456, "12.35"),
            (123.456, "123.5"),
            (1234.5, "1,235"),
            (-1234.5, "-1,235"),
            (0.00012345, "1.234e-4"),
            (0.001, "0.001000"),
            (2e9, "2e9"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(figure(value), text);
        }
        for (value, text) in [
            (0.0, "0"),
            (3e-4, "3e-4"),
            (0.01, "0.01"),
            (128.0, "128"),
            (1.5e-7, "1.5e-7"),
            (-0.25, "-0.25"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(setting(value), text);
        }
    }

    #[test]
    fn equal_learning_rates_are_one() {
        let rates = |values: &[(&'static str, f64)]| learning_rates(values.iter().copied());
        assert_eq!(rates(&[("loss", 1.0), ("learning-rate/a", 0.002)]), ["lr 0.002"]);
        assert_eq!(rates(&[("learning-rate/a", 0.002), ("learning-rate/b", 0.002)]), ["lr 0.002"]);
        assert_eq!(
            rates(&[("learning-rate/a", 0.002), ("learning-rate/\x1b", 1e-4)]),
            ["lr/a 0.002", "lr/\\u{1b} 1e-4"]
        );
        assert!(rates(&[("loss", 1.0)]).is_empty());
    }

    #[test]
    fn times_are_readable() {
        for (millis, text) in
            [(0, "0s"), (820, "820ms"), (9_500, "9s 500ms"), (83_400, "1m 23s"), (7_391_000, "2h 3m 11s")]
        {
            assert_eq!(stretch(Duration::from_millis(millis)), text);
        }
        assert_eq!(stretch(Duration::from_nanos(540_300)), "540µs");
        assert_eq!(seconds(f64::NAN), "0s");
        assert_eq!(moment(SystemTime::UNIX_EPOCH + Duration::from_millis(86_400_123)), "1970-01-02T00:00:00.123Z");
        assert_eq!(moment(SystemTime::UNIX_EPOCH - Duration::from_secs(5)), "1970-01-01T00:00:00.000Z");
    }
}
