//! Files that are no plugins, and what a plugin says of itself.

use host_callback::FailureKind;
use host_sandbox::{LoadErrorKind, Sandbox, SandboxConfig};

use crate::support::{component, guests, plugin, sandbox};

/// What ends a loop under the default limits: fuel, unless other programs keep the machine very busy.
const STOPPED: [FailureKind; 2] = [FailureKind::Fuel, FailureKind::Deadline];

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component that exports an empty callback and has `inside` besides.
fn hollow(inside: &str) -> Vec<u8> {
    wat(&format!(r#"(component {inside} (instance $i) (export "train-host:callback/callback@0.1.0" (instance $i)))"#))
}

fn refused(bytes: &[u8]) -> LoadErrorKind {
    sandbox().load_bytes("bad.wasm", bytes).unwrap_err().kind
}

#[test]
fn a_plugin_tells_what_it_is() {
    let plugin = plugin("evil");
    assert_eq!(plugin.manifest().name, "evil");
    assert_eq!(plugin.manifest().state_version, 1);
    assert_eq!(plugin.sha256().len(), 64);
    assert_eq!(plugin.size_bytes() as u64, component("evil").metadata().unwrap().len());
    assert!(plugin.imports().iter().all(|import| import.name.starts_with("train-host:callback/")), "{plugin:?}");
}

#[test]
fn a_core_module_with_its_component_type_is_wrapped() {
    let module = guests().join("wasm32-unknown-unknown/release/evil.wasm");
    let bytes = std::fs::read(&module).unwrap();
    assert_eq!(bytes[..8], *b"\0asm\x01\0\0\0");
    assert_eq!(sandbox().load(&module).unwrap().manifest(), plugin("evil").manifest());
}

#[test]
fn a1_a_loop_in_describe_is_a_load_failure() {
    let error = sandbox().load(&component("evil-describe-loop")).unwrap_err();
    let LoadErrorKind::Guest { stage: "`describe`", failure } = &error.kind else { panic!("{error}") };
    assert!(STOPPED.contains(&failure.kind), "{failure}");
    assert!(error.to_string().contains("evil-describe-loop.wasm fails in `describe`: "), "{error}");
}

#[test]
fn a1_a_loop_in_a_start_function_is_a_load_failure() {
    let kind = refused(&hollow("(core module $m (func $f (loop (br 0))) (start $f)) (core instance (instantiate $m))"));
    let LoadErrorKind::Guest { stage: "instantiation", failure } = &kind else { panic!("{kind}") };
    assert!(STOPPED.contains(&failure.kind), "{failure}");
}

#[test]
fn a7_many_memories_and_tables_are_stopped_at_the_sum() {
    let many = |count: usize, inside: &str| {
        let instances = "(core instance (instantiate $m))".repeat(count);
        hollow(&format!("(core module $m {inside}) {instances}"))
    };
    for (name, bytes) in [
        ("one large memory", many(1, "(memory 2000)")),
        ("memories that are small one by one", many(10, "(memory 200)")),
        ("too many memories", many(20, "(memory 1)")),
        ("one large table", many(1, "(table 1000000 funcref)")),
        ("tables that are small one by one", many(20, "(table 10000 funcref)")),
        ("too many tables", many(40, "(table 1 funcref)")),
        ("too many instances", many(200, "")),
        ("growing memories", many(10, "(memory 1) (func $f (drop (memory.grow (i32.const 200)))) (start $f)")),
        (
            "a growing table",
            many(1, "(table 1 funcref) (func $f (drop (table.grow 0 (ref.null func) (i32.const 200000)))) (start $f)"),
        ),
    ] {
        let kind = refused(&bytes);
        let LoadErrorKind::Guest { stage: "instantiation", failure } = &kind else { panic!("{name}: {kind}") };
        assert_eq!(failure.kind, FailureKind::Memory, "{name}: {failure}");
    }
}

#[test]
fn a12_a_bad_file_is_named_and_the_others_load() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, reason) in [
        ("empty.wasm", Vec::new(), "is empty"),
        ("random.wasm", vec![0xde, 0xad, 0xbe, 0xef, 0, 1], "is not WebAssembly"),
        ("text.wasm", b"# a readme\n".to_vec(), "is a text file, not WebAssembly"),
        ("module.wasm", wat("(module)"), "carries no component type"),
        ("world.wasm", wat("(component)"), "is a component of another world"),
        ("types.wasm", hollow(""), "does not fit the contract 0.1.0"),
        ("import.wasm", hollow(r#"(import "wasi:http/types@0.2.0" (instance))"#), "imports `wasi:http/types@0.2.0`"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let error = sandbox().load(&file).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()) && error.contains(reason), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for (name, file) in [("a folder", folder.path().to_owned()), ("nothing", folder.path().join("x.wasm"))] {
        assert!(matches!(sandbox().load(&file).unwrap_err().kind, LoadErrorKind::Read(_)), "{name}");
    }
    assert!(sandbox().load(&component("evil")).is_ok());
}

#[test]
fn a_later_patch_version_of_the_contract_is_compatible() {
    // It is looked into under our version's name, and misses functions and not the interface.
    let bytes = wat(r#"(component (instance $i) (export "train-host:callback/callback@0.1.9" (instance $i)))"#);
    let text = refused(&bytes).to_string();
    assert!(text.contains("does not have export `describe`"), "{text}");
}

#[test]
fn a16_a_damaged_cache_costs_a_compilation_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let load = || {
        let config = SandboxConfig { cache: Some(cache.clone()), ..SandboxConfig::default() };
        Sandbox::new(config).unwrap().load(&component("evil")).unwrap();
        let entry = std::fs::read_dir(&cache).unwrap().next().unwrap().unwrap();
        (entry.path(), std::fs::read(entry.path()).unwrap())
    };
    let (entry, good) = load();
    std::fs::write(&entry, &good[..good.len() / 2]).unwrap();
    assert_eq!(load(), (entry.clone(), good.clone()));
    let written = std::fs::metadata(&entry).unwrap().modified().unwrap();
    load();
    assert_eq!(std::fs::metadata(&entry).unwrap().modified().unwrap(), written, "a good entry is left alone");
}
