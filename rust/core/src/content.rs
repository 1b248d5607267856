//! A range of one entry's decoded text.

use crate::entry::{Kind, Member, Members, Row};
use crate::error::{Error, RefReason, Result};
use crate::sink::{Flow, Sink};
use crate::text::{self, Measure};

/// Most UTF-8 bytes that one call returns.
pub const MAX_RANGE: u64 = 1 << 20;

/// Bytes around a range in which a character boundary must lie.
const SLACK: u64 = 3;

/// Which text of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `text` of the four kinds that have it.
    Text,
    /// A tool call's arguments.
    Input,
    /// A tool call's result.
    Output,
}

impl Part {
    fn member(self) -> Member {
        match self {
            Part::Text => Member::Text,
            Part::Input => Member::ArgsText,
            Part::Output => Member::ResultText,
        }
    }
}

/// A range, in UTF-8 bytes of the decoded text.
#[derive(Debug)]
pub struct Range {
    /// The text.
    pub text: Vec<u8>,
    /// Where it begins.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// How long the whole text is.
    pub size: u64,
}

/// Gathers a range of one row's text: the sink of a reading that begins at the row.
pub struct RangeSink {
    member: Member,
    /// The bytes of the text to gather: the range and its slack.
    from: u64,
    to: u64,
    gathered: Vec<u8>,
    size: u64,
    decoded: Vec<u8>,
    /// The row, when one was accepted.
    pub row: Option<Row>,
}

impl RangeSink {
    /// Gathers `length` bytes (at most [`MAX_RANGE`]) from `start` on; `part` none is a part that no kind has.
    pub fn new(part: Option<Part>, start: u64, length: u64) -> RangeSink {
        let end = start.saturating_add(length.min(MAX_RANGE));
        RangeSink {
            member: part.map_or(Member::Kind, Part::member),
            from: start.saturating_sub(SLACK),
            to: end.saturating_add(SLACK),
            gathered: Vec::new(),
            size: 0,
            decoded: Vec::new(),
            row: None,
        }
    }

    /// The range, once the row was read.
    pub fn range(&self, row: &Row, start: u64, length: u64) -> Result<Range> {
        let has = match row.kind {
            Kind::ToolCall => matches!(self.member, Member::ArgsText | Member::ResultText),
            _ => self.member == Member::Text,
        };
        if !has {
            return Err(Error::Ref(RefReason::NoSuchPart));
        }
        if start > self.size {
            return Err(Error::Range { size: self.size });
        }
        let inside = |offset: u64| {
            let index = usize::try_from(offset - self.from).expect("it was gathered");
            self.gathered
                .get(index)
                .is_some_and(|&byte| !text::is_lead(byte))
        };
        let asked = start.saturating_add(length.min(MAX_RANGE)).min(self.size);
        let (mut start, mut end) = (start, asked);
        while inside(start) {
            start -= 1;
        }
        if length == 0 {
            end = start;
        }
        while inside(end) {
            end += 1;
        }
        let index = |offset: u64| usize::try_from(offset - self.from).expect("it was gathered");
        Ok(Range {
            text: self.gathered[index(start)..index(end)].to_vec(),
            start,
            end,
            size: self.size,
        })
    }
}

impl Sink for RangeSink {
    const WANTS: Members = Member::Text.bit() | Member::ArgsText.bit() | Member::ResultText.bit();

    fn begin(&mut self) {
        self.gathered.clear();
        self.size = 0;
    }

    fn piece(&mut self, member: Member, raw: &[u8], measure: Measure) {
        if member != self.member {
            return;
        }
        let before = self.size;
        self.size += raw.len() as u64 - measure.saved;
        if self.size <= self.from || before >= self.to {
            return;
        }
        self.decoded.clear();
        text::decode(raw, &mut self.decoded);
        let index = |offset: u64| {
            let within = offset.clamp(before, self.size) - before;
            usize::try_from(within).expect("it lies in the piece")
        };
        let wanted = &self.decoded[index(self.from)..index(self.to)];
        self.gathered.extend_from_slice(wanted);
    }

    fn row(&mut self, row: &Row) -> Flow {
        self.row = Some(row.clone());
        Flow::Stop
    }
}

/// Finds the tool calls with one id.
pub struct IdSearch<'a> {
    id: &'a [u8],
    raw: Vec<u8>,
    /// Where the first one begins.
    pub found: Option<u64>,
    /// Whether there is another.
    pub again: bool,
}

impl<'a> IdSearch<'a> {
    /// Looks for `id`.
    pub fn new(id: &'a [u8]) -> IdSearch<'a> {
        IdSearch {
            id,
            raw: Vec::new(),
            found: None,
            again: false,
        }
    }
}

impl Sink for IdSearch<'_> {
    const WANTS: Members = Member::SourceLineId.bit();

    fn begin(&mut self) {
        self.raw.clear();
    }

    fn piece(&mut self, _member: Member, raw: &[u8], _measure: Measure) {
        self.raw.extend_from_slice(raw);
    }

    fn row(&mut self, row: &Row) -> Flow {
        let same = if self.raw.contains(&b'\\') {
            let mut text = Vec::new();
            text::decode(&self.raw, &mut text);
            text == self.id
        } else {
            self.raw == self.id
        };
        if row.kind != Kind::ToolCall || !row.has(Member::SourceLineId) || !same {
            return Flow::Continue;
        }
        self.again = self.found.is_some();
        self.found.get_or_insert(row.offset);
        if self.again {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}
