//! What a vector unit must tell of 64 bytes. Bit n of an answer speaks of byte n.

use super::string::{self, Text};
use crate::text::Measure;

/// Bytes that are looked at together.
pub const WIDTH: usize = 64;
/// Bytes before them that tell how a character goes on.
pub const BEFORE: usize = 3;

/// The bytes that end a run of plain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    /// `"`
    pub quotes: u64,
    /// `\`
    pub slashes: u64,
    /// Below 0x20 or above 0x7F: as signed numbers, all that are less than 0x20.
    pub others: u64,
}

/// What matters after a backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escapes {
    /// May not follow a backslash; and `/`, which no JSON writer of Letta Code escapes.
    pub unusual: u64,
    /// No hexadecimal digits, or `d` and `D`, with which those of a surrogate begin.
    pub nondigits: u64,
    /// `u`
    pub units: u64,
    /// `0`, with which the digits of a control character begin.
    pub zeros: u64,
    /// `1`, which comes third in those of the rarer ones, such as U+001B.
    pub ones: u64,
    /// What is no capital letter: bit 5 is set.
    pub small: u64,
}

/// 64 bytes in registers.
///
/// # Safety
/// Every function may be called only where the instructions of the implementing
/// type are available, inside a function that enables them.
pub unsafe trait Block: Copy {
    /// These 64 bytes.
    unsafe fn load(bytes: &[u8; WIDTH]) -> Self;
    /// The special ones.
    unsafe fn specials(self) -> Specials;
    /// The bytes above 0x7F.
    unsafe fn high(self) -> u64;
    /// What they may be in an escape.
    unsafe fn escapes(self) -> Escapes;
    /// Where UTF-8 is ill-formed in the 64 bytes after the first [`BEFORE`] ones.
    ///
    /// A bit stands at or before the byte that follows an ill-formed sequence; a
    /// sequence that the block cuts off is not judged.
    unsafe fn ill_formed(near: &[u8; BEFORE + WIDTH]) -> u64;
    /// [`string::body`] of this type; one that needs instructions enables them here, since it
    /// is called from where none are.
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

/// Tables over nibbles for [`Block::escapes`]: the values that the two nibbles of a byte
/// look up share a bit of [`escape::ESCAPABLE`] iff the byte may follow a backslash and is no `/`, and
/// one of [`escape::DIGIT`] iff it is a hexadecimal digit but `d`; each bit is one high nibble.
/// [`escape::UNIT`] is shared by `u`.
pub mod escape {
    const ESCAPABLE_2: u8 = 1;
    const ESCAPABLE_5: u8 = 1 << 1;
    const ESCAPABLE_6: u8 = 1 << 2;
    const ESCAPABLE_7: u8 = 1 << 3;
    const DIGIT_3: u8 = 1 << 4;
    const DIGIT_46: u8 = 1 << 5;
    /// `u`
    pub const UNIT: u8 = 1 << 7;

    /// The bits of what may follow a backslash, but `/`.
    pub const ESCAPABLE: u8 = ESCAPABLE_2 | ESCAPABLE_5 | ESCAPABLE_6 | ESCAPABLE_7;
    /// The bits of hexadecimal digits but `d`.
    pub const DIGIT: u8 = DIGIT_3 | DIGIT_46;

    /// By the low nibble.
    pub const LOW: [u8; 16] = [
        DIGIT_3,
        DIGIT_3 | DIGIT_46,
        DIGIT_3 | DIGIT_46 | ESCAPABLE_2 | ESCAPABLE_6 | ESCAPABLE_7,
        DIGIT_3 | DIGIT_46,
        DIGIT_3 | ESCAPABLE_7,
        DIGIT_3 | DIGIT_46 | ESCAPABLE_7 | UNIT,
        DIGIT_3 | DIGIT_46 | ESCAPABLE_6,
        DIGIT_3,
        DIGIT_3,
        DIGIT_3,
        0,
        0,
        ESCAPABLE_5,
        0,
        ESCAPABLE_6,
        0,
    ];
    /// By the high nibble.
    pub const HIGH: [u8; 16] = [
        0,
        0,
        ESCAPABLE_2,
        DIGIT_3,
        DIGIT_46,
        ESCAPABLE_5,
        DIGIT_46 | ESCAPABLE_6,
        ESCAPABLE_7 | UNIT,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
}

/// Tables over nibbles for [`Block::ill_formed`], after J. Keiser and D. Lemire,
/// "Validating UTF-8 In Less Than One Instruction Per Byte" (2021): each of two
/// neighbouring bytes rules out some errors; an error that none rules out is one.
pub mod utf8 {
    const TOO_SHORT: u8 = 1;
    const TOO_LONG: u8 = 1 << 1;
    const OVERLONG_3: u8 = 1 << 2;
    const TOO_LARGE: u8 = 1 << 3;
    const SURROGATE: u8 = 1 << 4;
    const OVERLONG_2: u8 = 1 << 5;
    const TOO_LARGE_1000: u8 = 1 << 6;
    const OVERLONG_4: u8 = 1 << 6;
    /// Two continuation bytes in a row, which only a third or fourth byte may end.
    pub const TWO_CONTINUATIONS: u8 = 1 << 7;
    const ANY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS;

    /// By the high nibble of the byte before.
    pub const BEFORE_HIGH: [u8; 16] = [
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TWO_CONTINUATIONS,
        TWO_CONTINUATIONS,
        TWO_CONTINUATIONS,
        TWO_CONTINUATIONS,
        TOO_SHORT | OVERLONG_2,
        TOO_SHORT,
        TOO_SHORT | OVERLONG_3 | SURROGATE,
        TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
    ];
    /// By the low nibble of the byte before.
    pub const BEFORE_LOW: [u8; 16] = [
        ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
        ANY | OVERLONG_2,
        ANY,
        ANY,
        ANY | TOO_LARGE,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
    ];
    /// By the high nibble of the byte itself.
    pub const ITSELF: [u8; 16] = [
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
        TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | OVERLONG_3 | TOO_LARGE,
        TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | SURROGATE | TOO_LARGE,
        TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | SURROGATE | TOO_LARGE,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
    ];
    /// Subtracted with saturation from the byte two before: bit 7 is left from 0xE0 on.
    pub const THIRD: u8 = 0xE0 - 0x80;
    /// Subtracted with saturation from the byte three before: bit 7 is left from 0xF0 on.
    pub const FOURTH: u8 = 0xF0 - 0x80;
}
