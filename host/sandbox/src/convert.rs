//! The only way in or out for guest data: contract types to domain types and back, with caps on what comes out.
//!
//! It does not judge decisions: the domain's resolution does, and refuses them one by one. Main types:
//! [`EventBuffer`], and the functions for what guests hand over.

use host_callback::{Decision, Event, Hook, Pattern, Request, RunInfo, Subscription};

use crate::{
    Limits,
    bindings::types,
    text::{clean, few},
};

/// The most subscriptions of one instance, and the most names that one subscription, and all of them together, read.
/// With `*` in names, a few are enough; the chain goes through them at each hook, and compares all of them with every
/// measurement whenever there is a new one.
const MAX_SUBSCRIPTIONS: usize = 64;
const MAX_READS: usize = 256;
const MAX_READS_IN_ALL: usize = 1_024;

/// The longest name or pattern in bytes.
const MAX_PATTERN_BYTES: usize = 256;

/// Memory that is used again for each event.
#[derive(Debug, Default)]
pub(crate) struct EventBuffer {
    values: Vec<f64>,
}

impl EventBuffer {
    /// Shows an event to `call` in the contract's form, as far as it is handed over. A list of plain numbers is one
    /// copy of memory on its way into a guest; a list of keys and values would be a loop over their fields.
    pub(crate) fn show<R>(&mut self, event: &Event, shape: u32, call: impl FnOnce(types::Event<'_>) -> R) -> R {
        self.values.clear();
        self.values.extend(event.scalars.iter().map(|(_, value)| *value));
        let progress = event.moment.progress;
        call(types::Event {
            hook: hook_out(event.moment.hook),
            progress: types::Progress {
                step: progress.step,
                total_steps: progress.total_steps,
                epoch: progress.epoch,
                samples: progress.samples,
                tokens: progress.tokens,
            },
            shape,
            values: &self.values,
        })
    }
}

/// The run in the contract's shape.
pub(crate) fn run_out(run: &RunInfo) -> types::RunInfo<'_> {
    types::RunInfo {
        run: &run.run,
        seed: run.seed,
        rank: run.rank,
        world_size: run.world_size,
        step: run.step,
        description: &run.description,
    }
}

/// An answer, with its words cut and cleaned.
///
/// # Errors
///
/// When there are more decisions than [`Limits::decisions`].
pub(crate) fn decisions_in(decisions: Vec<types::Decision>, limits: &Limits) -> Result<Vec<Decision>, String> {
    if decisions.len() > limits.decisions {
        return Err(format!("{} decisions in one answer, the limit is {}", decisions.len(), limits.decisions));
    }
    let text = |text| clean(text, limits.text_bytes);
    let convert = |decision| match decision {
        types::Decision::Stop(why) => Decision::Stop(text(why)),
        types::Decision::EndEpoch(why) => Decision::EndEpoch(text(why)),
        types::Decision::Evaluate => Decision::Evaluate,
        types::Decision::Save(tag) => Decision::Save(text(tag)),
        types::Decision::Log => Decision::Log,
        types::Decision::Skip(why) => Decision::Skip(text(why)),
        types::Decision::Restore(tag) => Decision::Restore(text(tag)),
        types::Decision::Set(write) => Decision::Set { knob: text(write.knob), value: write.value },
        types::Decision::Scale(write) => Decision::Scale { knob: text(write.knob), factor: write.value },
        types::Decision::Report(report) => Decision::Report { name: text(report.name), value: report.value },
        types::Decision::Mute(name) => Decision::Mute(text(name)),
        types::Decision::Note(words) => Decision::Note(text(words)),
    };
    Ok(decisions.into_iter().map(convert).collect())
}

/// What an instance listens to.
///
/// # Errors
///
/// What is wrong with it, the first of it where it is much. Whether the names exist is not known here.
pub(crate) fn subscriptions_in(subscriptions: Vec<types::Subscription>) -> Result<Vec<Subscription>, Vec<String>> {
    if subscriptions.len() > MAX_SUBSCRIPTIONS {
        return Err(vec![format!("{} subscriptions, the limit is {MAX_SUBSCRIPTIONS}", subscriptions.len())]);
    }
    let reads: usize = subscriptions.iter().map(|subscription| subscription.reads.len()).sum();
    if reads > MAX_READS_IN_ALL {
        return Err(vec![format!("the subscriptions read {reads} names in all, the limit is {MAX_READS_IN_ALL}")]);
    }
    let mut wrong = Vec::new();
    let mut converted = Vec::with_capacity(subscriptions.len());
    for subscription in subscriptions {
        let hook = hook_in(subscription.hook);
        if subscription.every == 0 {
            wrong.push(format!("the subscription to `{hook}` is for every 0th time; 1 is every time"));
        }
        if subscription.reads.len() > MAX_READS {
            wrong.push(format!("the subscription to `{hook}` reads more than {MAX_READS} names"));
            continue;
        }
        let what = format!("what the subscription to `{hook}` reads");
        let reads = patterns_in(&what, subscription.reads, &mut wrong);
        converted.push(Subscription { hook, every: subscription.every, reads });
    }
    if wrong.is_empty() { Ok(converted) } else { Err(few(wrong)) }
}

/// Names with `*`; what is wrong with one is added to `wrong`.
pub(crate) fn patterns_in(what: &str, patterns: Vec<String>, wrong: &mut Vec<String>) -> Vec<Pattern> {
    let rule = |pattern: &str| match pattern {
        "" => Some("it is empty".to_owned()),
        long if long.len() > MAX_PATTERN_BYTES => Some(format!("it is longer than {MAX_PATTERN_BYTES} bytes")),
        odd if odd.contains(|c: char| c.is_control() || c.is_whitespace()) => Some("it has spaces".to_owned()),
        _ => None,
    };
    for pattern in &patterns {
        if let Some(why) = rule(pattern) {
            wrong.push(format!("{what}: `{}` is no name: {why}", clean(pattern.clone(), 80)));
        }
    }
    patterns.into_iter().map(Pattern::from).collect()
}

/// The requests of a manifest, in the order of the contract.
pub(crate) fn requests_in(flags: types::Requests) -> Vec<Request> {
    let flag = |request| match request {
        Request::Stop => types::Requests::STOP,
        Request::EndEpoch => types::Requests::END_EPOCH,
        Request::Evaluate => types::Requests::EVALUATE,
        Request::Save => types::Requests::SAVE,
        Request::Log => types::Requests::LOG,
        Request::Skip => types::Requests::SKIP,
        Request::Restore => types::Requests::RESTORE,
        Request::Mute => types::Requests::MUTE,
    };
    Request::ALL.into_iter().filter(|&request| flags.contains(flag(request))).collect()
}

fn hook_out(hook: Hook) -> types::Hook {
    match hook {
        Hook::TrainBegin => types::Hook::TrainBegin,
        Hook::EpochBegin => types::Hook::EpochBegin,
        Hook::StepBegin => types::Hook::StepBegin,
        Hook::Gradients => types::Hook::Gradients,
        Hook::StepEnd => types::Hook::StepEnd,
        Hook::EvaluateBegin => types::Hook::EvaluateBegin,
        Hook::EvaluateEnd => types::Hook::EvaluateEnd,
        Hook::Log => types::Hook::Log,
        Hook::SaveBegin => types::Hook::SaveBegin,
        Hook::SaveEnd => types::Hook::SaveEnd,
        Hook::EpochEnd => types::Hook::EpochEnd,
        Hook::Failure => types::Hook::Failure,
        Hook::TrainEnd => types::Hook::TrainEnd,
    }
}

fn hook_in(hook: types::Hook) -> Hook {
    Hook::ALL.into_iter().find(|&ours| hook_out(ours) == hook).expect("`hook_out` reaches every hook of the contract")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_go_out_and_come_back() {
        for hook in Hook::ALL {
            assert_eq!(hook_in(hook_out(hook)), hook);
            assert_eq!(hook_out(hook) as usize, hook.index());
        }
    }

    #[test]
    fn requests_keep_their_names() {
        assert_eq!(requests_in(types::Requests::all()), Request::ALL);
        assert_eq!(requests_in(types::Requests::SKIP | types::Requests::STOP), [Request::Stop, Request::Skip]);
    }

    #[test]
    fn a21_ten_thousand_decisions_are_passed_on_to_be_refused_by_name() {
        let limits = Limits::default();
        let many = vec![types::Decision::Evaluate; 10_000];
        assert_eq!(decisions_in(many, &limits).unwrap().len(), 10_000);
        let error = decisions_in(vec![types::Decision::Evaluate; limits.decisions + 1], &limits).unwrap_err();
        assert_eq!(error, "16385 decisions in one answer, the limit is 16384");
    }

    #[test]
    fn a21_bad_numbers_are_passed_on_as_they_are() {
        let write = |value| types::Assignment { knob: "learning-rate".into(), value };
        let decisions = vec![
            types::Decision::Set(write(f64::NAN)),
            types::Decision::Scale(write(f64::INFINITY)),
            types::Decision::Set(write(-1.0)),
        ];
        let converted = decisions_in(decisions, &Limits::default()).unwrap();
        assert!(matches!(&converted[0], Decision::Set { value, .. } if value.is_nan()));
        assert_eq!(converted[1], Decision::Scale { knob: "learning-rate".into(), factor: f64::INFINITY });
        assert_eq!(converted[2], Decision::Set { knob: "learning-rate".into(), value: -1.0 });
    }

    #[test]
    fn words_are_cut() {
        let long = vec![types::Decision::Stop("s".repeat(5000))];
        let Decision::Stop(why) = decisions_in(long, &Limits::default()).unwrap().remove(0) else { panic!() };
        assert!(why.len() <= 4096 && why.ends_with('…'));
    }

    #[test]
    fn everything_wrong_with_subscriptions_is_named() {
        let subscribe =
            |every, name: &str| types::Subscription { hook: types::Hook::Log, every, reads: vec![name.to_owned()] };
        let wrong = subscriptions_in(vec![subscribe(0, "loss"), subscribe(1, ""), subscribe(2, "a b")]).unwrap_err();
        assert_eq!(
            wrong,
            [
                "the subscription to `log` is for every 0th time; 1 is every time",
                "what the subscription to `log` reads: `` is no name: it is empty",
                "what the subscription to `log` reads: `a b` is no name: it has spaces",
            ]
        );
        assert_eq!(subscriptions_in(vec![subscribe(3, "eval/*")]).unwrap()[0].every, 3);
        assert!(subscriptions_in(vec![subscribe(1, "loss"); 65]).is_err());
        let many = types::Subscription { reads: vec!["loss".into(); 200], ..subscribe(1, "loss") };
        let wrong = subscriptions_in(vec![many; 6]).unwrap_err();
        assert_eq!(wrong, ["the subscriptions read 1200 names in all, the limit is 1024"]);
        assert_eq!(subscriptions_in(vec![subscribe(0, "a b"); 64]).unwrap_err().len(), 21, "not all of many");
    }
}
