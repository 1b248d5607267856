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
mod string;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use crate::entry::{Kind, Member, Members, Row, Stamp, is_clock, is_date};
use crate::sink::{Flow, Sink};
use block::Block;
use string::{Text, string};

/// A line that has more bytes than this in the buffer is stopped inside; a shorter
/// one is scanned again from its first byte when the rest has been read.
const GIANT: usize = 32 << 10;

/// Longest token that is compared as a whole: `"source_message_id":"`, or a time with its quote.
const TOKEN: usize = 32;

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
            let step = unsafe { self.line::<B, S>(view, sink) };
            match step {
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
        let mut next = match self.phase {
            Phase::Start => {
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
                Next::Name
            }
            Phase::Inside(member) => Next::String(member),
            Phase::After => Next::Separator,
        };
        loop {
            match next {
                Next::Name => {
                    let Some((member, length)) = name(bytes, at) else {
                        return short(view, at, resume);
                    };
                    if self.members & member.bit() != 0 {
                        return Step::Stop(Stop::Odd);
                    }
                    at += length;
                    match member {
                        Member::Kind => {
                            let Some(kind) = kind(bytes, at) else {
                                return short(view, at, resume);
                            };
                            self.kind = Some(kind);
                            at += kind.name().len() + 1;
                        }
                        Member::CapturedAt => {
                            if at + 25 > end {
                                return short(view, at, resume);
                            }
                            if !self.time(&bytes[at..at + 25]) {
                                return Step::Stop(Stop::Odd);
                            }
                            at += 25;
                        }
                        Member::ResultOk => {
                            self.ok = bytes[at..].starts_with(b"true");
                            if !self.ok && !bytes[at..].starts_with(b"false") {
                                return short(view, at, resume);
                            }
                            at += if self.ok { 4 } else { 5 };
                        }
                        _ => {
                            next = Next::String(member);
                            continue;
                        }
                    }
                    self.members |= member.bit();
                    next = Next::Separator;
                }
                Next::String(member) => {
                    // SAFETY: the caller's promise.
                    let text = unsafe { string::<B>(bytes, at, end, &mut self.replaced) };
                    match text {
                        Text::End(quote) => {
                            if S::WANTS & member.bit() != 0 {
                                sink.piece(member, &bytes[at..quote]);
                            }
                            self.members |= member.bit();
                            at = quote + 1;
                            next = Next::Separator;
                        }
                        Text::Part(stop) => {
                            if view.base + stop as u64 - self.line <= GIANT as u64 {
                                return short(view, end, resume);
                            }
                            if view.base + stop as u64 - self.line > view.max_line {
                                return Step::Stop(Stop::Odd);
                            }
                            if S::WANTS & member.bit() != 0 {
                                sink.piece(member, &bytes[at..stop]);
                            }
                            self.phase = Phase::Inside(member);
                            view.at = stop;
                            return Step::Stop(Stop::More);
                        }
                        Text::Odd => return Step::Stop(Stop::Odd),
                    }
                }
                Next::Separator => {
                    if view.base + at as u64 - self.line > GIANT as u64 {
                        resume = at;
                        self.phase = Phase::After;
                    }
                    match bytes[at] {
                        b',' => {
                            at += 1;
                            next = Next::Name;
                        }
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

#[derive(Clone, Copy)]
enum Next {
    Name,
    String(Member),
    Separator,
}

/// The name at `at` with its colon and, for a string, the quote of its value; and how long that is.
#[inline(always)]
fn name(bytes: &[u8], at: usize) -> Option<(Member, usize)> {
    let (member, token): (Member, &[u8]) = match bytes[at + 1] {
        b'k' => (Member::Kind, b"\"kind\":\""),
        b't' => (Member::Text, b"\"text\":\""),
        b'c' => (Member::CapturedAt, b"\"captured_at\":\""),
        b'n' => (Member::Name, b"\"name\":\""),
        b'a' => (Member::ArgsText, b"\"argsText\":\""),
        b'r' if bytes[at + 7] == b'T' => (Member::ResultText, b"\"resultText\":\""),
        b'r' => (Member::ResultOk, b"\"resultOk\":"),
        b's' if bytes[at + 8] == b'l' => (Member::SourceLineId, b"\"source_line_id\":\""),
        b's' => (Member::SourceMessageId, b"\"source_message_id\":\""),
        _ => return None,
    };
    bytes[at..].starts_with(token).then_some((member, token.len()))
}

/// The kind whose name, with its closing quote, begins at `at`.
#[inline(always)]
fn kind(bytes: &[u8], at: usize) -> Option<Kind> {
    let (kind, token): (Kind, &[u8]) = match bytes[at] {
        b'u' => (Kind::User, b"user\""),
        b'a' => (Kind::Assistant, b"assistant\""),
        b't' => (Kind::ToolCall, b"tool_call\""),
        b'r' => (Kind::Reasoning, b"reasoning\""),
        b'e' => (Kind::Error, b"error\""),
        _ => return None,
    };
    bytes[at..].starts_with(token).then_some(kind)
}
