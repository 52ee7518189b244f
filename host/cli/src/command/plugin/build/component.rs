//! From what a compiler left to the component that is put in place: wrapped where it is a core module, and stripped.
//!
//! It does not load it. Main functions: [`component`], [`without_names`].

use host_sandbox::{LoadErrorKind, componentize};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME as PREVIEW1, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER as REACTOR,
};

/// How a core module begins, and how a component does.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Sections of a component's binary that hold another binary: a core module, a component.
const NESTED: [u8; 2] = [1, 4];

/// A component of what was built. A core module is made one; what it imports of WASI preview 1 is answered by the SDK's
/// own `adapter`, or else by the usual one.
pub(super) fn component(built: Vec<u8>, adapter: Option<&[u8]>) -> Result<Vec<u8>, LoadErrorKind> {
    if !built.starts_with(MODULE) {
        return Ok(built);
    }
    componentize(&built, Some((PREVIEW1, adapter.unwrap_or(REACTOR))))
}

/// The same without what only a debugger or a backtrace reads: names, DWARF, where a source map is.
///
/// Custom sections are not counted by anything else, so leaving them out changes no index. `None` where the bytes are
/// not what they should be: the engine has better words for that.
pub(super) fn without_names(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_component = bytes.starts_with(COMPONENT);
    if !is_component && !bytes.starts_with(MODULE) {
        return None;
    }
    let (header, mut rest) = bytes.split_at(MODULE.len());
    let mut kept = header.to_vec();
    while let Some((&id, after)) = rest.split_first() {
        let (size, body) = number(after)?;
        let (section, next) = body.split_at_checked(size)?;
        if is_component && NESTED.contains(&id) {
            let nested = without_names(section)?;
            kept.push(id);
            push_number(&mut kept, nested.len());
            kept.extend(nested);
        } else if id != 0 || !is_for_debugging(section)? {
            kept.extend_from_slice(&rest[..rest.len() - next.len()]);
        }
        rest = next;
    }
    Some(kept)
}

fn is_for_debugging(section: &[u8]) -> Option<bool> {
    let (length, rest) = number(section)?;
    let name = str::from_utf8(rest.get(..length)?).ok()?;
    let names = ["name", "component-name", "sourceMappingURL", "external_debug_info", "build_id"];
    Some(names.contains(&name) || name.starts_with(".debug_"))
}

/// An unsigned number in WebAssembly's encoding, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, &bytes[at + 1..]));
        }
    }
    None
}

fn push_number(to: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            return to.push(byte);
        }
        to.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: &str = r#"(module $here (func $there (export "f") (param $x i32))
        (@custom ".debug_info" "abc") (@custom "kept" "abc"))"#;

    #[test]
    fn names_are_left_out_of_a_module_and_of_a_component_around_it() {
        let module = wat::parse_str(NAMED).unwrap();
        let component =
            wat::parse_str(format!("(component $c (core {} (component (core {}))", &NAMED[1..], &NAMED[1..]));
        for bytes in [module, component.unwrap()] {
            let stripped = without_names(&bytes).unwrap();
            let has = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(stripped.len() < bytes.len() && has(&bytes, "there") && has(&bytes, ".debug_info"));
            assert!(!has(&stripped, "there") && !has(&stripped, ".debug_info") && has(&stripped, "kept"));
            assert_eq!(without_names(&stripped), Some(stripped.clone()));
        }
    }

    #[test]
    fn what_is_cut_off_is_left_to_the_engine() {
        let bytes = wat::parse_str(NAMED).unwrap();
        assert_eq!(without_names(&bytes[..bytes.len() - 1]), None);
        assert_eq!(without_names(b"hello"), None);
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for value in [0, 1, 127, 128, 624_485, u32::MAX as usize] {
            let mut bytes = Vec::new();
            push_number(&mut bytes, value);
            assert_eq!(number(&bytes), Some((value, &[][..])));
        }
    }
}
