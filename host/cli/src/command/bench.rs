//! `host bench`: what a step of a run takes, beside other loops around the same model.
//!
//! It measures nothing itself: [`bench`] does. Main function: [`run`].

use std::{fmt::Write as _, path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    args::BenchArgs,
    bench::{self, Comparison, Length, Spread, Wanted, Whole},
    config,
    exit::Exit,
    problem::Problems,
    terminal, wire,
};

/// Measures each file and prints what came out as soon as it is known.
///
/// # Errors
///
/// A mistake in a configuration, or what keeps a run or PyTorch from going on.
pub(crate) fn run(args: &BenchArgs) -> Result<Exit, Problems> {
    let peer = args.peer.as_deref().map(|python| Wanted { python, compiled: args.compile });
    let length = Length { steps: args.steps as usize, time: Duration::from_secs(args.seconds) };
    let mut all = Vec::new();
    for file in &args.files {
        let plan = config::load(file, &args.set, host_trainer::task::KINDS)?;
        if let Some(wanted) = peer.filter(|_| args.whole) {
            let whole = wire::computing(1, || bench::whole(&plan, wanted))?;
            if args.json {
                all.push(whole_document(file, &whole));
            } else {
                terminal::out(&whole_table(file, &whole));
            }
            continue;
        }
        let comparison = wire::computing(1, || bench::compare(&plan, peer, length))?;
        if args.json {
            all.push(document(file, &comparison));
        } else {
            terminal::out(&table(file, &comparison));
        }
    }
    if args.json {
        terminal::out(&format!("{:#}\n", Value::Array(all)));
    }
    Ok(Exit::Success)
}

fn table(file: &Path, done: &Comparison) -> String {
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{words}").expect("a String takes everything");
    line(format!("{}: {}", file.display(), done.subject.words()));
    let ratio = |of: Spread| format!("{:.3} ({:.3} to {:.3})", of.median, of.low, of.high);
    let time = |of: Spread| {
        let [low, median, high] = [of.low, of.median, of.high].map(|seconds| seconds * 1e3);
        format!("{median:.2} ms ({low:.2} to {high:.2})")
    };
    line(format!("  ours / bare loop       {}", ratio(done.over_bare)));
    if let Some(peer) = &done.peer {
        line(format!("  ours / PyTorch         {}", ratio(peer.ours_over)));
    }
    let share = done.callback_seconds() / done.ours.median;
    line(format!("  callbacks / ours       {share:.5}"));
    line(format!("  a step of ours         {}{}", time(done.ours), rate(done.tokens, done.ours.median)));
    line(format!("  of the bare loop       {}", time(done.bare)));
    if let Some(peer) = &done.peer {
        line(format!("  of {:<19} {}{}", peer.name, time(peer.seconds), rate(done.tokens, peer.seconds.median)));
        line(format!(
            "  losses                 PyTorch's differ by at most {:.1e} in the first {} steps, from the same weights and batches",
            peer.loss_difference, peer.losses
        ));
    }
    line(format!(
        "  callbacks              {} called, {:.1} us a step",
        done.callbacks.len(),
        1e6 * done.callback_seconds()
    ));
    for summary in &done.callbacks {
        let (calls, rate) = (summary.calls as f64, summary.calls as f64 / done.steps as f64);
        let (time, fuel) = (1e6 * summary.seconds / calls, summary.fuel as f64 / calls);
        let failed = match summary.failures {
            0 => String::new(),
            failures => format!("; {failures} calls failed"),
        };
        line(format!(
            "    {:<20} {rate:.2} calls a step of {time:.1} us and {fuel:.0} fuel{failed}",
            summary.by.instance
        ));
    }
    let mib = done.memory as f64 / f64::from(1 << 20);
    line(format!(
        "  start                  {:.0} ms to the end of the first step",
        done.first_step.as_secs_f64() * 1e3
    ));
    line(format!("  memory                 {mib:.0} MiB, both loops of ours"));
    text
}

fn whole_table(file: &Path, done: &Whole) -> String {
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{words}").expect("a String takes everything");
    line(format!("{}: {}", file.display(), done.subject.words()));
    let [ours, peer] = [done.ours, done.peer].map(|time| time.as_secs_f64());
    line(format!("  ours / PyTorch         {:.3}, of a whole run", ours / peer));
    line(format!(
        "  ours                   {ours:.2} s for {} steps, with start, callbacks and checkpoints",
        done.steps
    ));
    line(format!("  {:<22} {peer:.2} s for the same steps and evaluations", done.peer_name));
    line(format!("  ended                  {}", done.ending));
    for one in &done.evaluations {
        let (step, ours, peer) = (one.step, one.ours, one.peer);
        line(format!("  validation loss        {ours:.4} ours, {peer:.4} PyTorch's after {step} steps"));
    }
    if let Some(difference) = done.loss_difference() {
        line(format!("                         at most {difference:.1e} apart"));
    }
    text
}

fn rate(tokens: u64, seconds: f64) -> String {
    if tokens == 0 { String::new() } else { format!(", {:.0} tokens/s", tokens as f64 / seconds) }
}

fn document(file: &Path, done: &Comparison) -> Value {
    let spread = |of: Spread| json!({ "low": of.low, "median": of.median, "high": of.high });
    let peer = done.peer.as_ref().map(|peer| {
        json!({
            "name": peer.name,
            "ours-over": spread(peer.ours_over),
            "step-seconds": spread(peer.seconds),
            "loss-difference": peer.loss_difference,
            "losses-compared": peer.losses,
        })
    });
    json!({
        "file": file.display().to_string(),
        "model": done.subject.model,
        "device": done.subject.device,
        "threads": done.subject.threads,
        "batch": done.subject.batch,
        "tokens": done.tokens,
        "ours-over-bare": spread(done.over_bare),
        "step-seconds": spread(done.ours),
        "bare-step-seconds": spread(done.bare),
        "peer": peer,
        "callbacks": { "step-seconds": done.callback_seconds(), "each": done.callbacks },
        "first-step-seconds": done.first_step.as_secs_f64(),
        "memory-bytes": done.memory,
    })
}

fn whole_document(file: &Path, done: &Whole) -> Value {
    let finite = |loss: f64| loss.is_finite().then_some(loss);
    let evaluation =
        |one: &bench::Evaluation| json!({ "step": one.step, "loss": finite(one.ours), "peer-loss": finite(one.peer) });
    json!({
        "file": file.display().to_string(),
        "model": done.subject.model,
        "device": done.subject.device,
        "threads": done.subject.threads,
        "batch": done.subject.batch,
        "steps": done.steps,
        "ending": done.ending,
        "ours-over-peer": done.ours.as_secs_f64() / done.peer.as_secs_f64(),
        "seconds": done.ours.as_secs_f64(),
        "peer": { "name": done.peer_name, "seconds": done.peer.as_secs_f64() },
        "evaluations": done.evaluations.iter().map(evaluation).collect::<Vec<_>>(),
    })
}
