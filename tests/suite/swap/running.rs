//! A run that goes on while a test changes its plugins, and components that are not quite those that were built.
//! Holds no tests. Waits for lines that the program prints, and for nothing else.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Child,
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use host_tests::{Project, Run, guests};
use serde_json::Value;

/// Longer than anything here takes on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(600);

/// A run without an end of its own, which a test ends.
pub(crate) struct Running {
    pub(crate) project: Project,
    child: OwnChild,
    lines: Receiver<String>,
    pub(crate) told: Vec<String>,
}

/// A child that ends with the test, also with one that fails.
struct OwnChild(Child);

impl Drop for OwnChild {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Running {
    pub(crate) fn start(project: Project) -> Self {
        Self::with(project, "100st")
    }

    pub(crate) fn with(project: Project, log_every: &str) -> Self {
        let mut child = project.start(&format!(
            "run train.toml --set train.epochs=1000000 --set train.evaluate-every=end --set train.log-every={log_every}"
        ));
        let (send, lines) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().expect("its errors are piped"));
        // It ends with the program, whose end closes the stream.
        drop(thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line))));
        let mut running = Self { project, child: OwnChild(child), lines, told: Vec::new() };
        running.step();
        running
    }

    /// Waits for a line with these words.
    pub(crate) fn until(&mut self, words: &str) -> String {
        let began = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(HANGS_AFTER.saturating_sub(began.elapsed())) {
            self.told.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
        panic!("`{words}` was not told, but:\n{}", self.stories().join("\n"));
    }

    /// Waits until the run has made some steps more.
    pub(crate) fn step(&mut self) {
        self.until("step ");
    }

    /// What was told besides steps.
    pub(crate) fn stories(&self) -> Vec<String> {
        self.told.iter().filter(|line| line.contains(" · ")).cloned().collect()
    }

    pub(crate) fn plugin(&self, name: &str) -> PathBuf {
        self.project.path(&format!("plugins/{name}.wasm"))
    }

    /// Changes the text of the configuration, whole at every moment.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let file = self.project.path("train.toml");
        let text = fs::read_to_string(&file).expect("the configuration");
        assert!(text.contains(from), "{text}");
        put(&file, text.replace(from, to).as_bytes());
    }

    /// Ends the run as a power failure does, at whatever moment this is.
    pub(crate) fn kill(mut self) -> Project {
        self.child.0.kill().expect("it runs");
        self.child.0.wait().expect("it ends");
        self.project
    }

    /// Ends the run as Ctrl-C does, and gives its folder. The project goes with it.
    pub(crate) fn end(mut self) -> (Project, Run) {
        let killed = std::process::Command::new("kill")
            .args(["-TERM", &self.child.0.id().to_string()])
            .status()
            .expect("a signal is sent");
        assert!(killed.success());
        self.told.extend(self.lines.iter());
        let code = self.child.0.wait().expect("it ends").code();
        assert_eq!(code, Some(130), "{}", self.told.join("\n"));
        let run = Run::at(self.project.path("runs/iris-1"));
        (self.project, run)
    }
}

/// The stories of a topic in the timeline, of which there may be much.
pub(crate) fn stories(run: &Run, topic: &str) -> Vec<Value> {
    let timeline = fs::File::open(run.path("timeline.jsonl")).expect("a timeline");
    let lines = BufReader::new(timeline).lines().map(|line| line.expect("a line"));
    let parsed = lines.filter(|line| line.contains(topic)).map(|line| serde_json::from_str(&line).expect("JSON"));
    parsed.filter(|line: &Value| line["event"] == topic || line["topic"] == topic).collect()
}

/// A component of another content that does the same: a custom section with a mark at its end.
pub(crate) fn marked(guest: &str, mark: &str) -> Vec<u8> {
    let mut bytes = fs::read(guests::component(guest)).expect("a built guest");
    section(&mut bytes, 0, &[&[4], b"mark".as_slice(), mark.as_bytes()].concat());
    bytes
}

fn section(component: &mut Vec<u8>, id: u8, body: &[u8]) {
    component.push(id);
    component.extend(leb128(body.len()));
    component.extend(body);
}

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// A guest with so much code beside its own that compiling it takes seconds.
pub(crate) fn slow(guest: &str, functions: usize) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // One type: from a number to a number.
    section(&mut module, 1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    section(&mut module, 3, &[leb128(functions), vec![0; functions]].concat());
    // Shifts and products that nothing can fold together.
    let mix = [0x20, 0, 0x20, 0, 0x41, 7, 0x76, 0x73, 0x41, 0x2d, 0x6c, 0x21, 0].repeat(60);
    let body = [vec![0], mix, vec![0x20, 0, 0x0b]].concat();
    let body = [leb128(body.len()), body].concat();
    section(&mut module, 10, &[leb128(functions), body.repeat(functions)].concat());
    let mut bytes = fs::read(guests::component(guest)).expect("a built guest");
    section(&mut bytes, 1, &module);
    bytes
}

/// By rename, as careful programs write.
pub(crate) fn put(file: &Path, bytes: &[u8]) {
    let beside = file.with_extension("beside");
    fs::write(&beside, bytes).expect("a file beside");
    fs::rename(&beside, file).expect("a file in its place");
}
