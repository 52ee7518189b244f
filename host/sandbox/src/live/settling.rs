//! Decides when a changed file is still: its content is the same at two looks that lie a quiet period apart.
//!
//! One that is cut off as it stands gets ten of them: whoever writes it may pause.
//!
//! Pure: looks and their times come from outside, so that every way in which a file can arrive can be played through.
//! It does not look at files. Main type: [`Settling`].

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Print {
    /// Its size.
    pub(super) bytes: u64,
    /// SHA-256 in hexadecimal.
    pub(super) sha256: String,
    /// Whether nothing is missing at its end, as far as that can be seen.
    pub(super) is_whole: bool,
}

/// Quiet periods that a file gets which is cut off.
const PATIENCE: u32 = 10;

impl Print {
    fn quiet(print: Option<&Self>, quiet: Duration) -> Duration {
        if print.is_some_and(|print| !print.is_whole) { quiet * PATIENCE } else { quiet }
    }
}

/// A file that is still, and not as it was when it was still the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It has this content.
    Content(PathBuf, Print),
    /// It is not there any more.
    Removed(PathBuf),
}

/// The files of a watch, with what each holds and may be about to hold.
#[derive(Debug)]
pub(super) struct Settling {
    quiet: Duration,
    files: BTreeMap<PathBuf, Tracked>,
}

#[derive(Debug, Default)]
struct Tracked {
    settled: Option<Print>,
    /// What was seen instead, `None` for nothing, and since when.
    pending: Option<(Option<Print>, Duration)>,
}

impl Settling {
    pub(super) fn new(quiet: Duration) -> Self {
        Self { quiet, files: BTreeMap::new() }
    }

    /// Takes a content as known: it is no change.
    pub(super) fn assume(&mut self, path: PathBuf, print: Print) {
        self.files.insert(path, Tracked { settled: Some(print), pending: None });
    }

    /// Takes a look: everything that is there, and between which times it was looked at. They never go back.
    ///
    /// However long the look takes, no file settles earlier than a quiet period after it was found changed.
    pub(super) fn look(&mut self, looked: Range<Duration>, seen: &BTreeMap<PathBuf, Print>) -> Vec<Change> {
        for path in seen.keys() {
            if !self.files.contains_key(path) {
                self.files.insert(path.clone(), Tracked::default());
            }
        }
        let mut changes = Vec::new();
        for (path, tracked) in &mut self.files {
            let found = seen.get(path);
            if found == tracked.settled.as_ref() {
                tracked.pending = None;
                continue;
            }
            match &tracked.pending {
                Some((pending, since)) if pending.as_ref() == found => {
                    if looked.start.saturating_sub(*since) >= Print::quiet(found, self.quiet) {
                        tracked.settled = found.cloned();
                        tracked.pending = None;
                        changes.push(match found {
                            Some(print) => Change::Content(path.clone(), print.clone()),
                            None => Change::Removed(path.clone()),
                        });
                    }
                }
                _ => tracked.pending = Some((found.cloned(), looked.end)),
            }
        }
        self.files.retain(|_, tracked| tracked.settled.is_some() || tracked.pending.is_some());
        changes
    }

    /// When the next look can settle something; `None` where everything is still.
    pub(super) fn due(&self) -> Option<Duration> {
        self.pending().map(|(_, due)| due).min()
    }

    /// The files that are not still, and when they may be.
    pub(super) fn pending(&self) -> impl Iterator<Item = (&Path, Duration)> {
        self.files.iter().filter_map(|(path, tracked)| {
            let (print, since) = tracked.pending.as_ref()?;
            Some((path.as_path(), *since + Print::quiet(print.as_ref(), self.quiet)))
        })
    }

    /// What a file holds, as far as it was still.
    pub(super) fn settled(&self, path: &Path) -> Option<&Print> {
        self.files.get(path)?.settled.as_ref()
    }

    /// Every file that was still, with what it holds.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Path, &Print)> {
        self.files.iter().filter_map(|(path, tracked)| Some((path.as_path(), tracked.settled.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const QUIET: u64 = 300;
    /// A content that is not whole.
    const CUT_OFF: u8 = 250;

    fn print(content: u8) -> Print {
        Print { bytes: u64::from(content), sha256: content.to_string(), is_whole: content != CUT_OFF }
    }

    /// A look that takes no time.
    fn at(milliseconds: u64) -> Range<Duration> {
        let time = Duration::from_millis(milliseconds);
        time..time
    }

    /// Looks at one file (0 for none) at times in milliseconds; tells what each look settled.
    fn play(settling: &mut Settling, looks: impl IntoIterator<Item = (u64, u8)>) -> Vec<(u64, u8)> {
        let mut told = Vec::new();
        for (now, content) in looks {
            let seen = (content > 0).then(|| (PathBuf::from("a"), print(content)));
            for change in settling.look(at(now), &seen.into_iter().collect()) {
                told.push((
                    now,
                    match change {
                        Change::Content(_, print) => u8::try_from(print.bytes).unwrap(),
                        Change::Removed(_) => 0,
                    },
                ));
            }
        }
        told
    }

    fn with(content: u8) -> Settling {
        let mut settling = Settling::new(Duration::from_millis(QUIET));
        if content > 0 {
            settling.assume("a".into(), print(content));
        }
        settling
    }

    #[test]
    fn a15_however_a_file_arrives_it_is_taken_once_and_whole() {
        for (name, before, looks, told) in [
            ("a new file", 0, vec![(0, 1), (300, 1), (600, 1)], vec![(300, 1)]),
            ("a rename over it", 1, vec![(0, 2), (299, 2), (301, 2), (900, 2)], vec![(301, 2)]),
            ("delete and create", 1, vec![(0, 0), (100, 2), (350, 2), (400, 2)], vec![(400, 2)]),
            ("a copy in pieces", 1, vec![(0, 2), (200, 3), (400, 4), (600, 5), (900, 5)], vec![(900, 5)]),
            ("deleted", 1, vec![(0, 0), (300, 0), (600, 0)], vec![(300, 0)]),
            ("deleted and back, the same", 1, vec![(0, 0), (200, 1), (600, 1)], vec![]),
            ("changed and back", 1, vec![(0, 2), (200, 1), (600, 1)], vec![]),
            ("here and gone", 0, vec![(0, 1), (200, 0), (600, 0)], vec![]),
            ("a copy that pauses", 1, vec![(0, CUT_OFF), (2999, CUT_OFF), (3001, 2), (3301, 2)], vec![(3301, 2)]),
            (
                "a copy that broke off",
                1,
                vec![(0, CUT_OFF), (2999, CUT_OFF), (3000, CUT_OFF), (6000, CUT_OFF)],
                vec![(3000, CUT_OFF)],
            ),
            ("twice", 1, vec![(0, 2), (300, 2), (400, 3), (700, 3)], vec![(300, 2), (700, 3)]),
        ] {
            assert_eq!(play(&mut with(before), looks), told, "{name}");
        }
    }

    #[test]
    fn many_files_settle_each_by_itself() {
        let mut settling = with(0);
        let named = |n: u8| (PathBuf::from(format!("{n:03}")), print(n));
        let mut seen: BTreeMap<_, _> = (1..=100).map(named).collect();
        assert!(settling.look(at(0), &seen).is_empty());
        seen.insert("007".into(), print(200));
        let changes = settling.look(at(300), &seen);
        assert_eq!(changes.len(), 99, "the one that changed waits");
        assert_eq!(settling.due(), Some(Duration::from_millis(600)));
        assert_eq!(settling.look(at(600), &seen).len(), 1);
        assert_eq!((settling.due(), settling.all().count()), (None, 100));
    }

    #[test]
    fn a_look_that_takes_long_settles_nothing_early() {
        let mut settling = with(1);
        let mut look = |from: u64, to: u64, content: u8| {
            let seen = BTreeMap::from([(PathBuf::from("a"), print(content))]);
            settling.look(Duration::from_millis(from)..Duration::from_millis(to), &seen).len()
        };
        assert_eq!(look(0, 250, 2), 0, "it may have changed at 250");
        assert_eq!((look(300, 500, 2), look(549, 549, 2)), (0, 0), "what was read may have been read at 549");
        assert_eq!(look(550, 600, 2), 1);
    }

    proptest! {
        #[test]
        fn only_what_was_still_is_told_and_what_stays_is_told_once(
            before in 0..3_u8,
            steps in vec((1..400_u64, 0..3_u8), 0..40),
        ) {
            let mut at = 0;
            let looks: Vec<(u64, u8)> = steps.into_iter().map(|(pause, content)| { at += pause; (at, content) }).collect();
            let mut settling = with(before);
            let told = play(&mut settling, looks.iter().copied());
            let mut last = before;
            for (at, content) in &told {
                prop_assert_ne!(*content, last, "nothing is told twice");
                last = *content;
                let mut since = *at;
                for (time, seen) in looks.iter().rev().filter(|(time, _)| time <= at) {
                    if seen != content { break }
                    since = *time;
                }
                prop_assert!(at - since >= QUIET, "{content} at {at} was there since {since}");
            }
            let end = looks.last().copied().unwrap_or((0, before));
            let rest = play(&mut settling, [(end.0 + 1, end.1), (end.0 + 1 + QUIET, end.1)]);
            let settled = rest.last().map_or(last, |(_, content)| *content);
            prop_assert_eq!(settled, end.1, "what stays is taken");
        }
    }
}
