//! What is known of each language that plugins are written in.
//!
//! It neither finds compilers nor calls them: [`build`](super::build) does.

use crate::args::Language;

impl Language {
    /// Its name, as people write it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Javascript => "JavaScript",
            Self::Typescript => "TypeScript",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Zig => "Zig",
            Self::Go => "Go",
        }
    }

    /// The folders of the repository that its projects refer to, the SDK's own first.
    pub(super) fn sources(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["sdk/rust", "wit/0.1.0"],
            Self::Python => &["sdk/python"],
            Self::Javascript | Self::Typescript => &["sdk/javascript"],
            Self::C => &["sdk/c"],
            Self::Cpp => &["sdk/cpp", "sdk/c"],
            Self::Zig => &["sdk/zig"],
            Self::Go => &["sdk/go"],
        }
    }

    /// The folder of the repository with its first callback.
    pub(super) fn template(self) -> &'static str {
        match self {
            Self::Rust => "sdk/rust/template",
            Self::Python => "sdk/python/template",
            Self::Javascript => "sdk/javascript/template",
            Self::Typescript => "sdk/javascript/template-typescript",
            Self::C => "sdk/c/template",
            Self::Cpp => "sdk/cpp/template",
            Self::Zig => "sdk/zig/template",
            Self::Go => "sdk/go/template",
        }
    }

    /// What tests a project's callback natively, in the project's folder.
    pub(super) fn test_command(self) -> &'static str {
        match self {
            Self::Rust => "cargo test",
            Self::Python => ".venv/bin/python -m unittest",
            Self::Javascript | Self::Typescript => "npm test",
            Self::C | Self::Cpp => "make test",
            Self::Zig => "zig build test",
            Self::Go => "go test ./...",
        }
    }
}
