//! The thread that watches: compares the instances that there should be with those that there are, and prepares what
//! makes them equal.
//!
//! It changes nothing in the run itself: it posts orders and waits for the loop's answer. Main type: [`Worker`].

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use host_callback::{Grant, InstanceName, Permit};

use super::{
    candidate::{self, Refusal, Surroundings},
    mail::{Mail, Order, Signal},
    member::{Member, changed, permit_after, why_leaving},
    news::{LiveNews, LiveSink},
    roster::{Loaded, Roster, Wanted},
    settling::{Change, Print},
    swap::LiveTimes,
    watch::{Sighting, Watch},
};
use crate::{Plugin, Sandbox, compile::step_back};

pub(super) struct Worker {
    sandbox: Sandbox,
    roster: Option<Box<dyn Roster>>,
    around: Surroundings,
    mail: Arc<Mail>,
    signals: Receiver<Signal>,
    sink: Arc<dyn LiveSink>,
    times: LiveTimes,
    members: BTreeMap<InstanceName, Member>,
    /// What an instance left with: coming back does not give it more.
    left: BTreeMap<InstanceName, (Grant, Permit)>,
    /// What was tried last for a name, whatever came of it: it is not tried again.
    tried: BTreeMap<InstanceName, (Wanted, String)>,
    /// Files that cannot be an instance, with the content for which that was told.
    unusable: BTreeMap<PathBuf, String>,
    /// Keys of the configuration that were told not to change.
    ignored: Vec<String>,
    /// Swaps so far.
    swaps: u64,
    /// Something has changed in a folder since the last look.
    woken: bool,
    over: bool,
}

/// The run is over.
struct Over;

impl Worker {
    #[expect(clippy::too_many_arguments, reason = "parts of a `LiveSetup`, and its ends of what leads to the loop")]
    pub(super) fn new(
        sandbox: Sandbox,
        members: Vec<Loaded>,
        roster: Option<Box<dyn Roster>>,
        around: Surroundings,
        mail: Arc<Mail>,
        signals: Receiver<Signal>,
        sink: Arc<dyn LiveSink>,
        times: LiveTimes,
    ) -> Self {
        let member = |Loaded { wanted, plugin, permit }| {
            (wanted.name.clone(), Member { wanted, plugin, permit, swap: 0, before: None })
        };
        let members = members.into_iter().map(member).collect();
        let (left, tried, unusable, ignored) = Default::default();
        let (swaps, woken, over) = Default::default();
        Self {
            sandbox: sandbox.aside(),
            roster,
            around,
            mail,
            signals,
            sink,
            times,
            members,
            left,
            tried,
            unusable,
            ignored,
            swaps,
            woken,
            over,
        }
    }

    /// Works until the run is over.
    pub(super) fn run(mut self, seen: &[PathBuf], wake: Sender<Signal>) {
        step_back();
        let mut watch = self.begin(seen, wake);
        let mut table: Option<Instant> = None;
        loop {
            let done = match &mut watch {
                Some(watch) => self.look(watch),
                None => Ok(false),
            };
            let Ok(changed) = done else { return };
            if changed || table.is_none_or(|told| told.elapsed() >= self.times.table) {
                let Some((step, rows)) = self.mail.ask(|reply| Order::Table { reply }) else { return };
                self.sink.table(step, &rows);
                table = Some(Instant::now());
            }
            let pause = self.times.table.saturating_sub(table.map_or(Duration::ZERO, |told| told.elapsed()));
            let pause = watch.as_ref().map_or(pause, |watch| pause.min(watch.pause()));
            match self.signals.recv_timeout(if self.woken { Duration::ZERO } else { pause }) {
                Ok(signal) => self.take(signal),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.catch_up();
            if std::mem::take(&mut self.woken) {
                // While a file is being written there are many signs; one look is for all of them.
                thread::park_timeout(watch.as_ref().map_or(Duration::ZERO, Watch::patience));
                self.catch_up();
            }
            if self.over {
                return;
            }
        }
    }

    /// Takes what is there as known; what changes from now on counts.
    fn begin(&mut self, seen: &[PathBuf], wake: Sender<Signal>) -> Option<Watch> {
        let roster = self.roster.as_mut()?;
        let LiveTimes { quiet, rescan, .. } = self.times;
        let mut watch = Watch::new(roster.folder(), quiet, rescan, self.sandbox.inner.file_bytes, wake);
        let folder = roster.folder();
        if !self.members.values().any(|member| member.wanted.file.starts_with(&folder)) {
            watch.expect_no_folder();
        }
        for path in seen.iter().chain(&roster.configuration()) {
            watch.assume(path, None);
        }
        for member in self.members.values() {
            let (bytes, sha256) = (member.plugin.size_bytes() as u64, member.plugin.sha256().to_owned());
            watch.assume(&member.wanted.file, Some(Print { bytes, sha256, is_whole: true }));
        }
        // What did not become a member was told when the run began.
        let (wanted, unusable) = self.wanted(&watch);
        self.unusable = unusable.into_iter().map(|(path, sha256, _)| (path, sha256)).collect();
        let tried =
            |(wanted, sha256): (Wanted, Option<String>)| (wanted.name.clone(), (wanted, sha256.unwrap_or_default()));
        self.tried = wanted.into_iter().map(tried).collect();
        // Preparing a run takes a while, and the file was read before.
        self.reread();
        Some(watch)
    }

    /// Takes the signals that have come.
    fn catch_up(&mut self) {
        while let Ok(signal) = self.signals.try_recv() {
            self.take(signal);
        }
    }

    fn take(&mut self, signal: Signal) {
        match signal {
            Signal::Proven(name, swap) => {
                if let Some(member) = self.members.get_mut(&name).filter(|member| member.swap == swap) {
                    member.before = None;
                }
            }
            Signal::RolledBack(name, swap) => {
                let member = self.members.get_mut(&name).filter(|member| member.swap == swap);
                if let Some(before) = member.and_then(|member| member.before.take())
                    && let Some(failed) = self.members.insert(name.clone(), *before)
                {
                    // While it was there it was what there should be, and so was forgotten as something that was tried.
                    // Where something else was tried since, that is not tried again either.
                    let key = || (failed.wanted, failed.plugin.sha256().to_owned());
                    self.tried.entry(name).or_insert_with(key);
                }
            }
            Signal::Look => self.woken = true,
            Signal::Unneeded(callback) => drop(callback),
            Signal::Stop => self.over = true,
        }
    }

    /// Looks, and carries out what follows. Says whether something was done.
    fn look(&mut self, watch: &mut Watch) -> Result<bool, Over> {
        let configuration = self.roster.as_ref().and_then(|roster| roster.configuration());
        let files = self.roster.iter().flat_map(|roster| roster.listed()).map(|wanted| wanted.file);
        let others: BTreeSet<PathBuf> = files.chain(configuration.clone()).collect();
        for sighting in watch.look(&others) {
            match sighting {
                Sighting::Settled(Change::Content(path, _)) if Some(&path) == configuration.as_ref() => self.reread(),
                Sighting::Settled(_) => {}
                Sighting::FolderGone(folder, why) => self.sink.told(&LiveNews::FolderGone { folder, why }),
                Sighting::FolderBack(folder) => self.sink.told(&LiveNews::FolderBack { folder }),
            }
        }
        self.reconcile(watch)
    }

    fn reread(&mut self) {
        let Some(roster) = &mut self.roster else { return };
        match roster.reread() {
            Ok(keys) => {
                if keys != self.ignored && !keys.is_empty() {
                    self.sink.told(&LiveNews::Ignored { keys: keys.clone() });
                }
                self.ignored = keys;
            }
            Err(why) => self.sink.told(&LiveNews::Invalid { why }),
        }
    }

    /// The instances that there should be, each with the SHA-256 of its file if it is there; and files that cannot be
    /// one, with their SHA-256 and why.
    #[expect(clippy::type_complexity, reason = "two lists for the two callers below")]
    fn wanted(&self, watch: &Watch) -> (Vec<(Wanted, Option<String>)>, Vec<(PathBuf, String, String)>) {
        let Some(roster) = &self.roster else { return Default::default() };
        let sha256 = |path: &Path| watch.settled(path).map(|print| print.sha256.clone());
        let with = |wanted: Wanted| (sha256(&wanted.file), wanted);
        let mut all: Vec<_> = roster.listed().into_iter().map(with).map(|(sha256, wanted)| (wanted, sha256)).collect();
        let mut unusable = Vec::new();
        for path in watch.plugins() {
            match roster.unlisted(&path) {
                Ok(Some(wanted)) if all.iter().all(|(other, _)| other.name != wanted.name) => {
                    all.push((wanted, sha256(&path)));
                }
                Ok(Some(wanted)) => {
                    let why = format!("there is an instance `{}` already: rename the file", wanted.name);
                    unusable.push((path.clone(), sha256(&path).unwrap_or_default(), why));
                }
                Ok(None) => {}
                Err(why) => unusable.push((path.clone(), sha256(&path).unwrap_or_default(), why)),
            }
        }
        (all, unusable)
    }

    /// Makes the instances of the run those that there should be.
    fn reconcile(&mut self, watch: &Watch) -> Result<bool, Over> {
        let (wanted, unusable) = self.wanted(watch);
        let mut done = false;
        self.unusable.retain(|path, _| unusable.iter().any(|(other, ..)| other == path));
        for (file, sha256, why) in unusable {
            if self.unusable.insert(file.clone(), sha256.clone()).as_ref() != Some(&sha256) {
                self.sink.told(&LiveNews::Refused { instance: None, file, sha256, why, stays: false });
            }
        }
        let leaving: Vec<(InstanceName, String)> = self
            .members
            .iter()
            .filter(|(name, _)| !wanted.iter().any(|(wanted, sha256)| wanted.name == **name && sha256.is_some()))
            .map(|(name, member)| (name.clone(), why_leaving(member, watch)))
            .collect();
        for (name, why) in leaving {
            self.retire(&name, why)?;
            done = true;
        }
        self.tried.retain(|name, _| wanted.iter().any(|(other, _)| other.name == *name));
        for (wanted, sha256) in wanted {
            done |= self.pursue(wanted, sha256.unwrap_or_default())?;
        }
        Ok(done)
    }

    /// Makes one instance what it should be. An empty hash stands for a file that is not there.
    fn pursue(&mut self, wanted: Wanted, sha256: String) -> Result<bool, Over> {
        let name = wanted.name.clone();
        let key = (wanted, sha256);
        let is_so = |member: &Member| member.wanted == key.0 && member.plugin.sha256() == key.1;
        if self.members.get(&name).is_some_and(is_so) {
            self.tried.remove(&name);
            return Ok(false);
        }
        if self.tried.get(&name) == Some(&key) {
            return Ok(false);
        }
        let (wanted, sha256) = key.clone();
        self.tried.insert(name.clone(), key);
        let (file, stays) = (wanted.file.clone(), self.members.contains_key(&name));
        let refused = match self.carry_out(wanted, &sha256)? {
            Ok(()) => return Ok(true),
            // What it is now settles later, and is another key then.
            Err(Refusal::Moved) => return Ok(false),
            Err(refused) => refused,
        };
        let why = refused.to_string();
        self.sink.told(&LiveNews::Refused { instance: Some(name), file, sha256, why, stays });
        Ok(true)
    }

    fn carry_out(&mut self, wanted: Wanted, sha256: &str) -> Result<Result<(), Refusal>, Over> {
        if sha256.is_empty() {
            return Ok(Err(Refusal::NotTaken("its file is not there".to_owned())));
        }
        let member = self.members.get(&wanted.name);
        let same_file = member.filter(|member| member.plugin.sha256() == sha256).map(|member| &member.plugin);
        let known = same_file.or_else(|| self.loaded(&wanted.file, sha256)).cloned();
        let plugin = match known.map_or_else(|| candidate::load(&self.sandbox, &wanted, sha256), Ok) {
            Ok(plugin) => plugin,
            Err(refused) => return Ok(Err(refused)),
        };
        if let Some(pin) = wanted.sha256.as_ref().filter(|pin| *pin != sha256) {
            return Ok(Err(Refusal::Pin { found: sha256.to_owned(), pin: pin.clone() }));
        }
        match self.members.contains_key(&wanted.name) {
            true => self.replace(wanted, plugin),
            false => self.join(wanted, plugin),
        }
    }

    /// A plugin that another instance runs already.
    fn loaded(&self, file: &Path, sha256: &str) -> Option<&Arc<Plugin>> {
        let plugins = self.members.values().map(|member| &member.plugin);
        plugins.into_iter().find(|plugin| plugin.file() == file && plugin.sha256() == sha256)
    }

    fn replace(&mut self, wanted: Wanted, plugin: Arc<Plugin>) -> Result<Result<(), Refusal>, Over> {
        let name = wanted.name.clone();
        let Some(member) = self.members.get(&name) else { return Ok(Ok(())) };
        let (found, place) = (&plugin.manifest().name, &member.plugin.manifest().name);
        if found != place {
            return Ok(Err(Refusal::OtherPlugin { found: found.clone(), place: place.clone() }));
        }
        let permit = permit_after(member, &wanted, &plugin);
        let settings = changed(&member.wanted, &wanted);
        if plugin.sha256() == member.plugin.sha256() && settings.iter().all(|key| *key == "grant") {
            if permit != member.permit {
                let order = |reply| Order::Allow { name: name.clone(), permit: permit.clone(), reply };
                self.mail.ask(order).ok_or(Over)?.unwrap_or_default();
            }
            if let Some(member) = self.members.get_mut(&name) {
                (member.wanted, member.permit) = (wanted, permit);
            }
            return Ok(Ok(()));
        }
        let asked = self.mail.ask(|reply| Order::Rehearse { name: name.clone(), reply }).ok_or(Over)?;
        let rehearsal = match asked.rehearsal.transpose() {
            Ok(rehearsal) => rehearsal,
            Err(failure) => return Ok(Err(Refusal::NoState(failure))),
        };
        let callback = match candidate::try_out(&plugin, &wanted, &self.around, asked.step, rehearsal.as_ref()) {
            Ok(callback) => callback,
            Err(refused) => return Ok(Err(refused)),
        };
        let callback = callback.in_its_lane();
        self.swaps += 1;
        let (taken, swap) = (permit.clone(), self.swaps);
        let order = |reply| Order::Replace { callback, permit: taken, settings, swap, reply };
        if let Err(why) = self.mail.ask(order).ok_or(Over)? {
            return Ok(Err(Refusal::NotTaken(why)));
        }
        // The one that it was tried out against may have been taken back before; what is of this swap comes after.
        let (later, earlier): (Vec<_>, Vec<_>) = self.signals.try_iter().partition(|signal| signal.is_of(swap));
        earlier.into_iter().for_each(|signal| self.take(signal));
        let before = self.members.remove(&name).map(|before| Box::new(Member { before: None, ..before }));
        self.members.insert(name, Member { wanted, plugin, permit, swap, before });
        later.into_iter().for_each(|signal| self.take(signal));
        Ok(Ok(()))
    }

    fn join(&mut self, wanted: Wanted, plugin: Arc<Plugin>) -> Result<Result<(), Refusal>, Over> {
        let name = wanted.name.clone();
        let permit = match self.left.get(&name) {
            Some((grant, permit)) if *grant == wanted.grant && !matches!(grant, Grant::Only { .. }) => {
                permit.narrowed_to(plugin.manifest())
            }
            _ => Permit::new(plugin.manifest(), &wanted.grant),
        };
        let asked = self.mail.ask(|reply| Order::Rehearse { name: name.clone(), reply }).ok_or(Over)?;
        let callback = match candidate::try_out(&plugin, &wanted, &self.around, asked.step, None) {
            Ok(callback) => callback,
            Err(refused) => return Ok(Err(refused)),
        };
        let callback = callback.in_its_lane();
        let (file, grant, manifest) = (wanted.file.clone(), wanted.grant.clone(), plugin.manifest().clone());
        let (taken, manifest) = (permit.clone(), Box::new(manifest));
        let order = |reply| Order::Join { callback, permit: taken, file, manifest, grant, reply };
        if let Err(why) = self.mail.ask(order).ok_or(Over)? {
            return Ok(Err(Refusal::NotTaken(why)));
        }
        self.members.insert(name, Member { wanted, plugin, permit, swap: 0, before: None });
        Ok(Ok(()))
    }

    fn retire(&mut self, name: &InstanceName, why: String) -> Result<(), Over> {
        self.mail.ask(|reply| Order::Retire { name: name.clone(), why, reply }).ok_or(Over)?.unwrap_or_default();
        if let Some(member) = self.members.remove(name) {
            self.left.insert(name.clone(), (member.wanted.grant, member.permit));
        }
        self.tried.remove(name);
        Ok(())
    }
}
