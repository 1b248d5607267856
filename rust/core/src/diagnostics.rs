//! What a lenient reading met: the first faults, and how many in all.

use crate::error::Fault;

/// Faults that are kept; the rest are counted.
pub const KEPT: usize = 100;

/// The faults of a lenient reading.
#[derive(Debug, Default)]
pub struct Diagnostics {
    kept: Vec<Fault>,
    total: u64,
}

/// How many there were at some time.
#[derive(Clone, Copy)]
pub struct Mark {
    kept: usize,
    total: u64,
}

impl Diagnostics {
    /// Adds a fault.
    pub fn add(&mut self, fault: Fault) {
        self.total += 1;
        if self.kept.len() < KEPT {
            self.kept.push(fault);
        }
    }

    /// Counts faults that nobody described.
    pub fn count(&mut self, more: u64) {
        self.total += more;
    }

    /// The first ones, in the order of the file.
    pub fn kept(&self) -> &[Fault] {
        &self.kept
    }

    /// How many there are in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many there are now.
    pub fn mark(&self) -> Mark {
        Mark {
            kept: self.kept.len(),
            total: self.total,
        }
    }

    /// Forgets what was added since.
    pub fn rewind(&mut self, mark: Mark) {
        self.kept.truncate(mark.kept);
        self.total = mark.total;
    }
}
