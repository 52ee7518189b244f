//! The run that a callback joins.
//! Does not change afterwards: what moves is in the events.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::bindings::train_host::callback::types::RunInfo;
use crate::names::matches;
use crate::state::from_json;

/// The run that a callback joins, as [`Callback::start`](crate::Callback::start) sees it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The run's name.
    pub name: String,
    /// The seed that everything random in the run comes from.
    pub seed: u64,
    /// This process among [`world_size`](Self::world_size), from 0.
    pub rank: u32,
    /// How many processes train together.
    pub world_size: u32,
    /// The step at which the callback joins: 0 at the beginning, more after a resume.
    pub step: u64,
    description: String,
}

impl Run {
    /// The model, its parameter groups and the knobs. Parsed at each call.
    ///
    /// # Errors
    ///
    /// The host's text is not what this version of the SDK reads.
    pub fn description(&self) -> Result<Description, String> {
        from_json(self.description.as_bytes()).map_err(|error| format!("the run's description: {error}"))
    }
}

impl From<RunInfo> for Run {
    fn from(info: RunInfo) -> Self {
        let RunInfo { run, seed, rank, world_size, step, description } = info;
        Self { name: run, seed, rank, world_size, step, description }
    }
}

/// What is known about a run before its first step. What the host left out is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Description {
    /// The model, in words.
    pub model: String,
    /// The task's name.
    pub task: String,
    /// How many numbers the model learns.
    pub parameters: u64,
    /// The optimizer's parameter groups, in its order.
    pub groups: Vec<Group>,
    /// The knobs by name.
    pub knobs: BTreeMap<String, Knob>,
}

impl Description {
    /// The groups whose names fit one of the patterns (`*` allowed), in the optimizer's order.
    ///
    /// # Errors
    ///
    /// No group does. The words name those that there are.
    pub fn groups_matching(&self, patterns: &[String]) -> Result<Vec<&Group>, String> {
        let meant = |group: &&Group| patterns.iter().any(|pattern| matches(pattern, &group.name));
        let found: Vec<&Group> = self.groups.iter().filter(meant).collect();
        if found.is_empty() {
            let names: Vec<&str> = self.groups.iter().map(|group| group.name.as_str()).collect();
            return Err(format!("no parameter group fits {}; this run has {}", patterns.join(", "), names.join(", ")));
        }
        Ok(found)
    }
}

/// One of the optimizer's parameter groups, as configured: a resumed run shows the same values.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Group {
    /// Its name, which ends `learning-rate/<name>` and `weight-decay/<name>`.
    pub name: String,
    /// The base learning rate.
    pub learning_rate: f64,
    /// The weight decay.
    #[serde(default)]
    pub weight_decay: f64,
    /// The names of the parameters in it.
    #[serde(default)]
    pub parameters: Vec<String>,
}

/// A value that callbacks may write, and its range. A bound that is missing does not exist.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Knob {
    /// The lowest value that the host accepts.
    pub min: Option<f64>,
    /// The highest value that the host accepts.
    pub max: Option<f64>,
    /// The unit; `1` for a plain number.
    pub unit: String,
    /// The value at the start of the run.
    pub value: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(description: &str) -> Run {
        let (name, description) = ("test".into(), description.into());
        Run { name, seed: 0, rank: 0, world_size: 1, step: 0, description }
    }

    #[test]
    fn a_description_is_read_whole() {
        let run = run(r#"{"model": "two layers", "task": "classify", "parameters": 12,
            "groups": [{"name": "head", "learning-rate": 0.5, "weight-decay": 0.25, "parameters": ["head.weight"]}],
            "knobs": {"learning-rate/head": {"min": 0, "max": null, "unit": "1", "value": 0.5}}}"#);
        let description = run.description().unwrap();
        assert_eq!((description.model.as_str(), description.parameters), ("two layers", 12));
        let head = &description.groups[0];
        assert_eq!((head.name.as_str(), head.learning_rate, head.weight_decay), ("head", 0.5, 0.25));
        assert_eq!(head.parameters, ["head.weight"]);
        let knob = &description.knobs["learning-rate/head"];
        assert_eq!((knob.min, knob.max, knob.value), (Some(0.0), None, Some(0.5)));
    }

    #[test]
    fn what_a_host_leaves_out_is_empty_and_what_it_adds_is_ignored() {
        let description =
            run(r#"{"groups": [{"name": "all", "learning-rate": 1}], "new": true}"#).description().unwrap();
        assert!(description.knobs.is_empty() && description.groups[0].parameters.is_empty());
        assert!(run("").description().unwrap_err().starts_with("the run's description: "));
    }

    #[test]
    fn groups_are_chosen_by_pattern() {
        let groups = r#"{"groups": [{"name": "lora-a", "learning-rate": 1}, {"name": "lora-b", "learning-rate": 1},
            {"name": "head", "learning-rate": 1}]}"#;
        let description = run(groups).description().unwrap();
        let names = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).into()).collect();
            let found = description.groups_matching(&patterns)?;
            Ok::<_, String>(found.iter().map(|group| group.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["head", "lora-*"]).unwrap(), ["lora-a", "lora-b", "head"]);
        assert_eq!(names(&["body"]).unwrap_err(), "no parameter group fits body; this run has lora-a, lora-b, head");
    }
}
