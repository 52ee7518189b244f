//! Tests of the whole program: each starts the built binary in a folder of its own and reads what it leaves.
//!
//! `run` is the main job, `resume` its continuation, `kill` what survives a SIGKILL, `stop` what a stop in the middle
//! of an evaluation leaves, `steer` what callbacks may do, `evil` what misbehaving ones may not, `outside` what they find
//! of the world, `background` one that the loop does not wait for, `input` bad files and settings, `show` the story that
//! a run left, `swap` plugins that change meanwhile, `ranks` runs of several processes, `bench` how a step is measured, `plugin_tool` how a plugin is begun,
//! built, tried and packed, `editor` what editors and shells are told. `traces`, `shipped` and `catalogue` hold the plugins that come with the program, `releases` those of
//! released contracts, `tidy` the rules of the repository. Rows of the behaviours that users asked for elsewhere have
//! their number in the name (`b6_...`).

mod background;
mod bench;
mod catalogue;
mod compile;
mod editor;
mod evil;
mod input;
mod kill;
mod outside;
mod plugin_tool;
mod ranks;
mod releases;
mod resume;
mod run;
mod shipped;
mod show;
mod steer;
mod stop;
mod swap;
mod tidy;
mod traces;

use host_tests::Project;

/// A project for the binary that was built with these tests.
fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_host"))
}
