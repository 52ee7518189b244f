//! What fused operations save of a step.
//!
//! The model is that of `host/examples/text.toml`. Two loops take turns in one process, so that whatever else the machine does
//! disturbs both alike: a bare one around our model, and a plain one around a model of burn's own modules ([`plain`]). `cargo
//! bench --bench step` prints medians, the middle half of all turns, and how many times as fast ours is. What our loop costs
//! beside the bare one, and PyTorch's, is `host bench`'s to say.

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
    optim::AdamWConfig,
};
use host_trainer::{
    AnyBare, Bare, GroupSettings, OptimizerRule, Settings, Span,
    task::{LanguageModel, LanguageModelSettings},
};
use serde_json::json;

use self::plain::{Plain, PlainModel, Size};

/// The allocator of the program: with another one, allocation would be a good part of what is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type B = Autodiff<Flex>;
type Failed = Box<dyn Error + Send + Sync>;

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

/// Steps of a turn, and how many of them are not measured: they find the caches as the other loop left them.
const TURN: (usize, usize) = (8, 2);
const TURNS: usize = 50;
/// Where a machine is slow, fewer turns have to do.
const ENOUGH: Duration = Duration::from_secs(60);

fn bare() -> Result<Bare<B, LanguageModel>, Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let settings: LanguageModelSettings = serde_json::from_value(json!({
        "data": "data/shakespeare.txt", "context": CONTEXT, "layers": LAYERS, "heads": HEADS, "width": WIDTH,
        "sample": 0,
    }))?;
    let task = LanguageModel::open(&settings, &root, 0)?;
    let all = GroupSettings {
        name: "all".into(),
        parameters: vec!["*".into()],
        learning_rate: LEARNING_RATE,
        weight_decay: WEIGHT_DECAY,
    };
    let settings = Settings {
        batch_size: BATCH,
        clip_norm: CLIP_NORM.into(),
        optimizer: OptimizerRule::Adamw { beta1: BETAS.0, beta2: BETAS.1, epsilon: EPSILON },
        groups: vec![all],
        ..Settings::new("bench", Span::Steps(1))
    };
    Ok(Bare::new(task, settings, FlexDevice)?)
}

/// Seconds a step, of one turn.
fn turn(mut step: impl FnMut()) -> f64 {
    let (steps, unmeasured) = TURN;
    (0..unmeasured).for_each(|_| step());
    let began = Instant::now();
    (unmeasured..steps).for_each(|_| step());
    began.elapsed().as_secs_f64() / (steps - unmeasured) as f64
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

fn measure() -> Result<(), Failed> {
    // burn clips each tensor by its own norm, we all of them by their common one; the work is the same.
    let optimizer = AdamWConfig::new()
        .with_beta_1(BETAS.0)
        .with_beta_2(BETAS.1)
        .with_epsilon(EPSILON)
        .with_weight_decay(WEIGHT_DECAY as f32)
        .with_grad_clipping(Some(GradientClippingConfig::Norm(CLIP_NORM)));
    let size =
        Size { vocabulary: VOCABULARY, batch: BATCH, context: CONTEXT, layers: LAYERS, heads: HEADS, width: WIDTH };
    let mut bare = bare()?;
    let mut plain = Plain::<B, _>::new(size, LEARNING_RATE, optimizer.init::<B, PlainModel<B>>(), &FlexDevice);
    let (mut ours, mut burns) = (Vec::new(), Vec::new());
    let began = Instant::now();
    while ours.len() <= TURNS && began.elapsed() < ENOUGH {
        ours.push(turn(|| bare.step()));
        burns.push(turn(|| plain.step(&FlexDevice)));
    }
    // The allocator warms up in the first turns.
    let (ours, burns) = (&ours[1..], &burns[1..]);
    let ratios: Vec<f64> = ours.iter().zip(burns).map(|(ours, burns)| burns / ours).collect();
    let [low, median, high] = quartiles(&ratios);
    let (mut out, turns) = (stdout().lock(), ours.len());
    writeln!(out, "a step of the transformer of host/examples/text.toml on the CPU, {turns} turns of each loop;")?;
    writeln!(out, "medians, and in brackets the middle half")?;
    writeln!(out, "  our model        {}", tokens_a_second(ours))?;
    writeln!(out, "  burn's modules   {}", tokens_a_second(burns))?;
    writeln!(out, "  times as fast    {median:.3} ({low:.3} to {high:.3}); the target is at least 2.5")?;
    Ok(())
}

fn main() -> Result<(), Failed> {
    // On one of the threads that compute, as in the program.
    rayon::scope(|_| measure())
}
