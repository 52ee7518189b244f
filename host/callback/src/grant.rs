//! What a callback may do: what its manifest asks, cut by what the configuration grants.
//!
//! It does not look at single decisions' values: [`resolve`](crate::resolve) does, with the ranges from here.

use serde::{Deserialize, Serialize};

use crate::{Decision, Hook, Lane, Manifest, Pattern, Request};

/// What the configuration grants one instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// Reading, `report` and `note`: what a plugin without an entry in the configuration gets.
    #[default]
    Observe,
    /// Everything that the manifest asks: what an entry without `grant` means.
    Declared,
    /// Only these, and only as far as the manifest asks them too.
    Only {
        /// Requests.
        requests: Vec<Request>,
        /// Knobs, each with a range that narrows the knob's own.
        knobs: Vec<KnobGrant>,
    },
}

/// Leave to write the knobs that a pattern covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnobGrant {
    /// Which knobs.
    pub knobs: Pattern,
    /// Smallest and largest value; `None` leaves the knob's own range.
    pub range: Option<(f64, f64)>,
}

/// What one instance may do: manifest and grant together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Permit {
    requests: Vec<Request>,
    asked: Vec<Pattern>,
    granted: Vec<KnobGrant>,
}

impl Permit {
    /// The part of `manifest` that `grant` leaves. A background callback gets neither requests nor knobs.
    pub fn new(manifest: &Manifest, grant: &Grant) -> Self {
        if manifest.lane == Lane::Background {
            return Self::default();
        }
        match grant {
            Grant::Observe => Self::default(),
            Grant::Declared => Self {
                requests: manifest.requests.clone(),
                asked: manifest.knobs.clone(),
                granted: vec![KnobGrant { knobs: "*".into(), range: None }],
            },
            Grant::Only { requests, knobs } => Self {
                requests: manifest.requests.iter().copied().filter(|asked| requests.contains(asked)).collect(),
                asked: manifest.knobs.clone(),
                granted: knobs.clone(),
            },
        }
    }

    /// The part of this permit that another manifest asks for too: what an instance may do whose file was replaced.
    /// It is never wider than before.
    #[must_use]
    pub fn narrowed_to(&self, manifest: &Manifest) -> Self {
        if manifest.lane == Lane::Background {
            return Self::default();
        }
        let asked_again = |asked: &&Pattern| manifest.knobs.iter().any(|again| again.covers(asked.as_str()));
        let mut asked: Vec<Pattern> = self.asked.iter().filter(asked_again).cloned().collect();
        // A new pattern within an old one asks for a part of it.
        let within = |again: &Pattern| self.asked.iter().any(|asked| asked.covers(again.as_str()));
        for again in &manifest.knobs {
            if within(again) && !asked.contains(again) {
                asked.push(again.clone());
            }
        }
        let requests = self.requests.iter().copied().filter(|held| manifest.requests.contains(held)).collect();
        Self { requests, asked, granted: self.granted.clone() }
    }

    /// The requests that it may make.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The knobs that it may write, in words: what it asks for and is granted, with the range where that is
    /// narrower than the knob's own.
    pub fn knobs(&self) -> Vec<String> {
        let covered = |asked: &&Pattern| self.granted.iter().any(|grant| grant.knobs.covers(asked.as_str()));
        let (whole, rest): (Vec<_>, Vec<_>) = self.asked.iter().partition(covered);
        let narrow = self.granted.iter().filter(|grant| rest.iter().any(|asked| asked.covers(grant.knobs.as_str())));
        let with_range = |pattern: &Pattern| {
            let range = self.granted.iter().find(|grant| grant.knobs.covers(pattern.as_str()))?.range;
            range.map(|(min, max)| format!(" within {min} to {max}"))
        };
        let named = whole.into_iter().chain(narrow.map(|grant| &grant.knobs));
        named.map(|pattern| format!("{pattern}{}", with_range(pattern).unwrap_or_default())).collect()
    }

    /// Whether a knob may be written, and within which range if that is narrower than the knob's own.
    ///
    /// Of several grants that cover a knob, the first counts.
    pub fn knob(&self, name: &str) -> Option<(f64, f64)> {
        if !self.asked.iter().any(|pattern| pattern.covers(name)) {
            return None;
        }
        let grant = self.granted.iter().find(|grant| grant.knobs.covers(name))?;
        Some(grant.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY)))
    }

    /// Whether it may do this kind of thing at this hook; the error says why not.
    ///
    /// # Errors
    ///
    /// When the hook gives the decision no meaning, or the permit does not hold the request.
    pub fn check(&self, hook: Hook, decision: &Decision) -> Result<(), String> {
        let Some(request) = decision.request() else {
            let is_write = matches!(decision, Decision::Set { .. } | Decision::Scale { .. });
            return if is_write && !hook.takes_knobs() {
                Err(format!("no knob has an effect any more at `{hook}`"))
            } else {
                Ok(())
            };
        };
        if !hook.allows(request) {
            let hooks: Vec<&str> =
                Hook::ALL.iter().filter(|hook| hook.allows(request)).map(|hook| hook.name()).collect();
            return Err(format!("`{request}` means nothing at `{hook}`; it does at {}", hooks.join(", ")));
        }
        if self.requests.contains(&request) { Ok(()) } else { Err(format!("`{request}` is not granted")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            name: "m".into(),
            version: "1.0.0".into(),
            summary: String::new(),
            requests: vec![Request::Stop, Request::Save],
            knobs: vec!["learning-rate".into()],
            lane: Lane::Inline,
            order: 0,
            config_schema: String::new(),
            state_version: 0,
        }
    }

    #[test]
    fn a_permit_is_never_wider_than_manifest_or_grant() {
        let only = Grant::Only {
            requests: vec![Request::Stop, Request::Restore],
            knobs: vec![KnobGrant { knobs: "*".into(), range: Some((0.0, 0.1)) }],
        };
        let permit = Permit::new(&manifest(), &only);
        assert_eq!(permit.requests(), [Request::Stop]);
        assert_eq!(permit.knob("learning-rate/all"), Some((0.0, 0.1)));
        assert_eq!(permit.knob("clip-norm"), None);
        assert_eq!(Permit::new(&manifest(), &Grant::Observe), Permit::default());
        assert_eq!(Permit::new(&manifest(), &Grant::Declared).requests(), manifest().requests);
    }

    #[test]
    fn a_background_callback_steers_nothing() {
        let manifest = Manifest { lane: Lane::Background, ..manifest() };
        assert_eq!(Permit::new(&manifest, &Grant::Declared), Permit::default());
    }

    #[test]
    fn a_hook_gives_a_request_its_meaning() {
        let permit = Permit::new(&manifest(), &Grant::Declared);
        assert!(permit.check(Hook::StepEnd, &Decision::Stop("x".into())).is_ok());
        let refusal = permit.check(Hook::TrainEnd, &Decision::Stop("x".into())).unwrap_err();
        assert!(refusal.contains("means nothing at `train-end`"), "{refusal}");
        let refusal = permit.check(Hook::StepEnd, &Decision::Restore("best".into())).unwrap_err();
        assert_eq!(refusal, "`restore` is not granted");
    }

    #[test]
    fn another_file_never_gets_more() {
        let before = Permit::new(&manifest(), &Grant::Declared);
        let wider = Manifest {
            requests: Request::ALL.to_vec(),
            knobs: vec!["*".into(), "learning-rate/head".into()],
            ..manifest()
        };
        let after = before.narrowed_to(&wider);
        assert_eq!(after.requests(), before.requests());
        assert!(after.knob("learning-rate/body").is_some() && after.knob("learning-rate/head").is_some());
        assert_eq!(after.knob("clip-norm"), None);
        let narrower =
            Manifest { requests: vec![Request::Save], knobs: vec!["learning-rate/head".into()], ..manifest() };
        let after = before.narrowed_to(&narrower);
        assert_eq!(after.requests(), [Request::Save]);
        assert!(after.knob("learning-rate/head").is_some() && after.knob("learning-rate/body").is_none());
        let two = Manifest { knobs: vec!["clip-norm".into(), "learning-rate".into()], ..manifest() };
        let before = Permit::new(&two, &Grant::Declared);
        assert_eq!(before.narrowed_to(&two).narrowed_to(&two), before, "however often");
        let aside = Manifest { lane: Lane::Background, ..manifest() };
        assert_eq!(before.narrowed_to(&aside), Permit::default());
    }
}
