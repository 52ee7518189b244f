//! Compiling in a process of its own, which the system ends when it uses too much: a compilation cannot be interrupted
//! otherwise, and what a hostile file makes of it is no harm to a run.
//!
//! The process is any program that calls [`compile_for_parent`]; it is given the file through its stdin and gives the code
//! back through its stdout. Main types: [`CompilerProcess`], [`CompileLimits`].

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use wasmtime::Engine;

use super::{Binary, Compilers, Haste, threads::patiently};
use crate::{
    engine::{Room, settings},
    error::LoadErrorKind,
};

/// How to start a process that compiles.
#[derive(Clone, Debug)]
pub struct CompilerProcess {
    /// The program, which calls [`compile_for_parent`] when it is started with `arguments`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables of its environment, besides those of this process. The limit of memory counts address space from when
    /// compiling begins: an allocator that reserves much of that ahead has to be told not to.
    pub environment: Vec<(OsString, OsString)>,
    /// What one compilation may use.
    pub limits: CompileLimits,
}

/// What one compilation may use, in a process of its own. Linux holds it to that; elsewhere only the process is separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Seconds of processor time, of all its threads together; beyond it the process is ended and the load fails. Default
    /// 300: components of 20 MB take 20 on a slow machine.
    pub seconds: u64,
    /// Bytes of address space, which is more than what is in use; beyond it the process fails, and the load with it. Default
    /// 4 GiB: components of 20 MB take 0.7 GiB.
    pub memory_bytes: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { seconds: 300, memory_bytes: 4 << 30 }
    }
}

/// What the process is told before the file: which engine, how much haste, and its limits.
struct Head {
    room: Room,
    haste: Haste,
    limits: CompileLimits,
}

const HEAD_BYTES: usize = 18;

/// How long what nobody waits for is tried on idle threads alone, by the size of its file: five times what it takes on a core
/// of its own.
fn patience(file_bytes: usize) -> Duration {
    Duration::from_millis(250) + Duration::from_secs(5).mul_f64(file_bytes as f64 / 1e6)
}

impl Head {
    fn write(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0] = u8::from(self.room == Room::Whole);
        bytes[1] = u8::from(self.haste != Haste::Ordinary);
        bytes[2..10].copy_from_slice(&self.limits.seconds.to_le_bytes());
        bytes[10..].copy_from_slice(&self.limits.memory_bytes.to_le_bytes());
        bytes
    }

    fn read([room, haste, rest @ ..]: [u8; HEAD_BYTES]) -> Self {
        let (seconds, memory) = rest.split_at(8);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        Self {
            room: if room == 1 { Room::Whole } else { Room::Small },
            haste: if haste == 1 { Haste::Aside } else { Haste::Ordinary },
            limits: CompileLimits { seconds: number(seconds), memory_bytes: number(memory) },
        }
    }
}

/// What the answer begins with; code or words follow.
const CODE: u8 = b'c';
const NO_COMPONENT_TYPE: u8 = b't';
const WRAP: u8 = b'w';
const INVALID: u8 = b'i';
const HOST: u8 = b'h';

impl CompilerProcess {
    /// The code of a file.
    pub(crate) fn compile(&self, binary: Binary<'_>, room: Room, haste: Haste) -> Result<Vec<u8>, LoadErrorKind> {
        let host = |error: io::Error| LoadErrorKind::Host(format!("the compiler's process: {error}"));
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(host)?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let head = Head { room, haste, limits: self.limits };
        // It reads everything before it writes anything. Of one that ends early, its end and its answer tell why.
        drop(to.map(|mut to| to.write_all(&head.write()).and_then(|()| to.write_all(binary.bytes()))));
        let mut answer = Vec::new();
        let read = from.map_or(Ok(0), |mut from| from.read_to_end(&mut answer));
        let status = child.wait().map_err(host)?;
        if !status.success() {
            return Err(self.ended(status));
        }
        read.map_err(host)?;
        let words = |rest: &[u8]| String::from_utf8_lossy(rest).into_owned();
        match answer.split_first() {
            Some((&CODE, _)) => {
                answer.remove(0);
                Ok(answer)
            }
            Some((&NO_COMPONENT_TYPE, _)) => Err(LoadErrorKind::NoComponentType),
            Some((&WRAP, rest)) => Err(LoadErrorKind::Wrap(words(rest))),
            Some((&INVALID, rest)) => Err(LoadErrorKind::Invalid(words(rest))),
            Some((&HOST, rest)) => Err(LoadErrorKind::Host(words(rest))),
            _ => Err(LoadErrorKind::Host("the compiler's process gave no answer".into())),
        }
    }

    /// Why a process did not come to its end.
    fn ended(&self, status: ExitStatus) -> LoadErrorKind {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::process::ExitStatusExt as _;
            const ABORT: i32 = 6;
            const KILL: i32 = 9;
            const SEGMENT: i32 = 11;
            const TIME: i32 = 24;
            match status.signal() {
                Some(TIME | KILL) => return LoadErrorKind::CompileTime(self.limits.seconds),
                Some(ABORT | SEGMENT) => return LoadErrorKind::CompileMemory(self.limits.memory_bytes),
                _ => {}
            }
        }
        LoadErrorKind::Host(format!("the compiler's process ended with {status}"))
    }
}

/// Compiles one plugin for the process that started this one: reads it from `input`, takes the limits that it was sent,
/// and writes the code, or why there is none, to `output`. There must be nothing else in this process that needs to live.
///
/// # Errors
///
/// When the parent is gone, or is no [`CompilerProcess`].
pub fn compile_for_parent(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut head = [0; HEAD_BYTES];
    input.read_exact(&mut head)?;
    let Head { room, haste, limits } = Head::read(head);
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let size = bytes.len();
    let compile = move || {
        // The threads are there by now.
        confine(limits).map_err(|error| LoadErrorKind::Host(error.to_string()))?;
        let engine = Engine::new(&settings(room)).map_err(|error| LoadErrorKind::Host(format!("{error:#}")))?;
        Binary::recognise(&bytes)?.compile(&engine)
    };
    let compiled = match haste {
        Haste::Ordinary => Compilers::default().run(haste, compile),
        Haste::Aside | Haste::Idle => patiently(patience(size), compile),
    };
    let compiled = compiled.unwrap_or_else(|panic| Err(LoadErrorKind::Host(panic)));
    let (kind, content) = match compiled {
        Ok(code) => (CODE, code),
        Err(LoadErrorKind::NoComponentType) => (NO_COMPONENT_TYPE, Vec::new()),
        Err(LoadErrorKind::Wrap(words)) => (WRAP, words.into_bytes()),
        Err(LoadErrorKind::Invalid(words)) => (INVALID, words.into_bytes()),
        Err(LoadErrorKind::Host(words)) => (HOST, words.into_bytes()),
        Err(other) => (HOST, other.to_string().into_bytes()),
    };
    output.write_all(&[kind])?;
    output.write_all(&content)?;
    output.flush()
}

/// From here on this process is ended when it uses more, and when its parent is.
#[cfg(target_os = "linux")]
fn confine(limits: CompileLimits) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
    let at_most = |resource, most: u64| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    set_parent_process_death_signal(Some(Signal::KILL))?;
    at_most(Resource::Cpu, limits.seconds)?;
    at_most(Resource::As, limits.memory_bytes)?;
    // What is left of an ended process is of no use to anybody.
    at_most(Resource::Core, 0)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn confine(_limits: CompileLimits) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for (room, haste) in [(Room::Whole, Haste::Aside), (Room::Small, Haste::Ordinary)] {
            let limits = CompileLimits { seconds: 7, memory_bytes: 0x0123_4567_89ab_cdef };
            let head = Head::read(Head { room, haste, limits }.write());
            assert_eq!((head.room, head.haste, head.limits), (room, haste, limits));
        }
    }

    #[test]
    fn a_program_that_compiles_nothing_is_the_hosts_fault() {
        let compile = |program: &str| {
            let process = CompilerProcess {
                program: program.into(),
                arguments: Vec::new(),
                environment: Vec::new(),
                limits: CompileLimits::default(),
            };
            process.compile(Binary::Component(b"\0asm"), Room::Small, Haste::Ordinary).unwrap_err().to_string()
        };
        for (program, words) in
            [("/none/such", "the compiler's process: "), ("true", "gave no answer"), ("false", "exit status: 1")]
        {
            let error = compile(program);
            assert!(
                error.starts_with("cannot be loaded because the host failed: ") && error.contains(words),
                "{error}"
            );
        }
    }
}
