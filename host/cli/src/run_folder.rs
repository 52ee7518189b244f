//! The folder that a run leaves: its number, and how files in it are written so that a kill at any moment
//! leaves them readable.
//!
//! It does not know what the files say. Main types: [`RunFolder`], [`JsonLines`].

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Seek, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

/// `runs/<name>-<n>/`.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes `<runs>/<name>-<n>` with the next free number, and `checkpoints/` in it.
    ///
    /// The folder is taken by making it, so two processes that start at once get one each.
    ///
    /// # Errors
    ///
    /// When `name` cannot be part of one folder's name, or a folder cannot be made; the text names the path.
    pub(crate) fn create(runs: &Path, name: &str) -> io::Result<Self> {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` cannot name a folder")));
        }
        fs::create_dir_all(runs).map_err(|error| about("cannot make the folder", runs, error))?;
        let mut number = highest(runs, name)? + 1;
        let path = loop {
            let path = runs.join(format!("{name}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(about("cannot make the folder", &path, error)),
            }
        };
        let folder = Self { path };
        let checkpoints = folder.checkpoints();
        fs::create_dir(&checkpoints).map_err(|error| about("cannot make the folder", &checkpoints, error))?;
        Ok(folder)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `<name>-<n>`.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// The folder of checkpoints.
    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The path of one of its files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole: a reader sees the old content or the new one, also after a power cut.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the old file is then as it was.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.file(name);
        write_whole(&self.path, &path, content).map_err(|error| about("cannot write", &path, error))
    }

    /// Writes a value as indented JSON, whole.
    ///
    /// # Errors
    ///
    /// When it cannot be written; the old file is then as it was.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        self.write(name, &text)
    }
}

/// The highest number among `<name>-<number>`, 0 if there is none. Numbers, not texts: 10 comes after 9.
fn highest(runs: &Path, name: &str) -> io::Result<u64> {
    let number = |entry: io::Result<fs::DirEntry>| -> Option<u64> {
        let file = entry.ok()?.file_name();
        let digits = file.to_str()?.strip_prefix(name)?.strip_prefix('-')?;
        // A number of more than 32 bits is nobody's counter.
        let counts = digits.bytes().all(|byte| byte.is_ascii_digit());
        counts.then(|| digits.parse::<u32>().ok()).flatten().map(u64::from)
    };
    let entries = fs::read_dir(runs).map_err(|error| about("cannot read the folder", runs, error))?;
    Ok(entries.filter_map(number).max().unwrap_or(0))
}

/// Writes a file beside and renames it: readers see the old content or the new one, and never a part.
pub(crate) fn write_whole(folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    // Temporary files are private by default; these are to be as readable as any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut beside = builder.tempfile_in(folder)?;
    beside.write_all(content)?;
    beside.as_file().sync_all()?;
    beside.persist(path).map_err(|error| error.error)?;
    // The rename itself is durable only when the folder is.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// Says with an I/O error what was tried and on which path; the kind stays.
fn about(what: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} `{}`: {error}", path.display()))
}

/// A file that grows by one JSON value a line.
///
/// Lines wait in memory until they are [`flushed`](Self::flush), at the latest when it is dropped, and are then handed to the
/// system in one call: a kill leaves whole lines and at most one torn one at the end, which the next opening drops.
#[derive(Debug)]
pub(crate) struct JsonLines {
    file: File,
    /// Lines, those that wait included.
    lines: u64,
    /// Bytes in the file.
    bytes: u64,
    /// Lines that wait.
    buffer: Vec<u8>,
}

impl JsonLines {
    /// Opens a file to append to it, and makes it where it is not there. A torn last line is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, read or shortened.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let open = || -> io::Result<Self> {
            let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
            let whole = whole_lines(&file, u64::MAX, |_| Ok(()))?;
            file.set_len(whole.bytes)?;
            Ok(Self { file, lines: whole.lines, bytes: whole.bytes, buffer: Vec::new() })
        };
        open().map_err(|error| about("cannot open", path, error))
    }

    /// Makes a file that starts with the first `lines` lines of another, byte for byte.
    ///
    /// Takes what there is where the other one has fewer; [`lines`](Self::lines) tells.
    ///
    /// # Errors
    ///
    /// When one cannot be read, or the other not be written.
    pub(crate) fn continue_from(path: &Path, other: &Path, lines: u64) -> io::Result<Self> {
        let mut new = Self::open(path)?;
        let old = match File::open(other) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(new),
            old => old.map_err(|error| about("cannot read", other, error))?,
        };
        let mut to = io::BufWriter::new(&new.file);
        let copied = whole_lines(&old, lines, |line| to.write_all(line)).and_then(|whole| to.flush().map(|()| whole));
        drop(to);
        let copied = copied.map_err(|error| about("cannot copy", other, error))?;
        new.lines += copied.lines;
        new.bytes += copied.bytes;
        Ok(new)
    }

    /// Adds a value as one line, which waits.
    ///
    /// # Errors
    ///
    /// When it cannot be put into words; nothing is added then.
    pub(crate) fn append(&mut self, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        let whole = self.buffer.len();
        if let Err(error) = serde_json::to_writer(&mut self.buffer, value) {
            self.buffer.truncate(whole);
            return Err(error.into());
        }
        self.buffer.push(b'\n');
        self.lines += 1;
        Ok(())
    }

    /// Whether lines wait.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    ///
    /// When they cannot be written. They are lost, and what got through of them is taken back as far as that is possible.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.has_waiting() {
            return Ok(());
        }
        let written = self.file.write_all(&self.buffer);
        if written.is_ok() {
            self.bytes += self.buffer.len() as u64;
        } else {
            self.lines -= self.buffer.iter().filter(|byte| **byte == b'\n').count() as u64;
            // The first error is the one to tell; where this fails too, the next opening drops the torn line.
            let _ = self.file.set_len(self.bytes);
        }
        self.buffer.clear();
        written
    }

    /// How many lines it has.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Makes the lines written so far durable.
    ///
    /// # Errors
    ///
    /// When the system says that it could not.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// Lines to a file that cannot be opened in another way.
    #[cfg(test)]
    pub(crate) fn over(file: File) -> Self {
        Self { file, lines: 0, bytes: 0, buffer: Vec::new() }
    }

    /// Reads all whole lines, in order, and says whether a torn one follows them.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(crate) fn for_each(path: &Path, mut each: impl FnMut(&[u8])) -> io::Result<bool> {
        let read = |file: File| {
            let whole = whole_lines(&file, u64::MAX, |line| {
                each(line);
                Ok(())
            })?;
            Ok(file.metadata()?.len() > whole.bytes)
        };
        File::open(path).and_then(read).map_err(|error| about("cannot read", path, error))
    }
}

impl Drop for JsonLines {
    fn drop(&mut self) {
        // Whoever wants to know whether it can be written flushes it before.
        let _ = self.flush();
    }
}

/// A length in lines and bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    lines: u64,
    bytes: u64,
}

/// Goes through the first `limit` lines that end with a newline, newline included.
fn whole_lines(mut file: &File, limit: u64, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Extent> {
    file.rewind()?;
    let mut reader = BufReader::new(file);
    let mut extent = Extent::default();
    let mut line = Vec::new();
    while extent.lines < limit {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        each(&line)?;
        extent.lines += 1;
        extent.bytes += line.len() as u64;
    }
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;

    #[test]
    fn the_next_number_is_one_above_the_highest() {
        for (existing, next) in [
            (&[][..], "run-1"),
            (&["run-9"], "run-10"),
            (&["run-9", "run-10"], "run-11"),
            (&["run-999"], "run-1000"),
            (&["run-999", "run-1000"], "run-1001"),
            (&["run-3", "run-7"], "run-8"),
            (&["other-5", "run-x", "run-2-5", "run-+8", "run-", "rerun-6"], "run-1"),
            (&["run-99999999999999999999"], "run-1"),
        ] {
            let runs = tempfile::tempdir().unwrap();
            existing.iter().for_each(|name| fs::create_dir(runs.path().join(name)).unwrap());
            let folder = RunFolder::create(runs.path(), "run").unwrap();
            assert_eq!(folder.name(), next, "{existing:?}");
            assert!(folder.checkpoints().is_dir());
        }
    }

    #[test]
    fn processes_that_start_at_once_get_a_folder_each() {
        let runs = tempfile::tempdir().unwrap();
        let barrier = Barrier::new(8);
        let start = || {
            barrier.wait();
            RunFolder::create(runs.path(), "run").unwrap().name()
        };
        let mut names: Vec<String> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 8);
    }

    #[test]
    fn a_name_stays_within_the_folder_of_runs() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["", "..", "a/b", "a\\b", ".hidden"] {
            assert_eq!(RunFolder::create(runs.path(), name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let runs = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(runs.path(), "run").unwrap();
        folder.write("report.md", b"first, and long").unwrap();
        folder.write("report.md", b"second").unwrap();
        assert_eq!(fs::read(folder.file("report.md")).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        fs::create_dir(folder.file("taken")).unwrap();
        assert!(folder.write("taken", b"x").unwrap_err().to_string().contains("taken"));
    }

    #[test]
    fn a_torn_last_line_is_dropped() {
        for (text, lines) in
            [("", 0), ("{\"a\":1}\n", 1), ("{\"a\":1}\n{\"a\":", 1), ("{\"a\"", 0), ("{\"a\":1}\n{\"a\":2}", 1)]
        {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), text).unwrap();
            let mut to = JsonLines::open(file.path()).unwrap();
            assert_eq!(to.lines(), lines, "{text:?}");
            to.append(&9).unwrap();
            assert_eq!(to.lines(), lines + 1);
            drop(to);
            let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
            assert_eq!(fs::read_to_string(file.path()).unwrap(), format!("{whole}9\n"));
        }
    }

    #[test]
    fn a_file_continues_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "1\n22\n333\n4").unwrap();
        for (asked, got, text) in [(0, 0, ""), (2, 2, "1\n22\n"), (3, 3, "1\n22\n333\n"), (7, 3, "1\n22\n333\n")] {
            let _ = fs::remove_file(&new);
            let mut to = JsonLines::continue_from(&new, &old, asked).unwrap();
            assert_eq!(to.lines(), got);
            to.append("x").unwrap();
            drop(to);
            assert_eq!(fs::read_to_string(&new).unwrap(), format!("{text}\"x\"\n"));
        }
        let none = JsonLines::continue_from(&folder.path().join("n"), &folder.path().join("missing"), 5).unwrap();
        assert_eq!(none.lines(), 0);
    }
}
