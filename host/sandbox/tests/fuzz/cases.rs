//! Runs the cases of a subject one after the other, and says how to run one again that fails. It makes up no case and
//! judges none. Main function: [`each`].

use std::{
    env, fs,
    ops::Range,
    path::Path,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use crate::{
    probe::{Fate, Input, probe},
    random::Random,
};

/// Longer than any case takes on a busy machine, whatever its limits.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// What a process may have more at the end of a subject than after its first quarter: what allocators and the engine
/// keep for later. A leak of a kilobyte a case passes it within a long run.
const SLACK: usize = 48 << 20;

/// One subject at a time, so that memory is that subject's.
static TURN: Mutex<()> = Mutex::new(());

/// The numbers of cases: `HOST_FUZZ_CASES` as a count or a range, or else the first `short` ones.
fn numbers(short: u64) -> Range<u64> {
    let Ok(asked) = env::var("HOST_FUZZ_CASES") else { return 0..short };
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("HOST_FUZZ_CASES={asked} is no number"));
    match asked.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&asked),
    }
}

/// Makes and tries every case of a subject.
#[expect(clippy::print_stdout, reason = "how many cases there were and what became of them is for whoever asks")]
pub(crate) fn each(subject: &'static str, short: u64, make: fn(&mut Random) -> Input) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (began, numbers) = (Instant::now(), numbers(short));
    let (mut fates, mut memory) = ([0_u64; 3], Vec::new());
    for case in numbers.clone() {
        fates[one(subject, case, make) as usize] += 1;
        memory.push(resident());
    }
    let [refused, not_started, ran] = fates;
    let (first, last) = quarters(&memory);
    println!(
        "{subject}: cases {numbers:?}: {refused} refused, {not_started} not started, {ran} ran; {:.1?}; {} and {} MiB",
        began.elapsed(),
        first >> 20,
        last >> 20
    );
    assert!(last <= first + SLACK, "{subject}: the first quarter had {first} bytes of memory, the last one {last}");
}

/// One case, on a thread of its own, so that one that panics or hangs can be told.
fn one(subject: &'static str, case: u64, make: fn(&mut Random) -> Input) -> Fate {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{subject}-{case}.wasm"));
    let (done, result) = mpsc::channel();
    let own = file.clone();
    let work = move || {
        let mut random = Random::of(subject, case);
        let input = make(&mut random);
        fs::write(&own, &input.bytes).unwrap();
        let fate = probe(&input, &mut random);
        done.send(fate).expect("nobody gave it up as one that hangs");
    };
    let thread = thread::Builder::new().name(format!("{subject}-{case}")).spawn(work).unwrap();
    match result.recv_timeout(HANGS_AFTER) {
        Ok(fate) => {
            thread.join().unwrap();
            fs::remove_file(file).unwrap();
            fate
        }
        Err(mpsc::RecvTimeoutError::Timeout) => fails(subject, case, &file, "does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => fails(subject, case, &file, "fails as told above"),
    }
}

fn fails(subject: &str, case: u64, file: &Path, how: &str) -> ! {
    panic!(
        "case {case} {how}; its file is {}; again: \
         HOST_FUZZ_CASES={case}..{} cargo test --release -p host-sandbox --test fuzz {subject}",
        file.display(),
        case + 1
    )
}

/// Memory of this process in bytes; 0 where it is not known.
fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096
}

/// The medians of the first and the last quarter.
fn quarters(values: &[usize]) -> (usize, usize) {
    let quarter = values.len().div_ceil(4);
    let median = |values: &[usize]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    };
    (median(&values[..quarter]), median(&values[values.len() - quarter..]))
}
