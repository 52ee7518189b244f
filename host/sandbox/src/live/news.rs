//! What became of a change, for whoever keeps the run's timeline.
//!
//! It writes nothing: the caller's [`LiveSink`] does. Main types: [`LiveNews`], [`LiveSink`].

use std::{path::PathBuf, sync::Arc, time::Duration};

use host_callback::{Grant, Identity, InstanceName, Manifest, Permit, Summary};

/// One change, or why there was none. Each becomes one line.
#[derive(Clone, Debug)]
pub enum LiveNews {
    /// An instance has another version of its plugin, or other settings. Its state went on.
    Swapped {
        /// Who it was.
        from: Arc<Identity>,
        /// Who it is.
        to: Arc<Identity>,
        /// What it may do now.
        permit: Permit,
        /// The keys of its entry that changed; none where only the file did.
        settings: Vec<&'static str>,
        /// How long the loop waited for it.
        hand_over: Duration,
    },
    /// An instance may do something else from now on; nothing else about it changed.
    Granted {
        /// Who.
        by: Arc<Identity>,
        /// What.
        permit: Permit,
    },
    /// A new instance takes part.
    Joined {
        /// Who.
        by: Arc<Identity>,
        /// Its file.
        file: PathBuf,
        /// What it may do.
        permit: Permit,
        /// What it asks for.
        manifest: Manifest,
        /// What it was granted.
        grant: Grant,
    },
    /// An instance takes no part any more.
    Retired {
        /// Who.
        by: Arc<Identity>,
        /// Why.
        why: String,
    },
    /// A change was not made. What was there goes on.
    Refused {
        /// Whose place it was for, where that is known.
        instance: Option<InstanceName>,
        /// The file.
        file: PathBuf,
        /// SHA-256 of the file.
        sha256: String,
        /// Why.
        why: String,
        /// Whether an instance of the name goes on.
        stays: bool,
    },
    /// A new version failed soon after it had taken over; the old one is back, with the state that it had then.
    RolledBack {
        /// Who failed.
        from: Arc<Identity>,
        /// Who is back.
        to: Arc<Identity>,
        /// How it failed.
        why: String,
    },
    /// A folder with plugins is not there any more or cannot be read; what was loaded goes on. Told once.
    FolderGone {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A folder is there that was not.
    FolderBack {
        /// The folder.
        folder: PathBuf,
    },
    /// The configuration changed in keys that cannot change in a run.
    Ignored {
        /// The keys.
        keys: Vec<String>,
    },
    /// The configuration changed and is wrong; nothing of it is taken.
    Invalid {
        /// The first problem.
        why: String,
    },
}

/// Is told what happens. Called by the loop between two steps and by the thread that watches, so it must not wait long.
pub trait LiveSink: Send + Sync {
    /// Takes news.
    fn told(&self, news: &LiveNews);

    /// Takes the instances of the run as they stand at a step. Called by the thread that watches, after each change and
    /// every few seconds.
    fn table(&self, step: u64, rows: &[Summary]);
}
