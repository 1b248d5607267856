//! The exact parser: one flat JSON object a line, byte by byte, and the first fault named.
//!
//! It builds no tree and holds no value: strings go to the sink in pieces. It reads
//! through a window, so memory is bounded whatever a line's length. What it accepts
//! and refuses, and where, is `docs/FORMAT.md`, rule by rule.

use crate::diagnostics::KEPT;
use crate::entry::{Kind, MEMBER_COUNT, Member, Members, Row, Stamp, is_time};
use crate::error::{Error, RefusedReason};
use crate::sink::Sink;
use crate::window::Window;

/// Most characters of a member's name that a fault carries.
const FIELD_CHARS: usize = 64;
/// Most brackets that may be open in a value that lenient reading drops.
const MAX_DEPTH: usize = 64;
/// Bytes of a string that are gathered before the sink gets them.
const PIECE: usize = 4 << 10;
/// One byte more than the longest value of `kind` and `captured_at` that can be right.
const SHORT: usize = 25;

/// A fault without its line: what and where.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which fault.
    pub reason: RefusedReason,
    /// Its byte.
    pub offset: u64,
    /// The member concerned.
    pub field: Option<String>,
}

/// What lenient reading notes of a line that it keeps.
#[derive(Default)]
pub struct Notes {
    /// The first ones (and those of names that came before `kind`), in no order.
    pub kept: Vec<Found>,
    /// How many there are in all.
    pub total: u64,
}

/// How parsing a line ended.
pub enum End {
    /// With an entry. The window stands after the LF.
    Row(Box<Row>),
    /// With nothing but the notes. The window stands after the LF.
    Nothing,
    /// With a fault. The window stands somewhere in the line.
    Fault(Found),
    /// With the end of the view: there is no whole line.
    Tail,
    /// With more bytes than a line may have. The window stands somewhere in the line.
    Long,
}

/// Why parsing cannot go on.
enum Halt {
    Fault(Found),
    Tail,
    Long,
    Error(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Halt {
        Halt::Error(error)
    }
}

type Parsed<T> = Result<T, Halt>;

/// Parses the line at which `window` stands. In lenient reading what is dropped is noted in `notes`.
pub fn line<S: Sink>(
    window: &mut Window<'_>,
    sink: &mut S,
    lenient: bool,
    max_line: u64,
    notes: &mut Notes,
) -> Result<End, Error> {
    sink.begin();
    let start = window.offset();
    let mut line = Line {
        window,
        sink,
        lenient,
        start,
        limit: max_line,
        notes,
        latest_note: 0,
        field: None,
        piece: Vec::new(),
        kind: None,
        members: 0,
        pending: [0; MEMBER_COUNT],
        replaced: [0; MEMBER_COUNT],
        ok: false,
        captured_at: [0; 24],
    };
    match line.whole() {
        Ok(true) => {
            let row = line.row();
            Ok(End::Row(Box::new(row)))
        }
        Ok(false) => Ok(End::Nothing),
        Err(Halt::Fault(found)) => Ok(End::Fault(found)),
        Err(Halt::Tail) => Ok(End::Tail),
        Err(Halt::Long) => Ok(End::Long),
        Err(Halt::Error(error)) => Err(error),
    }
}

struct Line<'l, 'w, S: Sink> {
    window: &'l mut Window<'w>,
    sink: &'l mut S,
    lenient: bool,
    start: u64,
    /// Most bytes of the line before its LF.
    limit: u64,
    notes: &'l mut Notes,
    /// Where the last one stands.
    latest_note: u64,
    /// The member being read.
    field: Option<String>,
    /// Bytes of a string that the sink has not got yet.
    piece: Vec<u8>,
    kind: Option<Kind>,
    members: Members,
    /// Where the names stand that were met before `kind` was read.
    pending: [u64; MEMBER_COUNT],
    replaced: [u64; MEMBER_COUNT],
    ok: bool,
    captured_at: Stamp,
}

impl<S: Sink> Line<'_, '_, S> {
    /// Whether the line has an entry.
    fn whole(&mut self) -> Parsed<bool> {
        if self.start == 0 && self.lenient {
            self.bom()?;
        }
        if self.peek()? == 0 {
            if !self.lenient {
                return Err(self.fault(RefusedReason::NulPadding, self.start));
            }
            self.note(RefusedReason::NulPadding, self.start, None);
            while self.peek()? == 0 {
                self.window.pass();
            }
            if self.peek()? == b'\n' {
                self.window.pass();
                return Ok(false);
            }
        }
        match self.token()? {
            b'{' => self.window.pass(),
            b'\n' => return Err(self.fault(RefusedReason::BlankLine, self.start)),
            _ => return Err(self.fault_here(RefusedReason::NotAnObject)),
        }
        if self.token()? == b'}' {
            return self.close();
        }
        loop {
            if self.token()? != b'"' {
                return Err(self.fault_here(RefusedReason::MalformedJson));
            }
            self.member()?;
            match self.token()? {
                b',' => self.window.pass(),
                b'}' => return self.close(),
                _ => return Err(self.fault_here(RefusedReason::MalformedJson)),
            }
        }
    }

    fn row(&self) -> Row {
        let kept = Member::ALL
            .into_iter()
            .filter(|member| self.members & member.bit() != 0);
        Row {
            offset: self.start,
            end: self.window.offset(),
            kind: self.kind.expect("an accepted line has a kind"),
            members: self.members,
            ok: self.ok,
            replaced: kept.map(|member| self.replaced[member as usize]).sum(),
            captured_at: self.captured_at,
        }
    }

    /// A byte order mark at the file's start is noted and skipped.
    fn bom(&mut self) -> Parsed<()> {
        const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];
        while self.window.rest().len() < BOM.len() && self.window.fill()? {}
        if self.window.rest().starts_with(&BOM) {
            self.note(RefusedReason::Bom, 0, None);
            for _ in BOM {
                self.window.pass();
            }
        }
        Ok(())
    }

    /// From a closing brace to the LF.
    fn close(&mut self) -> Parsed<bool> {
        let brace = self.window.offset();
        let missing = [Member::Kind, Member::Text, Member::CapturedAt]
            .into_iter()
            .find(|member| {
                let required = self.kind.map_or(Member::Kind.bit(), Kind::required);
                required & member.bit() != 0 && self.members & member.bit() == 0
            });
        if let Some(member) = missing {
            let field = Some(member.name().to_owned());
            return Err(halt(RefusedReason::MissingField, brace, field));
        }
        self.window.pass();
        if self.token()? != b'\n' {
            return Err(self.fault_here(RefusedReason::TrailingData));
        }
        self.window.pass();
        Ok(true)
    }

    /// One member, from the opening quote of its name to the last byte of its value.
    fn member(&mut self) -> Parsed<()> {
        let quote = self.window.offset();
        let (member, field) = self.name()?;
        self.field = Some(field);
        let barred = match member {
            None => true,
            Some(member) => self
                .kind
                .is_some_and(|kind| kind.allowed() & member.bit() == 0),
        };
        if barred {
            let field = self.field.clone();
            if !self.lenient {
                return Err(halt(RefusedReason::UnknownField, quote, field));
            }
            self.note(RefusedReason::UnknownField, quote, field);
        }
        let Some(member) = member.filter(|_| !barred) else {
            self.colon()?;
            self.skip_value()?;
            self.field = None;
            return Ok(());
        };
        if self.members & member.bit() != 0 {
            return Err(self.fault(RefusedReason::DuplicateKey, quote));
        }
        self.members |= member.bit();
        self.pending[member as usize] = quote;
        self.colon()?;
        self.value(member)?;
        self.field = None;
        Ok(())
    }

    fn colon(&mut self) -> Parsed<()> {
        if self.token()? != b':' {
            return Err(self.fault_here(RefusedReason::MalformedJson));
        }
        self.window.pass();
        self.token()?;
        Ok(())
    }

    fn value(&mut self, member: Member) -> Parsed<()> {
        let first = self.window.offset();
        let wanted = match (member, self.peek()?) {
            (Member::ResultOk, b't' | b'f') => true,
            (Member::ResultOk, _) => false,
            (_, byte) => byte == b'"',
        };
        if !wanted {
            let reason = match self.peek()? {
                b'"' | b'{' | b'[' | b't' | b'f' | b'n' | b'-' | b'0'..=b'9' => {
                    RefusedReason::WrongType
                }
                _ => RefusedReason::MalformedJson,
            };
            return Err(self.fault_here(reason));
        }
        match member {
            Member::ResultOk => {
                self.ok = self.peek()? == b't';
                self.literal(if self.ok { b"true" } else { b"false" })
            }
            Member::Kind => {
                let text = self.short_string()?;
                let Some(kind) = Kind::of(&text) else {
                    return Err(self.fault(RefusedReason::UnknownKind, first));
                };
                self.kind = Some(kind);
                self.judge_pending(kind)
            }
            Member::CapturedAt => {
                let text = self.short_string()?;
                match Stamp::try_from(text) {
                    Ok(stamp) if is_time(&stamp) => {
                        self.captured_at = stamp;
                        Ok(())
                    }
                    _ => Err(self.fault(RefusedReason::BadTimestamp, first)),
                }
            }
            _ => {
                self.replaced[member as usize] = self.string(|line, raw| {
                    if S::WANTS & member.bit() != 0 {
                        line.piece.extend_from_slice(raw);
                        if line.piece.len() >= PIECE {
                            line.hand_over(member);
                        }
                    }
                })?;
                self.hand_over(member);
                Ok(())
            }
        }
    }

    fn hand_over(&mut self, member: Member) {
        if !self.piece.is_empty() {
            let measure = crate::text::measure(&self.piece);
            self.sink.piece(member, &self.piece, measure);
            self.piece.clear();
        }
    }

    /// Names that were met before `kind`, now that it is known.
    fn judge_pending(&mut self, kind: Kind) -> Parsed<()> {
        let mut barred: Vec<Member> = Member::ALL
            .into_iter()
            .filter(|member| self.members & !kind.allowed() & member.bit() != 0)
            .collect();
        barred.sort_by_key(|&member| self.pending[member as usize]);
        for member in barred {
            let (offset, field) = (self.pending[member as usize], member.name().to_owned());
            if !self.lenient {
                return Err(halt(RefusedReason::UnknownField, offset, Some(field)));
            }
            self.note(RefusedReason::UnknownField, offset, Some(field));
            self.members &= !member.bit();
        }
        Ok(())
    }

    /// A name: the member it means, and its first characters.
    fn name(&mut self) -> Parsed<(Option<Member>, String)> {
        let mut field = String::new();
        let (mut count, mut raw) = (0, Vec::new());
        self.string(|_, piece| {
            if count < FIELD_CHARS {
                raw.clear();
                crate::text::decode(piece, &mut raw);
                field.push_str(std::str::from_utf8(&raw).expect("a piece is whole characters"));
            }
            count += 1;
        })?;
        let member = if count <= FIELD_CHARS {
            Member::of(field.as_bytes())
        } else {
            None
        };
        Ok((member, field))
    }

    /// A string that can be right only when it is short: its first decoded bytes.
    fn short_string(&mut self) -> Parsed<Vec<u8>> {
        let mut text = Vec::with_capacity(2 * SHORT);
        self.string(|_, piece| {
            if text.len() < SHORT {
                crate::text::decode(piece, &mut text);
            }
        })?;
        Ok(text)
    }

    /// Reads a string from its opening quote on; `take` gets each character or escape (a
    /// surrogate pair is one) as it stands in the file. Answers how many surrogates were alone.
    fn string(&mut self, mut take: impl FnMut(&mut Self, &[u8])) -> Parsed<u64> {
        self.window.pass();
        let mut replaced = 0;
        // A high surrogate that may still find its other half.
        let mut held: Option<[u8; 6]> = None;
        loop {
            let offset = self.window.offset();
            let byte = self.peek()?;
            if byte == b'\\' {
                self.window.pass();
                let kind = self.peek()?;
                if kind == b'u' {
                    let (raw, unit) = self.unit()?;
                    let low = unit & 0xFC00 == 0xDC00;
                    if let Some(high) = held.take() {
                        if low {
                            let mut pair = [0; 12];
                            pair[..6].copy_from_slice(&high);
                            pair[6..].copy_from_slice(&raw);
                            take(self, &pair);
                            continue;
                        }
                        replaced += 1;
                        take(self, &high);
                    }
                    if unit & 0xFC00 == 0xD800 {
                        held = Some(raw);
                        continue;
                    }
                    replaced += u64::from(low);
                    take(self, &raw);
                    continue;
                }
                if !matches!(kind, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') {
                    return Err(self.fault_here(RefusedReason::MalformedJson));
                }
                self.window.pass();
                if let Some(high) = held.take() {
                    replaced += 1;
                    take(self, &high);
                }
                take(self, &[b'\\', kind]);
                continue;
            }
            if let Some(high) = held.take() {
                replaced += 1;
                take(self, &high);
            }
            match byte {
                b'"' => {
                    self.window.pass();
                    return Ok(replaced);
                }
                b'\n' => return Err(self.fault(RefusedReason::MalformedJson, offset)),
                0..0x20 => return Err(self.fault(RefusedReason::ControlCharacter, offset)),
                0x20..0x80 => {
                    self.window.pass();
                    take(self, &[byte]);
                }
                0x80.. => {
                    let (bytes, length) = self.character(offset)?;
                    take(self, &bytes[..length]);
                }
            }
        }
    }

    /// The four digits of `\uXXXX`: the escape as it stands, and its value.
    fn unit(&mut self) -> Parsed<([u8; 6], u16)> {
        self.window.pass();
        let mut raw = *b"\\u0000";
        let mut unit = 0;
        for slot in &mut raw[2..] {
            let byte = self.peek()?;
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(self.fault_here(RefusedReason::MalformedJson));
            };
            unit = unit << 4 | digit;
            *slot = byte;
            self.window.pass();
        }
        Ok((raw, u16::try_from(unit).expect("four digits")))
    }

    /// A character above U+007F, by the table of well-formed sequences (Unicode 3.9, table 3-7).
    fn character(&mut self, offset: u64) -> Parsed<([u8; 4], usize)> {
        let lead = self.peek()?;
        let (length, mut allowed) = match lead {
            0xC2..=0xDF => (2, 0x80..=0xBF),
            0xE0 => (3, 0xA0..=0xBF),
            0xE1..=0xEC | 0xEE | 0xEF => (3, 0x80..=0xBF),
            0xED => (3, 0x80..=0x9F),
            0xF0 => (4, 0x90..=0xBF),
            0xF1..=0xF3 => (4, 0x80..=0xBF),
            0xF4 => (4, 0x80..=0x8F),
            _ => return Err(self.fault(RefusedReason::InvalidUtf8, offset)),
        };
        let mut bytes = [lead, 0, 0, 0];
        self.window.pass();
        for slot in &mut bytes[1..length] {
            let byte = self.peek()?;
            if !allowed.contains(&byte) {
                return Err(self.fault(RefusedReason::InvalidUtf8, offset));
            }
            allowed = 0x80..=0xBF;
            *slot = byte;
            self.window.pass();
        }
        Ok((bytes, length))
    }

    fn literal(&mut self, word: &[u8]) -> Parsed<()> {
        for &byte in word {
            if self.peek()? != byte {
                return Err(self.fault_here(RefusedReason::MalformedJson));
            }
            self.window.pass();
        }
        Ok(())
    }

    /// Any JSON value, which lenient reading drops.
    fn skip_value(&mut self) -> Parsed<()> {
        // The open brackets, the innermost in the lowest bit: 1 is an object.
        let (mut objects, mut depth) = (0_u64, 0_usize);
        loop {
            // A value, or the first bracket of one.
            match self.token()? {
                open @ (b'{' | b'[') => {
                    if depth == MAX_DEPTH {
                        return Err(self.fault_here(RefusedReason::MalformedJson));
                    }
                    depth += 1;
                    objects = objects << 1 | u64::from(open == b'{');
                    self.window.pass();
                    let close = if open == b'{' { b'}' } else { b']' };
                    if self.token()? != close {
                        if open == b'{' {
                            self.skip_name()?;
                        }
                        continue;
                    }
                }
                b'"' => {
                    self.string(|_, _| {})?;
                }
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => return Err(self.fault_here(RefusedReason::MalformedJson)),
            }
            // What follows it in the innermost bracket.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let object = objects & 1 == 1;
                match (self.token()?, object) {
                    (b',', _) => {
                        self.window.pass();
                        self.token()?;
                        if object {
                            self.skip_name()?;
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.window.pass();
                        depth -= 1;
                        objects >>= 1;
                    }
                    _ => return Err(self.fault_here(RefusedReason::MalformedJson)),
                }
            }
        }
    }

    fn skip_name(&mut self) -> Parsed<()> {
        if self.peek()? != b'"' {
            return Err(self.fault_here(RefusedReason::MalformedJson));
        }
        self.string(|_, _| {})?;
        self.colon()
    }

    fn number(&mut self) -> Parsed<()> {
        if self.peek()? == b'-' {
            self.window.pass();
        }
        if self.peek()? == b'0' {
            self.window.pass();
        } else {
            self.digits()?;
        }
        if self.peek()? == b'.' {
            self.window.pass();
            self.digits()?;
        }
        if matches!(self.peek()?, b'e' | b'E') {
            self.window.pass();
            if matches!(self.peek()?, b'+' | b'-') {
                self.window.pass();
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Parsed<()> {
        if !self.peek()?.is_ascii_digit() {
            return Err(self.fault_here(RefusedReason::MalformedJson));
        }
        while self.peek()?.is_ascii_digit() {
            self.window.pass();
        }
        Ok(())
    }

    /// Passes white space and answers the byte after it.
    fn token(&mut self) -> Parsed<u8> {
        loop {
            let byte = self.peek()?;
            if !matches!(byte, b' ' | b'\t' | b'\r') {
                return Ok(byte);
            }
            self.window.pass();
        }
    }

    fn peek(&mut self) -> Parsed<u8> {
        if self.window.rest().is_empty() && self.window.offset() - self.start > self.limit {
            return Err(Halt::Long);
        }
        self.window.peek()?.ok_or(Halt::Tail)
    }

    fn note(&mut self, reason: RefusedReason, offset: u64, field: Option<String>) {
        self.notes.total += 1;
        // A line may have millions. Those of pending names come late and are few.
        if self.notes.kept.len() < KEPT || offset < self.latest_note {
            self.notes.kept.push(Found {
                reason,
                offset,
                field,
            });
        }
        self.latest_note = self.latest_note.max(offset);
    }

    fn fault(&self, reason: RefusedReason, offset: u64) -> Halt {
        halt(reason, offset, self.field.clone())
    }

    fn fault_here(&self, reason: RefusedReason) -> Halt {
        self.fault(reason, self.window.offset())
    }
}

fn halt(reason: RefusedReason, offset: u64, field: Option<String>) -> Halt {
    Halt::Fault(Found {
        reason,
        offset,
        field,
    })
}
