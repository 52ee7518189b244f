//! The rules against what the libraries themselves did, and the plugin as a host would run it.
//! Where our own rule differs from a library on purpose, the case is listed with the reason.

mod differences;
mod fixtures;
mod plugin;
