//! 64 bytes in one AVX-512 register (F and BW).

use core::arch::x86_64::{
    __m512i, _mm_loadu_si128, _mm512_and_si512, _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask,
    _mm512_cmplt_epi8_mask, _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_or_si512,
    _mm512_set1_epi8, _mm512_shuffle_epi8, _mm512_srli_epi16, _mm512_subs_epu8,
    _mm512_test_epi8_mask, _mm512_testn_epi8_mask, _mm512_xor_si512,
};

use super::block::{BEFORE, Block, Escapes, Specials, WIDTH, escape, utf8};
use super::string::{self, Text};
use crate::text::Measure;

/// 64 bytes.
#[derive(Clone, Copy)]
pub struct Avx512(__m512i);

#[inline(always)]
fn splat(byte: u8) -> __m512i {
    // SAFETY: called only under the contract of `Block` (see its implementation below).
    unsafe { _mm512_set1_epi8(byte.cast_signed()) }
}

/// The 64 bytes from `at` on, which the caller gives as a constant: nothing is checked at run time.
#[inline(always)]
unsafe fn whole<const N: usize>(bytes: &[u8; N], at: usize) -> __m512i {
    let bytes: &[u8; WIDTH] = bytes[at..].first_chunk().expect("64 bytes");
    // SAFETY: 64 bytes are readable at the reference; the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline(always)]
unsafe fn table(entries: &[u8; 16]) -> __m512i {
    // SAFETY: 16 bytes are readable at the reference; the load needs no alignment.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(entries.as_ptr().cast())) }
}

#[inline(always)]
unsafe fn high_nibble(bytes: __m512i) -> __m512i {
    // SAFETY: the caller may use AVX-512.
    unsafe { _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), splat(15)) }
}

// SAFETY: every function uses AVX-512 F and BW at most, which the caller promises to have.
unsafe impl Block for Avx512 {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; WIDTH]) -> Self {
        // SAFETY: the caller may use AVX-512.
        unsafe { Avx512(whole(bytes, 0)) }
    }

    #[inline(always)]
    unsafe fn specials(self) -> Specials {
        // SAFETY: the caller may use AVX-512.
        unsafe {
            Specials {
                quotes: _mm512_cmpeq_epi8_mask(self.0, splat(b'"')),
                slashes: _mm512_cmpeq_epi8_mask(self.0, splat(b'\\')),
                others: _mm512_cmplt_epi8_mask(self.0, splat(0x20)),
            }
        }
    }

    #[inline(always)]
    unsafe fn high(self) -> u64 {
        // SAFETY: the caller may use AVX-512.
        unsafe { _mm512_movepi8_mask(self.0) }
    }

    #[inline(always)]
    unsafe fn escapes(self) -> Escapes {
        // SAFETY: the caller may use AVX-512. A shuffle gives 0 for a byte above 0x7F: right.
        unsafe {
            let low = _mm512_shuffle_epi8(table(&escape::LOW), self.0);
            let high = _mm512_shuffle_epi8(table(&escape::HIGH), high_nibble(self.0));
            let class = _mm512_and_si512(low, high);
            Escapes {
                unusual: _mm512_testn_epi8_mask(class, splat(escape::ESCAPABLE)),
                nondigits: _mm512_testn_epi8_mask(class, splat(escape::DIGIT)),
                units: _mm512_movepi8_mask(class),
                zeros: _mm512_cmpeq_epi8_mask(self.0, splat(b'0')),
                ones: _mm512_cmpeq_epi8_mask(self.0, splat(b'1')),
                small: _mm512_test_epi8_mask(self.0, splat(0x20)),
            }
        }
    }

    #[inline(always)]
    unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH]) -> u64 {
        // SAFETY: the caller may use AVX-512.
        unsafe {
            let (itself, before) = (whole(near, 3), whole(near, 2));
            let low = _mm512_and_si512(before, splat(15));
            let special = _mm512_and_si512(
                _mm512_and_si512(
                    _mm512_shuffle_epi8(table(&utf8::BEFORE_HIGH), high_nibble(before)),
                    _mm512_shuffle_epi8(table(&utf8::BEFORE_LOW), low),
                ),
                _mm512_shuffle_epi8(table(&utf8::ITSELF), high_nibble(itself)),
            );
            let third = _mm512_subs_epu8(whole(near, 1), splat(utf8::THIRD));
            let fourth = _mm512_subs_epu8(whole(near, 0), splat(utf8::FOURTH));
            let continued = _mm512_and_si512(
                _mm512_or_si512(third, fourth),
                splat(utf8::TWO_CONTINUATIONS),
            );
            let error = _mm512_xor_si512(special, continued);
            _mm512_test_epi8_mask(error, error)
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,popcnt,lzcnt")]
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
