//! The running checksum of what was validated.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// A checksum of all bytes before `validated`, which may already have seen the
/// beginning of the line that comes next.
#[derive(Clone)]
pub struct Checksum {
    hash: XxHash3_64,
    /// The hash has seen the bytes before this one.
    seen: u64,
    validated: u64,
    /// The hash of what is validated, when `hash` has seen more.
    sure: Option<Box<XxHash3_64>>,
}

impl Checksum {
    /// The checksum of nothing.
    pub fn new() -> Checksum {
        Checksum {
            hash: XxHash3_64::new(),
            seen: 0,
            validated: 0,
            sure: None,
        }
    }

    /// The value over all validated bytes.
    pub fn value(&self) -> u64 {
        self.sure.as_deref().unwrap_or(&self.hash).finish()
    }

    /// All bytes before `to` are validated; `bytes` lie at `base` and reach that far.
    pub fn accept(&mut self, bytes: &[u8], base: u64, to: u64) {
        if to == self.validated {
            return;
        }
        self.see(bytes, base, to);
        self.validated = to;
        self.sure = None;
    }

    /// The bytes before `to`, which lie in `bytes` at `base`, are about to be dropped.
    pub fn pass(&mut self, bytes: &[u8], base: u64, to: u64) {
        if to <= self.seen {
            return;
        }
        if self.sure.is_none() {
            self.sure = Some(Box::new(self.hash.clone()));
        }
        self.see(bytes, base, to);
    }

    /// Forgets what was seen of bytes that are not validated.
    pub fn rewind(&mut self) {
        if let Some(sure) = self.sure.take() {
            self.hash = *sure;
        }
        self.seen = self.validated;
    }

    fn see(&mut self, bytes: &[u8], base: u64, to: u64) {
        if to <= self.seen {
            return;
        }
        let index = |offset: u64| usize::try_from(offset - base).expect("it lies in the buffer");
        self.hash.write(&bytes[index(self.seen)..index(to)]);
        self.seen = to;
    }
}
