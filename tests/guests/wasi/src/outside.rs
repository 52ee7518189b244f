//! WASI, as `wit/outside.wit` has it. One question a function.

wit_bindgen::generate!({ path: "wit", world: "outside", generate_all });

use self::wasi::cli::{environment, exit as cli_exit, stderr, stdin, stdout, terminal_stdout};
use self::wasi::clocks::{monotonic_clock, wall_clock};
use self::wasi::filesystem::{preopens, types};
use self::wasi::io::poll;
use self::wasi::random::{insecure_seed, random as secure};
use self::wasi::sockets::tcp_create_socket;

const HOUR: u64 = 3_600_000_000_000;

/// Nanoseconds of the monotonic clock, twice, and seconds of the other one, twice.
pub(crate) fn clocks() -> [u64; 4] {
    [monotonic_clock::now(), monotonic_clock::now(), wall_clock::now().seconds, wall_clock::now().seconds]
}

/// A number, the sum of some bytes, and a seed.
pub(crate) fn random() -> (u64, u64, u64) {
    (secure::get_random_u64(), random_bytes(16), insecure_seed::insecure_seed().0)
}

/// The sum of so many random bytes.
pub(crate) fn random_bytes(count: u64) -> u64 {
    secure::get_random_bytes(count).into_iter().map(u64::from).sum()
}

/// Hours that have passed after waiting for an hour by `block`, by `poll`, and by asking until it is over.
pub(crate) fn rest() -> Vec<u64> {
    let hours = |since: u64| (monotonic_clock::now() - since) / HOUR;
    let now = monotonic_clock::now();
    monotonic_clock::subscribe_duration(HOUR).block();
    let blocked = hours(now);
    let now = monotonic_clock::now();
    let (day, hour) = (monotonic_clock::subscribe_duration(24 * HOUR), monotonic_clock::subscribe_duration(HOUR));
    assert_eq!(poll::poll(&[&day, &hour]), [1]);
    let polled = hours(now);
    let soon = monotonic_clock::subscribe_duration(100 * monotonic_clock::resolution());
    while !soon.ready() {}
    vec![blocked, polled]
}

/// What there is to read.
pub(crate) fn input() -> String {
    let input = stdin::get_stdin();
    input.subscribe().block();
    let words = format!("{:?} {:?}", input.read(10).is_err(), input.blocking_read(10).is_err());
    let spliced = stdout::get_stdout().blocking_splice(&input, 10).is_err();
    format!("{words} {spliced}")
}

/// To standard output, as a runtime does it.
pub(crate) fn print(text: &str) {
    let out = stdout::get_stdout();
    out.subscribe().block();
    if out.check_write().is_ok_and(|permitted| permitted >= text.len() as u64) {
        let _ = out.write(text.as_bytes());
    }
}

/// To standard error.
pub(crate) fn complain(text: &str) {
    let _ = stderr::get_stderr().blocking_write_and_flush(text.as_bytes());
}

/// Asks to end.
pub(crate) fn exit() {
    cli_exit::exit(Err(()));
}

/// What there is around it, as text.
pub(crate) fn surroundings() -> Vec<String> {
    vec![
        format!("{:?}", environment::get_environment()),
        format!("{:?}", environment::get_arguments()),
        format!("{:?}", environment::initial_cwd()),
        format!("{:?}", terminal_stdout::get_terminal_stdout().is_some()),
        format!("{:?}", preopens::get_directories().len()),
        format!("{:?}", tcp_create_socket::create_tcp_socket(tcp_create_socket::IpAddressFamily::Ipv4).err()),
    ]
}

/// What no host has.
pub(crate) fn disk_size() -> u64 {
    types::disk_size()
}

/// Polls nothing.
pub(crate) fn poll_nothing() -> u64 {
    poll::poll(&[]).len() as u64
}

/// Takes as many handles as it gets.
pub(crate) fn wait_for_much() -> u64 {
    let mut waits = Vec::new();
    loop {
        waits.push(monotonic_clock::subscribe_duration(HOUR));
        if waits.len() == 1_000_000 {
            return waits.len() as u64;
        }
    }
}
