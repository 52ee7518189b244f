//! Output goes into the log, line by line; input has ended before it begins. And the way out: `exit` ends the call.
//!
//! Main type: [`Streams`].

use wasmtime::component::{ComponentType, Lift, Lower, Resource};

use super::{Ended, World};
use crate::{log::LogLevel, store::StoreData};

/// What a guest may write in one go without asking again.
const PERMITTED: u64 = 64 << 10;

/// Lines that are not complete yet. A call's last ones are written when it ends.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Standard input.
struct Input;

/// Standard output or standard error; which one is its number.
struct Output;

const OUT: u32 = 1;
const ERR: u32 = 2;

/// What a stream's error says. There is never one.
struct Error;

/// Why a stream gives or takes nothing.
#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<Error>),
    #[component(name = "closed")]
    Closed,
}

impl StoreData {
    /// Takes what a guest writes, and passes on what is a whole line.
    fn write(&mut self, output: u32, bytes: &[u8]) -> wasmtime::Result<()> {
        self.pay(bytes.len())?;
        let most = self.limits().log_line_bytes;
        let (level, line) = match output {
            OUT => (LogLevel::Info, &mut self.streams.out),
            _ => (LogLevel::Warn, &mut self.streams.err),
        };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let whole = piece.strip_suffix(b"\n");
            // What is longer than a line may be is cut anyhow.
            let piece = whole.unwrap_or(piece);
            let room = (most + 1).saturating_sub(line.len());
            line.extend_from_slice(&piece[..piece.len().min(room)]);
            if whole.is_some() {
                self.log.print(level, std::mem::take(line));
            }
        }
        Ok(())
    }

    /// A call ends: nothing of what it has written stays behind.
    pub(crate) fn flush(&mut self) {
        for (level, line) in [(LogLevel::Info, &mut self.streams.out), (LogLevel::Warn, &mut self.streams.err)] {
            if !line.is_empty() {
                self.log.print(level, std::mem::take(line));
            }
        }
    }
}

/// The answer to someone who writes.
type Written = Result<(), StreamError>;

pub(super) fn link(world: &mut World) -> wasmtime::Result<()> {
    world
        .wasi("wasi:io/error")?
        .resource::<Error>("error", |_, _| {})?
        .function("[method]error.to-debug-string", |_, _: (Resource<Error>,)| Ok(String::new()))?;
    link_streams(world)?;
    world.wasi("wasi:cli/stdin")?.function("get-stdin", |_, ()| Ok(Resource::<Input>::new_own(0)))?;
    world.wasi("wasi:cli/stdout")?.function("get-stdout", |_, ()| Ok(Resource::<Output>::new_own(OUT)))?;
    world.wasi("wasi:cli/stderr")?.function("get-stderr", |_, ()| Ok(Resource::<Output>::new_own(ERR)))?;
    world.wasi("wasi:cli/exit")?.procedure("exit", |_, (status,): (Result<(), ()>,)| {
        Err(Ended::Exited { is_success: status.is_ok() }.into())
    })?;
    Ok(())
}

fn link_streams(world: &mut World) -> wasmtime::Result<()> {
    type Read = Result<Vec<u8>, StreamError>;
    type Count = Result<u64, StreamError>;
    let mut streams = world
        .wasi("wasi:io/streams")?
        .resource::<Input>("input-stream", |_, _| {})?
        .resource::<Output>("output-stream", |_, _| {})?;
    for name in ["[method]input-stream.read", "[method]input-stream.blocking-read"] {
        streams = streams.function(name, |_, _: (Resource<Input>, u64)| Ok(Read::Err(StreamError::Closed)))?;
    }
    for name in ["[method]input-stream.skip", "[method]input-stream.blocking-skip"] {
        streams = streams.function(name, |_, _: (Resource<Input>, u64)| Ok(Count::Err(StreamError::Closed)))?;
    }
    for name in ["[method]output-stream.splice", "[method]output-stream.blocking-splice"] {
        streams = streams
            .function(name, |_, _: (Resource<Output>, Resource<Input>, u64)| Ok(Count::Err(StreamError::Closed)))?;
    }
    for name in ["[method]output-stream.write", "[method]output-stream.blocking-write-and-flush"] {
        streams = streams.function(name, |data, (output, bytes): (Resource<Output>, Vec<u8>)| {
            data.write(output.rep(), &bytes)?;
            Ok(Written::Ok(()))
        })?;
    }
    for name in ["[method]output-stream.write-zeroes", "[method]output-stream.blocking-write-zeroes-and-flush"] {
        streams = streams.function(name, |data, (_, length): (Resource<Output>, u64)| {
            // No line of a log gets better by them, but they are not free.
            data.pay(usize::try_from(length).unwrap_or(usize::MAX))?;
            Ok(Written::Ok(()))
        })?;
    }
    for name in ["[method]output-stream.flush", "[method]output-stream.blocking-flush"] {
        streams = streams.function(name, |_, _: (Resource<Output>,)| Ok(Written::Ok(())))?;
    }
    streams
        .function("[method]output-stream.check-write", |_, _: (Resource<Output>,)| Ok(Count::Ok(PERMITTED)))?
        .function("[method]input-stream.subscribe", |data, _: (Resource<Input>,)| Ok(data.clocks.ready()?))?
        .function("[method]output-stream.subscribe", |data, _: (Resource<Output>,)| Ok(data.clocks.ready()?))?;
    Ok(())
}
