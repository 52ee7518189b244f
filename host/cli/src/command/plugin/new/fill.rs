//! From a template to a project: the name in all its spellings, the path to the SDK, and what has to be its own.
//!
//! Templates have no marks of their own: each is a project called `loss-ceiling` that builds where it stands, so whatever
//! is called so is renamed. It writes nothing. Main function: [`project`].

use std::{
    borrow::Cow,
    hash::{BuildHasher as _, Hasher as _, RandomState},
};

use super::{
    name::Name,
    sources::{Source, template, tested_versions},
};
use crate::args::Language;

/// Where a template finds the root of the repository.
const ROOT: &str = "../../../";

/// The files of a new project; `host` is the path from there to what stands for the repository.
pub(super) fn project(name: &Name, language: Language, host: &str) -> Vec<Source> {
    let mut words = vec![
        ("loss-ceiling", name.kebab().to_owned()),
        ("loss_ceiling", name.snake()),
        ("LossCeiling", name.pascal()),
        (ROOT, format!("{host}/")),
    ];
    let fingerprint = (language == Language::Zig).then(|| fingerprint_of_template()).flatten();
    words.extend(fingerprint.map(|old| (old, format!("{:#018x}", new_fingerprint(&name.snake())))));
    let filled = |text: &str| words.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
    let mut files: Vec<Source> = template(language)
        .map(|(path, content)| {
            let content =
                str::from_utf8(content).map_or(Cow::from(content), |text| Cow::from(filled(text).into_bytes()));
            (filled(path), content)
        })
        .collect();
    if language == Language::Rust {
        // What of it is not needed goes at the first build.
        files.push(("Cargo.lock".into(), Cow::from(tested_versions())));
    }
    files
}

/// The number in the template's `build.zig.zon`.
fn fingerprint_of_template() -> Option<&'static str> {
    let (_, zon) = template(Language::Zig).find(|(path, _)| *path == "build.zig.zon")?;
    let (_, rest) = str::from_utf8(zon).ok()?.split_once(".fingerprint = ")?;
    rest.split(',').next()
}

/// What tells a Zig package from others of its name: the name's checksum, and a number that nobody else has.
fn new_fingerprint(name: &str) -> u64 {
    let mut checksum = flate2::Crc::new();
    checksum.update(name.as_bytes());
    // A hasher's keys are random; 0 and the largest number are not allowed.
    let id = RandomState::new().build_hasher().finish() as u32;
    u64::from(checksum.sum()) << 32 | u64::from(id.clamp(1, u32::MAX - 1))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn nothing_of_a_template_s_own_name_or_place_is_left() {
        for language in Language::value_variants() {
            let name = Name::new("other-guard", *language).ok().unwrap();
            let files = project(&name, *language, "./host");
            for (path, content) in files {
                let text = String::from_utf8_lossy(&content).into_owned();
                for old in ["loss-ceiling", "loss_ceiling", "LossCeiling", "lossCeiling", ROOT] {
                    assert!(!path.contains(old) && !text.contains(old), "{language:?}: {path}: {old}");
                }
            }
        }
    }

    #[test]
    fn a_template_names_its_sdk_and_itself() {
        for language in Language::value_variants() {
            let files: Vec<_> =
                template(*language).map(|(path, content)| (path, String::from_utf8_lossy(content))).collect();
            let names = |word: &str| files.iter().filter(|(_, text)| text.contains(word)).count();
            assert!(names(&format!("{ROOT}{}", language.sources()[0])) >= 2, "{language:?}: README and build file");
            assert!(names("loss-ceiling") >= 2, "{language:?}");
            let page = &files.iter().find(|(path, _)| *path == "README.md").unwrap().1;
            for word in ["host plugin build", "host plugin pack", "[[plugin]]", language.test_command()] {
                assert!(page.contains(word), "{language:?}: {word}");
            }
        }
    }

    #[test]
    fn a_fingerprint_goes_by_the_name() {
        let old = fingerprint_of_template().unwrap();
        let checksum = |fingerprint: u64| fingerprint >> 32;
        assert_eq!(checksum(new_fingerprint("loss_ceiling")), checksum(u64::from_str_radix(&old[2..], 16).unwrap()));
        assert_eq!(checksum(new_fingerprint("host_sdk")), 0x841e_be85);
    }
}
