//! A callback that the loop does not wait for, in the whole program.
//! The queue and its rules are tested in `host-sandbox`.

use crate::project;

#[test]
fn what_a_background_callback_says_last_is_heard_and_it_steers_nothing() {
    let project = project();
    let alone = project.train("").run(1);
    project.plugin("aside", "aside", "", "");
    let run = project.train("").run(2);
    assert_eq!(run.text("metrics.jsonl"), alone.text("metrics.jsonl"), "it stops nothing");
    let own = |line: &&serde_json::Value| line["instance"] == "aside" && line["event"] == "decided";
    let lines = run.lines("timeline.jsonl");
    let decided: Vec<_> = lines.iter().filter(own).collect();
    let refused: Vec<_> = decided.iter().filter(|line| line["outcome"] == "refused").collect();
    for line in &refused {
        assert!(line["why"].as_str().is_some_and(|why| why.contains("`stop`")), "{line}");
    }
    // Its queue may have been full on a busy machine; then it is told how often.
    let callback = run.callback("aside");
    let dropped = callback["dropped"].as_f64().expect("a number");
    if let Some(report) = decided.iter().find(|line| line["decision"]["report"]["name"] == "seen") {
        let seen = report["decision"]["report"]["value"].as_f64().expect("a number");
        assert_eq!(seen + dropped, 96.0, "{callback}");
        assert_eq!(refused.len(), usize::from(seen > 0.0), "{decided:?}");
        assert!(decided.iter().any(|line| line["decision"]["note"] == "that was all"));
    } else {
        // The end of the run waits for some seconds only, and what waits then is dropped.
        assert!(dropped > 0.0 && refused.len() <= 1, "its last word is missing: {callback} {decided:?}");
    }
}
