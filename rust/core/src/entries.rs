//! Rows as they were written, for iteration: a JSON array for each.

use crate::entry::{MEMBER_COUNT, Member, Members, Row};
use crate::scan::Isa;
use crate::sink::{Flow, Sink};
use crate::text::Measure;
use crate::turn::{STRINGS, write_number};
use crate::values::Values;

/// Writes rows as `[offset,kind,captured_at,text,name,args,result,ok,line_id,message_id,replaced]`.
pub struct EntryWriter {
    values: Values,
    /// The JSON so far, without the last bracket.
    pub out: Vec<u8>,
    /// Stop at the first row that ends here or later.
    until: u64,
}

impl EntryWriter {
    /// Stops at the first row that ends at `until` or later.
    pub fn new(isa: Isa, until: u64) -> EntryWriter {
        EntryWriter {
            values: Values::new(isa, [usize::MAX; MEMBER_COUNT]),
            out: vec![b'['],
            until,
        }
    }
}

impl Sink for EntryWriter {
    const WANTS: Members = STRINGS;

    fn begin(&mut self) {
        self.values.begin();
    }

    fn piece(&mut self, member: Member, raw: &[u8], measure: Measure) {
        self.values.piece(member, raw, measure);
    }

    fn row(&mut self, row: &Row) -> Flow {
        let out = &mut self.out;
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'[');
        write_number(row.offset, out);
        out.extend_from_slice(b",\"");
        out.extend_from_slice(row.kind.name().as_bytes());
        out.extend_from_slice(b"\",\"");
        out.extend_from_slice(&row.captured_at);
        out.push(b'"');
        for member in [
            Member::Text,
            Member::Name,
            Member::ArgsText,
            Member::ResultText,
        ] {
            out.push(b',');
            self.values.write_or_null(row, member, out);
        }
        out.extend_from_slice(match (row.has(Member::ResultOk), row.ok) {
            (true, true) => b",true",
            (true, false) => b",false",
            (false, _) => b",null",
        });
        for member in [Member::SourceLineId, Member::SourceMessageId] {
            out.push(b',');
            self.values.write_or_null(row, member, out);
        }
        out.push(b',');
        write_number(row.replaced, out);
        out.push(b']');
        if row.end >= self.until {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}
