//! When checkpoints are whole, which are kept, which are refused.
//!
//! What a run makes of one is in `resume`.

use std::{fs, path::Path};

use host_callback::{Decision, Hook};
use host_trainer::{Checkpoint, CheckpointError, OptimizerRule, Span, Store, TrainError};

use crate::{
    rig::{Part, Rig, entries, saved_state},
    script::{Script, Seen},
    task::Regression,
};

fn save(tag: &str) -> Decision {
    Decision::Save(tag.into())
}

/// Saves at each of its steps.
fn saving(epochs: u64) -> Rig {
    let mut rig = Rig::new(epochs);
    rig.settings.save_every = Some(Span::Steps(1));
    rig
}

#[test]
fn b15_what_is_kept_is_the_newest_and_what_has_a_tag() {
    let rig = saving(5);
    let folder = rig.next_folder();
    let decide = move |seen: &Seen, _: &[Seen]| match (seen.hook, seen.step()) {
        (Hook::TrainBegin, _) => {
            // Of other programs; the names are near to ours.
            fs::write(folder.join("notes.txt"), "mine").unwrap();
            fs::create_dir(folder.join("step-01")).unwrap();
            fs::create_dir(folder.join("step-3-mine")).unwrap();
            Vec::new()
        }
        (Hook::StepEnd, 2 | 5) => vec![save("best")],
        (Hook::StepEnd, 3) => vec![save("odd")],
        _ => Vec::new(),
    };
    let part = rig.run([Script::new("saver", decide)]).completed();
    let kept = ["notes.txt", "step-01", "step-10", "step-3", "step-3-mine", "step-5", "step-9", "tags.json"];
    assert_eq!(entries(&part.folder), kept);
    let store = Store::open(&part.folder, 2).unwrap();
    let list: Vec<String> =
        store.list().unwrap().into_iter().map(|(name, tags)| format!("{name} {}", tags.join(","))).collect();
    assert_eq!(list, ["step-3 odd", "step-5 best", "step-9 ", "step-10 "], "10 comes after 9");
    let found = |tag: &str| store.find(tag).map(|checkpoint| checkpoint.step()).map_err(|error| error.to_string());
    assert_eq!((found("last"), found("best"), found("step-9")), (Ok(10), Ok(5), Ok(9)));
    assert!(found("step-8").unwrap_err().contains("tags: best, odd"));
}

#[test]
fn b20_save_end_comes_when_the_checkpoint_is_whole() {
    let rig = saving(2);
    let folder = rig.next_folder();
    let look = move |seen: &Seen, _: &[Seen]| {
        let path = folder.join(format!("step-{}", seen.step()));
        match seen.hook {
            Hook::SaveBegin => assert!(!path.exists()),
            Hook::SaveEnd => assert_eq!(Checkpoint::open(&path).unwrap().step(), seen.step()),
            _ => {}
        }
        Vec::new()
    };
    let part = rig.run([Script::new("looks", look)]).completed();
    assert_eq!((part.count(Hook::SaveBegin), part.count(Hook::SaveEnd)), (4, 4));
    assert_eq!(entries(&part.folder), ["step-3", "step-4"], "nothing else is left");
}

/// Every fifth step of 16 saves; what is begun and ended when.
fn saves_of(save_async: u64, decide: fn(&Seen) -> Vec<Decision>) -> (Vec<String>, Part) {
    let mut rig = Rig::new(8);
    (rig.settings.save_every, rig.settings.save_async) = (Some(Span::Steps(5)), save_async);
    let folder = rig.next_folder();
    let look = move |seen: &Seen, history: &[Seen]| {
        if seen.hook == Hook::SaveEnd {
            let begun = history.iter().rfind(|seen| seen.hook == Hook::SaveBegin).unwrap();
            let path = folder.join(format!("step-{}", begun.step()));
            assert_eq!(Checkpoint::open(&path).unwrap().step(), begun.step(), "it is whole");
        }
        decide(seen)
    };
    let part = rig.run([Script::new("looks", look)]).completed();
    (part.hooks().into_iter().filter(|hook| hook.starts_with("save-")).collect(), part)
}

#[test]
fn b20_save_end_comes_when_it_is_due_and_before_the_next_checkpoint_and_the_end() {
    let nothing = |_: &Seen| Vec::new();
    let ends_at = |save_async| {
        let (hooks, part) = saves_of(save_async, nothing);
        let told: Vec<u64> =
            part.told("saved").iter().map(|saved| saved["progress"]["step"].as_u64().unwrap()).collect();
        let (begun, ended): (Vec<_>, Vec<_>) = hooks.iter().partition(|hook| hook.starts_with("save-begin"));
        assert_eq!(begun, ["save-begin@5", "save-begin@10", "save-begin@15", "save-begin@16"]);
        assert!(hooks.chunks(2).all(|pair| pair[1].starts_with("save-end")), "one after the other: {hooks:?}");
        assert_eq!(
            ended,
            told.iter().map(|step| format!("save-end@{step}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
        );
        told
    };
    assert_eq!(ends_at(0), [5, 10, 15, 16]);
    assert_eq!(ends_at(1), [6, 11, 16, 16]);
    assert_eq!(ends_at(4), [9, 14, 16, 16]);
    assert_eq!(ends_at(100), [10, 15, 16, 16]);
}

#[test]
fn a_checkpoint_that_is_being_written_can_be_restored() {
    let restore = |seen: &Seen| match (seen.hook, seen.step()) {
        (Hook::StepEnd, 5) => vec![save("mine")],
        (Hook::StepBegin, 5) => vec![Decision::Restore("mine".into())],
        (Hook::StepEnd, 7) => vec![Decision::Restore("last".into())],
        _ => Vec::new(),
    };
    let (hooks, part) = saves_of(4, restore);
    assert_eq!(part.refusals(), Vec::<String>::new());
    let from = |restored: &&serde_json::Value| restored["step"].as_u64().unwrap();
    assert_eq!(part.told("restored").iter().map(from).collect::<Vec<_>>(), [5, 5]);
    assert_eq!(hooks[..2], ["save-begin@5", "save-end@9"], "that is told when it is due all the same");
}

#[test]
fn b3_state_is_stored_after_everybody_has_seen_the_event() {
    let asks = |name, order| {
        let decide = |seen: &Seen, _: &[Seen]| if seen.is(Hook::StepEnd, 1) { vec![save("a")] } else { Vec::new() };
        Script::new(name, decide).with_order(order)
    };
    // The first in the order asks, and the last one does.
    for scripts in [[asks("one", 0), Script::silent("two").with_order(1)], [Script::silent("two"), asks("one", 1)]] {
        let part = Rig::new(1).run(scripts).completed();
        for instance in ["one", "two"] {
            let state = saved_state(&part.checkpoint("step-1"), instance);
            let hooks: Vec<Hook> = state.iter().filter(|seen| seen.step() == 1).map(|seen| seen.hook).collect();
            assert_eq!(hooks, [Hook::StepEnd, Hook::SaveBegin], "{instance}");
        }
    }
}

#[test]
fn b4_instances_keep_states_of_their_own() {
    let rig = saving(1);
    let rare = Script::silent("rare").listens(&[Hook::StepEnd], 2, &[]);
    let part = rig.run([Script::silent("often").listens(&[Hook::StepEnd], 1, &[]), rare]).completed();
    let checkpoint = part.checkpoint("step-2");
    assert_eq!((saved_state(&checkpoint, "often").len(), saved_state(&checkpoint, "rare").len()), (2, 1));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in entries(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_checkpoint_is_refused_and_the_one_before_it_named() {
    type Damage = fn(&Path);
    let damages: [(Damage, &str); 7] = [
        (|at| rewrite(&at.join("model.safetensors"), |bytes| bytes.truncate(9)), "model.safetensors has 9 bytes"),
        (|at| rewrite(&at.join("optimizer.safetensors"), |bytes| bytes[30] ^= 1), "optimizer.safetensors is not what"),
        (|at| rewrite(&at.join("callback-seer.state"), |bytes| bytes[0] ^= 1), "callback-seer.state is not what"),
        (|at| fs::remove_file(at.join("state.json")).unwrap(), "state.json"),
        (|at| fs::remove_file(at.join("checkpoint.json")).unwrap(), "it has no checkpoint.json"),
        (|at| rewrite(&at.join("checkpoint.json"), |bytes| bytes.truncate(40)), "checkpoint.json: "),
        (|at| fs::write(at.join("checkpoint.json"), "[]").unwrap(), "checkpoint.json: "),
    ];
    let part = saving(1).run([Script::silent("seer")]).completed();
    let temporary = tempfile::tempdir().unwrap();
    for (at, (damage, words)) in damages.into_iter().enumerate() {
        let folder = temporary.path().join(at.to_string());
        for name in ["step-1", "step-2"] {
            copy(&part.folder.join(name), &folder.join(name));
        }
        damage(&folder.join("step-2"));
        let error = Checkpoint::open(&folder.join("step-2")).unwrap_err();
        assert!(matches!(error, CheckpointError::Damaged { .. }), "{words}");
        assert!(error.to_string().contains(words), "{error}");
        let CheckpointError::Damaged { older, .. } = Store::newest(&folder).unwrap_err() else { panic!("{words}") };
        assert_eq!(older, Some(folder.join("step-1")), "{words}");
    }
}

#[test]
fn a_checkpoint_of_another_format_is_not_read() {
    let part = Rig::new(1).run([]).completed();
    let path = part.folder.join("step-2");
    let manifest = fs::read_to_string(path.join("checkpoint.json")).unwrap();
    fs::write(path.join("checkpoint.json"), manifest.replace("\"format\": 1", "\"format\": 99")).unwrap();
    let error = Checkpoint::open(&path).unwrap_err().to_string();
    assert!(error.contains("it has format 99"), "{error}");
}

fn refusal(rig: &Rig, checkpoint: &Checkpoint) -> String {
    match rig.open(Some(checkpoint)) {
        Err(TrainError::Checkpoint(error @ CheckpointError::Mismatch { .. })) => error.to_string(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was taken"),
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    type Change = fn(&mut Rig);
    let changes: [(Change, &[&str]); 4] = [
        (|rig| rig.settings.seed = 4, &["seed 3", "this run has", "seed 4"]),
        (|rig| rig.task = Regression::of(9), &["8 training samples", "9 training samples"]),
        (|rig| rig.task.bias.push(0.0), &["`bias` is [2] there and [3] in the model"]),
        (
            |rig| rig.settings.optimizer = OptimizerRule::Sgd { momentum: 0.9, dampening: 0.0, nesterov: false },
            &["it has no `bias/velocity`; was it saved by another optimizer?"],
        ),
    ];
    let part = Rig::new(1).run([]).completed();
    let checkpoint = part.checkpoint("step-2");
    for (change, words) in changes {
        let mut rig = Rig::new(1);
        change(&mut rig);
        let refused = refusal(&rig, &checkpoint);
        words.iter().for_each(|word| assert!(refused.contains(word), "{refused}"));
    }
    // Groups may change: knobs of groups that are gone have nothing to set.
    let mut rig = Rig::new(1);
    rig.settings.groups.remove(0);
    assert!(rig.open(Some(&checkpoint)).is_ok());
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    for name in [".step-9.4711", ".step-3.old", ".other", "step-3"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("model.safetensors"), "half").unwrap();
    }
    Store::open(folder.path(), 2).unwrap();
    assert_eq!(entries(folder.path()), [".other", "step-3"]);
}

#[test]
fn a_resumed_run_takes_over_what_its_tags_point_to() {
    let rig = saving(3);
    let decide = |seen: &Seen, _: &[Seen]| match (seen.hook, seen.step()) {
        (Hook::StepEnd, 1) => vec![save("best")],
        (Hook::StepEnd, 2) => vec![save("lost")],
        _ => Vec::new(),
    };
    let part: Part = rig.run([Script::new("saver", decide)]).completed();
    let before = entries(&part.folder);
    let newest = part.checkpoint("step-6");
    fs::remove_dir_all(part.folder.join("step-2")).unwrap();
    let other = tempfile::tempdir().unwrap();
    let mut store = Store::open(other.path(), 2).unwrap();
    assert_eq!(store.adopt(&newest).unwrap(), ["lost"], "a tag whose checkpoint is gone");
    assert_eq!(entries(other.path()), ["step-1", "step-6", "tags.json"]);
    assert_eq!((store.find("best").unwrap().step(), store.find("last").unwrap().step()), (1, 6));
    fs::create_dir(part.folder.join("step-2")).unwrap();
    assert_eq!(entries(&part.folder), before, "the other run's folder is as it was");
}
