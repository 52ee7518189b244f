//! `host run`: prepares everything, trains, and leaves a run folder.
//!
//! It decides nothing about training; it puts the parts together in their order. Main function: [`run`].

use std::{io, time::SystemTime};

use host_callback::Progress;
use host_trainer::{AnyRun, Ending, RunReport, StopFlag, Store};

use crate::{
    args::RunArgs,
    config::{self, Plan},
    environment::Environment,
    exit::Exit,
    problem::{Problem, Problems},
    report::{self, ReportInputs},
    run_folder::RunFolder,
    signal,
    telemetry::{Display, Story, Telemetry},
    terminal,
    wire::{self, Callbacks, Dated, GuestLog, Prepared, Ranks, Resume, Stories},
};

/// Trains.
///
/// # Errors
///
/// Everything that keeps the run from beginning; how a run that began ended is in the exit code.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Problems> {
    let started = SystemTime::now();
    let mut plan = config::load(&args.config.file, &args.config.set, host_trainer::task::KINDS)?;
    plan.settings.until = args.until;
    wire::computing(plan.ranks, || carry_out(args, &plan, started))
}

fn carry_out(args: &RunArgs, plan: &Plan, started: SystemTime) -> Result<Exit, Problems> {
    let Prepared { mut run, device, resume } = wire::prepare(plan, args.resume.as_deref())?;
    if let Some(ending) = run.over() {
        terminal::out(&already_over(&ending, run.progress(), resume.as_ref()));
        return Ok(Exit::Success);
    }
    // Before the callbacks, which are told how many there are.
    let ranks = Ranks::start(&args.config, plan.ranks, &device.kind, run.as_mut())?;
    let log = GuestLog::default();
    let callbacks = wire::callbacks(plan, run.as_ref(), &log, resume.as_ref())?;

    // From here on there is a folder, and whatever happens is told in it.
    let folder = RunFolder::create(&plan.runs, &plan.settings.name).map_err(|error| folder_problem(plan, error))?;
    let checkpoint = resume.as_ref().map(|resume| resume.checkpoint.path());
    let environment = Environment::gather(&device, ranks.count(), callbacks.files.clone(), checkpoint, started);
    let store = open_store(plan, &folder, resume.as_ref())?;
    let telemetry =
        begin(plan, &folder, &environment, resume.as_ref(), args.quiet).map_err(|error| folder_problem(plan, error))?;
    telemetry.tell(Story::new("task", format!("{}: {}", run.task().task, run.task().model)));
    telemetry.tell(Story::new("device", format!("{} ({})", device.kind, device.reason)));
    if ranks.count() > 1 {
        telemetry.tell(Story::new("ranks", format!("{} processes share each batch", ranks.count())));
    }
    log.connect(&telemetry);
    let watched = (plan, args.config.set.as_slice(), &log);
    let report = train(run.as_mut(), watched, callbacks, store, (&telemetry, &folder))?;
    ranks.finish();
    finish(&folder, run.as_ref(), &environment, &telemetry, &report).map_err(|error| folder_problem(plan, error))?;
    Ok(Exit::of(&report.ending, signal::was_the_cause(&report.ending)))
}

fn already_over(ending: &Ending, progress: Progress, resume: Option<&Resume>) -> String {
    let run = resume.map(|resume| resume.run.display().to_string()).unwrap_or_default();
    format!(
        "{run} had ended at step {}: {}. There is nothing left to train; a greater length or an earlier checkpoint \
         (--resume {run}/checkpoints/step-<n>) would go on.\n",
        progress.step,
        ending.words()
    )
}

fn folder_problem(plan: &Plan, error: io::Error) -> Problems {
    let message = format!("the run folder cannot be written: {error}");
    (Exit::RunFolder, plan.problem_at(&["run", "folder"], message, "`run.folder` is where runs are put")).into()
}

fn open_store(plan: &Plan, folder: &RunFolder, resume: Option<&Resume>) -> Result<(Store, Vec<Story>), Problems> {
    let failed =
        |error: host_trainer::CheckpointError| Problems::from((Exit::Checkpoint, Problem::new(error.to_string())));
    let mut store = Store::open(&folder.checkpoints(), plan.settings.keep).map_err(failed)?;
    let mut stories = Vec::new();
    if let Some(resume) = resume {
        let from = resume.checkpoint.path().display().to_string();
        stories.push(Story::new("resumed", format!("resumed from {from}")).with("checkpoint", from));
        for tag in store.adopt(&resume.checkpoint).map_err(failed)? {
            let text = format!("the checkpoint that was tagged `{tag}` is not there any more");
            stories.push(Story::new("tag-lost", text).warning());
        }
    }
    Ok((store, stories))
}

/// Writes what is known before the first step.
fn begin(
    plan: &Plan,
    folder: &RunFolder,
    environment: &Environment,
    resume: Option<&Resume>,
    quiet: bool,
) -> io::Result<Telemetry> {
    folder.write("train.toml", plan.document.as_bytes())?;
    environment.write(folder)?;
    let display = if quiet { Display::Quiet } else { Display::Auto };
    match resume {
        None => Telemetry::create(folder, display),
        Some(resume) => {
            let mark = resume.checkpoint.mark().map_err(io::Error::other)?;
            Telemetry::resume(folder, &resume.run, &mark, display)
        }
    }
}

fn train(
    run: &mut dyn AnyRun,
    (plan, sets, log): (&Plan, &[String], &GuestLog),
    mut callbacks: Callbacks,
    (mut store, stories): (Store, Vec<Story>),
    (telemetry, folder): (&Telemetry, &RunFolder),
) -> Result<RunReport, Problems> {
    for story in stories.into_iter().chain(std::mem::take(&mut callbacks.stories)) {
        telemetry.tell(story);
    }
    let told = Stories::new(telemetry, folder);
    let mut live = wire::live(plan, sets, run, callbacks, log, &told)
        .map_err(|error| Problems::from((Exit::Plugin, Problem::new("plugins cannot be watched").caused_by(error))))?;
    let stop = StopFlag::new();
    signal::connect(stop.clone());
    let mut dated = Dated { callbacks: &mut live, telemetry: telemetry.clone() };
    let report = run.train(&mut store, &mut dated, &mut telemetry.clone(), &stop);
    told.finish(report.progress.step, &live.table());
    Ok(report)
}

/// Writes what is known after the last step.
fn finish(
    folder: &RunFolder,
    run: &dyn AnyRun,
    environment: &Environment,
    telemetry: &Telemetry,
    report: &RunReport,
) -> io::Result<()> {
    // Weights of a failed run may be what made it fail; its checkpoints are the last good ones.
    if report.error.is_none() && report.progress.step > 0 {
        folder.write("model.safetensors", &run.export())?;
    }
    let history = telemetry.history();
    let inputs = ReportInputs::new(folder, &history, environment, report.elapsed, &report.artifacts);
    report::write(folder, &inputs)?;
    terminal::out(&report::summary(&inputs));
    Ok(())
}
