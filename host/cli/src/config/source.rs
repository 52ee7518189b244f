//! Reads a configuration file, with a bound on its size.
//!
//! It does not parse. Main function: [`read`].

use std::{fs::File, io::Read, path::Path};

use crate::problem::Problem;

/// The largest configuration in bytes: a hundred times more than anybody writes by hand.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a configuration file.
///
/// # Errors
///
/// When the file cannot be read, has more than 1 MiB or is not UTF-8.
pub(super) fn read(file: &Path) -> Result<String, Problem> {
    let wrong = |what: &str| Problem::new(format!("the configuration {} {what}", file.display()));
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large, whatever its metadata say.
    let reading = File::open(file).and_then(|open| open.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = reading {
        let help = if file.is_dir() { "it is a folder; name the file in it" } else { "" };
        return Err(wrong("cannot be read").caused_by(error).help(help));
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong("has more than 1 MiB").help("is it the right file?"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        wrong("is not UTF-8").help(format!("the first byte that is none is in line {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_is_one_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("train.toml");
        for (bytes, words) in
            [(&b"a = 1\nb = '\xff'\n"[..], "is not UTF-8"), (&vec![b'#'; 1 << 21], "has more than 1 MiB")]
        {
            std::fs::write(&file, bytes).unwrap();
            let problem = read(&file).unwrap_err().to_string();
            assert!(problem.contains(words) && problem.contains("train.toml"), "{problem}");
        }
        assert!(read(folder.path()).unwrap_err().to_string().ends_with("cannot be read"));
        assert!(read(&folder.path().join("none.toml")).is_err());
        std::fs::write(&file, "# nothing\n").unwrap();
        assert_eq!(read(&file).unwrap(), "# nothing\n");
    }
}
