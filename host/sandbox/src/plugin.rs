//! A plugin: a component that was checked, compiled and asked what it is, ready to be started any number of times.
//!
//! It answers no events; the callback that it starts does. Main type: [`Plugin`].

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use host_callback::{Catalog, Consequence, FailureKind, InstanceName, Manifest, RunInfo, Usage};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wasmtime::component::InstancePre;

use crate::{
    Limits, LogLevel, OnFailure, Sandbox,
    bindings::{self, PluginPre, types},
    cache::hex,
    callback::SandboxedCallback,
    component::{Prepared, read_capped},
    engine::Inner,
    error::{LoadError, LoadErrorKind, StartError, StartErrorKind},
    failure::{Fault, Phase},
    instance::metered,
    log::{InstanceLog, LogSink},
    manifest,
    schema::ConfigSchema,
    store::StoreData,
    world::{Import, Random},
};

/// What one instance is started with.
#[derive(Clone)]
pub struct InstanceSettings {
    /// Its name.
    pub name: InstanceName,
    /// Its configuration; checked against the plugin's schema. `null` is an empty one.
    pub config: Value,
    /// Its place among callbacks; `None` takes the manifest's.
    pub order: Option<i32>,
    /// What it may use.
    pub limits: Limits,
    /// What a failure of it means.
    pub on_failure: OnFailure,
    /// The run that it joins.
    pub run: RunInfo,
    /// The run's measurements, for `name-of` and `key-of`.
    pub catalog: Catalog,
    /// Where its log lines go.
    pub log: Arc<dyn LogSink>,
}

impl InstanceSettings {
    /// An instance with an empty configuration, the manifest's place, the default limits and policy, and no log.
    pub fn new(name: InstanceName, run: RunInfo, catalog: Catalog) -> Self {
        Self {
            name,
            config: Value::Null,
            order: None,
            limits: Limits::default(),
            on_failure: OnFailure::default(),
            run,
            catalog,
            log: Arc::new(|_: &InstanceName, _: LogLevel, _: &str| {}),
        }
    }
}

/// A plugin that is ready to be started.
pub struct Plugin {
    pub(crate) sandbox: Arc<Inner>,
    pub(crate) pre: PluginPre<StoreData>,
    file: PathBuf,
    manifest: Manifest,
    schema: Option<ConfigSchema>,
    sha256: String,
    size_bytes: usize,
    imports: Vec<Import>,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("file", &self.file).field("manifest", &self.manifest).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Loads a plugin from a file: a component, or a core module that carries its component type.
    ///
    /// The guest is asked for its manifest under the default [`Limits`], in a store of its own.
    ///
    /// # Errors
    ///
    /// When the file is no plugin of this host; the error names the file and the one reason.
    pub fn load(&self, file: &Path) -> Result<Arc<Plugin>, LoadError> {
        let bytes = read_capped(file, self.inner.file_bytes);
        let plugin = bytes.and_then(|bytes| self.load_named(file, &bytes));
        plugin.map_err(|kind| LoadError { file: file.to_owned(), kind })
    }

    /// Loads a plugin from memory, under a name for error messages.
    ///
    /// # Errors
    ///
    /// As for [`Self::load`].
    pub fn load_bytes(&self, name: impl Into<PathBuf>, bytes: &[u8]) -> Result<Arc<Plugin>, LoadError> {
        let file = name.into();
        self.load_named(&file, bytes).map_err(|kind| LoadError { file, kind })
    }

    /// What becomes of each interface that a component imports, also of one that would not be loaded.
    ///
    /// # Errors
    ///
    /// When the file is no component.
    pub fn imports(&self, file: &Path) -> Result<Vec<Import>, LoadError> {
        let imports = read_capped(file, self.inner.file_bytes).and_then(|bytes| self.inner.imports(&bytes));
        imports.map_err(|kind| LoadError { file: file.to_owned(), kind })
    }

    fn load_named(&self, file: &Path, bytes: &[u8]) -> Result<Arc<Plugin>, LoadErrorKind> {
        let sandbox = Arc::clone(&self.inner);
        let Prepared { pre, imports } = sandbox.prepare(bytes, self.haste)?;
        let raw = describe(&sandbox, &pre)?;
        let (manifest, schema) = manifest::check(raw).map_err(LoadErrorKind::Manifest)?;
        let pre = PluginPre::new(pre).map_err(|error| LoadErrorKind::Contract(format!("{error:#}")))?;
        let (sha256, size_bytes) = (hex(&Sha256::digest(bytes)), bytes.len());
        let file = file.to_owned();
        Ok(Arc::new(Plugin { sandbox, pre, file, manifest, schema, sha256, size_bytes, imports }))
    }
}

/// Asks a guest what it is. Start functions run before that, under the same limits.
fn describe(sandbox: &Inner, pre: &InstancePre<StoreData>) -> Result<types::Manifest, LoadErrorKind> {
    let limits = Limits::default();
    let mut store = sandbox.store(&limits, InstanceLog::new(None, &limits), Catalog::new(), Random::default());
    let mut spent = Usage::default();
    let failed = |stage| move |fault: Fault| LoadErrorKind::Guest { stage, failure: fault.with(Consequence::Disabled) };
    let instance = metered(&mut store, Phase::Instantiate, &mut spent, |store| pre.instantiate(store));
    let instance = instance.map_err(failed("instantiation"))?;
    // The first look at types; whatever passes here passes for every later instance.
    let plugin = bindings::Plugin::new(&mut store, &instance);
    let plugin = plugin.map_err(|error| LoadErrorKind::Contract(format!("{error:#}")))?;
    let guest = plugin.train_host_callback_callback();
    metered(&mut store, Phase::Call, &mut spent, |store| guest.call_describe(store)).map_err(failed("`describe`"))
}

impl Plugin {
    /// What it says of itself, checked.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The file that it was loaded from, or the name that its bytes were given.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The file's size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The interfaces that it imports; none of them is refused.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Checks a configuration without starting anything. A plugin without a schema checks it itself when it starts.
    ///
    /// # Errors
    ///
    /// Every place at which it breaks the plugin's schema, with the place's path.
    pub fn check_config(&self, config: &Value) -> Result<(), Vec<String>> {
        match &self.schema {
            Some(schema) if config.is_null() => schema.check(&Value::Object(Default::default())),
            Some(schema) => schema.check(config),
            None => Ok(()),
        }
    }

    /// Makes an instance and starts it.
    ///
    /// # Errors
    ///
    /// When its limits or its configuration are wrong, when the guest refuses the configuration or fails, or
    /// when it subscribes to nonsense.
    pub fn start(self: &Arc<Self>, settings: InstanceSettings) -> Result<SandboxedCallback, StartError> {
        let instance = settings.name.clone();
        let plugin = self.manifest.name.clone();
        let checked = settings.limits.validate().map_err(StartErrorKind::Limits);
        let checked = checked.and_then(|()| self.check_config(&settings.config).map_err(StartErrorKind::Config));
        checked.and_then(|()| SandboxedCallback::start(Arc::clone(self), settings)).map_err(|kind| StartError {
            instance,
            plugin,
            kind,
        })
    }
}

impl From<Fault> for StartErrorKind {
    fn from(fault: Fault) -> Self {
        if fault.kind == FailureKind::Error {
            return Self::Refused(fault.message);
        }
        Self::Failed(fault.with(Consequence::Disabled))
    }
}
