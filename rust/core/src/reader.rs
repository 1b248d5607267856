//! Lines of a window, one after another: the fast pass accepts, the exact parser explains.

use crate::diagnostics::Diagnostics;
use crate::error::{Error, Fault, RefusedReason, Result};
use crate::json::{self, End, Found, Notes};
use crate::scan::{Isa, Scan, Stop, View};
use crate::sink::{Flow, Sink};
use crate::source::Source;
use crate::window::Window;

/// Bytes of an excerpt on each side of the fault.
const EXCERPT: u64 = 40;

/// How lines are read.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Skip and report what is damaged instead of refusing it.
    pub lenient: bool,
    /// Most bytes of a line before its LF.
    pub max_line: u64,
    /// Instructions of the fast pass.
    pub isa: Isa,
}

/// Reads the whole lines of `window`, whose first one is number `line` from 1.
///
/// Answers the offset after the last whole line, or after the row at which the sink
/// stopped, and the number of the line that begins there. In strict reading a fault is
/// [`Error::Refused`]; in lenient reading `diagnostics` gets it.
pub fn read<S: Sink>(
    source: &Source,
    mut window: Window<'_>,
    rules: Rules,
    mut line: u64,
    sink: &mut S,
    diagnostics: &mut Diagnostics,
) -> Result<(u64, u64)> {
    let mut scan = Scan::new(rules.isa);
    loop {
        let stop = step(&mut scan, &mut window, rules.max_line, sink);
        line += scan.take_accepted();
        let start = scan.inside().unwrap_or(window.offset());
        window.accept(start);
        match stop {
            Stop::Enough => return Ok((start, line)),
            Stop::More => {
                if window.fill()? {
                    continue;
                }
                if memchr::memchr(b'\n', window.rest()).is_none() {
                    return Ok((start, line));
                }
            }
            Stop::Odd => {}
        }
        scan.restart();
        window.seek(start);
        let mut notes = Notes::default();
        let end = json::line(&mut window, sink, rules.lenient, rules.max_line, &mut notes)?;
        let (row, mut found) = match end {
            End::Tail => return Ok((start, line)),
            End::Row(row) => (Some(row), None),
            End::Nothing => (None, None),
            End::Fault(found) => (None, Some(found)),
            End::Long => (None, Some(too_long(start, rules.max_line))),
        };
        if found.is_some() {
            if !window.find_lf()? {
                return Ok((start, line));
            }
            window.pass();
        }
        let next = window.offset();
        if next - 1 - start > rules.max_line {
            found = Some(too_long(start, rules.max_line));
        }
        let bad = found.is_some();
        if let Some(found) = found {
            notes.kept.clear();
            notes.kept.push(found);
            notes.total = 1;
        }
        notes.kept.sort_by_key(|note| note.offset);
        diagnostics.count(notes.total - notes.kept.len() as u64);
        for note in notes.kept.drain(..) {
            let fault = fault(source, line, start, next - 1, note)?;
            if !rules.lenient {
                return Err(Error::Refused(Box::new(fault)));
            }
            diagnostics.add(fault);
        }
        line += 1;
        window.accept(next);
        if !bad && row.is_some_and(|row| sink.row(&row) == Flow::Stop) {
            return Ok((next, line));
        }
    }
}

fn too_long(line_offset: u64, max_line: u64) -> Found {
    Found {
        reason: RefusedReason::LineTooLong,
        offset: line_offset + max_line,
        field: None,
    }
}

fn step<S: Sink>(scan: &mut Scan, window: &mut Window<'_>, max_line: u64, sink: &mut S) -> Stop {
    let (bytes, at, end) = window.parts();
    if at == end {
        return Stop::More;
    }
    let mut view = View {
        bytes,
        at,
        end,
        base: window.base(),
        max_line,
    };
    let stop = scan.run(&mut view, sink);
    let at = view.at;
    window.set_at(at);
    stop
}

/// The fault of a file that begins with a byte order mark, which no line needs to end.
pub fn byte_order_mark(source: &Source, limit: u64) -> Result<Option<Fault>> {
    let mut bytes = Vec::new();
    source.read(0, 3, &mut bytes)?;
    if bytes != [0xEF, 0xBB, 0xBF] || limit < 3 {
        return Ok(None);
    }
    let mut window = Window::new(source, 0, limit, 4 << 10);
    let lf = if window.find_lf()? {
        window.offset()
    } else {
        limit
    };
    let found = Found {
        reason: RefusedReason::Bom,
        offset: 0,
        field: None,
    };
    fault(source, 1, 0, lf, found).map(Some)
}

fn fault(source: &Source, line: u64, line_offset: u64, lf: u64, found: Found) -> Result<Fault> {
    let from = found.offset.saturating_sub(EXCERPT).max(line_offset);
    let to = (found.offset + EXCERPT).min(lf);
    let mut bytes = Vec::new();
    let length = usize::try_from(to - from).expect("an excerpt is short");
    source.read(from, length, &mut bytes)?;
    Ok(Fault {
        reason: found.reason,
        line,
        line_offset,
        offset: found.offset,
        field: found.field,
        excerpt: bytes.into_iter().map(printable).collect(),
    })
}

fn printable(byte: u8) -> String {
    match byte {
        b'\\' => "\\x5c".to_owned(),
        0x20..=0x7E => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}
