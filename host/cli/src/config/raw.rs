//! `train.toml` as it is written: every key optional, with its meaning and its range.
//!
//! The structs make the schema that a file is checked against; what goes beyond one key is checked in
//! [`resolve`](super::resolve). It holds no defaults. Main type: [`RawConfig`].

use std::{borrow::Cow, collections::BTreeMap};

use host_callback::Request;
use host_sandbox::OnFailure;
use host_trainer::{Span, device::DeviceChoice};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A whole file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawConfig {
    /// The run as a whole.
    pub(super) run: Option<RawRun>,
    /// What is learned from which data; `kind` says which other keys there are.
    #[schemars(with = "RawTask", required)]
    pub(super) task: Option<Map<String, Value>>,
    /// Length, batches, and what happens how often.
    pub(super) train: Option<RawTrain>,
    /// How gradients become updates.
    pub(super) optimizer: Option<RawOptimizer>,
    /// Where plugins are, and what they may use.
    pub(super) plugins: Option<RawPlugins>,
    /// One configured callback each.
    pub(super) plugin: Option<Vec<RawPlugin>>,
}

/// `[run]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawRun {
    /// The run's name; its folder is `<folder>/<name>-<n>`. Default: the file's name without its ending.
    pub(super) name: Option<String>,
    /// Seed of everything that is random. Default 0.
    // Larger whole numbers are not exact in every language that callbacks are written in.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    pub(super) seed: Option<u64>,
    /// Where to compute. Default "auto": a CUDA GPU where one can be used, else the CPU.
    #[schemars(with = "Option<DeviceChoice>")]
    pub(super) device: Option<String>,
    /// Processes that share each batch. On GPUs each has one, from the one that `device` names on. Default 1.
    #[schemars(range(min = 1, max = 1024))]
    pub(super) ranks: Option<usize>,
    /// Folder of all runs. Default "runs".
    #[schemars(length(min = 1))]
    pub(super) folder: Option<String>,
    /// Folder that relative paths start from. Default: the configuration file's own folder.
    #[schemars(length(min = 1))]
    pub(super) base: Option<String>,
}

/// `[task]`, as far as it is the same for all tasks.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "it is only a schema: tasks read the rest of the table themselves")]
struct RawTask {
    /// Which task.
    kind: String,
}

/// `[train]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawTrain {
    /// Length of the run in passes over the training data.
    #[schemars(range(min = 1, max = i64::MAX))]
    pub(super) epochs: Option<u64>,
    /// Length of the run in optimizer steps.
    #[schemars(range(min = 1, max = i64::MAX))]
    pub(super) steps: Option<u64>,
    /// Length of the run in any unit, time included.
    #[schemars(with = "Option<Span>")]
    pub(super) length: Option<String>,
    /// Samples of one forward pass. Default 32.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub(super) batch_size: Option<usize>,
    /// Forward passes whose gradients are averaged for one update. Default 1.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub(super) accumulation: Option<usize>,
    /// Whether the last, smaller batch of an epoch is left out. Default false.
    pub(super) drop_last: Option<bool>,
    /// How often to evaluate; "end" for only at the end. Default "1ep".
    #[schemars(with = "Option<Cadence>")]
    pub(super) evaluate_every: Option<String>,
    /// How often to write a log record. Default "10st".
    #[schemars(with = "Option<Span>")]
    pub(super) log_every: Option<String>,
    /// How often to save a checkpoint; "end" for only at the end and when a callback asks. Default "end".
    #[schemars(with = "Option<Cadence>")]
    pub(super) save_every: Option<String>,
    /// Steps that go on while a checkpoint is written; its `save-end` comes after them. Default 0: the loop waits.
    #[schemars(range(max = i64::MAX))]
    pub(super) save_async: Option<u64>,
    /// How many of the newest checkpoints to keep besides those with a tag. Default 2.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(super) keep: Option<usize>,
    /// Largest global L2 norm of the gradients; 0 for no limit. Default 0.
    #[schemars(range(min = 0))]
    pub(super) clip_norm: Option<f64>,
    /// Largest absolute value of a gradient's element; 0 for no limit. Default 0.
    #[schemars(range(min = 0))]
    pub(super) clip_value: Option<f64>,
}

/// `[optimizer]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawOptimizer {
    /// The rule of the update. Default "adamw".
    pub(super) kind: Option<OptimizerKind>,
    /// Step size at the beginning. Default 0.001 for adamw, 0.01 for sgd.
    #[schemars(range(min = 0))]
    pub(super) learning_rate: Option<f64>,
    /// Pull of the weights towards 0. Default 0.01 for adamw, 0 for sgd.
    #[schemars(range(min = 0))]
    pub(super) weight_decay: Option<f64>,
    /// Only adamw: decay rate of the first moment. Default 0.9.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub(super) beta1: Option<f64>,
    /// Only adamw: decay rate of the second moment. Default 0.999.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub(super) beta2: Option<f64>,
    /// Only adamw: added to the root of the second moment. Default 1e-8.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub(super) epsilon: Option<f64>,
    /// Only sgd: how much of the last update goes on; 0 for none. Default 0.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub(super) momentum: Option<f64>,
    /// Only sgd: how much of a gradient the momentum leaves out. Default 0.
    #[schemars(range(min = 0, max = 1))]
    pub(super) dampening: Option<f64>,
    /// Only sgd: Nesterov's form; needs a momentum. Default false.
    pub(super) nesterov: Option<bool>,
    /// Groups of parameters with values of their own; the first that fits counts, the others form the group "rest".
    pub(super) group: Option<Vec<RawGroup>>,
}

/// The rule of the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OptimizerKind {
    /// Adam with decoupled weight decay.
    Adamw,
    /// Stochastic gradient descent with momentum.
    Sgd,
}

/// Parameters with values of their own: an `[[optimizer.group]]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawGroup {
    /// The group's name, in `learning-rate/<name>`.
    #[schemars(required)]
    pub(super) name: Option<String>,
    /// Names of parameters; `*` stands for any characters.
    #[schemars(required, length(min = 1), inner(length(min = 1)))]
    pub(super) parameters: Option<Vec<String>>,
    /// Step size at the beginning. Default: that of `[optimizer]`.
    #[schemars(range(min = 0))]
    pub(super) learning_rate: Option<f64>,
    /// Pull of the weights towards 0. Default: that of `[optimizer]`.
    #[schemars(range(min = 0))]
    pub(super) weight_decay: Option<f64>,
}

/// `[plugins]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawPlugins {
    /// Folder whose *.wasm files are loaded. Default "plugins".
    #[schemars(length(min = 1))]
    pub(super) folder: Option<String>,
    /// Folder for compiled plugins. Default: `train-host` in the user's cache folder.
    #[schemars(length(min = 1))]
    pub(super) cache: Option<String>,
    /// Whether changed files and entries are taken up while a run goes on. Default true.
    pub(super) watch: Option<bool>,
    /// Milliseconds that a changed file must stay as it is before it is taken up. Default 300.
    #[schemars(range(min = 10, max = 600_000))]
    pub(super) settle_ms: Option<u64>,
    /// The largest plugin file in MiB; time and memory of compiling go by it. Default 64.
    #[schemars(range(min = 1, max = 1024))]
    pub(super) file_mib: Option<u64>,
    /// Seconds of processor time that compiling one plugin file may take, all threads together. Default 300.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) compile_seconds: Option<u64>,
    /// MiB of address space that compiling one plugin file may take. Default 4096.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub(super) compile_mib: Option<u64>,
    /// What each instance may use, unless its own entry says otherwise.
    pub(super) limits: Option<RawLimits>,
}

/// `[plugins.limits]`, and `limits` of a `[[plugin]]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawLimits {
    /// Fuel of one call, about one unit an instruction. Default 200000000.
    #[schemars(range(min = 1, max = i64::MAX))]
    pub(super) fuel: Option<u64>,
    /// Wall-clock time of one call in milliseconds. Default 2000.
    #[schemars(range(min = 1, max = 86_400_000))]
    pub(super) deadline_ms: Option<u64>,
    /// Memory of the instance in MiB. Default 64.
    #[schemars(range(min = 1, max = 4096))]
    pub(super) memory_mib: Option<usize>,
    /// Saved state in MiB. Default 1.
    #[schemars(range(min = 1, max = 1024))]
    pub(super) state_mib: Option<usize>,
    /// One answer in MiB. Default 1.
    #[schemars(range(min = 1, max = 1024))]
    pub(super) answer_mib: Option<usize>,
    /// Decisions in one answer. Default 16384.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(super) decisions: Option<usize>,
    /// Log lines of one call; more are dropped. Default 100.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(super) log_lines: Option<u32>,
    /// KiB of log that an instance may write ahead; each call gives 1 KiB back. Default 256.
    #[schemars(range(min = 0, max = 1_048_576))]
    pub(super) log_kib: Option<usize>,
    /// Elements of all tables of functions together. Default 100000.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub(super) table_elements: Option<usize>,
    /// Core instances in one component. Default 128.
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) instances: Option<usize>,
    /// Linear memories in one component. Default 16.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) memories: Option<usize>,
    /// Tables in one component. Default 32.
    #[schemars(range(min = 0, max = 1_000))]
    pub(super) tables: Option<usize>,
    /// Handles to streams and the like that live at one time. Default 1000.
    #[schemars(range(min = 0, max = 100_000))]
    pub(super) handles: Option<usize>,
}

/// One configured callback: a `[[plugin]]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawPlugin {
    /// The instance's name; its state, reports and decisions go by it.
    #[schemars(required)]
    pub(super) name: Option<String>,
    /// The component, relative to the plugins folder. Default: `<name>.wasm`.
    #[schemars(length(min = 1))]
    pub(super) file: Option<String>,
    /// Whether it takes part. Default true.
    pub(super) enabled: Option<bool>,
    /// The file's SHA-256 in 64 hex digits; another file is then not loaded.
    pub(super) sha256: Option<String>,
    /// Lower runs earlier. Default: what the plugin says.
    pub(super) order: Option<i32>,
    /// What follows when a call fails. Default "restart".
    #[serde(default)]
    #[schemars(schema_with = "on_failure")]
    pub(super) on_failure: Option<OnFailure>,
    /// What it may do. Default: everything that the plugin says it needs.
    pub(super) grant: Option<RawGrant>,
    /// What it may use, as in [plugins.limits].
    pub(super) limits: Option<RawLimits>,
    /// Its own settings, as its manifest describes them.
    pub(super) config: Option<Map<String, Value>>,
}

/// `grant` of a `[[plugin]]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawGrant {
    /// Requests that it may make. Default none.
    #[serde(default)]
    #[schemars(schema_with = "requests")]
    pub(super) requests: Option<Vec<Request>>,
    /// Knobs that it may write, each with a range or true for the knob's own. Default none.
    pub(super) knobs: Option<BTreeMap<String, RawKnobs>>,
}

/// A value in `grant.knobs`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawKnobs {
    /// Always true: the knob's own range.
    Whole(bool),
    /// Smallest and largest value.
    Range([f64; 2]),
}

impl JsonSchema for RawKnobs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Knobs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let range = json_schema!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
        json_schema!({ "anyOf": [{ "const": true }, range], "x-words": "true or a range, such as [1e-6, 0.01]" })
    }
}

/// How often something happens: the schema of a [`Span`] or "end".
struct Cadence;

impl JsonSchema for Cadence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cadence".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [Span::json_schema(generator), { "const": "end" }] })
    }
}

fn requests(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "enum": Request::ALL.map(Request::name) } })
}

// The sandbox's enum has no schema of its own: the sandbox does not know configuration files.
fn on_failure(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["restart", "disable", "stop-run"] })
}
