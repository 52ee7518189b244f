//! A `.tar.gz` whose bytes depend on nothing but the files in it.
//!
//! It reads no file. Main function: [`archive`].

use std::io;

use flate2::{Compression, GzBuilder};
use tar::{Builder, Header};

/// When every file was changed last: the beginning of the year 2000, as for the sandbox's clock. A time of 0 makes some
/// programs complain.
const MTIME: u64 = 946_684_800;

/// A file in an archive.
pub(super) struct Entry {
    /// Its name, without a folder.
    pub(super) name: String,
    /// Its content.
    pub(super) bytes: Vec<u8>,
}

impl Entry {
    /// A file.
    pub(super) fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

/// The archive of some files in one folder: no owners, no times, and in the order that is given.
pub(super) fn archive(folder: &str, entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzBuilder::new().write(Vec::new(), Compression::best()));
    for Entry { name, bytes } in entries {
        let mut header = Header::new_ustar();
        header.set_path(format!("{folder}/{name}"))?;
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(MTIME);
        header.set_cksum();
        archive.append(&header, bytes.as_slice())?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_archive_has_its_files_in_order_and_always_the_same_bytes() {
        let entries = [Entry::new("b", vec![1; 1000]), Entry::new("a", b"2".to_vec())];
        let first = archive("x-1.0.0", &entries).unwrap();
        assert_eq!(first, archive("x-1.0.0", &entries).unwrap());
        let mut files = Vec::new();
        for file in tar::Archive::new(flate2::read::GzDecoder::new(first.as_slice())).entries().unwrap() {
            let mut file = file.unwrap();
            assert_eq!((file.header().mtime().unwrap(), file.header().uid().unwrap()), (MTIME, 0));
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            files.push((file.path().unwrap().display().to_string(), bytes.len()));
        }
        assert_eq!(files, [("x-1.0.0/b".to_owned(), 1000), ("x-1.0.0/a".to_owned(), 1)]);
    }
}
