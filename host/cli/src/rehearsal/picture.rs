//! A rehearsal in a few lines of text: its losses drawn with block characters, and a row of marks below.
//!
//! Main function: [`picture`].

use host_callback::{Decision, Verdict};

use super::Play;

/// Characters of a row.
const WIDTH: usize = 60;
/// From the lowest to the highest value.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Where a value is not a number.
const NOT_A_NUMBER: char = '!';
/// Values are drawn by their logarithm where the highest is this many times the lowest.
const WIDE: f64 = 20.0;

/// What a mark stands for, the more important ones first; one column shows one mark.
const MARKS: [(char, &str); 8] = [
    ('!', "failure"),
    ('x', "refused"),
    ('S', "stop"),
    ('R', "restore"),
    ('k', "skip"),
    ('*', "knob"),
    ('s', "save"),
    ('n', "note"),
];

/// Loss and evaluation, one row each, and marks where something was decided, with what they stand for.
pub(crate) fn picture(play: &Play) -> String {
    let mut text = String::new();
    let row = |name: &str, cells: String| format!("    {name:<10} {}\n", cells.trim_end());
    for (name, points) in &play.series {
        text += &row(name, curve(points, play.steps));
    }
    let marks: Vec<Option<usize>> = (0..WIDTH).map(|column| mark_of(play, column)).collect();
    let cells = marks.iter().map(|mark| mark.map_or(' ', |mark| MARKS[mark].0)).collect::<String>();
    if !cells.trim().is_empty() {
        let legend = MARKS.iter().enumerate().filter(|(at, _)| marks.contains(&Some(*at)));
        let legend: Vec<String> = legend.map(|(_, (mark, meaning))| format!("{mark} {meaning}")).collect();
        text += &row("", cells);
        text += &row("", legend.join(", "));
    }
    text
}

fn column(step: u64, steps: u64) -> usize {
    (step.saturating_sub(1) as usize * WIDTH / steps.max(1) as usize).min(WIDTH - 1)
}

/// Of several values in one column the largest one is drawn, so that a spike is seen; one that is not a number wins.
fn curve(points: &[(u64, f64)], steps: u64) -> String {
    let mut cells: [Option<f64>; WIDTH] = [None; WIDTH];
    for &(step, value) in points {
        let cell = &mut cells[column(step, steps)];
        // Not `max`, which would drop a NaN.
        if cell.is_none_or(|drawn| drawn.is_finite() && (value > drawn || value.is_nan())) {
            *cell = Some(value);
        }
    }
    let finite = || points.iter().map(|(_, value)| *value).filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let scale = |value: f64| if low > 0.0 && high / low > WIDE { value.ln() } else { value };
    let level = |value: f64| {
        let part = (scale(value) - scale(low)) / (scale(high) - scale(low));
        // A flat line is a low one.
        LEVELS[((part * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
    };
    let cell =
        |value: &Option<f64>| value.map_or(' ', |value| if value.is_finite() { level(value) } else { NOT_A_NUMBER });
    cells.iter().map(cell).collect()
}

fn mark_of(play: &Play, at: usize) -> Option<usize> {
    let cues = play.cues.iter().filter(|cue| column(cue.step, play.steps) == at);
    let marks = cues.flat_map(|cue| {
        let failed = (!cue.failures.is_empty()).then_some("failure");
        failed.into_iter().chain(cue.decisions.iter().filter_map(|(decision, verdict)| meaning(decision, verdict)))
    });
    marks.filter_map(|meaning| MARKS.iter().position(|(_, it)| *it == meaning)).min()
}

fn meaning(decision: &Decision, verdict: &Verdict) -> Option<&'static str> {
    Some(match (decision, verdict) {
        (_, Verdict::Refused(_)) => "refused",
        (Decision::Stop(_) | Decision::EndEpoch(_), _) => "stop",
        (Decision::Restore(_), _) => "restore",
        (Decision::Skip(_), _) => "skip",
        (Decision::Set { .. } | Decision::Scale { .. }, _) => "knob",
        (Decision::Save(_), _) => "save",
        (Decision::Note(_), _) => "note",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use host_callback::Hook;

    use super::*;
    use crate::rehearsal::Cue;

    #[test]
    fn a_curve_falls_and_shows_what_is_not_a_number() {
        let points: Vec<(u64, f64)> = (1..=60).map(|step| (step, 61.0 - step as f64)).collect();
        let falling = curve(&points, 60);
        assert!(falling.starts_with('█') && falling.ends_with('▁'), "{falling}");
        assert_eq!(falling.chars().count(), WIDTH);
        let broken = curve(&[(1, 1.0), (30, f64::NAN), (60, 1.0)], 60);
        assert_eq!(broken.chars().filter(|c| *c == NOT_A_NUMBER).count(), 1, "{broken}");
        assert_eq!(curve(&[], 0).trim(), "");
    }

    #[test]
    fn a_column_has_its_most_important_mark() {
        let cue = |step, decisions| Cue {
            step,
            hook: Hook::StepEnd,
            values: Default::default(),
            decisions,
            failures: vec![],
        };
        let note = (Decision::Note("a".into()), Verdict::Applied);
        let stop = (Decision::Stop("b".into()), Verdict::Applied);
        let refused = (Decision::Stop("c".into()), Verdict::Refused("no".into()));
        let cues = vec![cue(1, vec![note.clone()]), cue(30, vec![note, stop]), cue(60, vec![refused])];
        let drawn = picture(&Play { cues, steps: 60, ..Play::default() });
        let rows: Vec<&str> = drawn.lines().map(|row| &row[15..]).collect();
        assert_eq!((rows[0].find('n'), rows[0].find('S'), rows[0].find('x')), (Some(0), Some(29), Some(59)));
        assert_eq!(rows[1], "x refused, S stop, n note");
    }
}
