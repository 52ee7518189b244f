//! `host check`: everything that `host run` does before the first step, and what the run would offer.
//!
//! It writes nothing. Main function: [`run`].

use std::fmt::Write as _;

use host_callback::{InstanceName, Knob, MeasurementSpec, Permit};
use serde::Serialize;

use crate::{
    args::CheckArgs,
    config,
    exit::Exit,
    problem::Problems,
    terminal,
    wire::{self, GuestLog},
};

/// Checks.
///
/// # Errors
///
/// Everything that would keep the run from beginning.
pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Problems> {
    let plan = config::load(&args.config.file, &args.config.set, host_trainer::task::KINDS)?;
    let prepared = wire::prepare(&plan, None)?;
    let run = prepared.run.as_ref();
    let callbacks = wire::callbacks(&plan, run, &GuestLog::default(), None)?;
    let members = callbacks.chain.members().map(|(identity, permit)| Member {
        instance: identity.instance.clone(),
        plugin: format!("{} {}", identity.plugin, identity.version),
        sha256: identity.sha256.clone().unwrap_or_default(),
        may: wire::may(permit),
        permit: permit.clone(),
    });
    let found = Found {
        run: plan.settings.name.clone(),
        device: format!("{} ({})", prepared.device.kind, prepared.device.reason),
        task: run.task().task.clone(),
        model: run.task().model.clone(),
        length: plan.settings.length.to_string(),
        steps: run.progress().total_steps,
        parameters: run.parameters(),
        callbacks: members.collect(),
        remarks: callbacks.stories.iter().filter(|story| story.is_warning()).map(|story| story.line()).collect(),
        measurements: run.catalog().specs(),
        families: run.catalog().families(),
        knobs: run.knobs().iter().map(|(_, knob)| knob.clone()).collect(),
    };
    if args.json {
        terminal::out(&format!("{:#}\n", serde_json::json!(found)));
    } else {
        terminal::out(&found.words());
    }
    Ok(Exit::Success)
}

/// What a run would be.
#[derive(Serialize)]
struct Found {
    run: String,
    device: String,
    task: String,
    model: String,
    length: String,
    steps: Option<u64>,
    parameters: Vec<(String, Vec<usize>, String)>,
    callbacks: Vec<Member>,
    remarks: Vec<String>,
    measurements: Vec<MeasurementSpec>,
    /// Measurements `<name>/<pattern>`, one number over all parameters that the pattern matches.
    families: Vec<MeasurementSpec>,
    knobs: Vec<Knob>,
}

#[derive(Serialize)]
struct Member {
    instance: InstanceName,
    plugin: String,
    sha256: String,
    may: String,
    #[serde(flatten)]
    permit: Permit,
}

impl Found {
    fn words(&self) -> String {
        let mut text = String::new();
        let numbers: usize = self.parameters.iter().map(|(_, shape, _)| shape.iter().product::<usize>()).sum();
        let steps = self.steps.map(|steps| format!(", {steps} steps")).unwrap_or_default();
        line(&mut text, format_args!("run     {}", self.run));
        line(&mut text, format_args!("device  {}", self.device));
        line(&mut text, format_args!("task    {}: {}, {numbers} parameters", self.task, self.model));
        line(&mut text, format_args!("length  {}{steps}", self.length));
        self.callbacks_words(&mut text);
        let parameters = self.parameters.iter().map(|(name, shape, group)| {
            [name.clone(), shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "), format!("group {group}")]
        });
        table(&mut text, "Parameters", parameters.collect());
        table(&mut text, "Measurements that callbacks can read (name, unit, meaning)", self.measurement_rows());
        table(&mut text, "Knobs that callbacks can turn (name, value now and range, meaning)", self.knob_rows());
        text
    }

    fn measurement_rows(&self) -> Vec<[String; 3]> {
        let is_knob = |name: &str| self.knobs.iter().any(|knob| knob.spec.name == name);
        let own = self.measurements.iter().filter(|spec| !is_knob(&spec.name));
        let own = own.map(|spec| [spec.name.clone(), spec.unit.clone(), spec.meaning.clone()]);
        let of_some = self.families.iter().map(|family| {
            let meaning = "that of the parameters whose names match, or of a group".to_owned();
            [format!("{}/<pattern>", family.name), family.unit.clone(), meaning]
        });
        let knobs = ["<knob>".to_owned(), String::new(), "the value of any knob below, by its name".to_owned()];
        own.chain(of_some).chain([knobs]).collect()
    }

    /// What every parameter has is one row.
    fn knob_rows(&self) -> Vec<[String; 3]> {
        let of_parameter = |name: &str| {
            let (family, parameter) = name.split_once('/')?;
            self.parameters.iter().any(|(known, ..)| known == parameter).then(|| format!("{family}/<parameter>"))
        };
        let mut rows: Vec<[String; 3]> = Vec::new();
        for knob in &self.knobs {
            let spec = &knob.spec;
            let max = if spec.max == f64::MAX { "any".to_owned() } else { spec.max.to_string() };
            let name = of_parameter(&spec.name).unwrap_or_else(|| spec.name.clone());
            if rows.iter().all(|[known, ..]| *known != name) {
                let meaning = format!("{}; counts from `{}` on", spec.meaning, spec.effective);
                rows.push([name, format!("{} ({} to {max})", knob.value, spec.min), meaning]);
            }
        }
        rows
    }

    fn callbacks_words(&self, text: &mut String) {
        let members = self
            .callbacks
            .iter()
            .map(|member| [member.instance.to_string(), member.plugin.clone(), format!("may {}", member.may)]);
        table(text, "Callbacks in the order in which they are called", members.collect());
        for remark in &self.remarks {
            line(text, format_args!("  note: {remark}"));
        }
    }
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    writeln!(text, "{words}").expect("a String takes everything");
}

/// Three columns under a title; the last one is as wide as it is.
fn table(text: &mut String, title: &str, rows: Vec<[String; 3]>) {
    line(text, format_args!("\n{title}:"));
    if rows.is_empty() {
        line(text, format_args!("  none"));
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    for [a, b, c] in &rows {
        line(text, format_args!("  {a:first$}  {b:second$}  {c}"));
    }
}
