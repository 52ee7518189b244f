//! From bytes to a compiled component that fits the contract, with one clear error for everything else.
//!
//! It runs no guest code; asking the guest what it is comes after it ([`plugin`](crate::plugin)). Main
//! function: [`Inner::prepare`].

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use wasmtime::component::{Component, InstancePre};

use crate::{
    cache::load,
    compile::{Binary, Compiler, Haste, words},
    engine::Inner,
    error::LoadErrorKind,
    store::StoreData,
    text::clean,
    world::{CALLBACK, CONTRACT, Import, ImportKind, Name, PACKAGE},
};

/// A component that is ready to be instantiated.
pub(crate) struct Prepared {
    pub(crate) pre: InstancePre<StoreData>,
    pub(crate) imports: Vec<Import>,
}

/// Reads a file up to the largest size that is taken.
pub(crate) fn read_capped(path: &Path, max_bytes: u64) -> Result<Vec<u8>, LoadErrorKind> {
    // A pipe or a device would block the host or never end.
    let meta = path.metadata().map_err(LoadErrorKind::Read)?;
    if !meta.is_file() {
        return Err(LoadErrorKind::Read(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(LoadErrorKind::Read)?;
    // It may grow while it is read, so the size from above is not relied on.
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(LoadErrorKind::Read)?;
    Ok(bytes)
}

impl Inner {
    /// Compiles a plugin's bytes and checks them against the contract.
    pub(crate) fn prepare(&self, bytes: &[u8], haste: Haste) -> Result<Prepared, LoadErrorKind> {
        let component = self.compile(bytes, haste)?;
        let imports = self.check_world(&component)?;
        let linker = self.world.linker(&self.engine, &component.component_type());
        let pre = linker.and_then(|linker| linker.instantiate_pre(&component));
        let pre = pre.map_err(|error| LoadErrorKind::Contract(words(&error)))?;
        Ok(Prepared { pre, imports })
    }

    /// What becomes of each import of a component, whether it could be loaded or not.
    pub(crate) fn imports(&self, bytes: &[u8]) -> Result<Vec<Import>, LoadErrorKind> {
        let component = self.compile(bytes, Haste::Ordinary)?;
        Ok(self.world.imports(&self.engine, &component.component_type()))
    }

    fn compile(&self, bytes: &[u8], haste: Haste) -> Result<Component, LoadErrorKind> {
        if bytes.len() as u64 > self.file_bytes {
            return Err(LoadErrorKind::TooLarge(self.file_bytes));
        }
        let binary = Binary::recognise(bytes)?;
        self.compilers.run(haste, || self.code(binary, haste)).map_err(LoadErrorKind::Host)?
    }

    fn code(&self, binary: Binary<'_>, haste: Haste) -> Result<Component, LoadErrorKind> {
        let compile = || match &self.compiler {
            Compiler::Threads => binary.compile(&self.engine),
            Compiler::Process(process) => process.compile(binary, self.room, haste),
        };
        match &self.cache {
            Some(cache) => cache.get_or_compile(&self.engine, binary.bytes(), compile),
            None => load(&self.engine, &compile()?),
        }
    }

    /// Compares names with the contract, which gives better errors than types do, and lists the imports.
    fn check_world(&self, component: &Component) -> Result<Vec<Import>, LoadErrorKind> {
        let world = component.component_type();
        let exports: Vec<&str> = world.exports(&self.engine).map(|(name, _)| name).collect();
        let callback = exports.iter().find_map(|name| Name::parse(name).filter(|name| name.interface == CALLBACK));
        let Some(callback) = callback else {
            let exports = exports.iter().take(8).map(|name| clean((*name).to_owned(), 100)).collect();
            return Err(LoadErrorKind::OtherWorld { exports });
        };
        check_version(&callback)?;
        let imports = self.world.imports(&self.engine, &world);
        for import in &imports {
            if let Some(ours) = Name::parse(&import.name).filter(|name| name.interface.starts_with(PACKAGE)) {
                check_version(&ours)?;
            }
        }
        let mut unknown = imports.iter().filter(|import| import.kind == ImportKind::Refused).flat_map(refused);
        match unknown.next() {
            None => Ok(imports),
            Some(import) => Err(LoadErrorKind::UnknownImport { import, others: unknown.collect() }),
        }
    }
}

/// What of an import is not offered: the whole interface, or single functions of it.
fn refused(import: &Import) -> Vec<String> {
    let shown = clean(import.name.clone(), 200);
    if import.missing.is_empty() {
        return vec![shown];
    }
    import.missing.iter().map(|name| format!("{shown}#{}", clean(name.clone(), 100))).collect()
}

fn check_version(name: &Name<'_>) -> Result<(), LoadErrorKind> {
    if name.fits(&CONTRACT) {
        return Ok(());
    }
    Err(LoadErrorKind::OtherVersion { found: clean(name.version.to_owned(), 40) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sandbox, SandboxConfig};

    fn refusal(bytes: &[u8]) -> String {
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        match sandbox.inner.prepare(bytes, Haste::Ordinary) {
            Ok(_) => panic!("it was loaded"),
            Err(kind) => kind.to_string(),
        }
    }

    fn wat(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn a12_each_wrong_file_has_one_clear_error() {
        let newer = r#"(component (instance $i) (export "train-host:callback/callback@0.2.0" (instance $i)))"#;
        let named = r#"(component (instance $i) (export "train-host:callback/callback@0.1.0" (instance $i)))"#;
        let mut truncated = wat(named);
        truncated.truncate(truncated.len() - 3);
        for (name, bytes, error) in [
            ("empty", vec![], "is empty"),
            ("random bytes", vec![0x9f, 0, 200, 17, 255, 3], "is not WebAssembly"),
            ("text", b"hello\nworld\n".to_vec(), "is a text file, not WebAssembly"),
            ("wat", b"  (module)".to_vec(), "it looks like WAT"),
            ("future format", b"\0asm\x02\0\0\0".to_vec(), "unknown format"),
            ("core module", wat("(module (memory 1))"), "carries no component type"),
            ("another world", wat("(component)"), "of another world: it exports nothing"),
            ("newer contract", wat(newer), "is built for version 0.2.0 of the contract; this host speaks 0.1.0"),
            ("truncated", truncated, "is not a valid component"),
        ] {
            let text = refusal(&bytes);
            assert!(text.contains(error), "{name}: {text}");
        }
    }

    #[test]
    fn a12_a_missing_import_is_named() {
        let text = r#"(component
            (import "wasi:http/types@0.2.0" (instance (export "open" (func))))
            (import "train-host:callback/host@0.1.0" (instance (export "sleep" (func))))
            (instance $i) (export "train-host:callback/callback@0.1.0" (instance $i)))"#;
        assert_eq!(refusal(&wat(text)), "imports `wasi:http/types@0.2.0`, which this host does not offer");
        let text = text.replace(r#"(import "wasi:http/types@0.2.0" (instance (export "open" (func))))"#, "");
        let import = "imports `train-host:callback/host@0.1.0#sleep`, which this host does not offer";
        assert_eq!(refusal(&wat(&text)), import);
    }

    #[test]
    fn a_file_that_is_too_large_is_not_looked_at() {
        let sandbox = Sandbox::new(SandboxConfig { file_bytes: 10, ..SandboxConfig::default() }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("big.wasm");
        std::fs::write(&file, [0; 1000]).unwrap();
        let error = sandbox.load(&file).err().unwrap().to_string();
        assert_eq!(error, format!("{} is larger than the limit of 10 bytes", file.display()));
        assert_eq!(read_capped(&file, 10).unwrap().len(), 11);
    }
}
