//! Where a preview ends.

use super::Isa;
use super::block::{Block, WIDTH};
use super::string::escapes;
use crate::text;

/// How many bytes of `raw` the first `most` characters take, as [`text::prefix`] tells, by vectors.
///
/// # Panics
/// Where this machine lacks the instructions.
#[must_use]
pub fn prefix(isa: Isa, raw: &[u8], most: usize) -> usize {
    // No text has more characters than its raw form has bytes.
    if raw.len() <= most {
        return raw.len();
    }
    assert!(isa.is_available(), "{isa:?} is not available here");
    match isa {
        // SAFETY: no special instruction is used.
        Isa::Scalar => unsafe { blocks::<super::scalar::Scalar>(raw, most) },
        // SAFETY: this machine has the instructions.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(raw, most) },
        // SAFETY: this machine has the instructions.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(raw, most) },
        // SAFETY: every 64-bit ARM has NEON.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => unsafe { blocks::<super::neon::Neon>(raw, most) },
        #[allow(unreachable_patterns)] // the other architectures' instructions
        _ => unreachable!("it is available"),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn avx2(raw: &[u8], most: usize) -> usize {
    // SAFETY: this function enables AVX2.
    unsafe { blocks::<super::avx2::Avx2>(raw, most) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,popcnt,lzcnt")]
unsafe fn avx512(raw: &[u8], most: usize) -> usize {
    // SAFETY: this function enables AVX-512 F and BW.
    unsafe { blocks::<super::avx512::Avx512>(raw, most) }
}

/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
unsafe fn blocks<B: Block>(raw: &[u8], most: usize) -> usize {
    let (mut at, mut left) = (0, most);
    // Less than a block is left to the plain way, and blocks with surrogates.
    while left > WIDTH && raw.len() - at > left {
        // SAFETY: the caller's promise.
        let (length, chars) = unsafe { plain_blocks::<B>(&raw[at..], left - WIDTH) };
        (at, left) = (at + length, left - chars);
        if length == 0 {
            let (chars, length) = text::chars_within(&raw[at..], WIDTH);
            (at, left) = (at + length, left - chars);
        }
    }
    at + text::prefix(&raw[at..], left)
}

/// Blocks from the start of `raw` with no more than `most` characters, until one with a surrogate:
/// their bytes, after which no escape goes on, and the characters that begin in them.
///
/// # Safety
/// The instructions of `B` are available and enabled.
#[inline(always)]
unsafe fn plain_blocks<B: Block>(raw: &[u8], most: usize) -> (usize, usize) {
    let (mut whole, mut chars, mut at, mut carried) = ((0, 0), 0, 0, 0);
    for bytes in raw.as_chunks().0 {
        // SAFETY: the caller's promise.
        let (specials, kinds) = unsafe {
            let block = B::load(bytes);
            (block.specials(), block.escapes())
        };
        let (starts, escaped) = escapes(specials.slashes, carried);
        let units = escaped & kinds.units;
        if (units << 1 | units << 2 | units << 3 | units << 4) & kinds.nondigits != 0 {
            break;
        }
        let leads = if specials.others == 0 {
            WIDTH
        } else {
            text::leads(bytes)
        };
        // Each escape is one character.
        chars += leads - (escaped.count_ones() + 4 * units.count_ones()) as usize;
        if chars > most {
            break;
        }
        at += WIDTH;
        carried = starts >> (WIDTH - 1);
        if carried == 0 && units >> (WIDTH - 4) == 0 {
            whole = (at, chars);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_where_the_plain_way_ends() {
        const PIECES: [&str; 9] = [
            "plain text that is long enough to fill a block or two of sixty-four bytes each",
            "a",
            "\\n",
            "\\\\",
            "\\u001b[0m",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\ud83d",
            "漢字é😀",
        ];
        let mut number: u64 = 0x2545_F491_4F6C_DD1D;
        let mut below = |most: usize| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            usize::try_from(number % most as u64).unwrap()
        };
        for _ in 0..3000 {
            let kinds = 1 + below(PIECES.len());
            let raw: String = (0..below(60)).map(|_| PIECES[below(kinds)]).collect();
            let most = below(raw.len() + 2);
            let plain = text::prefix(raw.as_bytes(), most);
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                assert_eq!(
                    prefix(isa, raw.as_bytes(), most),
                    plain,
                    "{isa:?} {most} {raw}"
                );
            }
        }
    }
}
