//! Watches folders, not files, since editors and copying programs put new files in the place of old ones.
//!
//! The system tells of changes where it can; a slow look at everything finds what it does not tell: network file
//! systems, missed events, folders that come later. It loads nothing. Main type: [`Watch`].

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
    time::{Duration, Instant},
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{
    look::{Looker, plugin_files},
    mail::Signal,
    settling::{Change, Print, Settling},
};

/// What a look found.
#[derive(Debug)]
pub(super) enum Sighting {
    /// A file is still and not as it was.
    Settled(Change),
    /// A folder is not there or cannot be read. Nothing is known of its files then, so they stay what they were.
    FolderGone(PathBuf, String),
    /// It is there again, or for the first time.
    FolderBack(PathBuf),
}

pub(super) struct Watch {
    folder: PathBuf,
    quiet: Duration,
    rescan: Duration,
    began: Instant,
    looked: Duration,
    looker: Looker,
    settling: Settling,
    /// Folders that are not there, and whether that was told: one within another is not.
    gone: BTreeMap<PathBuf, bool>,
    notifier: Notifier,
}

impl Watch {
    /// Watches the plugins of a folder.
    pub(super) fn new(
        folder: PathBuf,
        quiet: Duration,
        rescan: Duration,
        max_bytes: u64,
        wake: Sender<Signal>,
    ) -> Self {
        Self {
            folder,
            quiet,
            rescan,
            began: Instant::now(),
            looked: Duration::ZERO,
            looker: Looker::new(max_bytes),
            settling: Settling::new(quiet),
            gone: BTreeMap::new(),
            notifier: Notifier::new(wake),
        }
    }

    /// Takes a file as known. Without a content it is the one that it has now.
    pub(super) fn assume(&mut self, path: &Path, print: Option<Print>) {
        let found = || self.looker.look(path).ok().flatten();
        if let Some(print) = print.or_else(found) {
            self.settling.assume(path.to_owned(), print);
        }
    }

    /// A folder that is not there yet, and that nothing was loaded from, is no news; that it comes is.
    pub(super) fn expect_no_folder(&mut self) {
        if fs::read_dir(&self.folder).is_err() {
            self.gone.insert(self.folder.clone(), true);
        }
    }

    /// What a file holds, as far as it was still.
    pub(super) fn settled(&self, path: &Path) -> Option<&Print> {
        self.settling.settled(path)
    }

    /// The plugins of the folder that were still.
    pub(super) fn plugins(&self) -> Vec<PathBuf> {
        let in_folder = |path: &&Path| path.parent() == Some(&self.folder) && path.extension().is_some_and(is_wasm);
        self.settling.all().map(|(path, _)| path).filter(in_folder).map(Path::to_owned).collect()
    }

    /// How long to wait for a sign before the next look.
    pub(super) fn pause(&self) -> Duration {
        let now = self.began.elapsed();
        let due = self.settling.due().unwrap_or(Duration::MAX).min(self.looked + self.rescan);
        due.saturating_sub(now)
    }

    /// How long after a sign the next look is: while a file is being written there are many signs.
    pub(super) fn patience(&self) -> Duration {
        (self.looked + self.quiet / 2).saturating_sub(self.began.elapsed())
    }

    /// Looks at the folder and at other files.
    pub(super) fn look(&mut self, others: &BTreeSet<PathBuf>) -> Vec<Sighting> {
        self.notifier.again();
        let now = self.began.elapsed();
        self.looked = now;
        // What settles now is read once more: metadata alone would not do.
        let due: Vec<PathBuf> =
            self.settling.pending().filter(|(_, due)| *due <= now).map(|(path, _)| path.to_owned()).collect();
        due.iter().for_each(|path| self.looker.forget(path));
        let mut sightings = Vec::new();
        let mut seen = BTreeMap::new();
        let mut paths = others.clone();
        match plugin_files(&self.folder) {
            Ok(files) => {
                self.is_there(&self.folder.clone(), &mut sightings);
                paths.extend(files);
            }
            Err(error) => {
                self.is_gone(&self.folder.clone(), &error, &mut sightings);
                self.keep(&mut seen, |path, folder| path.parent() == Some(folder));
            }
        }
        for path in &paths {
            self.look_at(path, &mut seen, &mut sightings);
        }
        let folders = others.iter().map(|path| parent(path)).chain([self.folder.clone()]).collect();
        self.notifier.follow(&folders, others);
        let looked = now..self.began.elapsed();
        sightings.extend(self.settling.look(looked, &seen).into_iter().map(Sighting::Settled));
        sightings
    }

    fn look_at(&mut self, path: &Path, seen: &mut BTreeMap<PathBuf, Print>, sightings: &mut Vec<Sighting>) {
        match self.looker.look(path) {
            Ok(Some(print)) => {
                self.is_there(&parent(path), sightings);
                seen.insert(path.to_owned(), print);
            }
            // Whether it was removed, or its whole folder, is told by the folder.
            Ok(None) => match fs::read_dir(parent(path)) {
                Ok(_) => self.is_there(&parent(path), sightings),
                Err(error) => {
                    self.is_gone(&parent(path), &error, sightings);
                    self.keep_one(path, seen);
                }
            },
            // Being written by somebody who does not let us read it yet; or for good, and then nothing is known of it.
            Err(_) => self.keep_one(path, seen),
        }
    }

    fn is_there(&mut self, folder: &Path, sightings: &mut Vec<Sighting>) {
        if self.gone.remove(folder) == Some(true) {
            sightings.push(Sighting::FolderBack(folder.to_owned()));
        }
    }

    fn is_gone(&mut self, folder: &Path, error: &io::Error, sightings: &mut Vec<Sighting>) {
        if self.gone.contains_key(folder) {
            return;
        }
        let within = self.gone.keys().any(|other| folder.starts_with(other));
        self.gone.insert(folder.to_owned(), !within);
        if !within {
            sightings.push(Sighting::FolderGone(folder.to_owned(), error.to_string()));
        }
    }

    fn keep(&self, seen: &mut BTreeMap<PathBuf, Print>, which: impl Fn(&Path, &Path) -> bool) {
        let known = self.settling.all().filter(|(path, _)| which(path, &self.folder));
        seen.extend(known.map(|(path, print)| (path.to_owned(), print.clone())));
    }

    fn keep_one(&self, path: &Path, seen: &mut BTreeMap<PathBuf, Print>) {
        seen.extend(self.settling.settled(path).map(|print| (path.to_owned(), print.clone())));
    }
}

fn is_wasm(extension: &std::ffi::OsStr) -> bool {
    extension == "wasm"
}

/// The folder that a file is in.
fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The system's own signs of changes in folders.
struct Notifier {
    /// `None` where the system has none to give; then only slow looks find changes.
    watcher: Option<RecommendedWatcher>,
    /// The folders that are followed, each as what it was then: one that was renamed away is followed no more.
    followed: BTreeMap<PathBuf, u64>,
    signs: Arc<Signs>,
}

struct Signs {
    wake: Sender<Signal>,
    /// A sign was given and not looked at yet: more of them say nothing.
    given: AtomicBool,
    /// Names of files that count besides `*.wasm`.
    names: std::sync::Mutex<BTreeSet<OsString>>,
}

impl Notifier {
    fn new(wake: Sender<Signal>) -> Self {
        let signs = Arc::new(Signs { wake, given: AtomicBool::new(false), names: std::sync::Mutex::default() });
        let own = Arc::clone(&signs);
        let watcher = notify::recommended_watcher(move |event| own.take(event)).ok();
        Self { watcher, followed: BTreeMap::new(), signs }
    }

    /// From now on a sign is news again.
    fn again(&self) {
        self.signs.given.store(false, Ordering::Release);
    }

    /// Follows these folders and no others. One that cannot be followed is looked at now and then like all of them.
    fn follow(&mut self, folders: &BTreeSet<PathBuf>, files: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        let names = files.iter().filter_map(|path| path.file_name().map(OsString::from)).collect();
        *self.signs.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = names;
        let now: BTreeMap<&PathBuf, u64> =
            folders.iter().filter_map(|folder| Some((folder, which(&folder.metadata().ok()?)))).collect();
        self.followed.retain(|folder, was| {
            let stays = now.get(folder) == Some(was);
            if !stays {
                // It may be gone, and then the system has ended this itself.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        for (folder, which) in now {
            if !self.followed.contains_key(folder) && watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() {
                self.followed.insert(folder.clone(), which);
            }
        }
    }
}

impl Signs {
    fn take(&self, event: notify::Result<notify::Event>) {
        let counts = match event {
            // Looking at a file is such an event too: it would wake whoever looks.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
            Ok(event) => event.need_rescan() || event.paths.iter().any(|path| self.is_ours(path)),
            Err(_) => true,
        };
        if counts && !self.given.swap(true, Ordering::AcqRel) {
            // Where nobody listens any more the run is over.
            let _ = self.wake.send(Signal::Look);
        }
    }

    fn is_ours(&self, path: &Path) -> bool {
        let names = || self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        path.extension().is_none_or(is_wasm) || path.file_name().is_some_and(|name| names().contains(name))
    }
}

/// Tells a folder from another one of its name.
#[cfg(unix)]
fn which(meta: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn which(_meta: &fs::Metadata) -> u64 {
    0
}
