//! Beginning a plugin: what is written, and that nothing is ever overwritten.

use std::fs;

use host_tests::guests;
use serde_json::json;

use super::{LANGUAGES, PROJECT, json, run, tree};
use crate::project;

#[test]
fn each_language_has_a_first_callback_and_a_second_one_is_not_put_over_it() {
    let project = project();
    for language in LANGUAGES {
        let new = format!("plugin new first-{language} --lang {language} --json");
        let told = json(run(&project, &new).expect(0));
        let folder = project.path(&format!("first-{language}"));
        let files = tree(&folder);
        let mut said: Vec<&str> = told["files"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
        said.sort_unstable();
        assert_eq!(said, files.keys().map(String::as_str).collect::<Vec<_>>(), "{language}");
        assert!(told["next"].as_array().unwrap().contains(&json!("host plugin build")), "{told}");
        for (path, content) in &files {
            let text = String::from_utf8_lossy(content);
            let has_old_name = ["loss-ceiling", "loss_ceiling", "LossCeiling"].iter().any(|old| text.contains(old));
            assert!(path.starts_with("host/") || !has_old_name, "{language}: {path}");
        }
        assert!(
            String::from_utf8_lossy(&files["README.md"]).starts_with(&format!("# first-{language}\n")),
            "{language}"
        );

        fs::write(folder.join("mine.txt"), "mine").unwrap();
        let before = tree(&folder);
        let again = run(&project, &new);
        again.expect(PROJECT).says(&["is there already", "nothing was changed"]);
        assert_eq!(tree(&folder), before, "{language}");
    }
}

#[test]
fn a_file_with_the_folder_s_name_is_left_alone_and_missing_parents_are_made() {
    let project = project();
    project.write("taken", "mine");
    run(&project, "plugin new guard --lang c taken").expect(PROJECT).says(&["taken is there already"]);
    assert_eq!(fs::read_to_string(project.path("taken")).unwrap(), "mine");
    run(&project, "plugin new guard --lang c a/b/c").expect(0).prints(&["cd a/b/c", "host plugin build", "make test"]);
    assert!(project.path("a/b/c/Makefile").is_file());
}

#[test]
fn a_name_that_cannot_be_one_is_refused_with_the_rule() {
    let project = project();
    for name in ["Loss", "1st", "a_b", "x-", "../x", &"x".repeat(33)] {
        let refused = run(&project, &format!("plugin new {name} --lang go"));
        refused.expect(2).says(&["cannot be a plugin's name", "1 to 32 of a-z, 0-9 and `-`"]);
    }
    run(&project, "plugin new random --lang python").expect(2).says(&["`random` is a word", "`random-guard`"]);
    run(&project, "plugin new x --lang cobol").expect(2).says(&["rust", "typescript"]);
    assert!(!project.path("random").exists());
}

#[test]
fn a_checkout_is_referred_to_in_place_of_a_copy() {
    let project = project();
    let checkout = guests::root().display().to_string();
    for (language, file, sdk) in
        [("rust", "Cargo.toml", "sdk/rust"), ("go", "go.mod", "sdk/go"), ("cpp", "Makefile", "sdk/cpp")]
    {
        let new = format!("plugin new mine-{language} --lang {language} --sdk {checkout}");
        run(&project, &new).expect(0);
        let folder = project.path(&format!("mine-{language}"));
        assert!(!folder.join("host").exists());
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let path = text.split(['"', ' ', '\n']).find(|word| word.starts_with("../") && word.ends_with(sdk));
        let path = path.unwrap_or_else(|| panic!("{text}"));
        let found = folder.canonicalize().unwrap().join(path).canonicalize();
        assert_eq!(found.ok(), guests::root().join(sdk).canonicalize().ok(), "{path}");
    }
    let nowhere = run(&project, "plugin new other --lang zig --sdk plugins");
    nowhere.expect(PROJECT).says(&["plugins is no checkout", "sdk/zig is not there"]);
    assert!(!project.path("other").exists());
}
