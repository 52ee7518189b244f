//! The other ranks of a run: processes of this program, which the first one starts and speaks to over pipes.
//!
//! It does not know what they say to each other: the trainer does. Main type: [`Ranks`].

use std::{
    io,
    process::{Child, Command, Stdio},
};

use host_trainer::{AnyRun, Link, StreamLink, device::DeviceKind};

use crate::{
    args::ConfigArgs,
    exit::Exit,
    problem::{Problem, Problems},
    program,
};

/// The processes of the other ranks. They end with this.
pub(crate) struct Ranks(Vec<Child>);

impl Ranks {
    /// Starts the other ranks of `count`, with the same configuration, and waits until each has its model. On GPUs each
    /// has one, from the first rank's on.
    ///
    /// # Errors
    ///
    /// One does not start; it has said itself why.
    pub(crate) fn start(
        config: &ConfigArgs,
        count: usize,
        device: &DeviceKind,
        run: &mut dyn AnyRun,
    ) -> Result<Self, Problems> {
        let mut ranks = Self(Vec::new());
        let mut links: Vec<Box<dyn Link>> = Vec::new();
        let failed = |problem: Problem| Problems::from((Exit::RunFailed, problem));
        for rank in 1..count {
            let started = ranks.spawn(config, rank, device);
            links.push(started.map_err(|error| {
                failed(Problem::new(format!("a process for rank {rank} cannot be started")).caused_by(error))
            })?);
        }
        if !links.is_empty() {
            run.lead(links).map_err(|error| failed(Problem::new(error.to_string())))?;
        }
        Ok(ranks)
    }

    fn spawn(&mut self, config: &ConfigArgs, rank: usize, device: &DeviceKind) -> io::Result<Box<dyn Link>> {
        let mut command = Command::new(program::path()?);
        command.arg("rank").arg(&config.file).arg("--rank").arg(rank.to_string());
        for set in &config.set {
            command.arg("--set").arg(set);
        }
        let device = match device {
            DeviceKind::Cuda(first) => format!("cuda:{}", first + rank),
            DeviceKind::Cpu | DeviceKind::Other(_) => "cpu".to_owned(),
        };
        command.arg("--set").arg(format!("run.device={device}"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let link = child.stdout.take().zip(child.stdin.take()).map(|(from, to)| StreamLink::new(from, to));
        self.0.push(child);
        link.map(|link| Box::new(link) as Box<dyn Link>).ok_or_else(|| io::Error::other("it has no pipes"))
    }

    /// How many ranks there are, the first one included.
    pub(crate) fn count(&self) -> usize {
        1 + self.0.len()
    }

    /// Waits for processes that were told that the run is over, or see it by their closed pipes.
    pub(crate) fn finish(mut self) {
        for child in &mut self.0 {
            // Who can't be waited for is gone.
            drop(child.wait());
        }
        self.0.clear();
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
