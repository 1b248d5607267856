//! What is kept of the rows that were validated: counts, and where units begin.

use crate::entry::{Kind, Members, Row};
use crate::sink::{Flow, Sink};

/// Counts of all rows so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows by kind, in the order of the kinds' numbers.
    pub kinds: [u64; Kind::ALL.len()],
    /// Turns.
    pub turns: u64,
    /// Lone surrogates.
    pub replaced: u64,
    /// Kind of the last row.
    last: Option<Kind>,
}

impl Counts {
    /// Rows of all kinds.
    pub fn entries(&self) -> u64 {
        self.kinds.iter().sum()
    }
}

/// The page index: 8 bytes a unit.
#[derive(Debug, Default)]
pub struct Index {
    /// Where each unit begins, in order. The first may lack its user entry.
    pub units: Vec<u64>,
    /// Counts.
    pub counts: Counts,
}

impl Index {
    /// Forgets all rows that were added after the first `units` units had these counts.
    pub fn rewind(&mut self, units: usize, counts: Counts) {
        self.units.truncate(units);
        self.counts = counts;
    }

    /// How many units begin before `offset`.
    pub fn units_before(&self, offset: u64) -> usize {
        self.units.partition_point(|&unit| unit < offset)
    }

    /// Whether a unit begins at `offset`.
    pub fn is_unit(&self, offset: u64) -> bool {
        self.units.binary_search(&offset).is_ok()
    }
}

impl Sink for Index {
    const WANTS: Members = 0;

    #[inline]
    fn row(&mut self, row: &Row) -> Flow {
        let counts = &mut self.counts;
        let user = row.kind == Kind::User;
        if user || counts.last.is_none() {
            self.units.push(row.offset);
        }
        if user || matches!(counts.last, None | Some(Kind::User)) {
            counts.turns += 1;
        }
        counts.kinds[row.kind as usize] += 1;
        counts.replaced += row.replaced;
        counts.last = Some(row.kind);
        Flow::Continue
    }
}
