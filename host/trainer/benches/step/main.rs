//! What the loop costs a step, and what fused operations save.
//!
//! The model is that of `host/examples/text.toml`. Three loops take turns step by step in one process, so that whatever
//! else the machine does disturbs all alike: ours; a bare one, written by hand around the same model; and a plain one,
//! around a model of burn's own modules ([`plain`]). `cargo bench --bench step` prints medians, the middle half of all
//! steps, and ratios of tokens a second.

mod plain;

use std::{
    error::Error,
    io::{Write as _, stdout},
    path::Path,
    time::{Duration, Instant},
};

use burn::{
    backend::{Autodiff, Flex, flex::FlexDevice},
    grad_clipping::GradientClippingConfig,
    optim::{AdamWConfig, Optimizer},
};
use host_callback::{Callbacks, Knobs, Measurements, Moment, Outcome, Saved, Summary};
use host_trainer::{
    AnyBare, AnyRun, Bare, GroupSettings, Observer, OptimizerRule, Run, RunEvent, Settings, Span, StopFlag, Store,
    device::DeviceKind,
    task::{LanguageModel, LanguageModelSettings},
};
use serde_json::json;

use self::plain::{Plain, PlainModel, Size};

/// The allocator of the program: with another one, allocation would be a good part of what is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type B = Autodiff<Flex>;

const BATCH: usize = 12;
const CONTEXT: usize = 64;
const LAYERS: usize = 4;
const HEADS: usize = 4;
const WIDTH: usize = 128;
/// Different characters of the text.
const VOCABULARY: usize = 76;
const LEARNING_RATE: f64 = 1e-3;
const WEIGHT_DECAY: f64 = 0.1;
const CLIP_NORM: f32 = 1.0;
const BETAS: (f32, f32) = (0.9, 0.99);
const EPSILON: f32 = 1e-8;

/// Steps of each loop that are not measured: caches and the allocator warm up.
const WARM_UP: usize = 5;
const STEPS: u64 = 400;
/// Where a machine is slow, fewer steps have to do.
const ENOUGH: Duration = Duration::from_secs(60);

fn task() -> Result<LanguageModel, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let settings: LanguageModelSettings = serde_json::from_value(json!({
        "data": "data/shakespeare.txt", "context": CONTEXT, "layers": LAYERS, "heads": HEADS, "width": WIDTH,
        "sample": 0,
    }))?;
    Ok(LanguageModel::open(&settings, &root, 0)?)
}

fn settings() -> Settings {
    let all = GroupSettings {
        name: "all".into(),
        parameters: vec!["*".into()],
        learning_rate: LEARNING_RATE,
        weight_decay: WEIGHT_DECAY,
    };
    Settings {
        name: "bench".into(),
        seed: 0,
        length: Span::Steps(1_000_000),
        // As if it were interrupted: without a last evaluation.
        until: Some(Span::Steps(STEPS)),
        batch_size: BATCH,
        accumulation: 1,
        drop_last: false,
        evaluate_every: None,
        log_every: Span::Steps(1_000_000),
        save_every: None,
        keep: 1,
        clip_norm: CLIP_NORM.into(),
        clip_value: 0.0,
        optimizer: OptimizerRule::Adamw { beta1: BETAS.0, beta2: BETAS.1, epsilon: EPSILON },
        groups: vec![all],
    }
}

/// After each step of our loop it does one of each other loop. Measures all.
struct Turns<P> {
    bare: Bare<B, LanguageModel>,
    plain: Plain<B, P>,
    stop: StopFlag,
    began: Instant,
    /// When our loop went on.
    since: Instant,
    ours: Vec<f64>,
    bares: Vec<f64>,
    plains: Vec<f64>,
}

impl<P: Optimizer<PlainModel<B>, B>> Observer for Turns<P> {
    fn observe(&mut self, event: &RunEvent<'_>) {
        if !matches!(event, RunEvent::Stepped { .. }) {
            return;
        }
        self.ours.push(self.since.elapsed().as_secs_f64());
        let began = Instant::now();
        self.bare.step();
        self.bares.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        self.plain.step(&FlexDevice);
        self.plains.push(began.elapsed().as_secs_f64());
        if self.began.elapsed() > ENOUGH {
            self.stop.request("the bench: it has enough");
        }
        self.since = Instant::now();
    }
}

/// A run without callbacks.
struct Nobody;

impl Callbacks for Nobody {
    fn handle(&mut self, _: &Moment, _: &mut dyn Measurements, _: &Knobs) -> Outcome {
        Outcome::default()
    }

    fn save(&mut self) -> Saved {
        Saved::default()
    }

    fn summaries(&self) -> Vec<Summary> {
        Vec::new()
    }
}

/// Quartiles of numbers; the second is the median.
fn quartiles(numbers: &[f64]) -> [f64; 3] {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

fn tokens_a_second(seconds: &[f64]) -> String {
    let rate = |seconds: f64| (BATCH * CONTEXT) as f64 / seconds;
    let [fast, median, slow] = quartiles(seconds);
    format!("{:6.0} tokens/s ({:.0} to {:.0})", rate(median), rate(slow), rate(fast))
}

/// How many times as fast the first loop is.
fn ratio(ours: &[f64], theirs: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| theirs / ours).collect();
    let [low, _, high] = quartiles(&ratios);
    format!("{:.3} ({low:.3} to {high:.3})", quartiles(theirs)[1] / quartiles(ours)[1])
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut store = Store::open(folder.path(), 1)?;
    let mut run = Run::<B, _>::new(task()?, settings(), FlexDevice, &DeviceKind::Cpu, None)?;
    let bare = Bare::new(task()?, settings(), FlexDevice)?;
    // burn clips each tensor by its own norm, we all of them by their common one; the work is the same.
    let optimizer = AdamWConfig::new()
        .with_beta_1(BETAS.0)
        .with_beta_2(BETAS.1)
        .with_epsilon(EPSILON)
        .with_weight_decay(WEIGHT_DECAY as f32)
        .with_grad_clipping(Some(GradientClippingConfig::Norm(CLIP_NORM)));
    let (stop, now) = (StopFlag::new(), Instant::now());
    let size =
        Size { vocabulary: VOCABULARY, batch: BATCH, context: CONTEXT, layers: LAYERS, heads: HEADS, width: WIDTH };
    let plain = Plain::new(size, LEARNING_RATE, optimizer.init(), &FlexDevice);
    let (ours, bares, plains) = (Vec::new(), Vec::new(), Vec::new());
    let mut turns = Turns { bare, plain, stop: stop.clone(), began: now, since: now, ours, bares, plains };
    run.train(&mut store, &mut Nobody, &mut turns, &stop);

    let [ours, bares, plains] = [&turns.ours, &turns.bares, &turns.plains].map(|seconds| &seconds[WARM_UP..]);
    let mut out = stdout().lock();
    let steps = ours.len();
    writeln!(out, "a step of the transformer of host/examples/text.toml on the CPU, {steps} of each, in turns;")?;
    writeln!(out, "medians, and in brackets the middle half")?;
    writeln!(out, "  our loop                  {}", tokens_a_second(ours))?;
    writeln!(out, "  bare loop, same model     {}", tokens_a_second(bares))?;
    writeln!(out, "  bare loop, burn's modules {}", tokens_a_second(plains))?;
    writeln!(out, "  ours over bare            {}; the target is at least 0.98", ratio(ours, bares))?;
    writeln!(out, "  ours over burn's modules  {}; the target is at least 2.5", ratio(ours, plains))?;
    Ok(())
}
