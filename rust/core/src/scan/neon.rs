//! 64 bytes in four NEON registers.

use core::arch::aarch64::{
    uint8x16_t, vaddv_u8, vandq_u8, vceqq_u8, vcgeq_u8, vcltq_s8, vdupq_n_s8, vdupq_n_u8, veorq_u8,
    vget_high_u8, vget_low_u8, vld1q_u8, vorrq_u8, vqsubq_u8, vqtbl1q_u8, vreinterpretq_s8_u8,
    vshrq_n_u8, vtstq_u8,
};

use super::block::{BEFORE, Block, Escapes, Specials, WIDTH, escape, utf8};

/// 64 bytes.
#[derive(Clone, Copy)]
pub struct Neon([uint8x16_t; 4]);

const QUARTER: usize = WIDTH / 4;
const BITS: [u8; QUARTER] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// The 16 bytes from `at` on, which the caller gives as a constant: nothing is checked at run time.
#[inline(always)]
unsafe fn quarter<const N: usize>(bytes: &[u8; N], at: usize) -> uint8x16_t {
    let bytes: &[u8; QUARTER] = bytes[at..].first_chunk().expect("16 bytes");
    // SAFETY: 16 bytes are readable at the reference; the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// One bit for each byte that is not zero: `quarters` holds 0 or 0xFF in each.
#[inline(always)]
unsafe fn bits(quarters: [uint8x16_t; 4]) -> u64 {
    let mut mask = 0;
    for (index, quarter) in quarters.into_iter().enumerate() {
        // SAFETY: the caller may use NEON.
        let (low, high) = unsafe {
            let one = vandq_u8(quarter, vld1q_u8(BITS.as_ptr()));
            (vaddv_u8(vget_low_u8(one)), vaddv_u8(vget_high_u8(one)))
        };
        mask |= (u64::from(low) | u64::from(high) << 8) << (QUARTER * index);
    }
    mask
}

#[inline(always)]
unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH], at: usize) -> uint8x16_t {
    // SAFETY: the caller may use NEON.
    unsafe {
        let (itself, before) = (quarter(near, at), quarter(near, at - 1));
        let table = |entries: &[u8; 16], index| vqtbl1q_u8(vld1q_u8(entries.as_ptr()), index);
        let special = vandq_u8(
            vandq_u8(
                table(&utf8::BEFORE_HIGH, vshrq_n_u8::<4>(before)),
                table(&utf8::BEFORE_LOW, vandq_u8(before, vdupq_n_u8(15))),
            ),
            table(&utf8::ITSELF, vshrq_n_u8::<4>(itself)),
        );
        let third = vqsubq_u8(quarter(near, at - 2), vdupq_n_u8(utf8::THIRD));
        let fourth = vqsubq_u8(quarter(near, at - 3), vdupq_n_u8(utf8::FOURTH));
        let continued = vandq_u8(vorrq_u8(third, fourth), vdupq_n_u8(utf8::TWO_CONTINUATIONS));
        let error = veorq_u8(special, continued);
        vtstq_u8(error, error)
    }
}

impl Neon {
    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        // SAFETY: the caller may use NEON.
        unsafe { bits(self.0.map(|quarter| vceqq_u8(quarter, vdupq_n_u8(byte)))) }
    }
}

// SAFETY: every function uses NEON at most, which the caller promises to have.
unsafe impl Block for Neon {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; WIDTH]) -> Self {
        // SAFETY: the caller may use NEON.
        unsafe {
            Neon([
                quarter(bytes, 0),
                quarter(bytes, QUARTER),
                quarter(bytes, 2 * QUARTER),
                quarter(bytes, 3 * QUARTER),
            ])
        }
    }

    #[inline(always)]
    unsafe fn specials(self) -> Specials {
        // SAFETY: the caller may use NEON.
        unsafe {
            Specials {
                quotes: self.equal(b'"'),
                slashes: self.equal(b'\\'),
                others: bits(
                    self.0
                        .map(|quarter| vcltq_s8(vreinterpretq_s8_u8(quarter), vdupq_n_s8(0x20))),
                ),
            }
        }
    }

    #[inline(always)]
    unsafe fn high(self) -> u64 {
        // SAFETY: the caller may use NEON.
        unsafe { bits(self.0.map(|quarter| vcgeq_u8(quarter, vdupq_n_u8(0x80)))) }
    }

    #[inline(always)]
    unsafe fn escapes(self) -> Escapes {
        // SAFETY: the caller may use NEON.
        unsafe {
            let class = self.0.map(|quarter| {
                let low = vandq_u8(quarter, vdupq_n_u8(15));
                vandq_u8(
                    vqtbl1q_u8(vld1q_u8(escape::LOW.as_ptr()), low),
                    vqtbl1q_u8(vld1q_u8(escape::HIGH.as_ptr()), vshrq_n_u8::<4>(quarter)),
                )
            });
            let shares = |set| bits(class.map(|quarter| vtstq_u8(quarter, vdupq_n_u8(set))));
            Escapes {
                unusual: !shares(escape::ESCAPABLE),
                nondigits: !shares(escape::DIGIT),
                units: shares(escape::UNIT),
                zeros: self.equal(b'0'),
                ones: self.equal(b'1'),
                small: bits(self.0.map(|quarter| vtstq_u8(quarter, vdupq_n_u8(0x20)))),
            }
        }
    }

    #[inline(always)]
    unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH]) -> u64 {
        // SAFETY: the caller may use NEON.
        unsafe {
            bits([
                ill_formed(near, BEFORE),
                ill_formed(near, BEFORE + QUARTER),
                ill_formed(near, BEFORE + 2 * QUARTER),
                ill_formed(near, BEFORE + 3 * QUARTER),
            ])
        }
    }
}
