//! The rules by which the decisions of several callbacks at one hook become one outcome.
//!
//! Pure: the same answers, permits and knobs give the same outcome. It does not call callbacks
//! ([`Chain`](crate::Chain) does) and carries nothing out (the loop does).
//!
//! 1. A decision that its hook gives no meaning, its permit does not hold or its value breaks is refused.
//! 2. Requests are OR-ed: the first is applied, further ones are merged, and each asker is kept.
//! 3. `skip` wins over an `evaluate` or a `save` at the hook that announces that very thing.
//! 4. Knob writes apply in order; `scale` multiplies what stands; the last value counts.
//! 5. `restore` comes before all writes; of several, the first counts.

use std::sync::Arc;

use crate::{
    Change, Controls, Decision, Hook, Identity, KnobId, Knobs, Outcome, Permit, Record, Verdict,
    name::{check_report, check_tag, shown},
    outcome::Asked,
};

/// How many decisions of one answer are looked at; the rest is refused as a whole.
pub const MAX_DECISIONS: usize = 256;

/// How many refusals of a name that no knob has tell the nearest ones at a hook. Comparing with all knobs takes long
/// beside a step, and whoever writes hundreds of such names is not helped by it.
const MAX_HINTS: usize = 8;

/// One callback's decisions at a hook.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Whose they are.
    pub by: Arc<Identity>,
    /// What it may do.
    pub permit: &'a Permit,
    /// What it decided, in its order.
    pub decisions: Vec<Decision>,
}

/// Turns the answers at a hook, in the order of callbacks, into one outcome.
pub fn resolve(hook: Hook, answers: Vec<Answer<'_>>, knobs: &Knobs) -> Outcome {
    let mut resolution = Resolution { hook, knobs, standing: Vec::new(), hints: 0, outcome: Outcome::default() };
    for answer in answers {
        resolution.take(answer);
    }
    resolution.skip_wins();
    resolution.outcome.controls.writes = resolution.standing;
    resolution.outcome
}

struct Resolution<'a> {
    hook: Hook,
    knobs: &'a Knobs,
    /// Values written at this hook so far; each knob once.
    standing: Vec<(KnobId, f64)>,
    /// Refusals that told the nearest names.
    hints: usize,
    outcome: Outcome,
}

impl Resolution<'_> {
    fn take(&mut self, answer: Answer<'_>) {
        let total = answer.decisions.len();
        for (at, decision) in answer.decisions.into_iter().enumerate() {
            if at == MAX_DECISIONS {
                let why = format!("{total} decisions in one answer, the first {MAX_DECISIONS} are looked at");
                self.record(&answer.by, decision, Verdict::Refused(why), Vec::new());
                return;
            }
            let (verdict, changes) = match answer.permit.check(self.hook, &decision) {
                Err(why) => (Verdict::Refused(why), Vec::new()),
                Ok(()) => self.decide(&answer.by, answer.permit, &decision),
            };
            self.record(&answer.by, decision, verdict, changes);
        }
    }

    fn record(&mut self, by: &Arc<Identity>, decision: Decision, verdict: Verdict, changes: Vec<Change>) {
        self.outcome.records.push(Record { by: Arc::clone(by), decision, verdict, changes });
    }

    fn decide(&mut self, by: &Identity, permit: &Permit, decision: &Decision) -> (Verdict, Vec<Change>) {
        let write = match decision {
            Decision::Set { knob, value } => self.write(permit, knob, Write::Set(*value)),
            Decision::Scale { knob, factor } => self.write(permit, knob, Write::Scale(*factor)),
            other => return (self.request(by, other), Vec::new()),
        };
        match write {
            Ok(changes) => (Verdict::Applied, changes),
            Err(why) => (Verdict::Refused(why), Vec::new()),
        }
    }

    fn request(&mut self, by: &Identity, decision: &Decision) -> Verdict {
        let record = self.outcome.records.len();
        let asked = |what: &str| Asked { by: by.instance.clone(), what: what.to_owned(), record };
        let controls: &mut Controls = &mut self.outcome.controls;
        match decision {
            Decision::Stop(why) => {
                controls.stop.push(asked(why));
                merged_if(controls.stop.len() > 1)
            }
            Decision::EndEpoch(why) => first(&mut controls.end_epoch, asked(why)),
            Decision::Skip(why) => first(&mut controls.skip, asked(why)),
            Decision::Evaluate => merged_if(std::mem::replace(&mut controls.evaluate, true)),
            Decision::Log => merged_if(std::mem::replace(&mut controls.log, true)),
            Decision::Save(tag) => match check_tag(tag) {
                Err(why) => Verdict::Refused(why.to_string()),
                Ok(()) => {
                    let again = controls.save.iter().any(|earlier| earlier.what == *tag);
                    if !again {
                        controls.save.push(asked(tag));
                    }
                    merged_if(again)
                }
            },
            Decision::Restore(tag) => match &controls.restore {
                Some(earlier) if earlier.what != *tag => {
                    Verdict::Overruled(format!("`{}` restores `{}`", earlier.by, shown(&earlier.what)))
                }
                _ => first(&mut controls.restore, asked(tag)),
            },
            Decision::Mute(name) => {
                controls.mute.push(name.as_str().into());
                Verdict::Applied
            }
            Decision::Report { name, value } => match check_report(name) {
                Err(why) => Verdict::Refused(why.to_string()),
                Ok(()) => {
                    controls.reports.push((format!("{}/{name}", by.instance), *value));
                    Verdict::Applied
                }
            },
            Decision::Note(_) => Verdict::Applied,
            Decision::Set { .. } | Decision::Scale { .. } => unreachable!("writes are decided by `write`"),
        }
    }

    /// All knobs that a name addresses are written, or none.
    fn write(&mut self, permit: &Permit, written: &str, write: Write) -> Result<Vec<Change>, String> {
        let ids = self.knobs.addressed(written);
        if ids.is_empty() {
            self.hints += 1;
            let hint = if self.hints > MAX_HINTS { String::new() } else { self.knobs.did_you_mean(written) };
            return Err(format!("no knob is called `{}`{hint}", shown(written)));
        }
        let changes: Vec<(KnobId, Change)> = ids
            .into_iter()
            .map(|id| self.change(permit, id, write).map(|change| (id, change)))
            .collect::<Result<_, _>>()?;
        for (id, change) in &changes {
            match self.standing.iter_mut().find(|(earlier, _)| earlier == id) {
                Some((_, value)) => *value = change.after,
                None => self.standing.push((*id, change.after)),
            }
        }
        Ok(changes.into_iter().map(|(_, change)| change).collect())
    }

    fn change(&self, permit: &Permit, id: KnobId, write: Write) -> Result<Change, String> {
        let spec = &self.knobs.get(id).spec;
        let name = &spec.name;
        let granted = permit.knob(name).ok_or_else(|| format!("knob `{name}` is not granted"))?;
        let before = self
            .standing
            .iter()
            .find(|(earlier, _)| *earlier == id)
            .map_or_else(|| self.knobs.value(id), |(_, value)| *value);
        let after = match write {
            Write::Set(value) => value,
            Write::Scale(factor) if spec.whole => (before * factor).round(),
            Write::Scale(factor) => before * factor,
        };
        if !after.is_finite() {
            return Err(format!("{after} is no value for `{name}`"));
        }
        if spec.whole && after.fract() != 0.0 {
            return Err(format!("`{name}` takes whole numbers, not {after}"));
        }
        in_range(name, after, (spec.min, spec.max), "takes")?;
        in_range(name, after, granted, "is granted")?;
        Ok(Change { knob: name.clone(), before, after })
    }

    /// Rule 3, when all answers are in: the order of callbacks does not matter for it.
    fn skip_wins(&mut self) {
        let Some(skip) = &self.outcome.controls.skip else { return };
        let why = Verdict::Overruled(format!("`{}` skips it", skip.by));
        let hit = |decision: &Decision| match self.hook {
            Hook::EvaluateBegin => matches!(decision, Decision::Evaluate),
            Hook::SaveBegin => matches!(decision, Decision::Save(_)),
            _ => false,
        };
        for record in &mut self.outcome.records {
            if hit(&record.decision) && !matches!(record.verdict, Verdict::Refused(_)) {
                record.verdict = why.clone();
            }
        }
        match self.hook {
            Hook::EvaluateBegin => self.outcome.controls.evaluate = false,
            Hook::SaveBegin => self.outcome.controls.save.clear(),
            _ => {}
        }
    }
}

#[derive(Clone, Copy)]
enum Write {
    Set(f64),
    Scale(f64),
}

fn merged_if(again: bool) -> Verdict {
    if again { Verdict::Merged } else { Verdict::Applied }
}

fn first(slot: &mut Option<Asked<String>>, asked: Asked<String>) -> Verdict {
    let again = slot.is_some();
    slot.get_or_insert(asked);
    merged_if(again)
}

fn in_range(name: &str, value: f64, (min, max): (f64, f64), verb: &str) -> Result<(), String> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(format!("{value} for `{name}`, which {verb} {min} to {max}"))
}
