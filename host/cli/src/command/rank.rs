//! `host rank`: a rank of a run that another process leads. It is started by that one and not by people.
//!
//! Main function: [`run`].

use std::io;

use host_trainer::{StopFlag, StreamLink};

use crate::{
    args::RankArgs,
    config::{self, Plan},
    exit::Exit,
    problem::{Problem, Problems},
    signal,
    wire::{self, Prepared},
};

/// Does a rank's part until the run is over. Stdin and stdout belong to the first rank.
///
/// # Errors
///
/// Everything that keeps it from its part, and a first rank that is gone.
pub(crate) fn run(args: &RankArgs) -> Result<Exit, Problems> {
    let plan = config::load(&args.config.file, &args.config.set, host_trainer::task::KINDS)?;
    wire::computing(plan.ranks, || follow(args, &plan))
}

fn follow(args: &RankArgs, plan: &Plan) -> Result<Exit, Problems> {
    let of_rank = |problem: Problem| problem.help(format!("this is rank {} of a run", args.rank));
    let Prepared { mut run, .. } = wire::prepare(plan, None)?;
    let stop = StopFlag::new();
    signal::connect_rank(stop.clone());
    let mut first = StreamLink::new(io::stdin(), io::stdout());
    run.follow(args.rank, &mut first, &stop)
        .map_err(|error| Problems::from((Exit::RunFailed, of_rank(Problem::new(error.to_string())))))?;
    Ok(Exit::Success)
}
