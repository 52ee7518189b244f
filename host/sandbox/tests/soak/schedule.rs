//! Random schedules of what people and crashes do to the observers of a run: it is as [`Model`] says after every step,
//! and what is measured is what it is when nobody does anything. What a single change does is tested in `behaviours`.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use host_callback::{Callbacks as _, Outcome};
use host_sandbox::{LiveNews, Sandbox};

use crate::{
    model::{Model, Seen},
    process::{Memory, held, is_given_back, rounds, turn},
    random::Random,
    stage::{Stage, component, marked, put, sandbox},
    training::NAMES,
};

const ACTIONS: usize = 60;

/// Contents of files that do the same. An instance, what it goes back to and its file can have one each, so that a
/// fourth one is always new.
const MARKS: u8 = 4;

/// Longer than any change takes on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// What happens to an instance.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Its file gets another content: it joins, or is replaced.
    Put,
    /// The same, and it crashes at the next step, whichever version of it is there then.
    PutAndCrash,
    /// Its file gets a content that is no component.
    Spoil,
    /// Its place among the others changes.
    Reorder,
    /// Its file goes.
    Remove,
    /// It crashes at so many steps.
    Crash(u64),
    /// Nothing, for so many steps.
    Wait(u64),
}

impl Action {
    fn any(random: &mut Random) -> Self {
        match random.below(16) {
            0..=5 => Self::Put,
            6 => Self::PutAndCrash,
            7 => Self::Spoil,
            8 | 9 => Self::Reorder,
            10 | 11 => Self::Remove,
            12..=14 => Self::Crash(*random.pick(&[1, 1, 2, 12])),
            _ => Self::Wait(*random.pick(&[1, 5, 120])),
        }
    }
}

/// What must be told before the schedule goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Awaited {
    Joined,
    Swapped,
    Retired,
    Refused,
    /// The last event of the instance may be one at which the new version fails too, or may not.
    SwappedOrRefused,
}

#[test]
#[expect(clippy::print_stdout, reason = "how many steps it were is for whoever asks")]
fn random_schedules_disturb_nothing_and_leave_nothing_behind() {
    let _turn = turn();
    let (before, began) = (held(), Instant::now());
    let cache = tempfile::tempdir().unwrap();
    let (mut memory, mut steps) = (Memory::default(), 0);
    for round in rounds() {
        println!("schedule {round}; HOST_SOAK_ROUNDS={round}..{} plays it again", round + 1);
        let sandbox = sandbox(cache.path());
        steps += play(round, &sandbox);
        drop(sandbox);
        is_given_back(before);
        memory.note();
    }
    println!("schedules {:?} in {steps} steps and {:.1?}", rounds(), began.elapsed());
    memory.is_flat("schedules", 16 << 20);
}

/// Plays a schedule, and says how many steps it took.
fn play(number: u64, sandbox: &Sandbox) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::new(folder.path(), sandbox);
    let mut random = Random::of("schedule", number);
    for action in 0..ACTIONS {
        let (name, what) = (*random.pick(&NAMES), Action::any(&mut random));
        run.doing = format!("schedule {number}, action {action}: {what:?} for `{name}`");
        run.act(name, what, i32::try_from(action).unwrap());
        run.is_as_modelled();
    }
    let [pilot, undisturbed] = run.stage.pilots();
    let steps = run.stage.training.steps();
    assert_eq!((counted(&pilot), pilot), (steps, undisturbed), "schedule {number}");
    steps
}

struct Run {
    stage: Stage,
    model: Model,
    component: Vec<u8>,
    /// What lies in the folder: a mark, or `None` for what is no component.
    files: BTreeMap<&'static str, Option<u8>>,
    /// For messages.
    doing: String,
}

impl Run {
    fn new(folder: &Path, sandbox: &Sandbox) -> Self {
        let component = fs::read(component("script")).unwrap();
        let (model, files, doing) = Default::default();
        Self { stage: Stage::new(folder, sandbox), model, component, files, doing }
    }

    fn act(&mut self, name: &'static str, what: Action, number: i32) {
        match what {
            Action::Put | Action::PutAndCrash => {
                let awaited = match (self.model.has(name), what) {
                    (false, _) => Awaited::Joined,
                    (true, Action::PutAndCrash) => Awaited::SwappedOrRefused,
                    (true, _) => self.awaited_by_content(name, Some(0)),
                };
                let mark = self.other_mark(name);
                put(&self.stage.file(name), &marked(&self.component, mark));
                self.files.insert(name, Some(mark));
                if awaited == Awaited::SwappedOrRefused {
                    self.stage.training.crashing.insert(name);
                }
                self.until(name, awaited);
            }
            Action::Spoil => {
                put(&self.stage.file(name), format!("no component {number}").as_bytes());
                self.files.insert(name, None);
                self.until(name, Awaited::Refused);
            }
            Action::Reorder if self.model.has(name) => {
                let awaited = self.awaited_by_content(name, self.files[name]);
                self.stage.reorder(name, number);
                self.until(name, awaited);
            }
            Action::Remove if self.files.remove(name).is_some() => {
                fs::remove_file(self.stage.file(name)).unwrap();
                if self.model.has(name) {
                    self.until(name, Awaited::Retired);
                }
            }
            Action::Reorder | Action::Remove => {}
            Action::Crash(steps) => {
                for _ in 0..steps {
                    self.stage.training.crashing.insert(name);
                    self.quiet_step();
                }
                // The last event that is shown should be a harmless one where it is still called.
                self.quiet_step();
            }
            Action::Wait(steps) => (0..steps).for_each(|_| self.quiet_step()),
        }
    }

    /// What comes of an instance whose file has this content when it is to be replaced.
    fn awaited_by_content(&self, name: &str, content: Option<u8>) -> Awaited {
        let is_refused = content.is_none() || self.model.last_event_crashes(name);
        if is_refused { Awaited::Refused } else { Awaited::Swapped }
    }

    fn other_mark(&self, name: &str) -> u8 {
        let (in_file, running) = (self.files.get(name).copied().flatten(), self.model.marks(name));
        (0..MARKS).find(|mark| in_file != Some(*mark) && !running.contains(mark)).unwrap()
    }

    fn quiet_step(&mut self) {
        let news = self.step();
        assert!(news.is_empty(), "{}: {news:?}", self.doing);
    }

    /// Steps until this is told of an instance, and nothing else.
    fn until(&mut self, name: &str, awaited: Awaited) {
        let began = Instant::now();
        loop {
            let news = self.step();
            if let Some(told) = news.first() {
                let is_it = match told {
                    LiveNews::Joined { by, .. } => awaited == Awaited::Joined && by.instance.as_str() == name,
                    LiveNews::Retired { by, .. } => awaited == Awaited::Retired && by.instance.as_str() == name,
                    LiveNews::Swapped { to, .. } => {
                        let fits = [Awaited::Swapped, Awaited::SwappedOrRefused].contains(&awaited);
                        fits && to.instance.as_str() == name
                    }
                    LiveNews::Refused { instance, stays, .. } => {
                        let fits = [Awaited::Refused, Awaited::SwappedOrRefused].contains(&awaited);
                        let is_named = instance.as_ref().is_some_and(|instance| instance.as_str() == name);
                        fits && is_named && *stays == self.model.has(name)
                    }
                    _ => false,
                };
                assert!(is_it && news.len() == 1, "{}: {awaited:?} is awaited, but {news:#?}", self.doing);
                return;
            }
            assert!(began.elapsed() < HANGS_AFTER, "{}: {awaited:?} is not told", self.doing);
            std::thread::yield_now();
        }
    }

    /// One step, after which everything is as the model says. Gives what was told, roll-backs left out.
    fn step(&mut self) -> Vec<LiveNews> {
        let first = self.stage.begin();
        assert!(first.is_quiet(), "{}: {first:?}", self.doing);
        let mut news = self.stage.news();
        for told in &news {
            match told {
                LiveNews::Joined { by, .. } => self.model.joined(by.instance.as_str(), self.mark(by.instance.as_str())),
                LiveNews::Swapped { to, .. } => {
                    self.model.swapped(to.instance.as_str(), self.mark(to.instance.as_str()));
                }
                LiveNews::Retired { by, .. } => self.model.retired(by.instance.as_str()),
                _ => {}
            }
        }
        let outcome = self.stage.end();
        let (mut seen, expected) = (failed(&outcome), self.model.step(&self.stage.training.crashing));
        news.extend(self.stage.news());
        for told in &news {
            if let LiveNews::RolledBack { from, .. } = told {
                seen.rolled_back.push(from.instance.to_string());
            }
        }
        assert_eq!(seen.sorted(), expected, "{}", self.doing);
        assert!(outcome.controls.stop.is_empty() && outcome.controls.writes.len() <= 1, "{}: {outcome:?}", self.doing);
        self.stage.training.crashing.clear();
        news.retain(|told| !matches!(told, LiveNews::RolledBack { .. }));
        news
    }

    /// The content that an instance has which comes now.
    fn mark(&self, name: &str) -> u8 {
        self.files[name].unwrap_or_else(|| panic!("{}: what is no component runs", self.doing))
    }

    /// The instances of the run, how each stands, how often it was called and has failed, and what it has counted.
    fn is_as_modelled(&mut self) {
        let rows = self.stage.live.table().into_iter();
        let rows = rows.map(|row| (row.by.instance.to_string(), row.state, row.calls, row.failures));
        let mut rows: Vec<_> = rows.filter(|(name, ..)| name != "pilot").collect();
        rows.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(rows, self.model.rows(), "{}", self.doing);
        let saved = self.stage.live.save();
        let mut disabled: Vec<String> = saved.disabled.iter().map(|one| one.instance.to_string()).collect();
        disabled.sort();
        assert_eq!((disabled, saved.failures.len()), (self.model.disabled(), 0), "{}", self.doing);
        for (name, ..) in rows {
            let state = saved.states.iter().find(|state| state.instance.as_str() == name);
            self.model.has_counted(&name, state.map_or(0, |state| counted(&state.bytes)));
        }
    }
}

/// Events by the state of `script`.
fn counted(state: &[u8]) -> u64 {
    let state: BTreeMap<String, u64> = serde_json::from_slice(state).unwrap();
    state.values().sum()
}

fn failed(outcome: &Outcome) -> Seen {
    let failed = outcome.failures.iter().map(|record| record.by.instance.to_string());
    Seen { failed: failed.collect(), rolled_back: Vec::new() }
}

impl Seen {
    /// The run tells in the order of places, the model in that of names.
    fn sorted(mut self) -> Self {
        self.failed.sort();
        self.rolled_back.sort();
        self
    }
}
