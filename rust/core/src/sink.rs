//! Who is told what a reading finds.

use crate::entry::{Member, Members, Row};
use crate::text::Measure;

/// Whether a reading goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Read the next line.
    Continue,
    /// That was enough.
    Stop,
}

/// Receives the strings of each line, then the line's row, when it was accepted.
pub trait Sink {
    /// The members whose strings it wants.
    const WANTS: Members;

    /// A line begins, perhaps for the second time: what came before of a line without a row is void.
    fn begin(&mut self) {}

    /// A piece of a member's string as it stands in the file: whole characters and escapes,
    /// well-formed, no surrogate pair torn. A value comes in one or more pieces, in order.
    fn piece(&mut self, _member: Member, _raw: &[u8], _measure: Measure) {}

    /// A line was accepted. Pieces of members that `row` does not have are void.
    fn row(&mut self, row: &Row) -> Flow;
}
