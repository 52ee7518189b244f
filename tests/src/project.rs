//! A temporary folder with a configuration, data and plugins, in which the program is started.
//! Does not know what a test wants to see: [`Outcome`] and [`Run`] show it.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::{Outcome, guests};

/// Longer than any test's run takes on a busy machine: what is still running then hangs.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// A temporary project. Its folder is removed when it is dropped.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
    program: PathBuf,
}

/// A small, fast, real run: 150 flowers, 4 numbers each, an MLP; 24 steps an epoch.
const IRIS: &str = r#"
[run]
name = "iris"
seed = 7
device = "cpu"

[task]
kind = "classification"
data = "iris.csv"
hidden = [16]
dropout = 0.1

[train]
epochs = 4
batch-size = 5
evaluate-every = "1ep"
log-every = "1st"
keep = 3
clip-norm = 5.0

[optimizer]
learning-rate = 0.01
weight-decay = 0.01

[[optimizer.group]]
name = "biases"
parameters = ["*.bias"]
weight-decay = 0.0
"#;

impl Project {
    /// A project with the small run; `program` is the built binary.
    ///
    /// # Panics
    ///
    /// When the folder cannot be made.
    #[must_use]
    pub fn new(program: &str) -> Self {
        let project = Self { folder: tempfile::tempdir().expect("a temporary folder"), program: program.into() };
        fs::copy(guests::root().join("tests/fixtures/data/iris.csv"), project.path("iris.csv")).expect("the data");
        fs::create_dir(project.path("plugins")).expect("a folder");
        // Compiled guests are shared by all tests: compiling is what takes time.
        let cache = guests::target_dir().join("cache");
        // A call may wait for its turn for long where the machine is busy.
        let plugins =
            format!("[plugins]\ncache = {:?}\nlimits = {{ deadline-ms = 600000 }}", cache.display().to_string());
        project.write("train.toml", &format!("{IRIS}\n{plugins}\n"));
        project
    }

    /// A path in the project.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the project.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("a file of the project");
    }

    /// Writes a script of the project, which can be started.
    ///
    /// Another process makes it of a plain file: what is open for writing cannot be started, and a program that this
    /// process starts meanwhile for another test may hold what was open here for a moment longer.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn script(&self, name: &str, content: &str) -> PathBuf {
        let (plain, script) = (format!("{name}.txt"), self.path(name));
        self.write(&plain, content);
        let made = Command::new("install").args(["-m", "755"]).args([&self.path(&plain), &script]).status();
        assert!(made.expect("`install` starts").success(), "{}", script.display());
        script
    }

    /// Adds TOML to the configuration.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn configure(&self, toml: &str) -> &Self {
        let file = fs::read_to_string(self.path("train.toml")).expect("the configuration");
        self.write("train.toml", &format!("{file}\n{toml}\n"));
        self
    }

    /// Compiled plugins go into a folder of this project, where no other test finds them.
    ///
    /// # Panics
    ///
    /// When the configuration cannot be read or names no cache.
    pub fn with_own_cache(&self) -> &Self {
        let file = fs::read_to_string(self.path("train.toml")).expect("the configuration");
        let line = file.lines().find(|line| line.starts_with("cache = ")).expect("the cache of all tests");
        let own = format!("cache = {:?}", self.path("cache").display().to_string());
        self.write("train.toml", &file.replace(line, &own));
        self
    }

    /// Puts a built guest into the plugins folder, under a file name without `.wasm`.
    ///
    /// # Panics
    ///
    /// When it was not built or cannot be copied.
    pub fn drop_in(&self, guest: &str, name: &str) -> &Self {
        let to = self.path(&format!("plugins/{name}.wasm"));
        fs::copy(guests::component(guest), to).expect("a guest in the plugins folder");
        self
    }

    /// Adds an instance of a built guest: `config` is the content of `[plugin.config]`, `more` further keys of
    /// `[[plugin]]`.
    pub fn plugin(&self, guest: &str, instance: &str, more: &str, config: &str) -> &Self {
        self.drop_in(guest, instance);
        self.configure(&format!("[[plugin]]\nname = \"{instance}\"\n{more}\n[plugin.config]\n{config}\n"))
    }

    /// The program with arguments, separated by blanks, in the project's folder.
    #[must_use]
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command.env_remove("NO_COLOR").env("XDG_CACHE_HOME", self.path("cache-home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts the program.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    #[must_use]
    pub fn start(&self, arguments: &str) -> Child {
        self.command(arguments).spawn().expect("the program starts")
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    ///
    /// When it cannot be started, or hangs.
    #[must_use]
    pub fn host(&self, arguments: &str) -> Outcome {
        Outcome::new(finish(self.start(arguments)), self.folder.path())
    }

    /// Runs `host run train.toml` with further arguments and expects it to end well.
    ///
    /// # Panics
    ///
    /// When it ends otherwise.
    pub fn train(&self, arguments: &str) -> Outcome {
        let outcome = self.host(&format!("run train.toml {arguments}"));
        outcome.expect(0);
        outcome
    }

    /// The project's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Waits for a child, and ends it when it hangs.
///
/// # Panics
///
/// When it hangs.
fn finish(mut child: Child) -> Output {
    let (send, receive) = mpsc::channel();
    let mut streams = (child.stdout.take(), child.stderr.take());
    let reader = thread::spawn(move || {
        let errors = thread::spawn(move || read(streams.1.take()));
        let output = read(streams.0.take());
        drop(send.send((output, errors.join().unwrap_or_default())));
    });
    let Ok((stdout, stderr)) = receive.recv_timeout(HANGS_AFTER) else {
        drop(child.kill());
        panic!("the program did not end within {HANGS_AFTER:?}: a callback or a lock holds the loop");
    };
    drop(reader.join());
    Output { status: child.wait().expect("the program ends"), stdout, stderr }
}

fn read(stream: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        // A stream that breaks off has given what there was.
        drop(stream.read_to_end(&mut bytes));
    }
    bytes
}
