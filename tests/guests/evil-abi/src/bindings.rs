//! The contract as Rust types, with the exports that the bindings would make left out.
//! Generated here and not taken from the SDK, whose macro describes a component only along with its exports.

wit_bindgen::generate!({ path: "../../../wit/0.1.0", world: "plugin", generate_all });
