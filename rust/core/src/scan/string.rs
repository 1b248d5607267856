//! One string of a line, from its first byte to its closing quote.

use super::block::{Block, WIDTH};

/// What became of a string.
pub enum Text {
    /// It is well-formed and its closing quote is at this index.
    End(usize),
    /// It is well-formed up to this index, where the buffer cuts it.
    Part(usize),
    /// It is ill-formed.
    Odd,
}

/// Scans the string whose body goes on at `at`, and counts lone surrogates.
///
/// The body so far must be well-formed and end at a whole character and escape.
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
pub unsafe fn string<B: Block>(bytes: &[u8], mut at: usize, end: usize, replaced: &mut u64) -> Text {
    // Whether the block before ended inside a character.
    let mut open = false;
    loop {
        let left = end - at;
        if left == 0 {
            return Text::Part(whole(bytes, at));
        }
        let mut valid = if left >= WIDTH { !0 } else { !0 >> (WIDTH - left) };
        // SAFETY: the caller's promise.
        let (block, quotes, slashes, controls, high) = unsafe {
            let block = B::load(bytes, at);
            (block, block.equal(b'"'), block.equal(b'\\'), block.control(), block.high())
        };
        let (mut quotes, slashes) = (quotes & valid, slashes & valid);
        let mut next = at + left.min(WIDTH);
        let mut cut = false;
        if slashes != 0 {
            let (starts, escaped) = escapes(slashes);
            quotes &= !escaped;
            let body = before(quotes) & valid;
            // SAFETY: the caller's promise.
            let (escapable, long) = unsafe { (block.escapable(), block.equal(b'u')) };
            let escaped = escaped & body;
            if escaped & !escapable != 0 {
                return Text::Odd;
            }
            let last = next - at - 1;
            if starts & body & (1 << last) != 0 {
                // The byte after the backslash lies in the next block.
                next -= 1;
                cut = next + 1 == end;
            }
            let mut long = escaped & long;
            while long != 0 {
                let u = long.trailing_zeros() as usize;
                long &= long - 1;
                match unit(bytes, at + u + 1, end) {
                    Unit::Scalar => {}
                    Unit::Lone => *replaced += 1,
                    Unit::Pair => {
                        // The low half is the next escape.
                        if long != 0 && long.trailing_zeros() as usize == u + 6 {
                            long &= long - 1;
                        } else {
                            next = next.max(at + u + 11);
                        }
                    }
                    Unit::Cut => {
                        next = at + u - 1;
                        cut = true;
                        valid &= before(1 << (u - 1));
                        quotes &= valid;
                        break;
                    }
                    Unit::Odd => return Text::Odd,
                }
            }
        }
        let body = before(quotes) & valid;
        if controls & body != 0 {
            return Text::Odd;
        }
        if high & body != 0 || open {
            // The byte after the body shows a sequence that it cuts.
            let shown = (body | quotes & quotes.wrapping_neg()) & valid;
            // SAFETY: the caller's promise.
            if unsafe { B::ill_formed(bytes, at) } & shown != 0 {
                return Text::Odd;
            }
            open = is_open(&bytes[next - 3..next]);
        }
        if quotes != 0 {
            return Text::End(at + quotes.trailing_zeros() as usize);
        }
        if cut {
            return Text::Part(whole(bytes, next));
        }
        at = next;
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

/// All bits below the lowest of `mask`; all bits where there is none.
#[inline(always)]
fn before(mask: u64) -> u64 {
    !mask & mask.wrapping_sub(1)
}

/// Whether a character goes on after these three bytes.
#[inline(always)]
fn is_open(last: &[u8]) -> bool {
    last[2] >= 0xC0 || last[1] >= 0xE0 || last[0] >= 0xF0
}

/// The greatest index up to `at` that is not inside a character.
fn whole(bytes: &[u8], at: usize) -> usize {
    let tail = &bytes[at - 3..at];
    match (tail[2], tail[1], tail[0]) {
        (0xC0.., _, _) => at - 1,
        (_, 0xE0.., _) => at - 2,
        (_, _, 0xF0..) => at - 3,
        _ => at,
    }
}

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

const DIGITS: [u8; 256] = {
    let mut digits = [0xFF; 256];
    let mut digit = 0;
    while digit < 16 {
        digits["0123456789abcdef".as_bytes()[digit] as usize] = digit as u8;
        digits["0123456789ABCDEF".as_bytes()[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};
