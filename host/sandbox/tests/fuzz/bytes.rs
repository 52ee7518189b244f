//! Bytes that know nothing of WebAssembly, and good files in which bytes are wrong. What keeps a file's structure is in
//! `modules`.

use serde_json::json;

use crate::{
    cases,
    probe::Input,
    random::Random,
    seeds::{Seed, components, modules},
};

#[test]
fn random_bytes() {
    cases::each("random_bytes", 5_000, |random| {
        let begins: [&[u8]; 5] =
            [b"", b"\0asm", b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0", b"\0asm\x0d\0\x01\0\x01\x08\0asm\x01\0\0\0"];
        let (begin, length) = (*random.pick(&begins), random.below(2_000));
        Input { bytes: [begin, &random.bytes(length)].concat(), config: json!({}) }
    });
}

#[test]
fn mutated_bytes() {
    cases::each("mutated_bytes", 250, |random| {
        let seeds = if random.once_in(4) { modules() } else { components() };
        // Most of the contract is in a few kilobytes; large files take long to compile.
        let seed = match random.below(8) {
            0 => random.pick(seeds),
            1 | 2 => &seeds[1],
            _ => &seeds[0],
        };
        let mut bytes = seed.bytes.clone();
        let mutations = *random.pick(&[1, 1, 2, 5]);
        for _ in 0..mutations {
            mutate(&mut bytes, random);
        }
        Input { bytes, config: seed.config.clone() }
    });
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(12) {
        0..=4 => bytes[at] ^= 1 << random.below(8),
        5 => bytes[at] = random.odd().to_le_bytes()[0],
        6 => {
            let range = random.range(bytes.len());
            let others = random.bytes(range.len());
            bytes[range].copy_from_slice(&others);
        }
        7 => bytes.truncate(at),
        8 => drop(bytes.drain(random.range(bytes.len()))),
        9 => {
            let twice = bytes[random.range(bytes.len())].to_vec();
            drop(bytes.splice(at..at, twice));
        }
        10 => {
            let other: &Seed = random.pick(components());
            let piece = other.bytes[random.range(other.bytes.len())].to_vec();
            let place = random.range(bytes.len());
            drop(bytes.splice(place, piece));
        }
        _ => {
            let count = random.below(64);
            let others = random.bytes(count);
            drop(bytes.splice(at..at, others));
        }
    }
}
