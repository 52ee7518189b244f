//! The callbacks of a run: which file each was, what it decided, and how often it failed.
//!
//! Main types: [`Cast`], [`Member`].

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::entry::{Actor, Entry, Outcome, What};
use crate::telemetry::{kind, words};

/// Every callback that is told of.
#[derive(Debug, Default)]
pub(super) struct Cast {
    members: Vec<Member>,
    order: Vec<String>,
}

/// A callback, as one version of it.
#[derive(Debug, Default)]
pub(crate) struct Member {
    by: Actor,
    file: Option<String>,
    outcomes: BTreeMap<Outcome, u64>,
    kinds: BTreeMap<&'static str, u64>,
    failures: u64,
    calls: Option<u64>,
    seconds: Option<f64>,
}

impl Cast {
    /// Those whom the files beside the timeline name.
    pub(super) fn new(report: &Value, environment: &Value) -> Self {
        let mut cast = Self::default();
        let listed = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for line in listed(&environment["plugins"]) {
            if let Ok(by) = serde_json::from_value(line.clone()) {
                cast.member(&by).file = line["file"].as_str().map(str::to_owned);
            }
        }
        for line in listed(&report["callbacks"]) {
            if let Ok(by) = serde_json::from_value(line.clone()) {
                let member = cast.member(&by);
                (member.calls, member.seconds) = (line["calls"].as_u64(), line["seconds"].as_f64());
            }
        }
        cast
    }

    /// Takes a line of the timeline.
    pub(super) fn take(&mut self, entry: &Entry) {
        match &entry.what {
            What::Decided(decided) => {
                let member = self.member(&decided.by);
                *member.outcomes.entry(decided.outcome).or_default() += 1;
                *member.kinds.entry(kind(&decided.decision)).or_default() += 1;
            }
            What::CallbackFailed(failed) => self.member(&failed.by).failures += 1,
            What::Story(told) if told.topic == "order" => {
                let order = told.details.get("order").cloned().unwrap_or_default();
                self.order = serde_json::from_value(order).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Everybody, in the order in which they were called.
    pub(super) fn finish(self) -> Vec<Member> {
        let Self { mut members, order } = self;
        let place = |member: &Member| order.iter().position(|name| *name == member.by.instance).unwrap_or(order.len());
        members.sort_by_key(place);
        members
    }

    /// A file is the same callback as long as its content is.
    fn member(&mut self, by: &Actor) -> &mut Member {
        let is_one = |member: &Member| member.by.instance == by.instance && member.by.sha256 == by.sha256;
        let at = self.members.iter().position(is_one).unwrap_or_else(|| {
            self.members.push(Member::default());
            self.members.len() - 1
        });
        let member = &mut self.members[at];
        if member.by.version.is_none() {
            member.by = by.clone();
        }
        member
    }
}

impl Member {
    pub(super) fn name(&self) -> &str {
        &self.by.instance
    }

    /// Instance, plugin, file, and what it did.
    pub(crate) fn row(&self) -> [String; 4] {
        let plugin = match (&self.by.plugin, &self.by.version) {
            (Some(plugin), Some(version)) => format!("{plugin} {version}"),
            // Who neither decided anything nor lived to see the report has told no version.
            _ => self.file.clone().unwrap_or_default(),
        };
        let sha256 = self.by.sha256.as_deref().map_or("built in", |sha256| sha256.get(..12).unwrap_or(sha256));
        [words::short(&self.by.instance), words::short(&plugin), words::short(sha256), self.did()]
    }

    fn did(&self) -> String {
        let total: u64 = self.outcomes.values().sum();
        let mut parts = Vec::new();
        let outcomes =
            self.outcomes.iter().map(|(outcome, count)| format!("{} {}", words::count(*count), outcome.word()));
        let outcomes: Vec<String> = outcomes.collect();
        let kinds = self.kinds.iter().map(|(kind, count)| format!("{} {kind}", words::count(*count)));
        if total == 0 {
            parts.push("nothing decided".to_owned());
        } else {
            parts.push(format!("{} ({})", outcomes.join(", "), kinds.collect::<Vec<_>>().join(", ")));
        }
        match self.failures {
            0 => {}
            1 => parts.push("1 failure".to_owned()),
            many => parts.push(format!("{} failures", words::count(many))),
        }
        if let (Some(calls), Some(seconds)) = (self.calls, self.seconds) {
            parts.push(format!("{} calls in {}", words::count(calls), words::seconds(seconds)));
        }
        parts.join(", ")
    }

    pub(crate) fn json(&self) -> Value {
        let count = |outcome| self.outcomes.get(&outcome).copied().unwrap_or(0);
        json!({
            "kind": "callback",
            "instance": self.by.instance,
            "plugin": self.by.plugin,
            "version": self.by.version,
            "sha256": self.by.sha256,
            "file": self.file,
            "applied": count(Outcome::Applied),
            "merged": count(Outcome::Merged),
            "overruled": count(Outcome::Overruled),
            "refused": count(Outcome::Refused),
            "decisions": self.kinds,
            "failures": self.failures,
            "calls": self.calls,
            "seconds": self.seconds,
        })
    }
}
