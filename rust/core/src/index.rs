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
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.kinds.iter().sum()
    }
}

/// A row that is not read again only to find where it begins or ends: at least this long.
const GIANT: u64 = 256 << 10;

/// Where a long row lies.
#[derive(Clone, Copy, Debug)]
pub struct Giant {
    /// Its first byte.
    pub offset: u64,
    /// The byte after its LF.
    pub end: u64,
    /// Its kind.
    pub kind: Kind,
}

/// The page index: 8 bytes a unit, 24 a long row.
#[derive(Debug, Default)]
pub struct Index {
    /// Where each unit begins, in order. The first may lack its user entry.
    pub units: Vec<u64>,
    /// The long rows, in order.
    giants: Vec<Giant>,
    /// Counts.
    pub counts: Counts,
}

/// How far an index reached at some time.
#[derive(Clone, Copy)]
pub struct Mark {
    units: usize,
    giants: usize,
    counts: Counts,
}

impl Index {
    /// How far it reaches now.
    pub fn mark(&self) -> Mark {
        Mark {
            units: self.units.len(),
            giants: self.giants.len(),
            counts: self.counts,
        }
    }

    /// Forgets all rows that were added since.
    pub fn rewind(&mut self, mark: Mark) {
        self.units.truncate(mark.units);
        self.giants.truncate(mark.giants);
        self.counts = mark.counts;
    }

    /// The long row that holds the byte at `offset`.
    pub fn giant_at(&self, offset: u64) -> Option<Giant> {
        let next = self.giants.partition_point(|giant| giant.offset <= offset);
        let giant = *self.giants[..next].last()?;
        (offset < giant.end).then_some(giant)
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
        if row.end - row.offset >= GIANT {
            self.giants.push(Giant {
                offset: row.offset,
                end: row.end,
                kind: row.kind,
            });
        }
        counts.kinds[row.kind as usize] += 1;
        counts.replaced += row.replaced;
        counts.last = Some(row.kind);
        Flow::Continue
    }
}
