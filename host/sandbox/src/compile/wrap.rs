//! Makes a component of a core module, as `wit-bindgen` leaves one behind.
//!
//! It does not read what the module says of its own type: the parser of such types calls itself as deep as a file tells
//! it to, and an overflow of the stack ends the process. There is one type that a plugin can have, the contract's, and
//! the encoder is given that; a module that does not fit it is refused. Main functions: [`wrap`] for files that somebody
//! else made, [`componentize`] for what a compiler has just left.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::{MAX_WORDS_BYTES, MODULE, WASM, leb128};
use crate::{error::LoadErrorKind, text::clean};

/// The contract, and the world of it that plugins implement.
const CONTRACT_WIT: &str = include_str!("../../../../wit/0.1.0/callback.wit");
const WORLD: &str = "plugin";

/// Makes a component of a core module that carries a component type.
///
/// # Errors
///
/// When it carries none, or is not a module of the contract.
pub(crate) fn wrap(module: &[u8]) -> Result<Vec<u8>, LoadErrorKind> {
    encode(without_component_type(module).ok_or(LoadErrorKind::NoComponentType)?, None)
}

/// Makes a component of a core module that was built here, whether or not it carries a component type.
///
/// `adapter` is a name that the module imports from, such as `wasi_snapshot_preview1`, and the module that answers to it;
/// it is left out where nothing is imported from it. It is trusted, as the compiler is: it is read with its own type.
///
/// # Errors
///
/// [`LoadErrorKind::NoComponentType`] when a module without a type does not fit the contract, and
/// [`LoadErrorKind::Wrap`] when one with a type does not.
pub fn componentize(module: &[u8], adapter: Option<(&str, &[u8])>) -> Result<Vec<u8>, LoadErrorKind> {
    match without_component_type(module) {
        Some(module) => encode(module, adapter),
        None => encode(module.to_vec(), adapter).map_err(|_| LoadErrorKind::NoComponentType),
    }
}

fn encode(mut module: Vec<u8>, adapter: Option<(&str, &[u8])>) -> Result<Vec<u8>, LoadErrorKind> {
    let mut resolve = Resolve::default();
    let encoded = resolve
        .push_source("callback.wit", CONTRACT_WIT)
        .and_then(|package| resolve.select_world(&[package], Some(WORLD)))
        .and_then(|world| embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8))
        .and_then(|()| {
            let mut encoder = ComponentEncoder::default();
            encoder.module(&module)?;
            if let Some((name, bytes)) = adapter {
                encoder.adapter(name, bytes)?;
            }
            encoder.validate(true).encode()
        });
    encoded.map_err(|error| LoadErrorKind::Wrap(clean(format!("{error:#}"), MAX_WORDS_BYTES)))
}

/// A module without the custom sections that say what component it becomes; `None` where there is none. What stands
/// behind a section that is cut off stays as it is.
fn without_component_type(module: &[u8]) -> Option<Vec<u8>> {
    let (header, mut rest) = module.split_at_checked(WASM.len() + MODULE.len())?;
    let mut kept = header.to_vec();
    let mut carries_one = false;
    while let Some((&id, after)) = rest.split_first() {
        let Some((section, next)) = leb128(after).and_then(|(size, body)| body.split_at_checked(size)) else { break };
        let name = leb128(section).and_then(|(length, name)| name.get(..length));
        if id == 0 && name.is_some_and(|name| name.starts_with(b"component-type")) {
            carries_one = true;
        } else {
            kept.extend_from_slice(&rest[..rest.len() - next.len()]);
        }
        rest = next;
    }
    kept.extend_from_slice(rest);
    carries_one.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, content: &[u8]) -> Vec<u8> {
        let size = u8::try_from((1 + name.len() + content.len()) & 0x7f).unwrap() | 0x80;
        let times_128 = u8::try_from((1 + name.len() + content.len()) >> 7).unwrap();
        [&[0, size, times_128, u8::try_from(name.len()).unwrap()], name.as_bytes(), content].concat()
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(leb128(&[0xe5, 0x8e, 0x26, 1]), Some((624_485, &[1][..])));
        assert_eq!(leb128(&[0xff; 6]), None);
    }

    #[test]
    fn what_a_module_says_of_its_type_is_not_looked_at() {
        let plain = wat::parse_str("(module (memory 1))").unwrap();
        assert_eq!(without_component_type(&plain), None);
        let other = [&plain, section("names", b"x").as_slice()].concat();
        assert_eq!(without_component_type(&other), None);
        let typed = [&plain, section("component-type:x", b"anything").as_slice(), &section("names", b"x")].concat();
        assert_eq!(without_component_type(&typed), Some(other.clone()));
        let cut = [&typed, [0, 200, 1, 7].as_slice()].concat();
        assert_eq!(without_component_type(&cut), Some([&other, [0, 200, 1, 7].as_slice()].concat()));
        let why = wrap(&typed).unwrap_err().to_string();
        assert!(why.starts_with("is a core module that cannot be made a component: "), "{why}");
    }

    #[test]
    fn a_module_that_does_not_fit_is_refused_with_or_without_a_type() {
        let plain = wat::parse_str("(module (memory 1))").unwrap();
        assert!(matches!(componentize(&plain, None), Err(LoadErrorKind::NoComponentType)));
        let typed = [plain, section("component-type:x", b"anything")].concat();
        assert!(matches!(componentize(&typed, None), Err(LoadErrorKind::Wrap(_))));
        assert!(matches!(componentize(&typed, Some(("wasi", b"no module"))), Err(LoadErrorKind::Wrap(_))));
    }

    /// The parser of component types does not come back from this one.
    #[test]
    fn a_type_whose_packages_depend_on_each_other_in_a_circle_ends_no_process() {
        let circle = r#"(component (type $world (component
            (type (component
                (type $w (instance (type u32) (export "t" (type (eq 0)))))
                (import "a:a/w@0.1.0" (instance $a (type $w)))
                (alias export $a "t" (type $a-t))
                (type $y (instance (type u32) (export "t" (type (eq 0)))))
                (import "b:b/y@0.1.0" (instance $b (type $y)))
                (alias export $b "t" (type $b-t))
                (type $of-a (instance (alias outer 1 $a-t (type)) (export "t" (type (eq 0)))))
                (import "b:b/z@0.1.0" (instance (type $of-a)))
                (type $of-b (instance (alias outer 1 $b-t (type)) (export "t" (type (eq 0)))))
                (import "a:a/x@0.1.0" (instance (type $of-b)))))
            (export "c:c/plugin@0.1.0" (component (type 0)))))
          (export "plugin" (type $world)))"#;
        let plain = wat::parse_str("(module (memory 1))").unwrap();
        let typed = [plain, section("component-type:x", &wat::parse_str(circle).unwrap())].concat();
        assert!(matches!(wrap(&typed), Err(LoadErrorKind::Wrap(_))));
    }
}
