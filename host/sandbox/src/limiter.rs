//! Sums the memories and tables of one store and stops them at the limit.
//!
//! It does not count fuel or time: the engine does. Main type: [`Limiter`].

use wasmtime::ResourceLimiter;

use crate::Limits;

/// A guest asked for more than its limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{asked} more {what} than the {used} that it has would pass the limit of {limit}")]
pub(crate) struct LimitExceeded {
    what: &'static str,
    limit: usize,
    used: usize,
    asked: usize,
}

/// What all memories, or all tables, of a store have together.
struct Sum {
    what: &'static str,
    limit: usize,
    used: usize,
    /// The last growth that was allowed, in case that it fails after all.
    last: usize,
}

impl Sum {
    fn new(what: &'static str, limit: usize) -> Self {
        Self { what, limit, used: 0, last: 0 }
    }

    /// Allows a growth, or refuses it in the way that the guest expects (its own declared maximum), or
    /// ends the call (our limit).
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool, LimitExceeded> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let asked = desired.saturating_sub(current);
        let total = self.used.saturating_add(asked);
        if total > self.limit {
            return Err(LimitExceeded { what: self.what, limit: self.limit, used: self.used, asked });
        }
        self.used = total;
        self.last = asked;
        Ok(true)
    }

    /// The operating system did not give what was allowed.
    fn undo(&mut self) {
        self.used -= std::mem::take(&mut self.last);
    }
}

/// Limits over everything in one store. The engine's own `StoreLimits` hold for each memory by itself, so
/// that many small memories would pass under them.
pub(crate) struct Limiter {
    memory: Sum,
    table: Sum,
    instances: usize,
    memories: usize,
    tables: usize,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory: Sum::new("bytes of memory", limits.memory_bytes),
            table: Sum::new("table elements", limits.table_elements),
            instances: limits.instances,
            memories: limits.memories,
            tables: limits.tables,
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.memory.grow(current, desired, maximum)?)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory.undo();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.table.grow(current, desired, maximum)?)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.table.undo();
        Ok(())
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn memories(&self) -> usize {
        self.memories
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 64 << 10;

    #[test]
    fn a7_memories_are_summed() {
        let mut sum = Sum::new("bytes of memory", 4 * PAGE);
        assert_eq!(sum.grow(0, 2 * PAGE, None), Ok(true));
        assert_eq!(sum.grow(0, PAGE, None), Ok(true), "a second memory");
        assert_eq!(sum.grow(PAGE, 2 * PAGE, None), Ok(true), "it grows to the very limit");
        let error = sum.grow(2 * PAGE, 3 * PAGE, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "65536 more bytes of memory than the 262144 that it has would pass the limit of 262144"
        );
    }

    #[test]
    fn a_growth_that_does_not_happen_is_not_counted() {
        let mut sum = Sum::new("table elements", 10);
        assert_eq!(sum.grow(0, 8, Some(5)), Ok(false), "past the table's own maximum");
        assert_eq!(sum.grow(0, 8, None), Ok(true));
        sum.undo();
        sum.undo();
        assert_eq!(sum.grow(0, 10, None), Ok(true));
    }
}
