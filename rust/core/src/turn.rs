//! Entries to turns, as the JSON of a page. What it writes is `docs/PAGES.md`.

use crate::entry::{Kind, MEMBER_COUNT, Member, Members, Row};
use crate::scan::Isa;
use crate::sink::{Flow, Sink};
use crate::split::{Ids, goes_on};
use crate::text::Measure;
use crate::values::Values;

/// Scalar values of a tool call's input or output that a page shows.
pub const TOOL_PREVIEW_CHARS: usize = 4_000;
/// Scalar values of any other text that a page shows; joined rows stay within it.
pub const TEXT_PREVIEW_CHARS: usize = 1_048_576;

/// The strings that turns are made of.
pub const STRINGS: Members = Member::Text.bit()
    | Member::Name.bit()
    | Member::ArgsText.bit()
    | Member::ResultText.bit()
    | Member::SourceLineId.bit()
    | Member::SourceMessageId.bit();

/// How much of each string a page needs.
pub const fn previews() -> [usize; MEMBER_COUNT] {
    let mut most = [usize::MAX; MEMBER_COUNT];
    most[Member::Text as usize] = TEXT_PREVIEW_CHARS;
    most[Member::ArgsText as usize] = TOOL_PREVIEW_CHARS;
    most[Member::ResultText as usize] = TOOL_PREVIEW_CHARS;
    most
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// Writes the turns of a page as its rows come.
pub struct TurnWriter<'a> {
    history: &'a str,
    out: Vec<u8>,
    values: Values,
    /// The open turn, and where its `end_ts` stands in `out`.
    open: Option<(Role, usize)>,
    /// The text part that may go on: the ids of its last row and its characters so far.
    chain: Option<(Ids, usize)>,
    /// Offset and kind of the first row.
    pub first: Option<(u64, Kind)>,
    /// Kind of the last row.
    pub last: Option<Kind>,
    /// Lone surrogates in all rows.
    pub replaced: u64,
}

impl<'a> TurnWriter<'a> {
    /// A writer that appends to `out`; refs are made for the history `history`.
    pub fn new(isa: Isa, history: &'a str, out: Vec<u8>) -> TurnWriter<'a> {
        TurnWriter {
            history,
            out,
            values: Values::new(isa, previews()),
            open: None,
            chain: None,
            first: None,
            last: None,
            replaced: 0,
        }
    }

    /// Ends the last turn and gives the bytes back.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_turn();
        self.out
    }

    fn end_turn(&mut self) {
        if self.open.take().is_some() {
            self.out.extend_from_slice(b"]}");
        }
    }

    fn begin_part(&mut self, row: &Row) {
        let role = match row.kind {
            Kind::User => Role::User,
            _ => Role::Assistant,
        };
        match self.open {
            Some((Role::Assistant, end_ts)) if role == Role::Assistant => {
                self.out[end_ts..end_ts + row.captured_at.len()].copy_from_slice(&row.captured_at);
                self.out.push(b',');
            }
            _ => {
                if self.open.is_some() {
                    self.end_turn();
                    self.out.push(b',');
                }
                self.out.extend_from_slice(match role {
                    Role::User => br#"{"role":"user","ts":""#,
                    Role::Assistant => br#"{"role":"assistant","ts":""#,
                });
                self.out.extend_from_slice(&row.captured_at);
                self.out.extend_from_slice(br#"","end_ts":""#);
                self.open = Some((role, self.out.len()));
                self.out.extend_from_slice(&row.captured_at);
                self.out.extend_from_slice(br#"","offset":"#);
                write_number(row.offset, &mut self.out);
                self.out.extend_from_slice(br#","parts":["#);
            }
        }
    }

    fn write_ref(&mut self, row: &Row) {
        self.out.extend_from_slice(br#""ref":"at:"#);
        self.out.extend_from_slice(self.history.as_bytes());
        self.out.push(b':');
        write_number(row.offset, &mut self.out);
        self.out.push(b'"');
    }

    fn text(&mut self, row: &Row, kind: &str) {
        self.begin_part(row);
        self.out.extend_from_slice(br#"{"kind":""#);
        self.out.extend_from_slice(kind.as_bytes());
        self.out.extend_from_slice(br#"","text":"#);
        if self.values.write(Member::Text, &mut self.out) {
            self.out.push(b',');
            self.write_ref(row);
            self.out.extend_from_slice(br#","size":"#);
            write_number(self.values.size(Member::Text), &mut self.out);
        }
        self.out.push(b'}');
    }

    fn assistant(&mut self, row: &Row) {
        let own = self.values.ids(row);
        let joined = match &self.chain {
            Some((earlier, before)) if goes_on(earlier, &own) => before
                .checked_add(self.values.chars(Member::Text))
                .filter(|&chars| chars <= TEXT_PREVIEW_CHARS),
            _ => None,
        };
        if joined.is_some() {
            // The part goes on: take back `"}`.
            self.out.truncate(self.out.len() - 2);
            self.values.write_inside(Member::Text, &mut self.out);
            self.out.extend_from_slice(b"\"}");
            if let Some((_, end_ts)) = self.open {
                self.out[end_ts..end_ts + row.captured_at.len()].copy_from_slice(&row.captured_at);
            }
        } else {
            self.text(row, "text");
        }
        self.chain = own.is_split().then(|| {
            let chars = joined.unwrap_or_else(|| self.values.chars(Member::Text));
            (own, chars)
        });
    }

    fn tool(&mut self, row: &Row) {
        self.begin_part(row);
        self.out.extend_from_slice(br#"{"kind":"tool","#);
        self.write_ref(row);
        self.out.extend_from_slice(br#","id":"#);
        self.values
            .write_or_null(row, Member::SourceLineId, &mut self.out);
        self.out.extend_from_slice(br#","name":"#);
        self.values.write_or_null(row, Member::Name, &mut self.out);
        let state = match (row.has(Member::ResultOk), row.ok) {
            (true, true) => "ok",
            (true, false) => "failed",
            (false, _) if row.has(Member::ResultText) => "unknown",
            (false, _) => "unfinished",
        };
        self.out.extend_from_slice(br#","state":""#);
        self.out.extend_from_slice(state.as_bytes());
        self.out.extend_from_slice(br#"","input":"#);
        self.values
            .write_or_null(row, Member::ArgsText, &mut self.out);
        self.out.extend_from_slice(br#","input_size":"#);
        write_number(self.values.size(Member::ArgsText), &mut self.out);
        self.out.extend_from_slice(br#","output":"#);
        self.values
            .write_or_null(row, Member::ResultText, &mut self.out);
        self.out.extend_from_slice(br#","output_size":"#);
        write_number(self.values.size(Member::ResultText), &mut self.out);
        self.out.push(b'}');
    }
}

impl Sink for TurnWriter<'_> {
    const WANTS: Members = STRINGS;

    fn begin(&mut self) {
        self.values.begin();
    }

    fn piece(&mut self, member: Member, raw: &[u8], measure: Measure) {
        self.values.piece(member, raw, measure);
    }

    fn row(&mut self, row: &Row) -> Flow {
        match row.kind {
            Kind::Assistant => self.assistant(row),
            Kind::User => self.text(row, "text"),
            Kind::Reasoning => self.text(row, "thinking"),
            Kind::Error => self.text(row, "error"),
            Kind::ToolCall => self.tool(row),
        }
        if row.kind != Kind::Assistant {
            self.chain = None;
        }
        self.first.get_or_insert((row.offset, row.kind));
        self.last = Some(row.kind);
        self.replaced += row.replaced;
        Flow::Continue
    }
}

/// Appends a number in decimal.
pub fn write_number(number: u64, into: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut at, mut left) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).expect("one digit");
        left /= 10;
        if left == 0 {
            break;
        }
    }
    into.extend_from_slice(&digits[at..]);
}
