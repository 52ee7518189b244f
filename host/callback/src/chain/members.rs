//! Callbacks that join, leave or take another's place while a run goes on.
//!
//! Whoever calls this does it between two steps. It does not load files nor watch them.

use std::fmt;

use super::{Chain, Link, UnknownMeasurement};
use crate::{Callback, CallbackFailure, Event, InstanceName, Permit, Standing, Summary};

/// Why a callback was not taken; the chain is as it was.
#[derive(Debug)]
pub enum NotTaken {
    /// Nobody in the chain has its name, or somebody has already.
    Name(InstanceName),
    /// It reads what nobody offers.
    Unknown(Vec<UnknownMeasurement>),
    /// The callback in its place did not give its state.
    NoState(CallbackFailure),
    /// It did not take the state of the callback in its place.
    StateRefused(CallbackFailure),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "the name `{name}` does not fit the chain"),
            Self::Unknown(unknown) => {
                let words: Vec<String> = unknown.iter().map(ToString::to_string).collect();
                f.write_str(&words.join("; "))
            }
            Self::NoState(failure) => write!(f, "the callback in its place does not give its state: {failure}"),
            Self::StateRefused(failure) => write!(f, "it does not take the state of the one in its place: {failure}"),
        }
    }
}

impl std::error::Error for NotTaken {}

/// What a callback was shown last and has kept, for trying out another one in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    /// Its state, with the state's version; `None` where it has none.
    pub state: Option<(u32, Vec<u8>)>,
    /// The last event; `None` where it was shown none yet.
    pub event: Option<Event>,
}

impl Chain {
    /// Takes a callback of a new name into the chain, at its place in the order.
    ///
    /// # Errors
    ///
    /// When the name is taken, or it reads what nobody offers.
    pub fn join(&mut self, callback: Box<dyn Callback>, permit: Permit) -> Result<(), NotTaken> {
        let name = callback.identity().instance.clone();
        if self.position(&name).is_some() {
            return Err(NotTaken::Name(name));
        }
        let link = self.link(callback, permit)?;
        self.put(link);
        Ok(())
    }

    /// Puts a callback in the place of the one with its name, with the state of that one. Returns the one that was
    /// there, with what it was allowed.
    ///
    /// What the chain counts of the instance goes on. One that had failed too often is called again.
    ///
    /// # Errors
    ///
    /// When there is none of that name, it reads what nobody offers, the old one does not give its state, or the new one
    /// does not take it. The old one stays then.
    pub fn replace(
        &mut self,
        mut callback: Box<dyn Callback>,
        permit: Permit,
    ) -> Result<(Box<dyn Callback>, Permit), NotTaken> {
        let name = callback.identity().instance.clone();
        let at = self.position(&name).ok_or(NotTaken::Name(name))?;
        let state = self.links[at].callback.save().map_err(NotTaken::NoState)?;
        if let Some((version, bytes)) = state {
            callback.load(version, &bytes).map_err(NotTaken::StateRefused)?;
        }
        let link = self.link(callback, permit)?;
        Ok(self.exchange(at, link))
    }

    /// Puts a callback back that [`replace`](Self::replace) took out, with the state that it has.
    ///
    /// # Errors
    ///
    /// When there is none of that name any more.
    pub fn put_back(&mut self, callback: Box<dyn Callback>, permit: Permit) -> Result<Box<dyn Callback>, NotTaken> {
        let name = callback.identity().instance.clone();
        let at = self.position(&name).ok_or(NotTaken::Name(name))?;
        let link = self.link(callback, permit)?;
        Ok(self.exchange(at, link).0)
    }

    /// Takes a callback out of the chain; what it did stays in the summaries.
    pub fn retire(&mut self, name: &InstanceName) -> Option<Box<dyn Callback>> {
        let link = self.links.remove(self.position(name)?);
        self.retired.push(Summary { state: Standing::Retired, ..link.summary() });
        Some(link.callback)
    }

    /// What one callback may do.
    pub fn permit(&self, name: &InstanceName) -> Option<&Permit> {
        self.position(name).map(|at| &self.links[at].permit)
    }

    /// Changes what a callback may do from now on. `false` where there is none of that name.
    pub fn allow(&mut self, name: &InstanceName, permit: Permit) -> bool {
        let at = self.position(name);
        at.into_iter().for_each(|at| self.links[at].permit = permit.clone());
        at.is_some()
    }

    /// What a new version of a callback can be tried out with: its state now, and the event that it was shown last.
    /// `None` where there is none of that name.
    ///
    /// # Errors
    ///
    /// When it does not give its state. It is counted as a failure of the callback.
    pub fn rehearsal(&mut self, name: &InstanceName) -> Option<Result<Rehearsal, CallbackFailure>> {
        let at = self.position(name)?;
        let link = &mut self.links[at];
        let state = link.callback.save();
        if let Some(failure) = state.as_ref().err().cloned().or_else(|| link.callback.take_failure()) {
            link.count_failure(&failure);
            return Some(Err(failure));
        }
        Some(state.map(|state| Rehearsal { state, event: link.event.clone() }))
    }

    /// How often a callback was called, with all that were in its place before.
    pub fn calls(&self, name: &InstanceName) -> Option<u64> {
        self.position(name).map(|at| self.links[at].summary().calls)
    }

    /// Who is in the chain now, and what each did so far.
    pub fn standings(&self) -> Vec<Summary> {
        self.links.iter().map(Link::summary).collect()
    }

    fn position(&self, name: &InstanceName) -> Option<usize> {
        self.links.iter().position(|link| link.identity().instance == *name)
    }

    /// A link for a callback whose reads all exist.
    fn link(&self, callback: Box<dyn Callback>, permit: Permit) -> Result<Link, NotTaken> {
        let link = Link::new(&self.catalog, callback, permit);
        let members = self.links.iter().map(Link::identity).chain([link.identity()]);
        let names: Vec<String> = members.map(|identity| format!("{}/", identity.instance)).collect();
        let unknown = link.unknown(&self.catalog, &names);
        if unknown.is_empty() { Ok(link) } else { Err(NotTaken::Unknown(unknown)) }
    }

    fn exchange(&mut self, at: usize, mut link: Link) -> (Box<dyn Callback>, Permit) {
        let mut old = self.links.remove(at);
        link.follow(&mut old);
        self.put(link);
        (old.callback, old.permit)
    }

    fn put(&mut self, link: Link) {
        let place = link.place();
        let at = self.links.partition_point(|other| other.place() < place);
        self.links.insert(at, link);
    }
}
