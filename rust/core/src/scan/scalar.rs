//! 64 bytes without vectors: the plain twin that the others are tested against.

use super::block::{Block, WIDTH, escape, utf8};

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
    unsafe fn load(bytes: &[u8], at: usize) -> Self {
        Scalar(bytes[at..at + WIDTH].try_into().expect("the slice is 64 bytes long"))
    }

    #[inline(always)]
    unsafe fn equal(self, byte: u8) -> u64 {
        mask(self.0, |other| other == byte)
    }

    #[inline(always)]
    unsafe fn control(self) -> u64 {
        mask(self.0, |byte| byte < 0x20)
    }

    #[inline(always)]
    unsafe fn high(self) -> u64 {
        mask(self.0, |byte| byte >= 0x80)
    }

    #[inline(always)]
    unsafe fn escapable(self) -> u64 {
        mask(self.0, |byte| {
            escape::LOW[usize::from(byte & 15)] & escape::HIGH[usize::from(byte >> 4)] != 0
        })
    }

    #[inline(always)]
    unsafe fn ill_formed(bytes: &[u8], at: usize) -> u64 {
        let mut mask = 0;
        for (bit, near) in bytes[at - 3..at + WIDTH].windows(4).enumerate() {
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
