//! Whole messages between two ranks, over anything that carries bytes in order.
//!
//! It does not know what a message means. Main types: [`Link`], [`StreamLink`].

use std::io::{self, Read, Write};

/// A way to another rank.
///
/// Both ends take turns as the ranks' own protocol says; a message arrives whole and in order, or not at all.
pub trait Link: Send {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// When the other rank is gone.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Waits for the next message.
    ///
    /// # Errors
    ///
    /// When the other rank is gone, [`io::ErrorKind::UnexpectedEof`] where it closed its end.
    fn receive(&mut self) -> io::Result<Vec<u8>>;
}

/// Messages over a pair of streams, such as the standard streams of a process: 8 bytes with the length, the lowest
/// first, and the message behind them.
#[derive(Debug)]
pub struct StreamLink<R, W> {
    from: R,
    to: W,
}

/// No model that fits into a machine is larger; a length above it is not one.
const MAX_MESSAGE: u64 = 1 << 40;
/// Bytes that are reserved before any arrive: a length is not believed before.
const RESERVED: usize = 1 << 20;

impl<R: Read, W: Write> StreamLink<R, W> {
    /// A link that reads from one stream and writes to the other.
    pub fn new(from: R, to: W) -> Self {
        Self { from, to }
    }
}

impl<R: Read + Send, W: Write + Send> Link for StreamLink<R, W> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.to.write_all(&(message.len() as u64).to_le_bytes())?;
        self.to.write_all(message)?;
        self.to.flush()
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 8];
        self.from.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_MESSAGE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
        }
        let mut message = Vec::with_capacity(RESERVED.min(length as usize));
        (&mut self.from).take(length).read_to_end(&mut message)?;
        if message.len() as u64 == length { Ok(message) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order() {
        let mut wire = Vec::new();
        let mut to = StreamLink::new(io::empty(), &mut wire);
        to.send(b"one").unwrap();
        to.send(b"").unwrap();
        to.send(&[7; 100_000]).unwrap();
        let mut from = StreamLink::new(wire.as_slice(), io::sink());
        assert_eq!(from.receive().unwrap(), b"one");
        assert_eq!(from.receive().unwrap(), b"");
        assert_eq!(from.receive().unwrap(), [7; 100_000]);
        assert_eq!(from.receive().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_torn_message_and_a_mad_length_are_errors() {
        for (bytes, kind) in [
            (&[5, 0, 0, 0, 0, 0, 0, 0, b'a', b'b'][..], io::ErrorKind::UnexpectedEof),
            (&[5, 0, 0], io::ErrorKind::UnexpectedEof),
            (&[0xff; 8], io::ErrorKind::InvalidData),
        ] {
            assert_eq!(StreamLink::new(bytes, io::sink()).receive().unwrap_err().kind(), kind, "{bytes:?}");
        }
    }
}
