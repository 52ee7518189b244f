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
    assert_eq!(refused.len(), 1, "{decided:?}");
    assert!(refused[0]["why"].as_str().is_some_and(|why| why.contains("`stop`")), "{}", refused[0]);
    // Its queue may have been full on a busy machine; then it is told how often.
    let report = decided.iter().find(|line| line["decision"]["report"]["name"] == "seen").expect("its last word");
    let callback = run.callback("aside");
    let (seen, dropped) = (report["decision"]["report"]["value"].as_f64(), callback["dropped"].as_f64());
    assert_eq!(seen.unwrap_or_default() + dropped.expect("a number"), 96.0, "{callback}");
    assert!(decided.iter().any(|line| line["decision"]["note"] == "that was all"));
}
