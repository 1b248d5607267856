//! One string of a line, from its first byte to its closing quote.

use super::block::{Block, Specials, WIDTH};
use crate::text::Measure;

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
    mut at: usize,
    end: usize,
    replaced: &mut u64,
    measure: &mut Measure,
) -> Text {
    // Most strings are short and plain. One that is not is looked at again, without branches on
    // what each block holds: they would be guessed wrong.
    if at + WIDTH <= end {
        // SAFETY: the caller's promise.
        let specials = unsafe { B::load(bytes, at).specials() };
        let first = lowest(specials.quotes | specials.slashes | specials.others);
        if first & specials.quotes != 0 {
            return Text::End(at + first.trailing_zeros() as usize);
        }
    }
    // Whether the block before may have ended inside a character: it ended in high bytes. Which
    // ones is not looked at, since a branch on that is guessed wrong every other time.
    let mut open = false;
    while at + WIDTH <= end {
        // SAFETY: the caller's promise.
        let (block, specials) = unsafe {
            let block = B::load(bytes, at);
            (block, block.specials())
        };
        let Specials {
            mut quotes,
            slashes,
            others,
        } = specials;
        let mut next = at + WIDTH;
        {
            let (starts, escaped) = escapes(slashes);
            quotes &= !escaped;
            if starts >> (WIDTH - 1) != 0 {
                next = last_byte(at);
            }
            let escaped = escaped & before(quotes);
            // SAFETY: the caller's promise.
            let kinds = unsafe { block.escapes() };
            let units = escaped & kinds.units;
            let digits = units << 1 | units << 2 | units << 3 | units << 4;
            let unsure = digits & !kinds.digits | units << 1 & kinds.surrogates | units >> 60;
            if unsure != 0 {
                match units_one_by_one(bytes, at, end, units) {
                    Units::Right { lone, after } => {
                        *replaced += lone;
                        next = next.max(after);
                    }
                    Units::Cut => {
                        return tail(bytes, whole(bytes, at, open), end, replaced, measure);
                    }
                    Units::Odd => return Text::Odd,
                }
            }
            if escaped & !kinds.escapable != 0 {
                return Text::Odd;
            }
            if MEASURED {
                let short = escaped & !units & !kinds.slashes;
                measure.saved += u64::from(short.count_ones());
                let long = escaped & !short;
                // Mostly the page's own `\u001b`, with which terminal colors begin.
                let other = kinds.slashes & escaped
                    | units >> 60
                    | units << 1 & !kinds.zeros
                    | units << 2 & !kinds.zeros
                    | units << 3 & !kinds.ones
                    | units << 4 & !kinds.small;
                if other == 0 {
                    measure.saved += u64::from(long.count_ones()) * (LONG_ESCAPE as u64 - 1);
                } else {
                    measure_one_by_one(bytes, at, long, measure);
                }
            }
        }
        let body = before(quotes);
        if others & body != 0 || open {
            // SAFETY: the caller's promise.
            let high = unsafe { block.high() };
            if others & body & !high != 0 {
                return Text::Odd; // a control character
            }
            // The byte after the body shows a sequence that it cuts.
            let shown = body | lowest(quotes);
            // SAFETY: the caller's promise.
            if unsafe { B::ill_formed(bytes, at) } & shown != 0 {
                return Text::Odd;
            }
            open = high >> (WIDTH - 3) != 0;
        }
        if quotes != 0 {
            return Text::End(at + quotes.trailing_zeros() as usize);
        }
        at = next;
    }
    tail(bytes, whole(bytes, at, open), end, replaced, measure)
}

/// Where to go on when the last byte of the block at `at` escapes the first of the next one.
///
/// A call, so that it is a branch and not arithmetic: where the next block begins must
/// not wait for the masks of this one.
#[cold]
#[inline(never)]
fn last_byte(at: usize) -> usize {
    at + WIDTH - 1
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

enum Units {
    /// All are right: so many lone surrogates, and the last one ends at `after`.
    Right { lone: u64, after: usize },
    /// The buffer ends too early to tell.
    Cut,
    /// One is not right.
    Odd,
}

/// Judges the escapes `\uXXXX` of the block at `at` whose `u` stand at `units`.
#[inline(never)]
fn units_one_by_one(bytes: &[u8], at: usize, end: usize, mut units: u64) -> Units {
    let (mut lone, mut after) = (0, at);
    while units != 0 {
        let u = at + units.trailing_zeros() as usize;
        units &= units - 1;
        if u < after {
            // The low half of a pair.
            continue;
        }
        after = u + 5;
        match unit(bytes, u + 1, end) {
            Unit::Scalar => {}
            Unit::Lone => lone += 1,
            Unit::Pair => after = u + 11,
            Unit::Cut => return Units::Cut,
            Unit::Odd => return Units::Odd,
        }
    }
    Units::Right { lone, after }
}

/// Measures the escapes of the block at `at` that are not simply one byte of text and in the
/// page's form: their second bytes stand at `long`.
#[inline(never)]
fn measure_one_by_one(bytes: &[u8], at: usize, mut long: u64, measure: &mut Measure) {
    let mut after = at;
    while long != 0 {
        let escape = at + long.trailing_zeros() as usize - 1;
        long &= long - 1;
        let is_long = bytes[escape + 1] == b'u';
        if escape >= after {
            measure.and(&bytes[escape..escape + LONGEST_ESCAPE]);
            if is_long && unit(bytes, escape + 2, bytes.len()) == Unit::Pair {
                after = escape + LONGEST_ESCAPE;
            }
        }
    }
}

/// Which backslashes begin an escape, and which bytes they escape.
///
/// In each run of backslashes every other one begins an escape. Adding the odd bits
/// carries through a run, which tells where it begins from where it ends (after
/// simdjson, G. Langdale and D. Lemire, "Parsing Gigabytes of JSON per Second", 2019).
#[inline(always)]
fn escapes(slashes: u64) -> (u64, u64) {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let maybe = slashes << 1;
    let even_runs = (maybe | ODD).wrapping_sub(slashes);
    let both = even_runs ^ ODD;
    (both & slashes, both ^ slashes)
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

/// The greatest index up to `at` that is not inside a character, which may be only if `open`.
#[inline(always)]
fn whole(bytes: &[u8], at: usize, open: bool) -> usize {
    if !open {
        return at;
    }
    match (bytes[at - 1], bytes[at - 2], bytes[at - 3]) {
        (0xC0.., _, _) => at - 1,
        (_, 0xE0.., _) => at - 2,
        (_, _, 0xF0..) => at - 3,
        _ => at,
    }
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
