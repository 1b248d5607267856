//! The strings of one line, gathered from their pieces.

use crate::entry::{MEMBER_COUNT, Member, Row};
use crate::scan::{Isa, prefix};
use crate::split::Ids;
use crate::text::{self, Measure};

/// The raw strings of a line: of each member its first `most` scalar values.
pub struct Values {
    isa: Isa,
    most: [usize; MEMBER_COUNT],
    bytes: Vec<u8>,
    found: [Value; MEMBER_COUNT],
}

/// One member's string.
#[derive(Clone, Copy)]
struct Value {
    start: usize,
    length: usize,
    /// UTF-8 bytes of the whole decoded string.
    size: u64,
    /// Whether there is more than was kept.
    is_cut: bool,
    is_page_form: bool,
}

impl Value {
    const EMPTY: Value = Value {
        start: 0,
        length: 0,
        size: 0,
        is_cut: false,
        is_page_form: true,
    };
}

impl Values {
    /// Strings that are needed up to `most` scalar values (by member), which `isa` counts.
    pub fn new(isa: Isa, most: [usize; MEMBER_COUNT]) -> Values {
        Values {
            isa,
            most,
            bytes: Vec::new(),
            found: [Value::EMPTY; MEMBER_COUNT],
        }
    }

    /// Forgets the line.
    pub fn begin(&mut self) {
        self.bytes.clear();
        self.found = [Value::EMPTY; MEMBER_COUNT];
    }

    /// Adds a piece.
    pub fn piece(&mut self, member: Member, raw: &[u8], measure: Measure) {
        let value = &mut self.found[member as usize];
        if value.size == 0 {
            value.start = self.bytes.len();
        }
        value.size += raw.len() as u64 - measure.saved;
        value.is_page_form &= measure.is_page_form;
        if value.is_cut {
            return;
        }
        let mut left = self.most[member as usize];
        if value.length > 0 {
            left -= text::chars(&self.bytes[value.start..]);
        }
        let kept = prefix(self.isa, raw, left);
        value.is_cut = kept < raw.len();
        value.length += kept;
        self.bytes.extend_from_slice(&raw[..kept]);
    }

    /// The member's raw string, as far as it was kept.
    pub fn raw(&self, member: Member) -> &[u8] {
        let value = self.found[member as usize];
        &self.bytes[value.start..value.start + value.length]
    }

    /// UTF-8 bytes of the member's whole decoded string; 0 where there is none.
    pub fn size(&self, member: Member) -> u64 {
        self.found[member as usize].size
    }

    /// The member's decoded string, as far as it was kept; none where the row has none.
    pub fn text(&self, row: &Row, member: Member) -> Option<Vec<u8>> {
        row.has(member).then(|| {
            let mut text = Vec::new();
            text::decode(self.raw(member), &mut text);
            text
        })
    }

    /// Scalar values of the member's string; more than `most` where it was not kept whole.
    pub fn chars(&self, member: Member) -> usize {
        if self.found[member as usize].is_cut {
            return usize::MAX;
        }
        text::chars(self.raw(member))
    }

    /// The decoded ids.
    pub fn ids(&self, row: &Row) -> Ids {
        Ids {
            line: self.text(row, Member::SourceLineId),
            message: self.text(row, Member::SourceMessageId),
        }
    }

    /// Appends a JSON string of the member's first `most` scalar values; whether there were more.
    pub fn write(&self, member: Member, into: &mut Vec<u8>) -> bool {
        into.push(b'"');
        let cut = self.write_inside(member, into);
        into.push(b'"');
        cut
    }

    /// The same without quotes.
    pub fn write_inside(&self, member: Member, into: &mut Vec<u8>) -> bool {
        let (raw, value) = (self.raw(member), self.found[member as usize]);
        if value.is_page_form {
            into.extend_from_slice(raw);
        } else {
            text::write_page_form(raw, into);
        }
        value.is_cut
    }

    /// Appends the whole string, or `null` where the row has none.
    pub fn write_or_null(&self, row: &Row, member: Member, into: &mut Vec<u8>) {
        if row.has(member) {
            self.write(member, into);
        } else {
            into.extend_from_slice(b"null");
        }
    }
}
