//! One string of a line, from its first byte to its closing quote.

use super::block::{BEFORE, Block, WIDTH};
use crate::text::Measure;

/// Blocks in which what is to be judged is noted first: a bit each.
const GROUP: usize = 64;
/// Bytes of an escape with `u`.
const LONG_ESCAPE: usize = 6;
/// Bytes of an escaped surrogate pair.
const LONGEST_ESCAPE: usize = 12;

/// What became of a string.
pub enum Text {
    /// It is well-formed and its closing quote is at this index.
    End(usize),
    /// It is well-formed up to this index, where the buffer cuts it.
    Part(usize),
    /// It is ill-formed.
    Odd,
}

/// Scans the string whose body goes on at `at`, counts lone surrogates, and where `MEASURED`
/// adds to `measure`.
///
/// The body so far must be well-formed and end at a whole character and escape.
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
pub unsafe fn string<B: Block, const MEASURED: bool>(
    bytes: &[u8],
    at: usize,
    end: usize,
    replaced: &mut u64,
    measure: &mut Measure,
) -> Text {
    let Some(first) = bytes.get(at..end).and_then(<[u8]>::first_chunk) else {
        return tail(bytes, at, end, replaced, measure);
    };
    // Most strings are short and plain.
    // SAFETY: the caller's promise.
    let specials = unsafe { B::load(first).specials() };
    let first = lowest(specials.quotes | specials.slashes | specials.others);
    if first & specials.quotes != 0 {
        return Text::End(at + first.trailing_zeros() as usize);
    }
    // SAFETY: the caller's promise.
    unsafe { apart::<B, MEASURED>(bytes, at, end, replaced, measure) }
}

/// Calls [`Block::body`] so that it is not inlined: its loop needs all registers. (The compiler
/// forgets `inline(never)` of a function that enables instructions.)
///
/// # Safety
/// The instructions of `B` are available.
#[inline(never)]
unsafe fn apart<B: Block, const MEASURED: bool>(
    bytes: &[u8],
    at: usize,
    end: usize,
    replaced: &mut u64,
    measure: &mut Measure,
) -> Text {
    // SAFETY: the caller's promise.
    unsafe { B::body::<MEASURED>(bytes, at, end, replaced, measure) }
}

/// Where the blocks of a group end.
enum Ending<B> {
    /// They are all of the string.
    Whole,
    /// The buffer ends.
    Cut,
    /// In the next block there is a closing quote.
    Quote {
        block: B,
        quotes: u64,
        escaped: u64,
        others: u64,
    },
}

/// The string at `at` when it is not short and plain; see [`string`].
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
pub unsafe fn body<B: Block, const MEASURED: bool>(
    bytes: &[u8],
    mut at: usize,
    end: usize,
    replaced: &mut u64,
    measure: &mut Measure,
) -> Text {
    let mut carried = Carried::default();
    loop {
        let (blocks, _) = bytes[at..end.min(at + GROUP * WIDTH)].as_chunks();
        // Blocks with other bytes than plain ones are judged together: a branch on whether a block
        // has any would be guessed wrong every few blocks. The last block is bit 0.
        let mut noted = 0;
        let mut ending = if blocks.len() == GROUP {
            Ending::Whole
        } else {
            Ending::Cut
        };
        for block in blocks {
            // SAFETY: the caller's promise.
            let (block, specials) = unsafe {
                let block = B::load(block);
                (block, block.specials())
            };
            let others = specials.others;
            let (starts, escaped) = escapes(specials.slashes, carried.escape);
            let quotes = specials.quotes & !escaped;
            if quotes != 0 {
                ending = Ending::Quote {
                    block,
                    quotes,
                    escaped,
                    others,
                };
                break;
            }
            // SAFETY: the caller's promise.
            let judged = unsafe {
                judge::<B, MEASURED>(
                    bytes,
                    at,
                    end,
                    block,
                    escaped,
                    &mut carried,
                    replaced,
                    measure,
                )
            };
            match judged {
                Judged::Right => {}
                Judged::Cut => {
                    ending = Ending::Cut;
                    break;
                }
                Judged::Odd => return Text::Odd,
            }
            noted = noted << 1 | u64::from(others | carried.open != 0);
            carried.open = others >> (WIDTH - 3);
            carried.escape = starts >> (WIDTH - 1);
            at += WIDTH;
        }
        // SAFETY: the caller's promise.
        if unsafe { is_any_ill_formed::<B>(bytes, at, noted) } {
            return Text::Odd;
        }
        let Ending::Quote {
            block,
            quotes,
            escaped,
            others,
        } = ending
        else {
            if let Ending::Cut = ending {
                return tail(bytes, carried.whole(bytes, at), end, replaced, measure);
            }
            continue;
        };
        let body = before(quotes);
        let (escaped, others) = (escaped & body, others & body);
        // SAFETY: the caller's promise.
        let judged = unsafe {
            judge::<B, MEASURED>(
                bytes,
                at,
                end,
                block,
                escaped,
                &mut carried,
                replaced,
                measure,
            )
        };
        match judged {
            Judged::Right => {}
            // A high surrogate, which what follows may go on.
            Judged::Cut => return tail(bytes, carried.whole(bytes, at), end, replaced, measure),
            Judged::Odd => return Text::Odd,
        }
        if others | carried.open != 0 {
            // The byte after the body shows a sequence that it cuts.
            let shown = body | lowest(quotes);
            // SAFETY: the caller's promise.
            let wrong = unsafe { others & !block.high() | ill_formed::<B>(bytes, at) & shown };
            if wrong != 0 {
                return Text::Odd;
            }
        }
        return Text::End(at + quotes.trailing_zeros() as usize);
    }
}

/// Whether one of the blocks before `at` that are noted has control characters or ill-formed UTF-8.
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
unsafe fn is_any_ill_formed<B: Block>(bytes: &[u8], at: usize, mut noted: u64) -> bool {
    let mut wrong = 0;
    while noted != 0 {
        let at = at - (noted.trailing_zeros() as usize + 1) * WIDTH;
        noted &= noted - 1;
        let block = bytes[at..].first_chunk().expect("a whole block was noted");
        // SAFETY: the caller's promise.
        unsafe {
            let block = B::load(block);
            wrong |= block.specials().others & !block.high() | ill_formed::<B>(bytes, at);
        }
    }
    wrong != 0
}

/// Where the block at `at` is ill-formed; see [`Block::ill_formed`].
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
unsafe fn ill_formed<B: Block>(bytes: &[u8], at: usize) -> u64 {
    let near = bytes[at - BEFORE..].first_chunk();
    // SAFETY: the caller's promise.
    unsafe { B::ill_formed(near.expect("a block and what is before it")) }
}

/// What one block leaves to the next one.
#[derive(Default)]
struct Carried {
    /// 1 if the last byte escapes the first one.
    escape: u64,
    /// Where the digits of an escape `\uXXXX` go on.
    digits: u64,
    /// The last bytes, where they are none of the plain ones: a character may go on. Which bytes
    /// they are is not looked at, since that is a branch that is guessed wrong.
    open: u64,
    /// Escapes that begin before this index were judged one by one, and the buffer holds them.
    judged: usize,
}

impl Carried {
    /// The greatest index up to which everything is judged, when the next block begins at `at`.
    fn whole(&self, bytes: &[u8], at: usize) -> usize {
        if let Some(begun) = self.begun(at) {
            return begun;
        }
        if self.judged > at {
            return self.judged;
        }
        if self.escape != 0 {
            return at - 1;
        }
        if self.open == 0 {
            return at;
        }
        match (bytes[at - 1], bytes[at - 2], bytes[at - 3]) {
            (0xC0.., _, _) => at - 1,
            (_, 0xE0.., _) => at - 2,
            (_, _, 0xF0..) => at - 3,
            _ => at,
        }
    }

    /// Where an escape `\uXXXX` begins that goes on at `at` and was not judged by itself.
    fn begun(&self, at: usize) -> Option<usize> {
        let rest = self.digits.count_ones() as usize;
        (rest > 0)
            .then(|| at + rest - LONG_ESCAPE)
            .filter(|&begun| begun >= self.judged)
    }
}

/// What becomes of a block's escapes.
enum Judged {
    Right,
    /// The buffer ends too early to tell.
    Cut,
    Odd,
}

/// Judges the escapes of the block at `at` whose second bytes stand at `escaped`.
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // what the loop has in registers
unsafe fn judge<B: Block, const MEASURED: bool>(
    bytes: &[u8],
    at: usize,
    end: usize,
    block: B,
    escaped: u64,
    carried: &mut Carried,
    replaced: &mut u64,
    measure: &mut Measure,
) -> Judged {
    // SAFETY: the caller's promise.
    let kinds = unsafe { block.escapes() };
    let units = escaped & kinds.units;
    // The four bytes after each. If the digits of two overlapped, a backslash would be among
    // those of the first, beneath what the sum carries.
    let spread = u128::from(units) * 0b1_1110;
    #[allow(clippy::cast_possible_truncation)] // the two halves
    let (digits, go_on) = (spread as u64 | carried.digits, (spread >> WIDTH) as u64);
    let mut rare = escaped & kinds.unusual | digits & kinds.nondigits;
    if MEASURED {
        // Mostly the page's own `\u001b`, with which terminal colors begin.
        rare |= go_on
            | (units << 1 | units << 2) & !kinds.zeros
            | units << 3 & !kinds.ones
            | units << 4 & !kinds.small;
    }
    if rare == 0 {
        if MEASURED {
            let (all, long) = (escaped.count_ones(), units.count_ones());
            measure.saved += u64::from(all) + u64::from(long) * (LONG_ESCAPE as u64 - 2);
        }
    } else {
        let begun = carried.begun(at);
        match one_by_one(bytes, at, end, escaped, units, begun, carried.judged) {
            OneByOne::Right {
                lone,
                judged,
                measured,
            } => {
                *replaced += lone;
                carried.judged = judged;
                if MEASURED {
                    measure.saved += measured.saved;
                    measure.is_page_form &= measured.is_page_form;
                }
            }
            OneByOne::Cut => return Judged::Cut,
            OneByOne::Odd => return Judged::Odd,
        }
    }
    carried.digits = go_on;
    Judged::Right
}

enum OneByOne {
    /// So many are lone surrogates, and all that begin before `judged` are right.
    Right {
        lone: u64,
        judged: usize,
        measured: Measure,
    },
    /// The buffer ends too early to tell.
    Cut,
    /// One is not right.
    Odd,
}

/// Judges the escapes of the block at `at` whose second bytes stand at `escaped`, of which those
/// at `units` are `u`, and the one that has `begun` before; not those that begin before `judged`.
#[inline(never)]
fn one_by_one(
    bytes: &[u8],
    at: usize,
    end: usize,
    escaped: u64,
    mut units: u64,
    begun: Option<usize>,
    mut judged: usize,
) -> OneByOne {
    let mut measured = Measure::PLAIN;
    let mut short = escaped & !units;
    measured.saved += u64::from(short.count_ones());
    while short != 0 {
        match bytes[at + short.trailing_zeros() as usize] {
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'/' => measured.is_page_form = false,
            _ => return OneByOne::Odd,
        }
        short &= short - 1;
    }
    let mut lone = 0;
    let mut next = begun;
    loop {
        let escape = match next.take() {
            Some(escape) => escape,
            None if units == 0 => break,
            None => {
                let unit = at + units.trailing_zeros() as usize;
                units &= units - 1;
                unit - 1
            }
        };
        if escape < judged {
            // The low half of a pair, or judged with the block before.
            continue;
        }
        let length = match unit(bytes, escape + 2, end) {
            Unit::Scalar => LONG_ESCAPE,
            Unit::Pair => LONGEST_ESCAPE,
            Unit::Lone => {
                lone += 1;
                LONG_ESCAPE
            }
            Unit::Cut => return OneByOne::Cut,
            Unit::Odd => return OneByOne::Odd,
        };
        judged = escape + length;
        measured.and(&bytes[escape..judged]);
    }
    OneByOne::Right {
        lone,
        judged,
        measured,
    }
}

/// The last bytes of a buffer, one by one.
fn tail(
    bytes: &[u8],
    mut at: usize,
    end: usize,
    replaced: &mut u64,
    measure: &mut Measure,
) -> Text {
    while at < end {
        let before = at;
        match bytes[at] {
            b'"' => return Text::End(at),
            0..0x20 => return Text::Odd,
            b'\\' if at + 1 == end => break,
            b'\\' => match bytes[at + 1] {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => match unit(bytes, at + 2, end) {
                    Unit::Scalar => at += 6,
                    Unit::Pair => at += 12,
                    Unit::Lone => {
                        *replaced += 1;
                        at += 6;
                    }
                    Unit::Cut => break,
                    Unit::Odd => return Text::Odd,
                },
                _ => return Text::Odd,
            },
            0x20..0x80 => at += 1,
            lead => {
                let length = match lead {
                    0x80..0xE0 => 2,
                    0xE0..0xF0 => 3,
                    _ => 4,
                };
                if at + length > end {
                    break;
                }
                if std::str::from_utf8(&bytes[at..at + length]).is_err() {
                    return Text::Odd;
                }
                at += length;
            }
        }
        if bytes[before] == b'\\' {
            measure.and(&bytes[before..at]);
        }
    }
    Text::Part(at)
}

/// Which backslashes begin an escape, and which bytes they escape; `carried` is 1 if the block
/// before escapes the first byte.
///
/// In each run of backslashes every other one begins an escape. Subtracting from the odd bits
/// borrows through a run, which tells where it begins from where it ends (after
/// simdjson, G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second", 2019).
#[inline(always)]
pub fn escapes(slashes: u64, carried: u64) -> (u64, u64) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let maybe = slashes & !carried;
    let even_runs = (maybe << 1 | ODD).wrapping_sub(maybe);
    let both = even_runs ^ ODD;
    (both & slashes, both ^ (slashes | carried))
}

/// The lowest bit of `mask`, if it has one.
#[inline(always)]
fn lowest(mask: u64) -> u64 {
    mask & mask.wrapping_neg()
}

/// All bits below the lowest of `mask`; all bits where there is none.
#[inline(always)]
fn before(mask: u64) -> u64 {
    !mask & mask.wrapping_sub(1)
}

#[derive(PartialEq)]
enum Unit {
    /// No surrogate.
    Scalar,
    /// A high surrogate with its low one.
    Pair,
    /// A surrogate without its other half.
    Lone,
    /// The buffer ends too early to tell.
    Cut,
    /// No four hexadecimal digits.
    Odd,
}

/// Judges the escape whose hexadecimal digits begin at `at`.
#[inline(always)]
fn unit(bytes: &[u8], at: usize, end: usize) -> Unit {
    if at + 4 > end {
        return Unit::Cut;
    }
    match hex(bytes, at) {
        None => Unit::Odd,
        Some(0xD800..=0xDBFF) => {
            if at + 10 > end {
                return Unit::Cut;
            }
            let low = bytes[at + 4] == b'\\' && bytes[at + 5] == b'u';
            if low && hex(bytes, at + 6).is_some_and(|low| low & 0xFC00 == 0xDC00) {
                Unit::Pair
            } else {
                Unit::Lone
            }
        }
        Some(0xDC00..=0xDFFF) => Unit::Lone,
        Some(_) => Unit::Scalar,
    }
}

/// The value of the four hexadecimal digits at `at`.
#[inline(always)]
fn hex(bytes: &[u8], at: usize) -> Option<u16> {
    let digit = |index: usize| u16::from(DIGITS[usize::from(bytes[at + index])]);
    let (a, b, c, d) = (digit(0), digit(1), digit(2), digit(3));
    if (a | b | c | d) > 15 {
        return None;
    }
    Some(a << 12 | b << 8 | c << 4 | d)
}

/// What each byte is worth as a hexadecimal digit; more than 15 where it is none.
const DIGITS: [u8; 256] = {
    let mut digits = [0xFF; 256];
    let mut value = 0;
    while value < 16_u8 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};
