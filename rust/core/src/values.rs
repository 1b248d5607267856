//! The strings of one line, gathered from their pieces.

use crate::entry::{MEMBER_COUNT, Member, Row};
use crate::split::Ids;
use crate::text;

/// Most raw bytes that one scalar value takes: an escaped surrogate pair.
const RAW_BYTES_PER_CHAR: usize = 12;

/// The raw strings of a line: of each member at least what shows its first `most` scalar values.
pub struct Values {
    most: [usize; MEMBER_COUNT],
    bytes: Vec<u8>,
    found: [Value; MEMBER_COUNT],
}

/// One member's string.
#[derive(Clone, Copy, Default)]
struct Value {
    start: usize,
    length: usize,
    /// UTF-8 bytes of the whole decoded string.
    size: u64,
    /// Whether bytes at the end were not kept.
    capped: bool,
}

impl Values {
    /// Strings that are needed up to `most` scalar values (by member).
    pub fn new(most: [usize; MEMBER_COUNT]) -> Values {
        Values {
            most,
            bytes: Vec::new(),
            found: [Value::default(); MEMBER_COUNT],
        }
    }

    /// Forgets the line.
    pub fn begin(&mut self) {
        self.bytes.clear();
        self.found = [Value::default(); MEMBER_COUNT];
    }

    /// Adds a piece.
    pub fn piece(&mut self, member: Member, raw: &[u8]) {
        let value = &mut self.found[member as usize];
        if value.size == 0 {
            value.start = self.bytes.len();
        }
        value.size += text::size(raw);
        let cap = self.most[member as usize].saturating_mul(RAW_BYTES_PER_CHAR);
        let kept = &raw[..raw.len().min(cap - value.length)];
        value.capped |= kept.len() < raw.len();
        value.length += kept.len();
        self.bytes.extend_from_slice(kept);
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
        if self.found[member as usize].capped {
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
        let most = self.most[member as usize];
        let more = text::write_page_form(self.raw(member), most, into);
        more || self.found[member as usize].capped
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
