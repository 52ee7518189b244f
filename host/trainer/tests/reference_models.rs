//! Fused operations put together to models that others know, against what PyTorch and Transformers computed for the same
//! weights (`tests/fixtures/models`): logits, loss, and the gradient of every parameter.
//!
//! GPT-2 has layer norms, linear layers with biases and residuals, attention and a tied head; Llama has RMS norms, SwiGLU and
//! keys that several heads share. What is not fused (rotary positions, GPT-2's own GELU) is burn's.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{cell::RefCell, collections::BTreeMap, fs, path::PathBuf};

use burn::{
    backend::{Autodiff, Flex, flex::FlexDevice},
    tensor::{Int, Tensor, TensorData, activation},
};
use host_trainer::fused::{Heads, causal_attention, cross_entropy, layer_norm, linear_with, rms_norm, swiglu};
use safetensors::SafeTensors;
use serde_json::Value;

type B = Autodiff<Flex>;
type Rows = Tensor<B, 2>;

const BATCH: usize = 2;
const CONTEXT: usize = 32;
const WIDTH: usize = 64;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const EPSILON: f64 = 1e-5;

fn read(model: &str, file: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/models");
    fs::read(root.join(model).join(file)).unwrap()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

fn integers(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks::<8>().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect()
}

/// Weights by name, each a leaf of the graph.
struct Weights {
    matrices: BTreeMap<String, Rows>,
    vectors: BTreeMap<String, Tensor<B, 1>>,
    /// Names that a model has asked for.
    used: RefCell<Vec<String>>,
}

impl Weights {
    fn read(model: &str) -> Self {
        let bytes = read(model, "model.safetensors");
        let mut weights = Self { matrices: BTreeMap::new(), vectors: BTreeMap::new(), used: RefCell::default() };
        for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
            let data = TensorData::new(floats(view.data()), view.shape().to_vec());
            match view.shape() {
                [_, _] => drop(weights.matrices.insert(name, Tensor::from_data(data, &FlexDevice).require_grad())),
                [_] => drop(weights.vectors.insert(name, Tensor::from_data(data, &FlexDevice).require_grad())),
                shape => panic!("{name} has the shape {shape:?}"),
            }
        }
        weights
    }

    fn matrix(&self, name: &str) -> Rows {
        self.used.borrow_mut().push(name.to_owned());
        self.matrices[name].clone()
    }

    fn vector(&self, name: &str) -> Tensor<B, 1> {
        self.used.borrow_mut().push(name.to_owned());
        self.vectors[name].clone()
    }

    /// The norm of each parameter's gradient.
    fn gradients(&self, loss: &Tensor<B, 1>) -> BTreeMap<String, f64> {
        let gradients = loss.backward();
        let norm = |numbers: TensorData| numbers.iter::<f64>().map(|number| number * number).sum::<f64>().sqrt();
        let of_matrix =
            |(name, weight): (&String, &Rows)| (name.clone(), norm(weight.grad(&gradients).expect(name).into_data()));
        let of_vector = |(name, weight): (&String, &Tensor<B, 1>)| {
            (name.clone(), norm(weight.grad(&gradients).expect(name).into_data()))
        };
        self.matrices.iter().map(of_matrix).chain(self.vectors.iter().map(of_vector)).collect()
    }
}

fn heads() -> Heads {
    Heads { batch: BATCH, context: CONTEXT, heads: HEADS }
}

fn gpt2(weights: &Weights, tokens: Tensor<B, 1, Int>) -> Rows {
    let layer = |x: Rows, name: String, residual: Option<Rows>| {
        let bias = weights.vector(&format!("{name}.bias"));
        linear_with(x, weights.matrix(&format!("{name}.weight")), Some(bias), residual)
    };
    let norm = |x: Rows, name: String| {
        let [gamma, beta] = ["weight", "bias"].map(|part| weights.vector(&format!("{name}.{part}")));
        layer_norm(x, gamma, Some(beta), EPSILON)
    };
    let embedding = weights.matrix("transformer.wte.weight");
    let positions = weights.matrix("transformer.wpe.weight").narrow(0, 0, CONTEXT);
    // Not `repeat_dim`, whose gradient adds up neighbours in place of repetitions in burn 0.21.
    let positions = Tensor::cat(vec![positions; BATCH], 0);
    let mut x = embedding.clone().select(0, tokens) + positions;
    for at in 0..LAYERS {
        let part = |name: &str| format!("transformer.h.{at}.{name}");
        let attended = causal_attention(layer(norm(x.clone(), part("ln_1")), part("attn.c_attn"), None), heads());
        x = layer(attended, part("attn.c_proj"), Some(x));
        let hidden = activation::gelu_approximate(layer(norm(x.clone(), part("ln_2")), part("mlp.c_fc"), None));
        x = layer(hidden, part("mlp.c_proj"), Some(x));
    }
    linear_with(norm(x, "transformer.ln_f".into()), embedding.transpose(), None, None)
}

/// Heads of queries that share one of keys and values.
const SHARING: usize = 2;

/// Rotates the two halves of each head by angles that grow with the position (Su et al., 2021), as Llama's weights want it.
fn rotated(x: Rows) -> Rows {
    const BASE: f64 = 10_000.0;
    let [rows, width] = x.dims();
    let head = WIDTH / HEADS;
    let angle = |position: usize, at: usize| position as f64 * BASE.powf(-2.0 * (at % (head / 2)) as f64 / head as f64);
    let table = |of: fn(f64) -> f64| {
        let row = |row: usize| (0..width).map(move |at| of(angle(row % CONTEXT, at % head)) as f32);
        let numbers: Vec<f32> = (0..rows).flat_map(row).collect();
        Rows::from_data(TensorData::new(numbers, [rows, width]), &FlexDevice)
    };
    let halves = x.clone().reshape([rows, width / head, 2, head / 2]);
    let [first, second] = [0, 1].map(|half| halves.clone().narrow(2, half, 1));
    let turned = Tensor::cat(vec![second.neg(), first], 2).reshape([rows, width]);
    x * table(f64::cos) + turned * table(f64::sin)
}

/// Each head of keys or values as often as heads of queries share it.
fn shared(x: Rows) -> Rows {
    let [rows, width] = x.dims();
    let head = WIDTH / HEADS;
    x.reshape([rows, width / head, 1, head]).repeat_dim(2, SHARING).reshape([rows, width * SHARING])
}

fn llama(weights: &Weights, tokens: Tensor<B, 1, Int>) -> Rows {
    let layer = |x: Rows, name: String, residual: Option<Rows>| {
        linear_with(x, weights.matrix(&format!("{name}.weight")).transpose(), None, residual)
    };
    let norm = |x: Rows, name: String| rms_norm(x, weights.vector(&format!("{name}.weight")), EPSILON);
    let mut x = weights.matrix("model.embed_tokens.weight").select(0, tokens);
    for at in 0..LAYERS {
        let part = |name: &str| format!("model.layers.{at}.{name}");
        let normed = norm(x.clone(), part("input_layernorm"));
        let [queries, keys, values] =
            ["q", "k", "v"].map(|it| layer(normed.clone(), part(&format!("self_attn.{it}_proj")), None));
        let merged = Tensor::cat(vec![rotated(queries), shared(rotated(keys)), shared(values)], 1);
        x = layer(causal_attention(merged, heads()), part("self_attn.o_proj"), Some(x));
        let normed = norm(x.clone(), part("post_attention_layernorm"));
        let [gate, up] = ["gate", "up"].map(|it| layer(normed.clone(), part(&format!("mlp.{it}_proj")), None));
        x = layer(swiglu(gate, up), part("mlp.down_proj"), Some(x));
    }
    layer(norm(x, "model.norm".into()), "lm_head".into(), None)
}

/// Targets for the logits of each position: the next token, and none behind the last one.
fn next(labels: &[i64]) -> Tensor<B, 1, Int> {
    let shifted = labels.chunks(CONTEXT).flat_map(|row| [&row[1..], &[-100]].concat());
    Tensor::from_data(TensorData::new(shifted.collect::<Vec<i64>>(), [labels.len()]), &FlexDevice)
}

fn scalar(loss: &Tensor<B, 1>) -> f64 {
    loss.clone().into_data().iter::<f64>().next().unwrap()
}

fn check(name: &str, model: fn(&Weights, Tensor<B, 1, Int>) -> Rows) {
    let weights = Weights::read(name);
    let (bytes, words) = (read(name, "reference.safetensors"), read(name, "reference.json"));
    let (tensors, reference) =
        (SafeTensors::deserialize(&bytes).unwrap(), serde_json::from_slice::<Value>(&words).unwrap());
    let expected = |path: &str| reference.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}"));
    let tokens = integers(tensors.tensor("input_ids").unwrap().data());
    let inputs = || Tensor::from_data(TensorData::new(tokens.clone(), [tokens.len()]), &FlexDevice);

    let logits = model(&weights, inputs());
    let theirs = floats(tensors.tensor("logits").unwrap().data());
    let ours: Vec<f32> = logits.clone().into_data().iter::<f32>().collect();
    assert_eq!(ours.len(), theirs.len());
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!((ours - theirs).abs() < 1e-4, "{name}, logit {at}: {ours} and not {theirs}");
    }
    let mut used = weights.used.take();
    used.sort();
    used.dedup();
    assert_eq!(used.len(), weights.matrices.len() + weights.vectors.len(), "each weight has its place");

    let loss = cross_entropy(logits, next(&tokens), 0.0);
    assert!((scalar(&loss) - expected("/loss")).abs() < 1e-5, "{name}: {}", scalar(&loss));
    let gradients = weights.gradients(&loss);
    let known = reference["param_grad_l2"].as_object().unwrap();
    assert_eq!(gradients.len(), known.len());
    for (parameter, norm) in &gradients {
        let theirs = known[parameter].as_f64().unwrap();
        assert!((norm / theirs - 1.0).abs() < 1e-4, "{name}, gradient of {parameter}: {norm} and not {theirs}");
    }

    let labels = integers(tensors.tensor("labels_masked").unwrap().data());
    let loss = cross_entropy(model(&weights, inputs()), next(&labels), 0.0);
    assert!((scalar(&loss) - expected("/masked/loss_token_mean")).abs() < 1e-5, "{name}, masked: {}", scalar(&loss));
    let norm = weights.gradients(&loss).values().map(|norm| norm * norm).sum::<f64>().sqrt();
    assert!((norm / expected("/masked/grad_norm") - 1.0).abs() < 1e-4, "{name}, masked: {norm}");
}

#[test]
fn gpt2_has_the_logits_and_gradients_of_transformers() {
    check("gpt2", gpt2);
}

#[test]
fn llama_has_the_logits_and_gradients_of_transformers() {
    check("llama", llama);
}
