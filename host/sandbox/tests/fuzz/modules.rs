//! Modules and components that keep the rules of WebAssembly: generated ones, and guests that were changed by rule.
//! Answers that break the contract's own rules are in `answers`.

use arbitrary::{Arbitrary as _, Unstructured};
use serde_json::json;
use wasm_mutate::WasmMutate;
use wasm_smith::{Component, Config, Module};

use crate::{
    cases,
    probe::Input,
    random::Random,
    seeds::{component_type, modules},
};

#[test]
fn generated_modules() {
    cases::each("generated_modules", 1_000, |random| {
        let mut bytes = module(config(random), random);
        // One that carries none is refused before anything else of it is looked at.
        bytes.extend(component_type());
        Input { bytes, config: json!({}) }
    });
}

/// They have the imports and exports of a guest, so that they are wrapped, and their functions do anything.
#[test]
fn generated_guests() {
    cases::each("generated_guests", 100, |random| {
        let shape = Some(modules()[random.below(2)].bytes.clone());
        let mut bytes = module(Config { module_shape: shape, ..config(random) }, random);
        bytes.extend(component_type());
        Input { bytes, config: json!({}) }
    });
}

#[test]
fn generated_components() {
    cases::each("generated_components", 2_000, |random| {
        let (config, entropy) = (config(random), entropy(random));
        let component = Component::new(config, &mut Unstructured::new(&entropy)).unwrap();
        Input { bytes: component.to_bytes(), config: json!({}) }
    });
}

#[test]
fn mutated_guests() {
    cases::each("mutated_guests", 80, |random| {
        let seed = match random.below(8) {
            0 => random.pick(modules()),
            1 | 2 => &modules()[1],
            _ => &modules()[0],
        };
        let mut bytes = seed.bytes.clone();
        for _ in 0..=random.below(4) {
            if let Some(mutated) = mutated(&bytes, random.next()) {
                bytes = mutated;
            }
        }
        Input { bytes, config: seed.config.clone() }
    });
}

/// `None` where the mutator finds nothing to change.
fn mutated(module: &[u8], seed: u64) -> Option<Vec<u8>> {
    let mut mutate = WasmMutate::default();
    mutate.seed(seed).fuel(300);
    mutate.run(module).ok()?.next()?.ok()
}

fn entropy(random: &mut Random) -> Vec<u8> {
    let count = 1 << (4 + random.below(9));
    random.bytes(count)
}

/// Any features; mostly none that the engine does not have here, since those are refused at once. Sizes stay small.
fn config(random: &mut Random) -> Config {
    let bytes = random.bytes(1_000);
    let mut config = Config::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
    (config.max_funcs, config.max_types, config.max_instructions) = (20, 20, 100);
    (config.min_funcs, config.min_types) = (0, 0);
    if !random.once_in(8) {
        (config.gc_enabled, config.exceptions_enabled, config.threads_enabled) = (false, false, false);
        (config.shared_everything_threads_enabled, config.custom_page_sizes_enabled) = (false, false);
        (config.custom_descriptors_enabled, config.wide_arithmetic_enabled) = (false, false);
        config.allow_invalid_funcs = false;
    }
    config
}

fn module(config: Config, random: &mut Random) -> Vec<u8> {
    let entropy = entropy(random);
    Module::new(config, &mut Unstructured::new(&entropy)).unwrap().to_bytes()
}
