//! `host plugin new`: a folder with a first callback that builds as it is.
//!
//! It compiles nothing and overwrites nothing. Main function: [`run`].

mod fill;
mod name;
mod sources;

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde_json::json;

use self::{name::Name, sources::Source};
use crate::{
    args::{Language, NewArgs},
    exit::Exit,
    problem::{Problem, Problems},
    terminal,
};

/// Where a project has its copy of the SDK.
const COPY: &str = "host";

/// Makes the folder and says what to do next.
///
/// # Errors
///
/// When the name is not allowed, the folder exists or cannot be made, or `--sdk` is no checkout.
pub(super) fn run(args: &NewArgs) -> Result<Exit, Problems> {
    let name = Name::new(&args.name, args.lang).map_err(|problem| Problems::from((Exit::Usage, problem)))?;
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(name.kebab()));
    let host = match &args.sdk {
        Some(checkout) => checkout_from(checkout, &folder, args.lang)?,
        None => format!("./{COPY}"),
    };
    let mut files = fill::project(&name, args.lang, &host);
    if args.sdk.is_none() {
        let copy = sources::copy_of_sdk(args.lang).into_iter();
        files.extend(copy.map(|(path, content)| (format!("{COPY}/{path}"), content)));
    }
    make(&folder, &files)?;
    let next = commands(args.lang, &host);
    let text = if args.json {
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        let folder = folder.display().to_string();
        format!("{:#}\n", json!({"folder": folder, "language": args.lang.name(), "files": paths, "next": next}))
    } else {
        told(&folder, args, &next)
    };
    terminal::out(&text);
    Ok(Exit::Success)
}

fn told(folder: &Path, args: &NewArgs, next: &[String]) -> String {
    let sdk = match &args.sdk {
        Some(checkout) => format!("with the SDK in {}", checkout.display()),
        None => format!("with a copy of the SDK in {}", folder.join(COPY).display()),
    };
    let mut text = format!("made     {}, a plugin in {}, {sdk}\n", folder.display(), args.lang.name());
    text.push_str(&format!("next     cd {}\n", folder.display()));
    for line in next {
        text.push_str(&format!("         {line}\n"));
    }
    text
}

/// What to run in a new project: what it needs once, the build, the native test.
fn commands(language: Language, host: &str) -> Vec<String> {
    let once = match language {
        Language::Python => {
            Some(format!("python3 -m venv .venv && .venv/bin/pip install \"{host}/sdk/python[build]\""))
        }
        Language::Javascript | Language::Typescript => Some("npm install".to_owned()),
        Language::Rust | Language::C | Language::Cpp | Language::Zig | Language::Go => None,
    };
    once.into_iter().chain(["host plugin build".into(), language.test_command().into()]).collect()
}

/// Writes a new folder, or nothing.
fn make(folder: &Path, files: &[Source]) -> Result<(), Problems> {
    let failed = |error: io::Error| {
        let problem = match error.kind() {
            io::ErrorKind::AlreadyExists => Problem::new(format!("{} is there already", folder.display()))
                .help("nothing was changed; name another folder: host plugin new NAME --lang LANGUAGE DIR"),
            _ => Problem::new(format!("{} cannot be made", folder.display())).caused_by(error),
        };
        Problems::from((Exit::Project, problem))
    };
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // It fails where anything has that name, and so decides who makes it.
    fs::create_dir(folder).map_err(failed)?;
    files.iter().try_for_each(|(path, content)| write(&folder.join(path), content)).map_err(|error| {
        drop(fs::remove_dir_all(folder));
        failed(error)
    })
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, content)?;
    #[cfg(unix)]
    if content.starts_with(b"#!") {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    }
    Ok(())
}

/// The path from a new folder to a checkout, with `/` on every system.
fn checkout_from(checkout: &Path, folder: &Path, language: Language) -> Result<String, Problems> {
    let failed = |problem: Problem| Problems::from((Exit::Project, problem));
    if let Some(missing) = language.sources().iter().find(|source| !checkout.join(source).is_dir()) {
        let problem = format!("{} is no checkout of host's repository: {missing} is not there", checkout.display());
        return Err(failed(Problem::new(problem).help("without --sdk the project gets a copy of the SDK")));
    }
    let cannot = |error: io::Error| failed(Problem::new("the path to the SDK cannot be found").caused_by(error));
    let to = checkout.canonicalize().map_err(cannot)?;
    let from = std::path::absolute(folder).map_err(cannot)?;
    // The folder itself is not there yet; what is there may be reached by links.
    let existing =
        from.ancestors().find_map(|above| Some((above.canonicalize().ok()?, from.strip_prefix(above).ok()?)));
    let from = existing.map_or_else(|| from.clone(), |(above, rest)| above.join(rest));
    Ok(relative(&from, &to))
}

fn relative(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common).map(|part| match part {
        Component::Normal(name) => name.to_string_lossy().into_owned(),
        other => other.as_os_str().to_string_lossy().into_owned(),
    });
    let parts: Vec<String> = up.chain(down).collect();
    if common == 0 { to.display().to_string() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_named_from_the_project() {
        for (from, to, expected) in [
            ("/a/project", "/a/host", "../host"),
            ("/a/b/project", "/a/host", "../../host"),
            ("/a/host/plugins/mine", "/a/host", "../.."),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), expected);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_whole_is_not_left_half() {
        let folder = tempfile::tempdir().unwrap();
        let (target, content) = (folder.path().join("x"), std::borrow::Cow::from(&b"1"[..]));
        let files = vec![("a".to_owned(), content.clone()), ("a/b".to_owned(), content)];
        assert_eq!(make(&target, &files).unwrap_err().exit(), Exit::Project);
        assert!(!target.exists());
    }
}
