//! The example is run as a program, as somebody does who tries it.

use std::process::Command;

#[test]
fn a_plugin_of_the_host_stops_a_model_of_ones_own() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-model")).output().expect("it starts");
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    assert!(told.contains("early-stopping: "), "{told}");
    let loss = told.split("Scalar(").nth(1).and_then(|rest| rest.split(')').next()).map(str::parse::<f64>);
    assert!(loss.is_some_and(|loss| loss.is_ok_and(|loss| loss < 0.02)), "{told}");
}
