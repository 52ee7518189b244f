//! The contract as Rust types, generated from the WIT package at build time.
//! Holds no code of our own; the crate re-exports the types that an author meets.

wit_bindgen::generate!({
    path: "../../wit/0.1.0",
    world: "plugin",
    additional_derives: [PartialEq],
    runtime_path: "::host_sdk::wit_bindgen::rt",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "::host_sdk::bindings",
    generate_all,
});
