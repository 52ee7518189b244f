//! One instance that is replaced again and again, by another file and by other settings in turn.

use std::time::{Duration, Instant};

use host_sandbox::LiveNews;

use crate::{
    process::{Memory, SLACK, held, is_given_back, round_count, turn},
    stage::{Stage, component, marked, put, sandbox, state},
};

const SWAPS_A_ROUND: u64 = 50;

/// Swaps before memory is looked at: every file has been there twice then, and nothing is compiled any more.
const WARM_UP: u64 = 16;

/// Longer than a swap takes on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(600);

#[test]
#[expect(clippy::print_stdout, reason = "how many swaps it were is for whoever asks")]
fn swaps_leave_nothing_behind() {
    let _turn = turn();
    let (folder, before, began) = (tempfile::tempdir().unwrap(), held(), Instant::now());
    let sandbox = sandbox(&folder.path().join("cache"));
    let script = std::fs::read(component("script")).unwrap();
    let mut stage = Stage::new(folder.path(), &sandbox);
    put(&stage.file("a"), &marked(&script, b'0'));
    until(&mut stage, |news| matches!(news, LiveNews::Joined { .. }));
    let joined_at = stage.training.steps() - 1;
    let (mut memory, mut warm) = (Memory::default(), before);
    let swaps = SWAPS_A_ROUND * round_count();
    for swap in 1..=WARM_UP + swaps {
        if swap % 2 == 0 {
            put(&stage.file("a"), &marked(&script, b'0' + u8::try_from(swap / 2 % 4).unwrap()));
        } else {
            stage.reorder("a", i32::try_from(swap).unwrap());
        }
        until(&mut stage, |news| matches!(news, LiveNews::Swapped { .. }));
        if swap == WARM_UP {
            warm = held();
        } else if swap > WARM_UP {
            memory.note();
        }
    }
    // All that they hold while the run goes on was there after the first ones.
    is_given_back(warm);
    let steps = stage.training.steps();
    let seen = state(&mut stage.live, "a");
    let counted = steps - joined_at;
    assert_eq!(String::from_utf8(seen).unwrap(), format!("{{\"step-end\":{counted}}}"), "through all swaps");
    let [pilot, undisturbed] = stage.pilots();
    assert_eq!(pilot, undisturbed);
    drop((stage, sandbox));
    is_given_back(before);
    println!("{swaps} swaps in {steps} steps and {:.1?}", began.elapsed());
    memory.is_flat("swaps", SLACK);
}

/// Steps until this is told, and nothing else.
fn until(stage: &mut Stage, is: impl Fn(&LiveNews) -> bool) {
    let began = Instant::now();
    loop {
        stage.begin();
        let outcome = stage.end();
        assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
        let news = stage.news();
        if news.iter().any(&is) {
            assert_eq!(news.len(), 1, "{news:?}");
            return;
        }
        assert!(news.is_empty() && began.elapsed() < HANGS_AFTER, "{news:?}");
        std::thread::yield_now();
    }
}
