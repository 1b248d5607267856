//! 64 bytes without vectors: the plain twin that the others are tested against.

use super::block::{BEFORE, Block, Escapes, Specials, WIDTH, escape, utf8};

/// 64 bytes in memory.
#[derive(Clone, Copy)]
pub struct Scalar([u8; WIDTH]);

fn mask(bytes: [u8; WIDTH], is: impl Fn(u8) -> bool) -> u64 {
    let mut mask = 0;
    for (bit, byte) in bytes.into_iter().enumerate() {
        mask |= u64::from(is(byte)) << bit;
    }
    mask
}

// SAFETY: no special instruction is used; the functions are unsafe only by the trait.
unsafe impl Block for Scalar {
    #[inline(always)]
    unsafe fn load(bytes: &[u8; WIDTH]) -> Self {
        Scalar(*bytes)
    }

    #[inline(always)]
    unsafe fn specials(self) -> Specials {
        Specials {
            quotes: mask(self.0, |byte| byte == b'"'),
            slashes: mask(self.0, |byte| byte == b'\\'),
            others: mask(self.0, |byte| !(0x20..0x80).contains(&byte)),
        }
    }

    #[inline(always)]
    unsafe fn high(self) -> u64 {
        mask(self.0, |byte| byte >= 0x80)
    }

    #[inline(always)]
    unsafe fn escapes(self) -> Escapes {
        let class =
            |byte: u8| escape::LOW[usize::from(byte & 15)] & escape::HIGH[usize::from(byte >> 4)];
        Escapes {
            unusual: mask(self.0, |byte| class(byte) & escape::ESCAPABLE == 0),
            nondigits: mask(self.0, |byte| class(byte) & escape::DIGIT == 0),
            units: mask(self.0, |byte| class(byte) & escape::UNIT != 0),
            zeros: mask(self.0, |byte| byte == b'0'),
            ones: mask(self.0, |byte| byte == b'1'),
            small: mask(self.0, |byte| byte & 0x20 != 0),
        }
    }

    #[inline(always)]
    unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH]) -> u64 {
        let mut mask = 0;
        for (bit, near) in near.windows(BEFORE + 1).enumerate() {
            let special = utf8::BEFORE_HIGH[usize::from(near[2] >> 4)]
                & utf8::BEFORE_LOW[usize::from(near[2] & 15)]
                & utf8::ITSELF[usize::from(near[3] >> 4)];
            let continued = near[1] >= 0xE0 || near[0] >= 0xF0;
            let error = special ^ (u8::from(continued) * utf8::TWO_CONTINUATIONS);
            mask |= u64::from(error != 0) << bit;
        }
        mask
    }
}
