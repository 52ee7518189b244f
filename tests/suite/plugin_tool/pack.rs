//! Packing a plugin: what is in the archive, that equal contents give equal bytes, and what keeps it from being made.

use std::{collections::BTreeMap, fs, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use host_tests::{Project, guests};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{PLUGIN, PROJECT, json, names, run};
use crate::project;

const NAME: &str = "early-stopping";

/// A folder with a built plugin and its page.
fn folder(project: &Project, name: &str) {
    fs::create_dir(project.path(name)).expect("a file");
    let page = guests::root().join("plugins").join(NAME).join("README.md");
    fs::copy(guests::shipped(NAME), project.path(name).join(format!("{NAME}.wasm"))).expect("a file");
    fs::copy(page, project.path(name).join("README.md")).expect("a file");
}

fn unpacked(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for file in tar::Archive::new(GzDecoder::new(fs::File::open(archive).expect("a file"))).entries().expect("a file") {
        let mut file = file.expect("a file");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("a file");
        files.insert(file.path().expect("a file").display().to_string(), bytes);
    }
    files
}

#[test]
fn an_archive_has_everything_and_the_same_bytes_each_time() {
    let project = project();
    folder(&project, "one");
    folder(&project, "two");
    project.write("one/LICENSE-MIT", "free");
    project.write("two/LICENSE-MIT", "free");
    let told = json(run(&project, "plugin pack one --json").expect(0));
    let version = told["version"].as_str().unwrap();
    let archive = project.path(&format!("one/{NAME}-{version}.tar.gz"));
    assert!(told["archive"].as_str().unwrap().ends_with(&format!("{NAME}-{version}.tar.gz")), "{told}");
    run(&project, &format!("plugin pack two/{NAME}.wasm --out again.tar.gz")).expect(0).prints(&[NAME, "SHA256SUMS"]);
    let bytes = fs::read(&archive).unwrap();
    assert!(bytes == fs::read(project.path("again.tar.gz")).unwrap());
    assert_eq!(told["sha256"].as_str().unwrap(), hex(&bytes));

    let files = unpacked(&archive);
    let file = |name: &str| &files[&format!("{NAME}-{version}/{name}")];
    assert_eq!(files.len(), 6, "{:?}", files.keys());
    assert_eq!(file(&format!("{NAME}.wasm")), &fs::read(guests::shipped(NAME)).unwrap());
    assert_eq!(file("LICENSE-MIT"), b"free");
    let manifest: Value = serde_json::from_slice(file("manifest.json")).unwrap();
    assert_eq!(manifest["manifest"]["name"], NAME);
    assert_eq!(manifest["sha256"].as_str(), Some(hex(file(&format!("{NAME}.wasm"))).as_str()));
    let schema: Value = serde_json::from_slice(file("settings.schema.json")).unwrap();
    assert!(schema["properties"]["patience"].is_object(), "{schema}");
    let sums = String::from_utf8(file("SHA256SUMS").clone()).unwrap();
    assert_eq!(sums.lines().count(), 5);
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(sum, hex(file(name)), "{name}");
    }
}

#[test]
fn what_is_missing_is_said_and_nothing_is_written() {
    let project = project();
    folder(&project, "bare");
    fs::remove_file(project.path("bare/README.md")).unwrap();
    run(&project, "plugin pack bare").expect(PROJECT).says(&["bare/README.md is missing or empty"]);
    assert_eq!(names(&project.path("bare")), [format!("{NAME}.wasm").as_str()]);

    project.write("bare/README.md", "# early-stopping\n");
    fs::copy(guests::shipped(NAME), project.path("bare/other.wasm")).unwrap();
    run(&project, "plugin pack bare")
        .expect(PROJECT)
        .says(&["there are 2 .wasm files in bare", "host plugin pack bare/"]);
    fs::create_dir(project.path("empty")).unwrap();
    run(&project, "plugin pack empty").expect(PROJECT).says(&["no component in empty", "host plugin build empty"]);
    project.write("empty/x.wasm", "hello");
    run(&project, "plugin pack empty").expect(PLUGIN).says(&["empty/x.wasm is a text file"]);
    run(&project, "plugin pack nowhere.wasm").expect(PLUGIN).says(&["nowhere.wasm cannot be read"]);
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
