//! An instance of the run as the thread that watches knows it, and what a change of its entry or its file means.
//!
//! It changes nothing: [`Worker`](super::worker::Worker) does. Main type: [`Member`].

use std::sync::Arc;

use host_callback::{Grant, Permit};

use super::{roster::Wanted, watch::Watch};
use crate::Plugin;

/// An instance of the run.
pub(super) struct Member {
    pub(super) wanted: Wanted,
    pub(super) plugin: Arc<Plugin>,
    pub(super) permit: Permit,
    /// The number of the swap that it came with; 0 for none.
    pub(super) swap: u64,
    /// What comes back if it fails.
    pub(super) before: Option<Box<Member>>,
}

/// Why an instance should not be there any more.
pub(super) fn why_leaving(member: &Member, watch: &Watch) -> String {
    match watch.settled(&member.wanted.file) {
        Some(_) => "its entry was removed or disabled".to_owned(),
        None => format!("its file {} was removed", member.wanted.file.display()),
    }
}

/// What an instance may do after a change. Another file never gives it more: only an entry does.
pub(super) fn permit_after(member: &Member, wanted: &Wanted, plugin: &Plugin) -> Permit {
    let manifest = plugin.manifest();
    match &wanted.grant {
        Grant::Only { .. } => Permit::new(manifest, &wanted.grant),
        grant if *grant == member.wanted.grant => member.permit.narrowed_to(manifest),
        grant => Permit::new(member.plugin.manifest(), grant).narrowed_to(manifest),
    }
}

/// The keys of an entry that differ, as configurations write them; where a file lies is none of them.
pub(super) fn changed(before: &Wanted, after: &Wanted) -> Vec<&'static str> {
    let rows = [
        ("config", before.config != after.config),
        ("grant", before.grant != after.grant),
        ("limits", before.limits != after.limits),
        ("order", before.order != after.order),
        ("on-failure", before.on_failure != after.on_failure),
    ];
    rows.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}
