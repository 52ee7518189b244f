//! What instances must be like after each step, by the rules of restart, probation and swap alone. It knows neither files
//! nor guests: the schedule tells it what happens. Main type: [`Model`].

use std::collections::{BTreeMap, BTreeSet};

use host_callback::Standing;

/// Calls that are passed over after the first and the second failure; the third one is the end.
const PAUSES: [u64; 2] = [0, 8];

/// Calls after which failures are forgotten.
const HEALTHY_CALLS: u64 = 100;

/// Calls after which a new version stays.
const PROBATION_CALLS: u64 = 3;

/// An instance of a plugin with its own budget of failures.
#[derive(Clone, Debug, Default)]
struct Instance {
    /// Which content of the file it runs.
    mark: u8,
    /// Events that it has answered, as its state counts them.
    events: u64,
    /// Whether `events` is only the most that it can be: the last good state of one that is quarantined may be older.
    is_at_most: bool,
    failures: usize,
    healthy: u64,
    pause: u64,
    ended: bool,
}

/// What has a name in the run.
#[derive(Clone, Debug)]
struct Place {
    now: Instance,
    /// What comes back when the new one fails, and the count of calls from which on it does not.
    probation: Option<(Instance, u64)>,
    calls: u64,
    failures: u64,
    /// It is not called any more.
    is_disabled: bool,
    /// A new version fails when it is tried out with the last event.
    last_event_crashes: bool,
}

/// What is to be seen after a step.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) failed: Vec<String>,
    pub(crate) rolled_back: Vec<String>,
}

/// A row of the run's table.
pub(crate) type Row = (String, Standing, u64, u64);

#[derive(Debug, Default)]
pub(crate) struct Model {
    places: BTreeMap<String, Place>,
}

impl Model {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The content that an instance runs, and the one that it goes back to if it fails.
    pub(crate) fn marks(&self, name: &str) -> Vec<u8> {
        let instances = |place: &'_ Place| {
            let before = place.probation.as_ref().map(|(before, _)| before.mark);
            [Some(place.now.mark), before].into_iter().flatten().collect()
        };
        self.places.get(name).map(instances).unwrap_or_default()
    }

    pub(crate) fn last_event_crashes(&self, name: &str) -> bool {
        self.places.get(name).is_some_and(|place| place.last_event_crashes)
    }

    pub(crate) fn joined(&mut self, name: &str, mark: u8) {
        let now = Instance { mark, ..Instance::default() };
        let place =
            Place { now, probation: None, calls: 0, failures: 0, is_disabled: false, last_event_crashes: false };
        assert!(self.places.insert(name.to_owned(), place).is_none(), "{name} was there");
    }

    pub(crate) fn retired(&mut self, name: &str) {
        assert!(self.places.remove(name).is_some(), "{name} was not there");
    }

    /// The state goes on, and so do the counts; failures are forgotten.
    pub(crate) fn swapped(&mut self, name: &str, mark: u8) {
        let place = self.places.get_mut(name).unwrap();
        let Instance { events, is_at_most, .. } = place.now;
        let now = Instance { mark, events, is_at_most, ..Instance::default() };
        let before = std::mem::replace(&mut place.now, now);
        place.probation = Some((before, place.calls + PROBATION_CALLS));
        place.is_disabled = false;
    }

    /// The end of a step at which these instances crash if they are called.
    pub(crate) fn step(&mut self, crashing: &BTreeSet<&'static str>) -> Seen {
        let mut seen = Seen::default();
        for (name, place) in self.places.iter_mut().filter(|(_, place)| !place.is_disabled) {
            place.calls += 1;
            place.last_event_crashes = crashing.contains(name.as_str());
            if place.now.fails(place.last_event_crashes) {
                place.failures += 1;
                seen.failed.push(name.clone());
                place.is_disabled = place.now.ended;
                if let Some((before, _)) = place.probation.take() {
                    place.now = before;
                    place.is_disabled = false;
                    seen.rolled_back.push(name.clone());
                }
            } else if place.probation.as_ref().is_some_and(|(_, proven_at)| place.calls >= *proven_at) {
                place.probation = None;
            }
        }
        seen
    }

    /// The rows of the run's table, by name.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |(name, place): (&String, &Place)| (name.clone(), place.now.standing(), place.calls, place.failures);
        self.places.iter().map(row).collect()
    }

    /// Names of those that are not called any more.
    pub(crate) fn disabled(&self) -> Vec<String> {
        self.places.iter().filter(|(_, place)| place.is_disabled).map(|(name, _)| name.clone()).collect()
    }

    /// Compares an instance's count of events with what its state says.
    pub(crate) fn has_counted(&mut self, name: &str, counted: u64) {
        let instance = &mut self.places.get_mut(name).unwrap().now;
        if instance.is_at_most {
            assert!(counted <= instance.events, "{name} has counted {counted}: {instance:?}");
            instance.events = counted;
            instance.is_at_most = false;
        }
        assert_eq!(counted, instance.events, "{name}: {instance:?}");
    }
}

impl Instance {
    /// A call; says whether it fails.
    fn fails(&mut self, crashes: bool) -> bool {
        if self.ended || self.pause > 0 {
            self.pause = self.pause.saturating_sub(1);
            return false;
        }
        if !crashes {
            self.events += 1;
            self.healthy += 1;
            if self.healthy >= HEALTHY_CALLS {
                self.failures = 0;
            }
            return false;
        }
        self.healthy = 0;
        match PAUSES.get(self.failures) {
            Some(pause) => self.pause = *pause,
            None => (self.ended, self.is_at_most) = (true, true),
        }
        self.failures += 1;
        true
    }

    fn standing(&self) -> Standing {
        match (self.ended, self.pause) {
            (true, _) => Standing::Quarantined,
            (false, 0) => Standing::Running,
            (false, _) => Standing::Paused,
        }
    }
}
