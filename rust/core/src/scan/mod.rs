//! The fast pass: accepts lines of the form that Letta Code writes, and judges nothing.
//!
//! One pass over a buffer, no value tree. A line that is not plainly right (another
//! order of characters between the members, an escaped name, any fault) is `Odd`:
//! the exact parser in `json` decides about it, from its first byte. So the fast
//! pass may be as narrow as it likes, but whatever it accepts must be acceptable.
//!
//! A string is looked at 64 bytes at a time from wherever it begins; nothing is
//! aligned. The pass can stop inside a string when the buffer ends, so a giant line
//! is never held. It stops only before a whole character, escape or surrogate pair.

mod block;
mod prefix;
mod scalar;
mod string;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use crate::entry::{Kind, Member, Members, Row, Stamp, is_clock, is_date};
use crate::sink::{Flow, Sink};
use crate::text::Measure;
use block::Block;
pub use prefix::prefix;
use string::{Text, string};

/// A line that has more bytes than this in the buffer is stopped inside; a shorter
/// one is scanned again from its first byte when the rest has been read.
const GIANT: usize = 32 << 10;

/// Longest token that is compared as a whole: `"source_message_id":"`, or a time with its quote.
const TOKEN: usize = 32;

/// The members whose values are free strings.
const STRINGS: Members = !(Member::Kind.bit() | Member::CapturedAt.bit() | Member::ResultOk.bit());

/// Which instructions the fast pass uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Isa {
    /// No vectors.
    Scalar = 1,
    /// AVX2.
    Avx2 = 2,
    /// AVX-512 F and BW.
    Avx512 = 3,
    /// NEON.
    Neon = 4,
}

impl Isa {
    /// All of them.
    pub const ALL: [Isa; 4] = [Isa::Scalar, Isa::Avx2, Isa::Avx512, Isa::Neon];

    /// Whether this machine has them.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Isa::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => true,
            #[allow(unreachable_patterns)] // the other architectures' instructions
            _ => false,
        }
    }

    /// The widest that this machine has.
    #[must_use]
    pub fn best() -> Isa {
        [Isa::Avx512, Isa::Avx2, Isa::Neon]
            .into_iter()
            .find(|isa| isa.is_available())
            .unwrap_or(Isa::Scalar)
    }
}

/// Where the fast pass stands in a line that the buffer does not hold whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before a line's first byte.
    Start,
    /// Inside the string of a member.
    Inside(Member),
    /// After a member's value.
    After,
}

/// Why the fast pass came back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It needs more bytes.
    More,
    /// The line is not plainly right.
    Odd,
    /// The sink wants no more.
    Enough,
}

/// The fast pass over one file, kept between buffers.
pub struct Scan {
    isa: Isa,
    phase: Phase,
    /// File offset of the line's first byte.
    line: u64,
    kind: Option<Kind>,
    members: Members,
    ok: bool,
    replaced: u64,
    stamp: Stamp,
    /// The date that was last found to be one.
    known_date: [u8; 11],
    /// Lines accepted so far.
    accepted: u64,
}

/// A buffer to scan: `bytes[at..end]` lies at `base + at` in the file; padding follows.
pub struct View<'a> {
    /// The bytes, [`crate::window::CONTEXT`] before `at` where the line goes back that far, and padding.
    pub bytes: &'a [u8],
    /// Index of the next byte.
    pub at: usize,
    /// Index after the last byte.
    pub end: usize,
    /// File offset of `bytes[0]`.
    pub base: u64,
    /// Most bytes of a line before its LF.
    pub max_line: u64,
}

impl Scan {
    /// A pass that begins at a line.
    ///
    /// # Panics
    /// Where this machine lacks the instructions.
    #[must_use]
    pub fn new(isa: Isa) -> Scan {
        assert!(isa.is_available(), "{isa:?} is not available here");
        Scan {
            isa,
            phase: Phase::Start,
            line: 0,
            kind: None,
            members: 0,
            ok: false,
            replaced: 0,
            stamp: [0; 24],
            known_date: [0; 11],
            accepted: 0,
        }
    }

    /// The next byte begins a line.
    pub fn restart(&mut self) {
        self.phase = Phase::Start;
    }

    /// Whether it stands inside a line, and then where that line begins.
    #[must_use]
    pub fn inside(&self) -> Option<u64> {
        (self.phase != Phase::Start).then_some(self.line)
    }

    /// How many lines were accepted since the last call.
    pub fn take_accepted(&mut self) -> u64 {
        std::mem::take(&mut self.accepted)
    }

    /// Scans on; moves `view.at` to where it wants to go on.
    pub fn run<S: Sink>(&mut self, view: &mut View<'_>, sink: &mut S) -> Stop {
        match self.isa {
            // SAFETY: no special instruction is used.
            Isa::Scalar => unsafe { self.lines::<scalar::Scalar, S>(view, sink) },
            // SAFETY: `new` asserted that this machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { self.avx2(view, sink) },
            // SAFETY: `new` asserted that this machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { self.avx512(view, sink) },
            // SAFETY: every 64-bit ARM has NEON.
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => unsafe { self.lines::<neon::Neon, S>(view, sink) },
            #[allow(unreachable_patterns)] // the other architectures' instructions
            _ => unreachable!("`new` asserted that it is available"),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn avx2<S: Sink>(&mut self, view: &mut View<'_>, sink: &mut S) -> Stop {
        // SAFETY: this function enables AVX2.
        unsafe { self.lines::<avx2::Avx2, S>(view, sink) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn avx512<S: Sink>(&mut self, view: &mut View<'_>, sink: &mut S) -> Stop {
        // SAFETY: this function enables AVX-512 F and BW.
        unsafe { self.lines::<avx512::Avx512, S>(view, sink) }
    }

    /// # Safety
    /// The instructions of `B` are available and enabled.
    #[inline(always)]
    unsafe fn lines<B: Block, S: Sink>(&mut self, view: &mut View<'_>, sink: &mut S) -> Stop {
        loop {
            // SAFETY: the caller's promise.
            match unsafe { self.line::<B, S>(view, sink) } {
                Step::Row(end) => {
                    let (start, kind) = (self.line, self.kind);
                    self.phase = Phase::Start;
                    view.at = end;
                    self.accepted += 1;
                    let row = Row {
                        offset: start,
                        end: view.base + end as u64,
                        kind: kind.expect("an accepted line has a kind"),
                        members: self.members,
                        ok: self.ok,
                        replaced: self.replaced,
                        captured_at: self.stamp,
                    };
                    if sink.row(&row) == Flow::Stop {
                        return Stop::Enough;
                    }
                }
                Step::Stop(stop) => return stop,
            }
        }
    }

    /// Scans one line, or what the buffer has of it.
    ///
    /// # Safety
    /// The instructions of `B` are available and enabled.
    #[inline(always)]
    unsafe fn line<B: Block, S: Sink>(&mut self, view: &mut View<'_>, sink: &mut S) -> Step {
        let (bytes, end) = (view.bytes, view.end);
        let mut at = view.at;
        // Where to go on when the buffer ends before the next whole token.
        let mut resume = at;
        // What is left of a line that was stopped inside.
        let mut left = self.phase;
        if left == Phase::Start {
            if at >= end {
                return Step::Stop(Stop::More);
            }
            if bytes[at] != b'{' {
                return Step::Stop(Stop::Odd);
            }
            self.line = view.base + at as u64;
            self.kind = None;
            self.members = 0;
            self.replaced = 0;
            sink.begin();
            at += 1;
        }
        // From this index on the line is a giant.
        let giant = usize::try_from((self.line + GIANT as u64).saturating_sub(view.base))
            .unwrap_or(usize::MAX);
        loop {
            let string_of = match left {
                Phase::Inside(member) => Some(member),
                Phase::After => None,
                Phase::Start => {
                    let Some((member, length)) = name(bytes, at) else {
                        return short(view, at, resume);
                    };
                    if self.members & member.bit() != 0 {
                        return Step::Stop(Stop::Odd);
                    }
                    at += length;
                    if STRINGS & member.bit() != 0 {
                        Some(member)
                    } else {
                        let Some(after) = self.short_value(member, bytes, at, end) else {
                            return short(view, at, resume);
                        };
                        at = after;
                        self.members |= member.bit();
                        None
                    }
                }
            };
            left = Phase::Start;
            if let Some(member) = string_of {
                let wanted = S::WANTS & member.bit() != 0;
                let mut measure = Measure::PLAIN;
                // SAFETY: the caller's promise.
                let text = unsafe {
                    if wanted {
                        string::<B, true>(bytes, at, end, &mut self.replaced, &mut measure)
                    } else {
                        string::<B, false>(bytes, at, end, &mut self.replaced, &mut measure)
                    }
                };
                match text {
                    Text::End(quote) => {
                        if wanted {
                            sink.piece(member, &bytes[at..quote], measure);
                        }
                        at = quote + 1;
                        self.members |= member.bit();
                    }
                    Text::Part(stop) => {
                        if stop <= giant {
                            return short(view, end, resume);
                        }
                        if view.base + stop as u64 - self.line > view.max_line {
                            return Step::Stop(Stop::Odd);
                        }
                        if wanted {
                            sink.piece(member, &bytes[at..stop], measure);
                        }
                        self.phase = Phase::Inside(member);
                        view.at = stop;
                        return Step::Stop(Stop::More);
                    }
                    Text::Odd => return Step::Stop(Stop::Odd),
                }
            }
            if at > giant {
                resume = at;
                self.phase = Phase::After;
            }
            match bytes[at] {
                b',' => at += 1,
                b'}' if bytes[at + 1] == b'\n' => {
                    let length = view.base + at as u64 + 1 - self.line;
                    return if self.is_entry() && length <= view.max_line {
                        Step::Row(at + 2)
                    } else {
                        Step::Stop(Stop::Odd)
                    };
                }
                _ => return short(view, at, resume),
            }
        }
    }

    /// The value of a member that is no free string: where it ends, when it is right.
    #[inline(always)]
    fn short_value(
        &mut self,
        member: Member,
        bytes: &[u8],
        at: usize,
        end: usize,
    ) -> Option<usize> {
        match member {
            Member::Kind => {
                let kind = kind(bytes, at)?;
                self.kind = Some(kind);
                Some(at + kind.name().len() + 1)
            }
            Member::ResultOk => {
                self.ok = bytes[at..].starts_with(b"true");
                if self.ok {
                    return Some(at + 4);
                }
                bytes[at..].starts_with(b"false").then_some(at + 5)
            }
            _ => {
                let after = at + 25;
                (after <= end && self.time(&bytes[at..after])).then_some(after)
            }
        }
    }

    #[inline(always)]
    fn is_entry(&self) -> bool {
        self.kind.is_some_and(|kind| {
            self.members & !kind.allowed() == 0 && self.members & kind.required() == kind.required()
        })
    }

    #[inline(always)]
    fn time(&mut self, bytes: &[u8]) -> bool {
        let (date, rest) = bytes.split_at(11);
        if date != self.known_date {
            if !is_date(date) {
                return false;
            }
            self.known_date.copy_from_slice(date);
        }
        let right = is_clock(&rest[..13]) && rest[13] == b'"';
        self.stamp.copy_from_slice(&bytes[..24]);
        right
    }
}

/// A token at `at` is not what it should be: because the buffer ends, or truly.
#[cold]
fn short(view: &mut View<'_>, at: usize, resume: usize) -> Step {
    if at + TOKEN < view.end {
        return Step::Stop(Stop::Odd);
    }
    view.at = resume;
    Step::Stop(Stop::More)
}

enum Step {
    Row(usize),
    Stop(Stop),
}

/// The name at `at` with its colon and, for a string, the quote of its value; and how long that is.
#[inline(always)]
fn name(bytes: &[u8], at: usize) -> Option<(Member, usize)> {
    match bytes[at + 1] {
        b'k' => token(bytes, at, b"\"kind\":\"", Member::Kind),
        b't' => token(bytes, at, b"\"text\":\"", Member::Text),
        b'c' => token(bytes, at, b"\"captured_at\":\"", Member::CapturedAt),
        b'n' => token(bytes, at, b"\"name\":\"", Member::Name),
        b'a' => token(bytes, at, b"\"argsText\":\"", Member::ArgsText),
        b'r' if bytes[at + 7] == b'T' => token(bytes, at, b"\"resultText\":\"", Member::ResultText),
        b'r' => token(bytes, at, b"\"resultOk\":", Member::ResultOk),
        b's' if bytes[at + 8] == b'l' => {
            token(bytes, at, b"\"source_line_id\":\"", Member::SourceLineId)
        }
        b's' => token(
            bytes,
            at,
            b"\"source_message_id\":\"",
            Member::SourceMessageId,
        ),
        _ => None,
    }
}

/// The kind whose name, with its closing quote, begins at `at`.
#[inline(always)]
fn kind(bytes: &[u8], at: usize) -> Option<Kind> {
    let (kind, _) = match bytes[at] {
        b'u' => token(bytes, at, b"user\"", Kind::User),
        b'a' => token(bytes, at, b"assistant\"", Kind::Assistant),
        b't' => token(bytes, at, b"tool_call\"", Kind::ToolCall),
        b'r' => token(bytes, at, b"reasoning\"", Kind::Reasoning),
        b'e' => token(bytes, at, b"error\"", Kind::Error),
        _ => None,
    }?;
    Some(kind)
}

/// `meaning` and the token's length, where `bytes` go on with `token` at `at`.
///
/// The length is a constant, so that the comparison is a few instructions and no call.
#[inline(always)]
fn token<const N: usize, T>(
    bytes: &[u8],
    at: usize,
    token: &[u8; N],
    meaning: T,
) -> Option<(T, usize)> {
    (bytes.get(at..at + N)? == token).then_some((meaning, N))
}

#[cfg(test)]
mod tests {
    use super::block::{BEFORE, Block, Escapes, Specials, WIDTH};
    use super::*;
    use crate::window::PADDING;

    /// A small generator of numbers, so that a failure comes again.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, most: usize) -> usize {
            usize::try_from(self.next() % most as u64).unwrap()
        }
    }

    /// Bytes rich in what matters to a string: quotes, backslashes, controls, sequences.
    fn bytes(random: &mut Random, length: usize) -> Vec<u8> {
        const PIECES: [&[u8]; 20] = [
            b"\\/001f",
            b"\\u001b[0m",
            b"a",
            b"plain text without anything",
            b"\"",
            b"\\",
            b"\\\\",
            b"\\n",
            b"\\u00e9",
            b"\\ud83d\\ude00",
            b"\\ud83d",
            b"\\x",
            b"\x01",
            b"\n",
            "é".as_bytes(),
            "漢字".as_bytes(),
            "😀".as_bytes(),
            b"\xC3",
            b"\xED\xA0\x80",
            b"\xF4\x90\x80\x80",
        ];
        let mut bytes = Vec::new();
        while bytes.len() < length {
            if random.below(8) == 0 {
                bytes.push(random.next().to_le_bytes()[0]);
            } else {
                bytes.extend_from_slice(PIECES[random.below(PIECES.len())]);
            }
        }
        bytes
    }

    /// Every answer of a block, at every byte.
    ///
    /// # Safety
    /// The instructions of `B` are available.
    unsafe fn answers<B: Block>(bytes: &[u8]) -> Vec<(Specials, u64, Escapes, u64)> {
        bytes
            .windows(BEFORE + WIDTH)
            .map(|near| {
                // SAFETY: the caller's promise.
                unsafe {
                    let block = B::load(near[BEFORE..].first_chunk().unwrap());
                    (
                        block.specials(),
                        block.high(),
                        block.escapes(),
                        B::ill_formed(near.first_chunk().unwrap()),
                    )
                }
            })
            .collect()
    }

    #[test]
    fn every_block_tells_the_same_at_every_alignment() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for _ in 0..300 {
            let bytes = bytes(&mut random, 400);
            // SAFETY: no special instruction is used.
            let plain = unsafe { answers::<scalar::Scalar>(&bytes) };
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let others = match isa {
                    Isa::Scalar => continue,
                    // SAFETY: the instructions are available.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => unsafe { answers::<avx2::Avx2>(&bytes) },
                    // SAFETY: the instructions are available.
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => unsafe { answers::<avx512::Avx512>(&bytes) },
                    // SAFETY: the instructions are available.
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => unsafe { answers::<neon::Neon>(&bytes) },
                    #[allow(unreachable_patterns)] // the other architectures' instructions
                    _ => continue,
                };
                assert_eq!(plain, others, "{isa:?} {bytes:x?}");
            }
        }
    }

    /// What the plainest reading says of a string: the index of its closing quote, and lone surrogates.
    fn plainly(bytes: &[u8]) -> Option<(usize, u64)> {
        let mut at = 0;
        let (mut lone, mut text) = (0, Vec::new());
        loop {
            match *bytes.get(at)? {
                b'"' => break,
                0..0x20 => return None,
                b'\\' => {
                    let unit = |at: usize| {
                        let digits = bytes.get(at..at + 6)?;
                        let digits = digits.strip_prefix(b"\\u")?;
                        digits.iter().all(u8::is_ascii_hexdigit).then(|| {
                            let digits = std::str::from_utf8(digits).unwrap();
                            u16::from_str_radix(digits, 16).unwrap()
                        })
                    };
                    at += match *bytes.get(at + 1)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                        b'u' => match (unit(at)?, unit(at + 6)) {
                            (0xD800..=0xDBFF, Some(0xDC00..=0xDFFF)) => 12,
                            (0xD800..=0xDFFF, _) => {
                                lone += 1;
                                6
                            }
                            _ => 6,
                        },
                        _ => return None,
                    };
                    text.push(b' ');
                }
                byte => {
                    text.push(byte);
                    at += 1;
                }
            }
        }
        std::str::from_utf8(&text).ok()?;
        Some((at, lone))
    }

    /// What the scan says of the string at `start` when the buffer ends first at each of `ends`.
    ///
    /// # Safety
    /// The instructions of `B` are available.
    unsafe fn in_pieces<B: Block>(
        bytes: &[u8],
        start: usize,
        ends: &[usize],
    ) -> Option<(usize, u64, Measure)> {
        let (mut at, mut replaced, mut measure) = (start, 0, Measure::PLAIN);
        for &end in ends {
            let mut buffer = bytes[..end].to_vec();
            buffer.resize(end + PADDING, 0);
            // SAFETY: the caller's promise.
            let text = unsafe { string::<B, true>(&buffer, at, end, &mut replaced, &mut measure) };
            match text {
                Text::End(quote) => return Some((quote, replaced, measure)),
                Text::Part(stop) => {
                    assert!(at <= stop && stop <= end, "{at} {stop} {end}");
                    // At most a surrogate pair is left.
                    assert!(end - stop < 12);
                    at = stop;
                }
                Text::Odd => return None,
            }
        }
        None
    }

    #[test]
    fn a_string_is_the_same_wherever_the_buffer_ends() {
        let mut random = Random(0xA076_1D64_78BD_642F);
        let (mut right, mut wrong) = (0, 0);
        for round in 0..3000 {
            let length = 1 + random.below(if round % 8 == 0 { 12_000 } else { 600 });
            let mut body = bytes(&mut random, length);
            if round % 4 != 0 {
                body.retain(|byte| *byte >= 0x20 && *byte != b'"');
                body = String::from_utf8_lossy(&body)
                    .replace("\\x", "x")
                    .into_bytes();
            }
            let start = HEAD.len();
            let mut whole = HEAD.to_vec();
            whole.extend_from_slice(&body);
            whole.extend_from_slice(b"\",\"source_line_id\":\"a\"}\n");
            let mut ends: Vec<usize> = (0..random.below(4))
                .map(|_| start + random.below(whole.len() - start))
                .collect();
            ends.sort_unstable();
            ends.push(whole.len());
            let expected = plainly(&whole[start..]).map(|(quote, lone)| {
                let raw = &whole[start..start + quote];
                (start + quote, lone, crate::text::measure(raw))
            });
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                // SAFETY: the instructions are available.
                let found = unsafe {
                    match isa {
                        Isa::Scalar => in_pieces::<scalar::Scalar>(&whole, start, &ends),
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx2 => in_pieces::<avx2::Avx2>(&whole, start, &ends),
                        #[cfg(target_arch = "x86_64")]
                        Isa::Avx512 => in_pieces::<avx512::Avx512>(&whole, start, &ends),
                        #[cfg(target_arch = "aarch64")]
                        Isa::Neon => in_pieces::<neon::Neon>(&whole, start, &ends),
                        #[allow(unreachable_patterns)] // the other architectures' instructions
                        _ => continue,
                    }
                };
                assert_eq!(found, expected, "{isa:?} {ends:?} {whole:x?}");
            }
            if expected.is_some() {
                right += 1;
            } else {
                wrong += 1;
            }
        }
        assert!(right > 500 && wrong > 100, "{right} {wrong}");
    }

    struct Strings(Vec<u8>);

    impl Sink for Strings {
        const WANTS: Members = Member::Text.bit();

        fn begin(&mut self) {
            self.0.clear();
        }

        fn piece(&mut self, _member: Member, raw: &[u8], measure: Measure) {
            assert_eq!(measure, crate::text::measure(raw), "{raw:x?}");
            self.0.extend_from_slice(raw);
        }

        fn row(&mut self, _row: &Row) -> Flow {
            Flow::Stop
        }
    }

    const HEAD: &[u8] = br#"{"kind":"user","captured_at":"2026-01-05T08:00:05.614Z","text":""#;

    #[test]
    fn a_line_is_accepted_iff_its_string_is_right() {
        let mut random = Random(0xD1B5_4A32_D192_ED03);
        let (mut right, mut wrong) = (0, 0);
        for round in 0..6000 {
            let length = 1 + random.below(300);
            let mut body = bytes(&mut random, length);
            if round % 2 == 0 {
                // Mostly well-formed: take out what is not.
                body.retain(|byte| *byte >= 0x20 && *byte != b'"');
                body = String::from_utf8_lossy(&body)
                    .replace("\\x", "x")
                    .into_bytes();
            }
            let mut line = HEAD.to_vec();
            line.extend_from_slice(&body);
            line.extend_from_slice(b"\"}\n");
            let after = line.len();
            // A high surrogate is judged by what follows it, as far as another line.
            line.extend_from_slice(&HEAD[..16]);
            let end = line.len();
            line.resize(end + PADDING, 0);
            let expected = plainly(&line[HEAD.len()..after])
                .filter(|(quote, _)| HEAD.len() + quote + 3 == after);
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let mut view = View {
                    bytes: &line,
                    at: 0,
                    end,
                    base: 0,
                    max_line: 1 << 20,
                };
                let mut scan = Scan::new(isa);
                let mut sink = Strings(Vec::new());
                let stop = scan.run(&mut view, &mut sink);
                if let Some((quote, lone)) = expected {
                    assert!(stop == Stop::Enough, "{isa:?} {line:x?}");
                    assert_eq!(sink.0, &line[HEAD.len()..HEAD.len() + quote]);
                    assert_eq!(scan.replaced, lone);
                    right += 1;
                } else {
                    assert!(stop != Stop::Enough, "{isa:?} {line:x?}");
                    wrong += 1;
                }
            }
        }
        assert!(right > 1000 && wrong > 1000, "{right} {wrong}");
    }
}
