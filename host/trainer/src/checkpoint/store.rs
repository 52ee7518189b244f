//! The checkpoints of one run: their order, their tags, and which of them are kept.
//!
//! A checkpoint is kept while it is among the newest `keep` or a tag points to it. Nothing outside the store's
//! own folder is ever deleted. Main type: [`Store`].

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Content,
    files::{self, Checkpoint},
};
use crate::error::CheckpointError;

const TAGS: &str = "tags.json";

/// The folder `checkpoints/` of a run.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    keep: usize,
    tags: BTreeMap<String, String>,
}

/// A checkpoint's folder name, `step-<n>` or, for further weights at one step, `step-<n>.<k>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    step: u64,
    copy: u64,
}

impl Place {
    fn name(self) -> String {
        if self.copy == 0 { format!("step-{}", self.step) } else { format!("step-{}.{}", self.step, self.copy) }
    }

    /// Only names that [`name`](Self::name) writes are read: anything else in the folder is not ours.
    fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("step-")?;
        let (step, copy) = rest.split_once('.').unwrap_or((rest, "0"));
        let place = Self { step: step.parse().ok()?, copy: copy.parse().ok()? };
        (place.name() == name).then_some(place)
    }
}

impl Store {
    /// Opens the folder of a run, making it where it is not there.
    ///
    /// What a killed process left half written or half deleted is removed.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made or read, or its tags are unreadable.
    pub fn open(folder: &Path, keep: usize) -> Result<Self, CheckpointError> {
        let failed = |source| CheckpointError::Io { action: "cannot use folder", path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(".step-") {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        Ok(Self { folder: folder.to_owned(), keep: keep.max(1), tags: read_tags(folder)? })
    }

    /// The name that a new checkpoint of a step gets.
    pub(crate) fn next_name(&self, step: u64) -> Result<String, CheckpointError> {
        let taken = places(&self.folder)?.into_iter().filter(|place| place.step == step).map(|place| place.copy);
        Ok(Place { step, copy: taken.max().map_or(0, |copy| copy + 1) }.name())
    }

    /// What writes a checkpoint under a new name, on whatever thread. The content is told the tags as they will be;
    /// [`tag`](Self::tag) points them to it afterwards.
    pub(crate) fn writer(
        &self,
        name: &str,
        mut content: Content,
        tags: &[String],
    ) -> impl FnOnce() -> Result<(), CheckpointError> + Send + 'static {
        content.state.tags = self.tags_with(tags, name);
        let (folder, name) = (self.folder.clone(), name.to_owned());
        move || files::write(&folder, &name, &content)
    }

    /// Whether there is a checkpoint of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        Place::parse(name).is_some() && self.folder.join(name).is_dir()
    }

    /// A checkpoint could not even be tried.
    pub(crate) fn failed(&self, source: io::Error) -> CheckpointError {
        CheckpointError::Io { action: "cannot write checkpoint in", path: self.folder.clone(), source }
    }

    /// Points tags to a checkpoint that is there, and deletes what is not kept any more.
    pub(crate) fn tag(&mut self, name: &str, tags: &[String]) -> Result<(), CheckpointError> {
        let tags = self.tags_with(tags, name);
        if tags != self.tags {
            let path = self.folder.join(TAGS);
            let json = serde_json::to_vec_pretty(&tags).expect("a map of strings is JSON");
            files::replace(&path, &json).map_err(|source| CheckpointError::Io {
                action: "cannot write",
                path,
                source,
            })?;
            self.tags = tags;
        }
        self.retain()
    }

    fn tags_with(&self, tags: &[String], name: &str) -> BTreeMap<String, String> {
        let fresh = tags.iter().filter(|tag| !tag.is_empty()).map(|tag| (tag.clone(), name.to_owned()));
        self.tags.clone().into_iter().chain(fresh).collect()
    }

    fn retain(&self) -> Result<(), CheckpointError> {
        let places = places(&self.folder)?;
        let last = self.last(&places);
        let kept = |name: &String| last.as_ref() == Some(name) || self.tags.values().any(|tagged| tagged == name);
        let old = places.iter().rev().skip(self.keep).map(|place| place.name());
        for name in old.filter(|name| !kept(name)) {
            let path = self.folder.join(&name);
            // Renamed first: a process that is killed while it deletes leaves no checkpoint with holes.
            let doomed = self.folder.join(format!(".{name}.old"));
            fs::rename(&path, &doomed)
                .and_then(|()| fs::remove_dir_all(&doomed))
                .map_err(|source| CheckpointError::Io { action: "cannot delete old checkpoint", path, source })?;
        }
        Ok(())
    }

    /// The newest checkpoint that was saved in the course of the run: what `last` stands for.
    ///
    /// One that was saved because a part of the run ended does not count. In a run that was not interrupted it
    /// would not be there, and a callback that restores `last` must find the same weights in both.
    fn last(&self, places: &[Place]) -> Option<String> {
        newest_regular(&self.folder, places)
    }

    /// The checkpoint that a tag (`best`, `last`, `step-1200`) stands for, verified.
    ///
    /// # Errors
    ///
    /// When there is none, or it is damaged.
    pub fn find(&self, tag: &str) -> Result<Checkpoint, CheckpointError> {
        let missing = || {
            let known: Vec<&str> = self.tags.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!(
                "none is tagged `{tag}` (tags: {known}; `last` is the newest that was saved in the course of the run, `step-<n>` that of a step)"
            );
            CheckpointError::Missing { path: self.folder.clone(), message }
        };
        let places = places(&self.folder)?;
        let name = match tag {
            "last" => self.last(&places),
            _ => self.tags.get(tag).cloned().or_else(|| {
                let step: u64 = tag.strip_prefix("step-")?.parse().ok()?;
                places.iter().rev().find(|place| place.step == step).map(|place| place.name())
            }),
        };
        Checkpoint::open(&self.folder.join(name.ok_or_else(missing)?))
    }

    /// The newest checkpoint in a folder of checkpoints, verified. The folder is only read.
    ///
    /// # Errors
    ///
    /// When there is none, or the newest is damaged; then the error names the newest whole one.
    pub fn newest(folder: &Path) -> Result<Checkpoint, CheckpointError> {
        let places = places(folder)?;
        let mut paths = places.iter().rev().map(|place| folder.join(place.name()));
        let Some(newest) = paths.next() else {
            let message = "the run was ended before its first".into();
            return Err(CheckpointError::Missing { path: folder.to_owned(), message });
        };
        Checkpoint::open(&newest).map_err(|error| match error {
            CheckpointError::Damaged { path, message, .. } => {
                CheckpointError::Damaged { path, message, older: paths.find(|path| Checkpoint::open(path).is_ok()) }
            }
            other => other,
        })
    }

    /// Takes over a checkpoint of another run, those that its tags pointed to, and what was `last` then, as links where the file
    /// system has them. The other run's folder is only read.
    ///
    /// Returns the tags whose checkpoints are not there any more.
    ///
    /// # Errors
    ///
    /// When a file cannot be linked or copied.
    pub fn adopt(&mut self, checkpoint: &Checkpoint) -> Result<Vec<String>, CheckpointError> {
        let parent = checkpoint.path().parent().unwrap_or(Path::new("."));
        let tags = checkpoint.state()?.tags;
        let own = checkpoint.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (there, gone): (Vec<_>, Vec<_>) =
            tags.into_iter().partition(|(_, name)| *name == own || Checkpoint::open(&parent.join(name)).is_ok());
        let last = last_before(parent, &own)?;
        let mut names: Vec<&String> = there.iter().map(|(_, name)| name).chain([&own]).chain(&last).collect();
        names.sort();
        names.dedup();
        for name in names {
            let to = self.folder.join(name);
            link_folder(&parent.join(name), &to).map_err(|source| CheckpointError::Io {
                action: "cannot take over",
                path: to,
                source,
            })?;
        }
        for (tag, name) in there {
            self.tag(&name, &[tag])?;
        }
        Ok(gone.into_iter().map(|(tag, _)| tag).collect())
    }

    /// The run's folder of checkpoints.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every checkpoint with its tags, oldest first.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<Vec<(String, Vec<String>)>, CheckpointError> {
        let tags =
            |name: &str| self.tags.iter().filter(|(_, tagged)| *tagged == name).map(|(tag, _)| tag.clone()).collect();
        let names = places(&self.folder)?.into_iter().map(Place::name);
        Ok(names.map(|name| (name.clone(), tags(&name))).collect())
    }
}

fn read_tags(folder: &Path) -> Result<BTreeMap<String, String>, CheckpointError> {
    let path = folder.join(TAGS);
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| CheckpointError::Damaged {
            path: folder.to_owned(),
            message: format!("{TAGS}: {error}"),
            older: None,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(source) => Err(CheckpointError::Io { action: "cannot read", path, source }),
    }
}

/// The checkpoints of a folder in the order of their steps, as numbers.
fn places(folder: &Path) -> Result<Vec<Place>, CheckpointError> {
    let failed = |source| CheckpointError::Io { action: "cannot read folder", path: folder.to_owned(), source };
    let mut places = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        places.extend(Place::parse(&entry.map_err(failed)?.file_name().to_string_lossy()));
    }
    places.sort_unstable();
    Ok(places)
}

/// The newest of some places that was saved in the course of the run.
fn newest_regular(folder: &Path, places: &[Place]) -> Option<String> {
    places.iter().rev().map(|place| place.name()).find(|name| files::is_regular(&folder.join(name)))
}

/// What `last` stood for when a checkpoint was written, where that is still there and whole.
fn last_before(folder: &Path, name: &str) -> Result<Option<String>, CheckpointError> {
    let Some(own) = Place::parse(name) else { return Ok(None) };
    let before: Vec<Place> = places(folder)?.into_iter().filter(|place| *place <= own).collect();
    Ok(newest_regular(folder, &before).filter(|name| Checkpoint::open(&folder.join(name)).is_ok()))
}

/// A folder of links to another folder's files; files are copied where links are not possible.
fn link_folder(from: &Path, to: &Path) -> io::Result<()> {
    let beside =
        to.with_file_name(format!(".{}.{}", to.file_name().unwrap_or_default().to_string_lossy(), std::process::id()));
    fs::create_dir(&beside)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = beside.join(entry.file_name());
        if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target)?;
        }
    }
    files::sync_folder(&beside)?;
    fs::rename(&beside, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b15_step_1000_sorts_after_999() {
        let mut places: Vec<Place> =
            ["step-1000", "step-999", "step-999.1", "step-2"].into_iter().filter_map(Place::parse).collect();
        places.sort_unstable();
        let names: Vec<String> = places.into_iter().map(Place::name).collect();
        assert_eq!(names, ["step-2", "step-999", "step-999.1", "step-1000"]);
        for foreign in ["step-", "step-01", "step-1.0", "step-x", "best", "step-1-old"] {
            assert_eq!(Place::parse(foreign), None, "{foreign}");
        }
    }
}
