//! Rows in brief: what deciding where a page begins needs to know of them.

use crate::entry::{Kind, MEMBER_COUNT, Member, Members, Row};
use crate::scan::Isa;
use crate::sink::{Flow, Sink};
use crate::split::{Ids, goes_on};
use crate::text::Measure;
use crate::turn::{TEXT_PREVIEW_CHARS, previews};
use crate::values::Values;

/// One row in brief.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Its first byte.
    pub offset: u64,
    /// The byte after its LF.
    pub end: u64,
    /// Its kind.
    pub kind: Kind,
    ids: Ids,
    chars: usize,
}

impl Brief {
    /// Whether this row's ids go on with those of the row directly before it.
    pub fn goes_on(&self, earlier: &Brief) -> bool {
        self.kind == Kind::Assistant
            && earlier.kind == Kind::Assistant
            && goes_on(&earlier.ids, &self.ids)
    }
}

/// Follows which rows are one part.
#[derive(Default)]
pub struct Parts {
    last: Option<Brief>,
    chars: usize,
}

impl Parts {
    /// Whether `row`, which comes next, belongs to the part of the row before it.
    pub fn joins(&mut self, row: &Brief) -> bool {
        let joined = self
            .last
            .as_ref()
            .filter(|last| row.goes_on(last))
            .and_then(|_| self.chars.checked_add(row.chars))
            .filter(|&chars| chars <= TEXT_PREVIEW_CHARS);
        self.chars = joined.unwrap_or(row.chars);
        self.last = Some(row.clone());
        joined.is_some()
    }
}

/// Gives each row in brief to a function.
pub struct Briefs<F> {
    values: Values,
    take: F,
}

impl<F: FnMut(Brief) -> Flow> Briefs<F> {
    /// Gives them to `take`.
    pub fn new(isa: Isa, take: F) -> Briefs<F> {
        const MOST: [usize; MEMBER_COUNT] = previews();
        Briefs {
            values: Values::new(isa, MOST),
            take,
        }
    }
}

impl<F: FnMut(Brief) -> Flow> Sink for Briefs<F> {
    const WANTS: Members =
        Member::Text.bit() | Member::SourceLineId.bit() | Member::SourceMessageId.bit();

    fn begin(&mut self) {
        self.values.begin();
    }

    fn piece(&mut self, member: Member, raw: &[u8], measure: Measure) {
        self.values.piece(member, raw, measure);
    }

    fn row(&mut self, row: &Row) -> Flow {
        let (ids, chars) = if row.kind == Kind::Assistant {
            (self.values.ids(row), self.values.chars(Member::Text))
        } else {
            (Ids::default(), 0)
        };
        (self.take)(Brief {
            offset: row.offset,
            end: row.end,
            kind: row.kind,
            ids,
            chars,
        })
    }
}
