//! Plugins that keep a run from harm: `memory-guard`, `spike-guard` and `grad-clip-adaptive`.

use crate::project;

use super::{
    changes, changes_nothing, column, decided, evaluations, is_close, notes, number, records, reported, steps, weights,
};

/// Without dropout the loss of a step depends on its samples and not on how they are split.
const IN_FOURS: &str = "--set train.batch-size=4 --set task.dropout=0";

#[test]
fn memory_guard_takes_the_same_samples_in_smaller_batches() {
    let project = project();
    let plain = project.train(IN_FOURS).run(1);
    // Any memory in use is too much.
    project.plugin("memory-guard", "guard", "", "max-fraction = 1e-9\ncooldown = 30");
    let run = project.train(IN_FOURS).run(2);
    let change = |step, knob: &str, before, after| (step, knob.to_owned(), before, after);
    // 30 steps after step 1 is the first step behind an evaluation, which is not looked at.
    let expected = [
        change(1, "batch-size", 4.0, 2.0),
        change(1, "accumulation", 1.0, 2.0),
        change(32, "batch-size", 2.0, 1.0),
        change(32, "accumulation", 2.0, 4.0),
    ];
    assert_eq!(changes(&run, "guard"), expected);
    let told = notes(&run, "guard");
    assert_eq!(told.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [1, 32, 62]);
    assert!(told[2].1.ends_with("a batch of 1 can't be made smaller"), "{told:?}");

    let (records, plain_records) = (records(&run), records(&plain));
    assert_eq!((records.len(), plain_records.len()), (120, 120));
    for (step, (record, plain)) in (1..).zip(records.iter().zip(&plain_records)) {
        let split = if step < 32 { (2.0, 2.0) } else { (1.0, 4.0) };
        assert_eq!((number(record, "batch-size"), number(record, "accumulation")), split, "step {step}");
        assert_eq!(record["samples"], 4 * step);
        assert_eq!(record["samples"], plain["samples"]);
        let (loss, plain) = (number(record, "loss"), number(plain, "loss"));
        assert!(is_close(loss, plain, 1e-4), "step {step}: {loss} and {plain} are not of the same samples");
    }
    for (ours, plain) in evaluations(&run).iter().zip(evaluations(&plain)) {
        assert!(is_close(number(ours, "eval/loss"), number(&plain, "eval/loss"), 1e-4), "{ours} and {plain}");
    }
}

#[test]
fn memory_guard_leaves_a_run_alone_that_has_memory() {
    let project = project();
    let run = changes_nothing(&project, "memory-guard", "max-fraction = 0.999", IN_FOURS);
    assert!(run.decisions("memory-guard").is_empty());
}

#[test]
fn memory_guard_refuses_a_limit_that_is_never_passed() {
    let project = project();
    project.plugin("memory-guard", "guard", "", "max-fraction = 1.0");
    project.host("run train.toml").expect(6).says(&["guard", "max-fraction is 1: it has to be above 0 and below 1"]);
    assert!(!project.path("runs").exists());
}

/// A step of the optimizer that is much too large, after 40 good ones.
const BLOW: &str = r#"{ hook = "step-begin", step = 40, decide = [{ set = ["learning-rate", 20.0] }] }"#;
const NO_MORE: &str = r#"{ hook = "step-begin", step = 41, decide = [{ set = ["learning-rate", 0.01] }] }"#;
const TAGGED: &str = r#"{ hook = "step-end", step = 42, decide = [{ save = "after" }] }"#;
const OFTEN_SAVED: &str = "--set train.save-every=\"10st\" --set train.keep=20 --set train.clip-norm=0";
const SPIKES: &str = "sigmas = 6.0\nwindow = 20\nwarm-up = 20\nskip-batches = 3";

#[test]
fn spike_guard_goes_back_and_leaves_out_what_follows() {
    let project = project();
    project.plugin("script", "script", "", &format!("decisions = [{BLOW}, {NO_MORE}, {TAGGED}]"));
    let unguarded = project.train(OFTEN_SAVED).run(1);
    project.plugin("spike-guard", "guard", "", SPIKES);
    let run = project.train(OFTEN_SAVED).run(2);

    let records = records(&run);
    let losses = column(&records, "loss");
    let limit = limit(&losses[21..41], 6.0);
    assert!(losses[41] > limit, "{} is a spike, above {limit}", losses[41]);
    let spike = decided(&run, "guard", "restore");
    assert_eq!(spike, [(41, "gradients".to_owned(), "last".into())]);
    assert_eq!(reported(&run, "guard", "spikes"), [(41, 1.0)]);
    assert!(notes(&run, "guard")[0].1.starts_with(&format!("loss is {}, above ", losses[41])));
    let restored: Vec<_> = run.lines("timeline.jsonl").into_iter().filter(|line| line["event"] == "restored").collect();
    assert_eq!((restored.len(), &restored[0]["step"], &restored[0]["from_step"]), (1, &41.into(), &40.into()));
    assert_eq!(weights(&run, "checkpoints/step-42/model"), weights(&run, "checkpoints/step-40/model"));

    // The update of the spike, and the three batches behind it; a batch that was left out is no step.
    let skips = decided(&run, "guard", "skip");
    let at: Vec<(u64, &str)> = skips.iter().map(|(step, hook, _)| (*step, hook.as_str())).collect();
    assert_eq!(at, [(41, "gradients"), (42, "step-begin"), (42, "step-begin"), (42, "step-begin")]);
    assert_eq!(run.json("report.json")["steps"], 93);
    assert!(losses[42..].iter().all(|loss| *loss < limit), "{losses:?}");
    let last = |run| number(evaluations(run).last().expect("an evaluation"), "eval/loss");
    assert!(last(&run) < 0.5 && last(&unguarded) > 5.0, "{} and {}", last(&run), last(&unguarded));
}

#[test]
fn spike_guard_stops_a_run_that_does_not_calm_down() {
    let project = project();
    project.plugin("script", "script", "", &format!("decisions = [{BLOW}]"));
    project.plugin("spike-guard", "guard", "", &format!("{SPIKES}\nmax-restores = 1\nafter-restores = \"stop\""));
    let run = project.train(OFTEN_SAVED).run(1);
    assert_eq!(steps(&run, "guard", "restore"), [41]);
    let stops = decided(&run, "guard", "stop");
    assert_eq!(stops.iter().map(|(step, hook, _)| (*step, hook.as_str())).collect::<Vec<_>>(), [(43, "gradients")]);
    let report = run.json("report.json");
    assert_eq!((&report["status"], &report["steps"]), (&"stopped".into(), &44.into()));
    assert!(report["stop_reason"].as_str().unwrap().starts_with("guard: loss is "), "{report:#}");
    assert_eq!(records(&run).last().unwrap()["step"], 44);
}

#[test]
fn spike_guard_drops_the_update_also_where_there_is_nothing_to_go_back_to() {
    let project = project();
    project.plugin("script", "script", "", &format!("decisions = [{BLOW}, {NO_MORE}]"));
    project.plugin("spike-guard", "guard", "", &format!("{SPIKES}\nmax-restores = 2"));
    let run = project.train("--set train.clip-norm=0").run(1);
    let restores = run.decisions("guard").into_iter().filter(|line| !line["decision"]["restore"].is_null());
    let restores: Vec<serde_json::Value> = restores.collect();
    assert_eq!(restores.iter().map(|line| line["step"].as_u64().unwrap()).collect::<Vec<_>>(), [41, 42]);
    for line in &restores {
        assert!(
            line["outcome"] == "refused" && line["why"].as_str().unwrap().contains("none is tagged `last`"),
            "{line}"
        );
    }
    let skips = decided(&run, "guard", "skip");
    let (updates, batches): (Vec<_>, Vec<_>) = skips.iter().partition(|(_, hook, _)| hook == "gradients");
    assert_eq!(updates.iter().map(|(step, ..)| *step).collect::<Vec<_>>(), [41, 42]);
    // What stays high after that is the level of the run: it is told, and updates are made.
    let told = notes(&run, "guard");
    assert!(told[2].0 > 42 && told[2].1.ends_with("after going back 2 times: the update is made"), "{told:?}");
    let report = run.json("report.json");
    assert_eq!((&report["status"], &report["steps"]), (&"completed".into(), &(96 - batches.len()).into()));
}

#[test]
fn spike_guard_lets_ordinary_losses_pass() {
    let project = project();
    let run = changes_nothing(&project, "spike-guard", SPIKES, OFTEN_SAVED);
    assert!(run.decisions("spike-guard").is_empty());
}

/// Mean and so many standard deviations.
fn limit(losses: &[f64], sigmas: f64) -> f64 {
    let count = losses.len() as f64;
    let mean = losses.iter().sum::<f64>() / count;
    let variance = losses.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / count;
    mean + sigmas * variance.sqrt()
}

/// An update changes the weights by the rate times the gradient that is left after clipping.
const PLAIN_UPDATES: &str =
    "--set optimizer.kind=\"sgd\" --set optimizer.learning-rate=0.1 --set optimizer.weight-decay=0";

#[test]
fn grad_clip_adaptive_clips_at_the_percentile_of_the_norms_so_far() {
    let project = project();
    project.plugin("grad-clip-adaptive", "clip", "", "percentile = 30.0\nwindow = 40\nwarm-up = 10");
    project.plugin("observer", "observer", "", "hooks = [\"step-end\"]\nreads = [\"update-norm\"]");
    let run = project.train(PLAIN_UPDATES).run(1);
    let (records, seen) = (records(&run), run.notes("observer"));
    let (norms, limits) = (column(&records, "gradient-norm"), column(&records, "clip-norm"));
    assert_eq!((norms.len(), seen.len()), (96, 96));
    for at in 0..96 {
        let known = &norms[(at + 1_usize).saturating_sub(40)..=at];
        let limit = if known.len() < 10 { 5.0 } else { percentile(known, 30.0) };
        assert!(is_close(limits[at], limit, 1e-12), "step {}: {} instead of {limit}", at + 1, limits[at]);
        // A write at `gradients` counts for this very update.
        let (moved, expected) = (number(&seen[at], "update-norm"), 0.1 * norms[at].min(limit));
        assert!(is_close(moved, expected, 1e-4), "step {}: {moved} instead of {expected}", at + 1);
    }
    let clipped = (0..96).filter(|&at| norms[at] > limits[at]).count();
    assert!((30..90).contains(&clipped), "{clipped} of 96 updates");
    assert_eq!(steps(&run, "clip", "set")[0], 9);
}

#[test]
fn grad_clip_adaptive_writes_nothing_too_early_or_for_nothing() {
    // The limit of the configuration is 5 too.
    for config in ["warm-up = 97", "min = 5.0"] {
        let project = project();
        let run = changes_nothing(&project, "grad-clip-adaptive", config, PLAIN_UPDATES);
        assert!(run.decisions("grad-clip-adaptive").is_empty(), "{config}");
    }
}

/// What `numpy.percentile` gives.
fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = percent / 100.0 * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}
