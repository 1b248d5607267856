//! 64 bytes in two AVX2 registers.

use core::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_subs_epu8,
    _mm256_xor_si256,
};

use super::block::{BEFORE, Block, Escapes, Specials, WIDTH, escape, utf8};
use super::string::{self, Text};
use crate::text::Measure;

/// 64 bytes.
#[derive(Clone, Copy)]
pub struct Avx2(__m256i, __m256i);

#[inline(always)]
fn splat(byte: u8) -> __m256i {
    // SAFETY: called only under the contract of `Block` (see its implementation below).
    unsafe { _mm256_set1_epi8(byte.cast_signed()) }
}

/// The 32 bytes from `at` on, which the caller gives as a constant: nothing is checked at run time.
#[inline(always)]
unsafe fn half<const N: usize>(bytes: &[u8; N], at: usize) -> __m256i {
    let bytes: &[u8; WIDTH / 2] = bytes[at..].first_chunk().expect("32 bytes");
    // SAFETY: 32 bytes are readable at the reference; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline(always)]
unsafe fn table(entries: &[u8; 16]) -> __m256i {
    // SAFETY: 16 bytes are readable at the reference; the load needs no alignment.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(entries.as_ptr().cast())) }
}

#[inline(always)]
unsafe fn bits(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: the caller may use AVX2.
    let (low, high) = unsafe { (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)) };
    u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
}

#[inline(always)]
unsafe fn high_nibble(bytes: __m256i) -> __m256i {
    // SAFETY: the caller may use AVX2.
    unsafe { _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), splat(15)) }
}

/// Which bytes are zero.
#[inline(always)]
unsafe fn zeros(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: the caller may use AVX2.
    unsafe {
        let zero = _mm256_setzero_si256();
        bits(_mm256_cmpeq_epi8(low, zero), _mm256_cmpeq_epi8(high, zero))
    }
}

/// The class of each byte in `escape`'s tables.
#[inline(always)]
unsafe fn class(bytes: __m256i) -> __m256i {
    // SAFETY: the caller may use AVX2. A shuffle gives 0 for a byte above 0x7F, which is right.
    unsafe {
        let low = _mm256_shuffle_epi8(table(&escape::LOW), bytes);
        let high = _mm256_shuffle_epi8(table(&escape::HIGH), high_nibble(bytes));
        _mm256_and_si256(low, high)
    }
}

#[inline(always)]
unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH], at: usize) -> __m256i {
    // SAFETY: the caller may use AVX2.
    unsafe {
        let (itself, before) = (half(near, at), half(near, at - 1));
        let low = _mm256_and_si256(before, splat(15));
        let special = _mm256_and_si256(
            _mm256_and_si256(
                _mm256_shuffle_epi8(table(&utf8::BEFORE_HIGH), high_nibble(before)),
                _mm256_shuffle_epi8(table(&utf8::BEFORE_LOW), low),
            ),
            _mm256_shuffle_epi8(table(&utf8::ITSELF), high_nibble(itself)),
        );
        let third = _mm256_subs_epu8(half(near, at - 2), splat(utf8::THIRD));
        let fourth = _mm256_subs_epu8(half(near, at - 3), splat(utf8::FOURTH));
        let continued = _mm256_and_si256(
            _mm256_or_si256(third, fourth),
            splat(utf8::TWO_CONTINUATIONS),
        );
        _mm256_xor_si256(special, continued)
    }
}

impl Avx2 {
    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: the caller may use AVX2.
        unsafe {
            bits(
                _mm256_cmpeq_epi8(self.0, splat(byte)),
                _mm256_cmpeq_epi8(self.1, splat(byte)),
            )
        }
    }
}

// SAFETY: every function uses AVX2 at most, which the caller promises to have.
unsafe impl Block for Avx2 {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; WIDTH]) -> Self {
        // SAFETY: the caller may use AVX2.
        unsafe { Avx2(half(bytes, 0), half(bytes, WIDTH / 2)) }
    }

    #[inline(always)]
    unsafe fn specials(self) -> Specials {
        // SAFETY: the caller may use AVX2.
        unsafe {
            let least = splat(0x20);
            Specials {
                quotes: self.equal(b'"'),
                slashes: self.equal(b'\\'),
                others: bits(
                    _mm256_cmpgt_epi8(least, self.0),
                    _mm256_cmpgt_epi8(least, self.1),
                ),
            }
        }
    }

    #[inline(always)]
    unsafe fn high(self) -> u64 {
        // SAFETY: the caller may use AVX2.
        unsafe { bits(self.0, self.1) }
    }

    #[inline(always)]
    unsafe fn escapes(self) -> Escapes {
        // SAFETY: the caller may use AVX2.
        unsafe {
            let (low, high) = (class(self.0), class(self.1));
            let shares_none = |set| {
                let set = splat(set);
                zeros(_mm256_and_si256(low, set), _mm256_and_si256(high, set))
            };
            let small = splat(0x20);
            Escapes {
                unusual: shares_none(escape::ESCAPABLE),
                nondigits: shares_none(escape::DIGIT),
                units: bits(low, high),
                zeros: self.equal(b'0'),
                ones: self.equal(b'1'),
                small: bits(
                    _mm256_cmpeq_epi8(_mm256_and_si256(self.0, small), small),
                    _mm256_cmpeq_epi8(_mm256_and_si256(self.1, small), small),
                ),
            }
        }
    }

    #[inline(always)]
    unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH]) -> u64 {
        // SAFETY: the caller may use AVX2.
        unsafe {
            !zeros(
                ill_formed(near, BEFORE),
                ill_formed(near, BEFORE + WIDTH / 2),
            )
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn body<const MEASURED: bool>(
        bytes: &[u8],
        at: usize,
        end: usize,
        replaced: &mut u64,
        measure: &mut Measure,
    ) -> Text {
        // SAFETY: the caller's promise.
        unsafe { string::body::<Self, MEASURED>(bytes, at, end, replaced, measure) }
    }
}
