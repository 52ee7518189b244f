//! Good files that bad ones are made from: built guests, the shipped plugins, and a small guest that is written here.
//! It spoils nothing. Main function: [`components`].

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde_json::{Value, json};

/// A good file.
pub(crate) struct Seed {
    pub(crate) bytes: Vec<u8>,
    /// A configuration that it takes.
    pub(crate) config: Value,
}

/// Guests of the tests, each with a configuration that it takes.
fn guests() -> [(&'static str, Value); 5] {
    let decide = json!([{"note": "n"}, {"report": ["r", 1.0]}, {"set": ["dropout", 0.1]}, {"say": "hello"}]);
    [
        ("evil-abi", json!("none")),
        ("evil", json!({"mode": "pull"})),
        ("script", json!({"reads": ["loss"], "decisions": [{"hook": "step-end", "decide": decide}]})),
        ("reader", json!({"reads": ["loss", "gradient-norm"], "report": true})),
        ("evil-next", json!({"mode": "healthy"})),
    ]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the folder that guests are built in.
fn built(path: &str) -> Vec<u8> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let file = root().join(target).join("guests").join(path);
    fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}: run ./test.sh first", file.display()))
}

/// Components: first one of a few kilobytes, then the tests' guests, then the shipped plugins.
pub(crate) fn components() -> &'static [Seed] {
    static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
        let small = wit_component::ComponentEncoder::default().module(&small_module()).unwrap().encode().unwrap();
        let small = Seed { bytes: small, config: json!({}) };
        let guests = guests().map(|(name, config)| Seed { bytes: built(&format!("components/{name}.wasm")), config });
        let shipped = shipped().into_iter().map(|bytes| Seed { bytes, config: json!({"monitor": "loss"}) });
        [small].into_iter().chain(guests).chain(shipped).collect()
    });
    &SEEDS
}

/// Core modules with a component type, in the same order, without the shipped plugins.
pub(crate) fn modules() -> &'static [Seed] {
    static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
        let small = Seed { bytes: small_module(), config: json!({}) };
        let path = |name: &str| format!("wasm32-unknown-unknown/release/{}.wasm", name.replace('-', "_"));
        let guests = guests().map(|(name, config)| Seed { bytes: built(&path(name)), config });
        [small].into_iter().chain(guests).collect()
    });
    &SEEDS
}

fn shipped() -> Vec<Vec<u8>> {
    let folders = fs::read_dir(root().join("plugins")).unwrap().map(|folder| folder.unwrap().path());
    let file = |folder: PathBuf| folder.join(folder.file_name().unwrap()).with_extension("wasm");
    let mut files: Vec<PathBuf> = folders.map(file).filter(|file| file.is_file()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// The custom section in which a core module says what component it becomes, as it stands in the file.
pub(crate) fn component_type() -> &'static [u8] {
    static SECTION: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let module = built("wasm32-unknown-unknown/release/evil_abi.wasm");
        let mut rest = &module[8..];
        while !rest.is_empty() {
            let (size, body) = leb128(&rest[1..]);
            let end = rest.len() - body.len() + size;
            if rest[0] == 0 && body[1..].starts_with(b"component-type") {
                return rest[..end].to_vec();
            }
            rest = &rest[end..];
        }
        panic!("the guest carries no component type")
    });
    &SECTION
}

fn leb128(bytes: &[u8]) -> (usize, &[u8]) {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let value = bytes[..length].iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
    (value, &bytes[length..])
}

/// A module with the exports of the contract over a memory with this content. What each call answers lies at
/// `ANSWERS`, one place of sixteen bytes after the other, and `describe` answers with what lies at 0.
pub(crate) fn module(memory: &[u8]) -> Vec<u8> {
    let data: String = memory.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        r#"(module
            (memory (export "memory") 2)
            (global $free (mut i32) (i32.const 0x10000))
            (global $calls (mut i32) (i32.const -1))
            (func $next (result i32)
                (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
                (i32.add (i32.const {ANSWERS}) (i32.mul (i32.const 16) (i32.rem_u (global.get $calls) (i32.const 16)))))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.set $free (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
                (global.get $free)
                (global.set $free (i32.add (global.get $free) (local.get 3))))
            (func (export "train-host:callback/callback@0.1.0#describe") (result i32) i32.const 0)
            (func (export "train-host:callback/callback@0.1.0#start")
                (param i32 i32 i32 i32 i64 i32 i32 i64 i32 i32) (result i32) call $next)
            (func (export "train-host:callback/callback@0.1.0#handle")
                (param i32 i64 i32 i64 f64 i64 i64 i32 i32 i32) (result i32) call $next)
            (func (export "train-host:callback/callback@0.1.0#save") (result i32) call $next)
            (func (export "train-host:callback/callback@0.1.0#load") (param i32 i32 i32) (result i32) call $next)
            (data (i32.const 0) "{data}"))"#
    );
    let mut module = wat::parse_str(text).unwrap();
    module.extend(component_type());
    module
}

/// Where the answers of [`module`] lie.
pub(crate) const ANSWERS: usize = 64;

/// A guest that subscribes to nothing and decides nothing.
fn small_module() -> Vec<u8> {
    let mut memory = vec![0; 512];
    memory[400..405].copy_from_slice(b"small");
    memory[408..413].copy_from_slice(b"1.0.0");
    for (at, value) in [(0, 400_u32), (4, 5), (8, 408), (12, 5), (16, 400), (20, 0)] {
        memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    module(&memory)
}
