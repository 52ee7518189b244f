//! The main job: a run trains, leaves its folder, and is the same every time.
//! What callbacks change is in `steer`.

use crate::project;

#[test]
fn a_run_leaves_its_folder() {
    let project = project();
    let outcome = project.train("");
    let run = outcome.run(1);
    for file in [
        "train.toml",
        "environment.json",
        "metrics.jsonl",
        "timeline.jsonl",
        "report.md",
        "loss.svg",
        "model.safetensors",
    ] {
        assert!(run.path(file).is_file(), "{file}");
    }
    let report = run.json("report.json");
    assert_eq!(report["stop_reason"], "planned length reached");
    assert_eq!(report["steps"], 96);
    assert_eq!(report["epochs"], 4.0);
    assert!(report["final"]["eval/accuracy"].as_f64().unwrap() > 0.8, "{report:#}");
    assert!(report["elapsed_seconds"].as_f64().unwrap() > 0.0);
    assert!(report["throughput"]["samples_per_second"].as_f64().unwrap() > 0.0);
    // One record a step and one an evaluation, each with its step.
    assert_eq!(run.lines("metrics.jsonl").len(), 96 + 4);
    assert!(run.text("report.md").contains("loss.svg"));
    assert!(outcome.stdout.contains("planned length reached"), "{}", outcome.stdout);
}

#[test]
fn the_resolved_configuration_is_a_configuration() {
    let project = project();
    let first = project.train("--set train.epochs=1").run(1);
    let resolved = first.path("train.toml").display().to_string();
    project.host(&format!("run {resolved}")).expect(0);
    let second = project.train("--set train.epochs=1").run(2);
    assert_eq!(first.text("metrics.jsonl"), second.text("metrics.jsonl"));
}

#[test]
fn two_runs_with_one_seed_are_equal() {
    let project = project();
    let (first, second) = (project.train("").run(1), project.train("").run(2));
    assert_eq!(first.text("metrics.jsonl"), second.text("metrics.jsonl"));
    let bytes = |run: &host_tests::Run| std::fs::read(run.path("model.safetensors")).unwrap();
    assert_eq!(bytes(&first), bytes(&second));
    let other = project.train("--set run.seed=8").run(3);
    assert_ne!(first.text("metrics.jsonl"), other.text("metrics.jsonl"));
}

#[test]
fn an_observing_callback_changes_nothing() {
    let project = project();
    let without = project.train("").run(1);
    project.plugin("observer", "observer", "", "reads = [\"*\"]");
    let with = project.train("").run(2);
    assert_eq!(without.text("metrics.jsonl"), with.text("metrics.jsonl"));
    assert!(with.callback("observer")["calls"].as_u64().unwrap() > 300);
}

#[test]
fn more_threads_give_the_same_bits() {
    let project = project();
    let mut metrics = Vec::new();
    for (n, threads) in ["1", "3"].into_iter().enumerate() {
        let output = project.command("run train.toml --quiet").env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        metrics.push(host_tests::Run::at(project.path(&format!("runs/iris-{}", n + 1))).text("metrics.jsonl"));
    }
    assert_eq!(metrics[0], metrics[1]);
}

#[test]
fn every_run_has_a_folder_of_its_own() {
    let project = project();
    std::fs::create_dir_all(project.path("runs/iris-9")).unwrap();
    assert!(project.train("--set train.epochs=1").run(10).path("report.json").is_file());
}

#[test]
fn a_language_model_trains() {
    let project = project();
    let text: String = (0..400).map(|n| format!("{n} and {} make {}. ", n % 7, n + n % 7)).collect();
    project.write("text.txt", &text);
    project.write(
        "text.toml",
        "[run]\nname = \"iris\"\ndevice = \"cpu\"\n[task]\nkind = \"language-model\"\ndata = \"text.txt\"\ncontext = 16\n\
         layers = 1\nheads = 2\nwidth = 16\nsample = 20\n[train]\nsteps = 40\nbatch-size = 8\naccumulation = 2\n\
         evaluate-every = \"20st\"\n[optimizer]\nlearning-rate = 1e-2\n",
    );
    let outcome = project.host("run text.toml");
    outcome.expect(0);
    let run = outcome.run(1);
    let report = run.json("report.json");
    assert_eq!(report["tokens"].as_u64(), report["samples"].as_u64().map(|samples| samples * 16));
    assert_eq!(report["steps"], 40);
    let evaluations: Vec<f64> =
        run.lines("metrics.jsonl").iter().filter_map(|line| line["eval/loss"].as_f64()).collect();
    assert_eq!(evaluations.len(), 2);
    assert!(evaluations[1] < evaluations[0] && evaluations[1] < 3.0, "{evaluations:?}");
    assert!(run.text("report.md").to_lowercase().contains("generated text"), "{}", run.text("report.md"));
}

#[test]
fn a_callback_monitors_perplexity_and_tokens() {
    let project = project();
    project.write("text.txt", &"to be or not to be ".repeat(60));
    project.write(
        "text.toml",
        "[run]\nname = \"iris\"\ndevice = \"cpu\"\n[task]\nkind = \"language-model\"\ndata = \"text.txt\"\ncontext = 8\n\
         layers = 1\nheads = 1\nwidth = 8\nsample = 0\n[train]\nsteps = 3\nbatch-size = 2\n\
         [[plugin]]\nname = \"observer\"\n[plugin.config]\nhooks = [\"step-end\"]\nreads = [\"loss\", \"perplexity\"]\n",
    );
    project.drop_in("observer", "observer");
    let outcome = project.host("run text.toml");
    outcome.expect(0);
    for (step, note) in (1..).zip(outcome.run(1).notes("observer")) {
        assert_eq!(note["tokens"], step * 16);
        let (loss, perplexity) = (note["loss"].as_f64().unwrap(), note["perplexity"].as_f64().unwrap());
        assert!((loss.exp() - perplexity).abs() < 1e-9, "{note}");
    }
}

#[test]
fn check_lists_what_the_run_offers_and_writes_nothing() {
    let project = project();
    project.plugin("observer", "watcher", "", "");
    let outcome = project.host("check train.toml");
    outcome.expect(0);
    for words in [
        "watcher",
        "eval/macro-f1",
        "learning-rate/biases",
        "gradient-norm",
        "clip-norm",
        "96 steps",
        "layers.0.weight",
    ] {
        assert!(outcome.stdout.contains(words), "{words} in\n{}", outcome.stdout);
    }
    let json = project.host("check train.toml --json");
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(found["callbacks"][0]["instance"], "watcher");
    assert!(!project.path("runs").exists());
}

#[test]
fn a_cuda_device_that_is_not_there_is_an_error() {
    let project = project();
    if host_trainer::device::probe_cuda().is_ok() {
        return;
    }
    let outcome = project.host("run train.toml --set run.device=cuda");
    outcome.expect(8).says(&["cuda:0", "is not there", "run.device=cuda", "cpu"]);
    project.train("--set run.device=auto --set train.epochs=1");
}
