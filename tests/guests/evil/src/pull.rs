//! Asks the host for the rest of an event: when there is one, when there is none, and without end.
//! Everything here is allowed; what it costs is the host's to bound.

use host_sdk::bindings::train_host::callback::host;

/// Everything that the host gives now, and what it gives for keys of the other kind, in words.
pub(crate) fn everything() -> String {
    let (vectors, texts) = (host::vectors(), host::texts());
    let mixed_up: Vec<_> = texts.iter().map(|key| host::vector(*key)).collect();
    let confused: Vec<_> = vectors.iter().map(|key| host::text(*key)).collect();
    let vectors: Vec<_> = vectors.into_iter().map(|key| (key, host::vector(key))).collect();
    let texts: Vec<_> = texts.into_iter().map(|key| (key, host::text(key))).collect();
    let unknown = (host::vector(u32::MAX), host::text(u32::MAX));
    let (keys, detail) = (host::keys(), host::detail());
    format!("{keys:?} {detail:?} {vectors:?} {texts:?} {mixed_up:?} {confused:?} {unknown:?}")
}

/// Over and over again.
pub(crate) fn forever() -> ! {
    loop {
        for key in host::vectors() {
            std::hint::black_box(host::vector(key));
        }
    }
}
