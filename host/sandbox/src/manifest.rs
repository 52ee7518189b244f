//! Checks what a plugin says of itself.
//!
//! It does not grant anything: a permit is cut from the checked manifest elsewhere. Main function: [`check`].

use host_callback::{InstanceName, Lane, Manifest};

use crate::{
    Limits,
    bindings::types,
    convert::{patterns_in, requests_in},
    schema::ConfigSchema,
    text::{clean, few},
};

/// The most knobs that a manifest names; with `*` a few are enough.
const MAX_KNOBS: usize = 256;

/// The longest version. It is in every line of the timeline, and semantic versions have no end of their own.
const MAX_VERSION_BYTES: usize = 64;

/// The manifest in the domain's words and the schema of configurations, or everything that is wrong with it.
pub(crate) fn check(raw: types::Manifest) -> Result<(Manifest, Option<ConfigSchema>), Vec<String>> {
    let mut wrong = Vec::new();
    // Plugins are named by the same rule as their instances: an instance is often called after its plugin.
    if let Err(error) = raw.name.parse::<InstanceName>() {
        wrong.push(clean(error.to_string().replace("instance name", "name"), 200));
    }
    let version = || clean(raw.version.clone(), 80);
    if raw.version.len() > MAX_VERSION_BYTES {
        wrong.push(format!("version `{}` is longer than {MAX_VERSION_BYTES} bytes", version()));
    } else if let Err(error) = semver::Version::parse(&raw.version) {
        wrong.push(format!("version `{}` is not a semantic version: {error}", version()));
    }
    let knobs = if raw.knobs.len() > MAX_KNOBS {
        wrong.push(format!("{} knobs, the limit is {MAX_KNOBS}", raw.knobs.len()));
        Vec::new()
    } else {
        patterns_in("knobs", raw.knobs, &mut wrong)
    };
    let schema = ConfigSchema::new(&raw.config_schema).unwrap_or_else(|why| {
        wrong.push(format!("config-schema: {why}"));
        None
    });
    if !wrong.is_empty() {
        return Err(few(wrong));
    }
    let manifest = Manifest {
        name: raw.name,
        version: raw.version,
        summary: clean(raw.summary, Limits::default().text_bytes),
        requests: requests_in(raw.requests),
        knobs,
        lane: match raw.lane {
            types::Lane::Inline => Lane::Inline,
            types::Lane::Background => Lane::Background,
        },
        order: raw.order,
        config_schema: raw.config_schema,
        state_version: raw.state_version,
    };
    Ok((manifest, schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> types::Manifest {
        types::Manifest {
            name: "early-stopping".into(),
            version: "1.0.0-rc.1".into(),
            summary: "stops".into(),
            requests: types::Requests::STOP,
            knobs: vec!["learning-rate/*".into()],
            lane: types::Lane::Inline,
            order: -3,
            config_schema: r#"{"type": "object"}"#.into(),
            state_version: 2,
        }
    }

    #[test]
    fn a_good_manifest_is_taken_over() {
        let (manifest, schema) = check(raw()).unwrap();
        assert_eq!((manifest.name.as_str(), manifest.order, manifest.state_version), ("early-stopping", -3, 2));
        assert!(schema.is_some());
    }

    #[test]
    fn everything_wrong_with_a_manifest_is_named() {
        let bad = types::Manifest {
            name: "../x".into(),
            version: "1".into(),
            knobs: vec!["a".into(), String::new()],
            config_schema: "{".into(),
            ..raw()
        };
        let wrong = check(bad).unwrap_err();
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        assert!(wrong[0].starts_with("name `../x`"), "{wrong:?}");
    }

    #[test]
    fn a_manifest_with_many_faults_or_long_words_is_told_in_a_few() {
        let wrong = |knobs: usize| check(types::Manifest { knobs: vec!["a b".into(); knobs], ..raw() }).unwrap_err();
        assert_eq!(wrong(MAX_KNOBS).len(), 21);
        assert_eq!(wrong(100_000), ["100000 knobs, the limit is 256"]);
        let version = format!("1.0.0-{}", "x".repeat(1 << 20));
        let wrong = check(types::Manifest { version, ..raw() }).unwrap_err();
        assert!(wrong[0].ends_with("…` is longer than 64 bytes") && wrong[0].len() < 200, "{wrong:?}");
    }
}
