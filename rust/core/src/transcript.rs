//! An open transcript: one descriptor, what was validated of it, and how it grows.

use std::path::Path;
use std::time::Duration;

use crate::checksum::Checksum;
use crate::content::{IdSearch, Part, Range, RangeSink};
use crate::diagnostics::Diagnostics;
use crate::entries::EntryWriter;
use crate::error::{CursorReason, Error, Fault, HistoryReason, RefReason, Result, SourceReason};
use crate::history::{Met, Place, base_id};
use crate::index::{Counts, Index};
use crate::json_text::Json;
use crate::reader::{Rules, byte_order_mark, read};
use crate::scan::Isa;
use crate::sink::Sink;
use crate::source::{Beneath, Root, Source, Status};
use crate::window::{BLOCK, Window};

/// Bytes before the validated end that are kept to be compared.
const KEPT: u64 = 64 << 10;
/// How long a change without growth is given to show its growth: kernels stamp the
/// time of an append before its size.
const GROWTH_DELAY: Duration = Duration::from_millis(20);
/// First read of a reading that may be short.
pub(crate) const SMALL_BLOCK: usize = 8 << 10;
/// Bytes of lines that one call of `entries` reads, unless the first one is longer.
const ENTRIES_BYTES: u64 = 256 << 10;
/// Longest bare id.
const MAX_ID: usize = 128;

/// How a transcript is opened.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Skip and report what is damaged instead of refusing it.
    pub lenient: bool,
    /// Most bytes of a line before its LF.
    pub max_line_bytes: u64,
    /// Most bytes of the file that a page spans, unless its one row is longer.
    pub max_page_bytes: u64,
    /// Whether `openat2` (on macOS `O_NOFOLLOW_ANY`) may be used.
    pub openat2: bool,
    /// Instructions of the scan.
    pub isa: Isa,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lenient: false,
            max_line_bytes: 64 << 20,
            max_page_bytes: 16 << 20,
            openat2: true,
            isa: Isa::best(),
        }
    }
}

/// Counts of what was validated, and the sizes around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Rows by kind and what else is counted.
    pub counts: Counts,
    /// The offset up to which the file was validated.
    pub validated: u64,
    /// Bytes after the last LF.
    pub tail: u64,
    /// Diagnostics in all.
    pub diagnostics: u64,
    /// Device and inode.
    pub file: (u64, u64),
}

/// An open transcript.
pub struct Transcript {
    root: Root,
    name: Beneath,
    pub(crate) options: Options,
    pub(crate) open: Open,
    met: Met,
    /// What every call answers since the history ended or was refused.
    broken: Option<Error>,
}

/// One opening of the file.
pub(crate) struct Open {
    source: Source,
    rules: Rules,
    /// `fstat` before the last reading.
    status: Status,
    pub(crate) index: Index,
    /// The offset up to which the file was validated, and the number of the line there.
    pub(crate) validated: u64,
    line: u64,
    /// The offset up to which the tail was searched for an LF.
    searched: u64,
    /// The last bytes before `validated`.
    kept: Vec<u8>,
    checksum: Checksum,
    pub(crate) diagnostics: Diagnostics,
    /// The history's id; empty while there is no entry.
    pub(crate) history: String,
}

impl Transcript {
    /// Opens `relative` beneath the trusted folder `root`, and reads and judges all of it.
    ///
    /// # Errors
    /// [`Error::Source`] and [`Error::Refused`].
    pub fn open(root: &Path, relative: &[u8], options: Options) -> Result<Transcript> {
        let name = Beneath::new(relative)?;
        let root = Root::open(root, options.openat2)?;
        let mut met = Met::default();
        let open = Open::new(&root, &name, options, &mut met)?;
        Ok(Transcript {
            root,
            name,
            options,
            open,
            met,
            broken: None,
        })
    }

    /// Opens the same place again.
    ///
    /// # Errors
    /// [`Error::Source`] and [`Error::Refused`]; then nothing has changed.
    pub fn reopen(&mut self) -> Result<()> {
        self.open = Open::new(&self.root, &self.name, self.options, &mut self.met)?;
        self.broken = None;
        Ok(())
    }

    /// Counts of what was validated.
    ///
    /// # Errors
    /// What ended the history.
    pub fn summary(&self) -> Result<Summary> {
        self.usable()?;
        let open = &self.open;
        Ok(Summary {
            counts: open.index.counts,
            validated: open.validated,
            tail: open.tail(),
            diagnostics: open.diagnostics.total(),
            file: (open.status.dev, open.status.ino),
        })
    }

    /// The first faults that a lenient reading met.
    ///
    /// # Errors
    /// What ended the history.
    pub fn diagnostics(&self) -> Result<&[Fault]> {
        self.usable()?;
        Ok(self.open.diagnostics.kept())
    }

    /// Reads what was appended; whether rows were added. `verify` reads all of it again.
    ///
    /// # Errors
    /// [`Error::History`], [`Error::Refused`] (both for good) and [`Error::Source`].
    pub fn refresh(&mut self, verify: bool) -> Result<bool> {
        self.lasting(|this| this.refresh_once(verify))
    }

    /// A page, as JSON; see `page.rs`.
    ///
    /// # Errors
    /// [`Error::Cursor`], [`Error::History`] and [`Error::Source`].
    pub fn page(&mut self, before: Option<&[u8]>, limit: usize) -> Result<Json> {
        self.lasting(|this| this.page_once(before, limit))
    }

    /// The page of the rows from `start` on, and where it ends; see `page.rs`.
    ///
    /// # Errors
    /// [`Error::History`] and [`Error::Source`].
    pub fn appended(&mut self, start: u64) -> Result<(Json, u64)> {
        self.lasting(|this| this.appended_once(start))
    }

    /// Some rows from byte `start` on, as a JSON array of arrays, and where to go on.
    ///
    /// # Errors
    /// [`Error::History`] and [`Error::Source`].
    pub fn entries(&mut self, start: u64, end: u64) -> Result<(Json, u64)> {
        self.lasting(|this| {
            let end = end.min(this.open.validated);
            let mut writer = EntryWriter::new(this.open.isa(), start.saturating_add(ENTRIES_BYTES));
            let next = this.open.rows(start, end, BLOCK, &mut writer)?;
            writer.out.push(b']');
            Ok((Json::new(writer.out, 0), next))
        })
    }

    /// Whether a row begins at `offset`.
    ///
    /// # Errors
    /// [`Error::History`] and [`Error::Source`].
    pub fn is_row(&mut self, offset: u64) -> Result<bool> {
        self.lasting(|this| {
            let mut sink = RangeSink::new(None, 0, 0);
            this.open.row_at(offset, &mut sink)?;
            Ok(sink.row.is_some())
        })
    }

    /// A range of one text; `part` none is a part that no kind has.
    ///
    /// # Errors
    /// [`Error::Ref`], [`Error::Range`], [`Error::History`] and [`Error::Source`].
    pub fn content(
        &mut self,
        name: &[u8],
        part: Option<Part>,
        start: u64,
        length: u64,
    ) -> Result<Range> {
        let asked = self.lasting(|this| Ok(this.resolve(name)))??;
        self.lasting(|this| {
            let mut sink = RangeSink::new(part, start, length);
            this.open.row_at(asked, &mut sink)?;
            Ok(match &sink.row {
                Some(row) => sink.range(row, start, length),
                None => Err(Error::Ref(RefReason::NotFound)),
            })
        })?
    }

    /// The offset that a ref or a bare id names.
    fn resolve(&mut self, name: &[u8]) -> Result<u64> {
        let open = &self.open;
        if let Some(place) = name.strip_prefix(b"at:") {
            let place = Place::parse(place).ok_or(Error::Ref(RefReason::Form))?;
            open.check(place)?;
            return Ok(place.offset);
        }
        let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte);
        if !(1..=MAX_ID).contains(&name.len()) || !name.iter().all(plain) {
            return Err(Error::Ref(RefReason::Form));
        }
        let mut search = IdSearch::new(name);
        open.rows(0, open.validated, BLOCK, &mut search)?;
        match search.found {
            _ if search.again => Err(Error::Ref(RefReason::Ambiguous)),
            Some(offset) => Ok(offset),
            None => Err(Error::Ref(RefReason::NotFound)),
        }
    }

    fn usable(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Runs `call`; an end of the history is answered by every later call, too.
    fn lasting<T>(&mut self, call: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.usable()?;
        let answer = call(self);
        if let Err(
            error @ (Error::Refused(_)
            | Error::History(
                HistoryReason::Truncated | HistoryReason::Replaced | HistoryReason::Rewritten,
            )),
        ) = &answer
        {
            self.broken = Some(error.clone());
        }
        answer
    }

    fn refresh_once(&mut self, verify: bool) -> Result<bool> {
        self.same_place()?;
        let open = &mut self.open;
        let mut status = open.source.status()?;
        if status.size <= open.status.size && status.ctime != open.status.ctime {
            std::thread::sleep(GROWTH_DELAY);
            status = open.source.status()?;
        }
        if status.size < open.validated {
            return Err(Error::History(HistoryReason::Truncated));
        }
        let grown = status.size > open.status.size;
        if !grown && status.ctime != open.status.ctime {
            return Err(Error::History(HistoryReason::Rewritten));
        }
        let rows = if grown {
            open.compare_kept()?;
            open.grow(status, &mut self.met)?
        } else {
            false
        };
        if verify {
            self.open.verify()?;
        }
        Ok(rows)
    }

    /// The names, walked again, must lead to the open file.
    fn same_place(&self) -> Result<()> {
        let status = match self.root.file(&self.name) {
            Ok(file) => file.status()?,
            Err(error @ Error::Source(SourceReason::Io, _)) => return Err(error),
            Err(_) => return Err(Error::History(HistoryReason::Replaced)),
        };
        let known = &self.open.status;
        if (status.dev, status.ino) == (known.dev, known.ino) {
            Ok(())
        } else {
            Err(Error::History(HistoryReason::Replaced))
        }
    }
}

impl Open {
    fn new(root: &Root, name: &Beneath, options: Options, met: &mut Met) -> Result<Open> {
        let source = root.file(name)?;
        let status = source.status()?;
        let mut open = Open {
            source,
            rules: Rules {
                lenient: options.lenient,
                max_line: options.max_line_bytes,
                isa: options.isa,
            },
            status: Status { size: 0, ..status },
            index: Index::default(),
            validated: 0,
            line: 1,
            searched: 0,
            kept: Vec::new(),
            checksum: Checksum::new(),
            diagnostics: Diagnostics::default(),
            history: String::new(),
        };
        open.refuse_byte_order_mark(status)?;
        open.judge(status, met)?;
        Ok(open)
    }

    /// In strict reading a byte order mark is refused before any line is whole.
    fn refuse_byte_order_mark(&self, status: Status) -> Result<()> {
        if self.validated > 0 || self.rules.lenient {
            return Ok(());
        }
        match byte_order_mark(&self.source, status.size)? {
            Some(fault) => Err(Error::Refused(Box::new(fault))),
            None => Ok(()),
        }
    }

    pub(crate) fn isa(&self) -> Isa {
        self.rules.isa
    }

    pub(crate) fn is_lenient(&self) -> bool {
        self.rules.lenient
    }

    pub(crate) fn tail(&self) -> u64 {
        self.status.size - self.validated
    }

    /// Reads on to the size that `status` gave; whether rows were added.
    fn grow(&mut self, status: Status, met: &mut Met) -> Result<bool> {
        self.refuse_byte_order_mark(status)?;
        if self.searched > self.validated {
            let mut window = Window::new(&self.source, self.searched, status.size, SMALL_BLOCK);
            if !window.find_lf().map_err(rewritten)? {
                self.searched = status.size;
                self.status = status;
                return Ok(false);
            }
        }
        self.judge(status, met).map_err(rewritten)
    }

    /// Judges the lines from the validated end to the size that `status` gave.
    fn judge(&mut self, status: Status, met: &mut Met) -> Result<bool> {
        let before = self.index.mark();
        let entries = self.index.counts.entries();
        let noted = self.diagnostics.mark();
        let checksum = self.checksum.clone();
        let block = if self.validated == 0 {
            BLOCK
        } else {
            SMALL_BLOCK
        };
        let window = Window::new(&self.source, self.validated, status.size, block)
            .summed(&mut self.checksum);
        let (index, diagnostics) = (&mut self.index, &mut self.diagnostics);
        let read = read(
            &self.source,
            window,
            self.rules,
            self.line,
            index,
            diagnostics,
        );
        let finished = read.and_then(|(end, line)| {
            let kept = self.kept_at(end)?;
            if self.history.is_empty() && self.index.counts.entries() > 0 {
                self.history = met.arrive(base_id(&self.source, &status)?);
            }
            Ok((end, line, kept))
        });
        let (end, line, kept) = match finished {
            Ok(finished) => finished,
            Err(error) => {
                self.index.rewind(before);
                self.diagnostics.rewind(noted);
                self.checksum = checksum;
                return Err(error);
            }
        };
        self.checksum.rewind();
        (self.validated, self.line, self.kept) = (end, line, kept);
        self.searched = status.size;
        self.status = status;
        Ok(self.index.counts.entries() > entries)
    }

    /// The bytes to keep when the file is validated up to `end`.
    fn kept_at(&self, end: u64) -> Result<Vec<u8>> {
        let from = end.saturating_sub(KEPT);
        let mut kept = Vec::new();
        // What is kept already and stays is not read again.
        if from < self.validated {
            let first = from - (self.validated - self.kept.len() as u64);
            let first = usize::try_from(first).expect("it lies in the kept bytes");
            kept.extend_from_slice(&self.kept[first..]);
        }
        let start = from.max(self.validated);
        read_exactly(&self.source, start, end - start, &mut kept)?;
        Ok(kept)
    }

    fn compare_kept(&self) -> Result<()> {
        let length = self.kept.len() as u64;
        let mut now = Vec::new();
        let same = read_exactly(&self.source, self.validated - length, length, &mut now);
        same.map_err(rewritten)?;
        if now == self.kept {
            Ok(())
        } else {
            Err(Error::History(HistoryReason::Rewritten))
        }
    }

    /// Reads everything that was validated again.
    fn verify(&self) -> Result<()> {
        let mut checksum = Checksum::new();
        let mut window = Window::new(&self.source, 0, self.validated, BLOCK).summed(&mut checksum);
        while window.fill().map_err(rewritten)? {
            let (_, _, end) = window.parts();
            window.accept(window.base() + end as u64);
            window.set_at(end);
        }
        if checksum.value() == self.checksum.value() {
            Ok(())
        } else {
            Err(Error::History(HistoryReason::Rewritten))
        }
    }

    /// Reads the rows from `start` to `end` again, both within what was validated; where it stopped.
    pub(crate) fn rows<S: Sink>(
        &self,
        start: u64,
        end: u64,
        block: usize,
        sink: &mut S,
    ) -> Result<u64> {
        let span = usize::try_from(end - start).map_or(block, |span| span.min(block));
        let window = Window::new(&self.source, start, end, span);
        let mut skipped = Diagnostics::default();
        let read = read(&self.source, window, self.rules, 0, sink, &mut skipped);
        match read {
            Ok((next, _)) => Ok(next),
            Err(Error::Refused(_)) => Err(Error::History(HistoryReason::Rewritten)),
            Err(error) => Err(rewritten(error)),
        }
    }

    /// Reads the one line that begins at `offset`, if one does.
    fn row_at(&self, offset: u64, sink: &mut RangeSink) -> Result<()> {
        if offset >= self.validated || !self.begins_line(offset)? {
            return Ok(());
        }
        self.rows(offset, self.validated, SMALL_BLOCK, sink)?;
        // Lenient reading skips a bad line and gives the next one.
        if sink.row.as_ref().is_some_and(|row| row.offset != offset) {
            sink.row = None;
        }
        Ok(())
    }

    /// Whether a line begins at `offset`, or will.
    pub(crate) fn begins_line(&self, offset: u64) -> Result<bool> {
        if offset == 0 || offset == self.validated {
            return Ok(true);
        }
        let mut byte = Vec::new();
        read_exactly(&self.source, offset - 1, 1, &mut byte).map_err(rewritten)?;
        Ok(byte == b"\n")
    }

    /// The bytes from `start` to `end`, appended to `into`.
    pub(crate) fn bytes(&self, start: u64, end: u64, into: &mut Vec<u8>) -> Result<()> {
        read_exactly(&self.source, start, end - start, into).map_err(rewritten)
    }

    /// The offset of a cursor.
    pub(crate) fn cursor(&self, text: &[u8]) -> Result<u64> {
        let place = Place::parse(text).ok_or(Error::Cursor(CursorReason::Form))?;
        self.check(place)?;
        if self.begins_line(place.offset)? {
            Ok(place.offset)
        } else {
            Err(Error::Cursor(CursorReason::NotALine))
        }
    }

    fn check(&self, place: Place<'_>) -> Result<()> {
        if self.history.is_empty() || place.history != self.history {
            return Err(Error::History(HistoryReason::OtherHistory));
        }
        if place.offset > self.validated {
            return Err(Error::History(HistoryReason::BeyondEnd));
        }
        Ok(())
    }
}

fn read_exactly(source: &Source, offset: u64, length: u64, into: &mut Vec<u8>) -> Result<()> {
    let length = usize::try_from(length).expect("what is read at once fits into memory");
    if source.read(offset, length, into)? < length {
        return Err(Error::Source(SourceReason::Changed, 0));
    }
    Ok(())
}

/// What was validated and is no longer there.
fn rewritten(error: Error) -> Error {
    match error {
        Error::Source(SourceReason::Changed, _) => Error::History(HistoryReason::Rewritten),
        error => error,
    }
}
