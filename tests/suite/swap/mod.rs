//! Plugins and entries that change while the program trains: what takes over, what is refused, what comes back.
//! Every rule by itself is tested in `host-sandbox`; here a whole run goes on meanwhile.

mod kill;
pub(crate) mod running;

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use host_tests::{Project, Run, guests};
use serde_json::Value;

use self::running::{Running, marked, put, slow, stories};
use crate::project;

/// A run with one instance that counts steps.
fn counting() -> Running {
    let project = project();
    project.plugin("evil", "one", "", "mode = \"healthy\"");
    Running::start(project)
}

/// Every step was counted, and none twice.
fn counted(run: &Run) {
    let seen: Vec<f64> =
        run.decisions("one").iter().filter_map(|line| line["decision"]["report"]["value"].as_f64()).collect();
    assert!(seen.len() > 100, "{} reports", seen.len());
    for (at, value) in seen.iter().enumerate() {
        assert_eq!(*value, (at + 1) as f64);
    }
}

#[test]
fn a15_a_file_is_taken_up_once_and_whole_however_it_is_written() {
    for settle in [300, 3_000, 30_000] {
        let Some((_project, run)) = written_in_many_ways(settle) else { continue };
        assert_eq!(stories(&run, "swapped").len(), 3);
        assert!(
            stories(&run, "refused").is_empty() && stories(&run, "retired").is_empty(),
            "{}",
            run.text("timeline.jsonl")
        );
        assert_eq!(stories(&run, "joined").len(), 10);
        counted(&run);
        return;
    }
    panic!("the machine is too busy to write a file");
}

/// A run with files that have to be still for so many milliseconds. `None` where this process was held up while it wrote
/// one: what is away for that long is removed, and what is cut off for ten times as long is refused.
fn written_in_many_ways(settle: u64) -> Option<(Project, Run)> {
    let project = project();
    project.plugin("evil", "one", "", "mode = \"healthy\"");
    let text = fs::read_to_string(project.path("train.toml")).expect("the configuration is read");
    project.write("train.toml", &text.replace("[plugins]", &format!("[plugins]\nsettle-ms = {settle}")));
    let mut running = Running::start(project);
    // Half of what is allowed: the program may have begun its look before the file was touched.
    let (away, cut_off) = (Duration::from_millis(settle / 2), Duration::from_millis(5 * settle));
    let file = running.plugin("one");
    put(&file, &marked("evil", "1"));
    running.until("took over");
    let bytes = marked("evil", "2");
    let since = Instant::now();
    fs::remove_file(&file).expect("it is removed");
    fs::write(&file, &bytes).expect("it is written");
    if since.elapsed() > away {
        drop(running.kill());
        return None;
    }
    running.until("took over");
    let bytes = marked("evil", "3");
    let mut since = Instant::now();
    let mut open = fs::File::create(&file).expect("it is made");
    for piece in bytes.chunks(bytes.len().div_ceil(20)) {
        let now = Instant::now();
        open.write_all(piece).expect("a piece is written");
        open.flush().expect("it is flushed");
        if since.elapsed() > cut_off {
            drop(running.kill());
            return None;
        }
        since = now;
        running.step();
    }
    drop(open);
    running.until("took over");
    // As it was already.
    put(&file, &bytes);
    // Many at once, and then one that tells when all of them have had their time.
    // They are never called here: ten that wrote a line at each event would fill gigabytes where a slow machine takes
    // minutes for this.
    for n in 0..10 {
        put(&running.plugin(&format!("many-{n}")), &marked("faulty", &n.to_string()));
    }
    for _ in 0..10 {
        running.until("joined");
    }
    Some(running.end())
}

#[test]
fn a1_a12_a22_what_is_no_good_is_refused_and_the_old_one_goes_on() {
    let mut running = counting();
    let file = running.plugin("one");
    for (bytes, words) in [
        (b"no component".to_vec(), "text file"),
        (marked("evil-describe-loop", "1"), "describe"),
        (marked("script", "1"), "an entry of its own"),
    ] {
        put(&file, &bytes);
        let line = running.until(words);
        assert!(line.contains("one.wasm is not taken"), "{words}: {line}");
    }
    // As it was when the run began: nothing is to be done, and nothing is told.
    put(&file, &fs::read(guests::component("evil")).unwrap());
    running.edit("mode = \"healthy\"", "mode = \"load-trap\"");
    running.until("does not take the state of the running one");
    put(&file, &marked("evil-next", "1"));
    running.until("a state of version 1 is not read any more");
    running.step();
    let (_project, run) = running.end();
    assert!(stories(&run, "swapped").is_empty());
    assert_eq!(run.callback("one")["failures"], 0, "what is tried out is no call of the run");
    counted(&run);
}

#[test]
fn a_version_that_fails_in_its_first_calls_goes_and_the_old_one_is_back() {
    let mut running = counting();
    // The canary answers the last event, which is of a hook that the new configuration does not listen to.
    running.edit("mode = \"healthy\"", "mode = \"trap\"\nhook = \"gradients\"");
    running.until("has a new config");
    let line = running.until("is back with the state that it had");
    assert!(line.contains("one") && line.contains("trap"), "{line}");
    running.step();
    running.step();
    let (_project, run) = running.end();
    let topics = ["swapped", "callback-failed", "rolled-back"].map(|topic| stories(&run, topic).len());
    assert_eq!(topics, [1, 1, 1]);
    let last = run.decisions("one").pop().unwrap();
    let steps = run.json("report.json")["steps"].as_f64().unwrap();
    // No event was lost, or the few that the new one answered.
    let seen = last["decision"]["report"]["value"].as_f64().unwrap();
    assert!((steps - 2.0..=steps).contains(&seen), "{seen} of {steps} steps: {last}");
}

#[test]
fn a23_a_folder_that_is_gone_is_told_once_and_what_is_loaded_goes_on() {
    let mut running = counting();
    let (folder, away) = (running.project.path("plugins"), running.project.path("away"));
    fs::rename(&folder, &away).unwrap();
    running.until("cannot be read");
    fs::rename(&away, &folder).unwrap();
    running.until("is there");
    put(&running.plugin("one"), &marked("evil", "1"));
    running.until("took over");
    let (_project, run) = running.end();
    assert_eq!((stories(&run, "folder-gone").len(), stories(&run, "folder-back").len()), (1, 1));
    assert!(stories(&run, "retired").is_empty());
    counted(&run);
}

#[test]
fn a_folder_may_come_later_and_files_come_and_go() {
    let project = project();
    fs::remove_dir(project.path("plugins")).unwrap();
    let mut running = Running::start(project);
    fs::create_dir(running.project.path("plugins")).unwrap();
    put(&running.plugin("observer"), &marked("observer", "1"));
    let line = running.until("joined");
    assert!(line.contains("may read, report and note"), "{line}");
    put(&running.plugin("policy"), &fs::read(guests::component("checkpoint-policy")).unwrap());
    let line = running.until("policy");
    assert!(line.contains("joined") || line.contains("not taken"), "{line}");
    fs::remove_file(running.plugin("observer")).unwrap();
    running.until("takes no part any more");
    let (_project, run) = running.end();
    let callback = run.callback("observer");
    assert!(callback["calls"].as_u64().unwrap() > 0, "what it did is in the report: {callback}");
}

#[test]
fn a_configuration_is_taken_up_as_far_as_it_can_change() {
    let mut running = counting();
    running.edit("clip-norm = 5.0", "clip-norm = 6.0");
    let line = running.until("cannot change in a run");
    assert!(line.contains("train.clip-norm"), "{line}");
    running.edit("name = \"one\"", "name = \"one\"\norder = 3\ngrant = { requests = [\"stop\"] }");
    let line = running.until("has a new grant, order");
    assert!(line.contains("it may read, report and note, stop"), "{line}");
    running.edit("order = 3", "order = \"three\"");
    let line = running.until("is not taken up");
    assert!(line.contains("train.toml:"), "{line}");
    running.edit("order = \"three\"", "order = 3\nenabled = false");
    running.until("takes no part any more");
    running.edit("enabled = false", "enabled = true");
    running.until("joined");
    let (_project, run) = running.end();
    let topics = ["configuration-ignored", "swapped", "configuration-invalid", "retired", "joined"];
    assert_eq!(topics.map(|topic| stories(&run, topic).len()), [1; 5]);
}

#[test]
fn a_pin_refuses_another_file_and_a_file_never_gives_more() {
    let project = project();
    let bytes = marked("evil", "0");
    let sha256 = |bytes: &[u8]| -> String {
        use sha2::{Digest, Sha256};
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    project.plugin("evil", "one", &format!("sha256 = \"{}\"\ngrant = {{}}", sha256(&bytes)), "mode = \"healthy\"");
    put(&project.path("plugins/one.wasm"), &bytes);
    let mut running = Running::start(project);
    let next = marked("evil", "1");
    put(&running.plugin("one"), &next);
    let line = running.until("is not taken");
    assert!(line.contains(&sha256(&next)), "{line}");
    running.edit(&sha256(&bytes), &sha256(&next));
    let line = running.until("took over");
    assert!(line.ends_with("it may read, report and note"), "{line}");
    drop(running.end());
}

#[test]
fn a19_no_step_waits_for_a_component_that_compiles_for_seconds() {
    let project = project();
    project.plugin("evil", "one", "", "mode = \"healthy\"");
    project.with_own_cache();
    let mut running = Running::with(project, "1st");
    let bytes = slow("evil", 6_000);
    let before = running.told.len();
    put(&running.plugin("one"), &bytes);
    let began = Instant::now();
    running.until("took over");
    let (waited, lines) = (began.elapsed(), running.told.len() - before);
    let (_project, run) = running.end();
    assert!(waited > Duration::from_secs(1), "{waited:?}: it compiles too fast to show anything");
    assert!(lines > 100, "{lines} lines in {waited:?}");
    let (waited, swapped) = (waited.as_secs_f64(), stories(&run, "swapped").remove(0));
    let hand_over = swapped["details"]["seconds"].as_f64().unwrap();
    assert!(hand_over < 0.1 * waited, "{hand_over} s of {waited} s");
    // The run went on meanwhile: by far shorter steps make up most of the time. A busy machine may hold some of them up.
    let elapsed = run.lines("performance.jsonl");
    let elapsed: Vec<f64> = elapsed.iter().filter_map(|line| line["time/elapsed"].as_f64()).collect();
    let at = usize::try_from(swapped["step"].as_u64().unwrap()).unwrap();
    let until = elapsed[at - 1];
    let meanwhile = elapsed[..at].windows(2).filter(|step| step[1] > until - waited).map(|step| step[1] - step[0]);
    let short: f64 = meanwhile.filter(|seconds| *seconds < 0.1 * waited).sum();
    assert!(short > 0.5 * waited, "{short} s of {waited} s went by in short steps");
    counted(&run);
}

#[test]
fn the_plugins_of_a_running_run_can_be_looked_at() {
    let mut running = counting();
    put(&running.plugin("one"), &marked("evil", "1"));
    running.until("took over");
    // The table is written after the change was told; the next change is told after that.
    put(&running.plugin("observer"), &marked("observer", "1"));
    running.until("joined");
    let shown = running.project.host("plugins runs/iris-1");
    shown.expect(0);
    let row = shown.stdout.lines().find(|line| line.starts_with("one ")).unwrap_or_else(|| panic!("{}", shown.stdout));
    assert!(row.contains("evil") && row.contains("0.1.0") && row.contains("running"), "{row}");
    assert!(shown.stdout.contains("as of step "), "{}", shown.stdout);
    let json = running.project.host("plugins runs/iris-1 --json");
    let table: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&table["running"], table["plugins"][0]["sha256"].as_str().map(str::len)),
        (&Value::from(true), Some(64))
    );
    let (project, run) = running.end();
    assert_eq!(run.json("plugins.json")["running"], false);
    let calls = run.json("plugins.json")["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["calls"].clone())
        .max_by_key(Value::as_u64);
    assert!(calls.unwrap().as_u64() > Some(100));
    project.host("plugins runs").expect(9).says(&["plugins.json"]);
}

#[test]
fn without_a_watch_nothing_is_taken_up() {
    let project = project();
    project.plugin("evil", "one", "", "mode = \"healthy\"");
    let text = fs::read_to_string(project.path("train.toml")).unwrap();
    project.write("train.toml", &text.replace("[plugins]", "[plugins]\nwatch = false"));
    let mut running = Running::start(project);
    put(&running.plugin("one"), b"no component");
    // The table is written every few seconds by the thread that would watch.
    let table = running.project.path("runs/iris-1/plugins.json");
    let written = || fs::metadata(&table).and_then(|about| about.modified()).ok();
    let first = written();
    while written() == first {
        running.step();
    }
    let (_project, run) = running.end();
    assert!(stories(&run, "refused").is_empty());
}
