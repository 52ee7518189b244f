//! The name of a new plugin, in the spellings that languages want.
//!
//! It does not look whether anybody has that name. Main type: [`Name`].

use host_callback::InstanceName;

use crate::{args::Language, problem::Problem};

/// Zig takes no longer name of a package.
const MAX_BYTES: usize = 32;

/// What is allowed, in one sentence.
const RULE: &str = "a name has 1 to 32 of a-z, 0-9 and `-`, begins with a letter and does not end with `-`";

/// Words that a language, its standard library or the SDK has for itself.
const RUST: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum extern \
    false final fn for gen if impl in let loop macro match mod move mut override priv proc pub ref return self static \
    std struct super test trait true try type typeof unsafe unsized use virtual where while yield \
    answer callback event host manifest run settings state subscriptions";
const PYTHON: &str = "abc and argparse array as ast async asyncio await base64 bisect break bz2 calendar callback class \
    cmath cmd code codecs codeop collections colorsys compileall configparser continue contextlib contextvars copy \
    copyreg csv ctypes curses dataclasses datetime dbm decimal def del difflib dis doctest elif else email encodings \
    enum errno except faulthandler filecmp fileinput finally fnmatch for fractions from ftplib functools gc genericpath \
    getopt getpass gettext glob global graphlib grp gzip hashlib heapq hmac host html http idlelib if imaplib import \
    importlib in inspect io ipaddress is itertools json keyword lambda linecache locale logging lzma mailbox manifest \
    marshal math mimetypes mmap modulefinder multiprocessing netrc nonlocal not ntpath numbers opcode operator optparse \
    or os pass pathlib pdb pickle pickletools pkgutil platform plistlib poplib posix posixpath pprint profile pstats \
    pty pwd pyclbr pydoc queue quopri raise random re readline reprlib resource return rlcompleter run runpy sched \
    secrets select selectors settings shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat \
    state statistics string stringprep struct subprocess subscription symtable sys sysconfig syslog tabnanny tarfile \
    tempfile termios test textwrap this threading time timeit tkinter token tokenize tomllib trace traceback \
    tracemalloc try tty turtle types typing unicodedata unittest urllib uuid venv warnings wave weakref webbrowser \
    while with wsgiref xml xmlrpc yield zipapp zipfile zipimport zlib zoneinfo";
const ZIG: &str = "align allowzero and anyframe anyopaque anytype asm break callconv catch comptime const continue defer \
    else enum errdefer error export extern false fn for host if inline linksection noalias noinline null or orelse \
    packed pub resume return std struct suspend switch test threadlocal true try type undefined union unreachable var \
    volatile while";
const CPP: &str = "event answer host hook manifest run settings state subscriptions";
const GO: &str = "archive bufio builtin bytes cmd compress container context crypto database debug embed encoding errors \
    expvar flag fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime \
    slices sort std strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak";

/// A name that every part of a project can be called by.
pub(super) struct Name(String);

impl Name {
    /// Checks a name.
    pub(super) fn new(name: &str, language: Language) -> Result<Self, Problem> {
        let is_instance = name.parse::<InstanceName>().is_ok();
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_instance || !begins || name.ends_with('-') || name.len() > MAX_BYTES {
            return Err(Problem::new(format!("`{}` cannot be a plugin's name", shown(name))).help(RULE));
        }
        let taken = match language {
            Language::Rust => RUST,
            Language::Python => PYTHON,
            Language::Zig => ZIG,
            Language::Cpp => CPP,
            Language::Go => GO,
            Language::C | Language::Javascript | Language::Typescript => "",
        };
        if name == "host-sdk" || taken.split_whitespace().any(|word| word == name) {
            let problem = format!("`{name}` is a word that {} or the SDK has for itself", language.name());
            return Err(Problem::new(problem).help(format!("take two words, such as `{name}-guard`")));
        }
        Ok(Self(name.to_owned()))
    }

    /// As the plugin is called: `loss-ceiling`.
    pub(super) fn kebab(&self) -> &str {
        &self.0
    }

    /// As a module: `loss_ceiling`.
    pub(super) fn snake(&self) -> String {
        self.0.replace('-', "_")
    }

    /// As a type: `LossCeiling`.
    pub(super) fn pascal(&self) -> String {
        let capital = |word: &str| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        };
        self.0.split('-').filter_map(capital).collect()
    }
}

fn shown(name: &str) -> String {
    name.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_three_spellings() {
        let name = Name::new("loss-ceiling-2", Language::Rust).ok().unwrap();
        assert_eq!(name.kebab(), "loss-ceiling-2");
        assert_eq!((name.snake().as_str(), name.pascal().as_str()), ("loss_ceiling_2", "LossCeiling2"));
    }

    #[test]
    fn what_is_allowed_is_said_once() {
        for name in ["", "Loss", "1st", "-x", "x-", "a b", "a_b", "a/b", "..", "é", &"x".repeat(33)] {
            let problem = Name::new(name, Language::Go).err().unwrap_or_else(|| panic!("{name} was taken"));
            assert!(problem.to_string().ends_with("cannot be a plugin's name"), "{problem}");
        }
        assert!(Name::new(&"x".repeat(32), Language::Go).is_ok());
    }

    #[test]
    fn words_of_a_language_are_taken_in_that_language_only() {
        for (name, language) in [
            ("match", Language::Rust),
            ("random", Language::Python),
            ("error", Language::Zig),
            ("host-sdk", Language::C),
        ] {
            let problem = Name::new(name, language).err().unwrap_or_else(|| panic!("{name} was taken"));
            assert!(problem.to_string().contains(language.name()), "{problem}");
        }
        assert!(Name::new("match", Language::C).is_ok() && Name::new("random-skip", Language::Python).is_ok());
    }
}
