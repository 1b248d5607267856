//! A file seen through one sliding buffer.
//!
//! Bytes are read forward in blocks. What lies before `at` may be dropped when
//! more is read, except [`CONTEXT`] bytes, which a vector scan looks back at.

use crate::checksum::Checksum;
use crate::error::{Error, Result, SourceReason};
use crate::source::Source;

/// Most bytes that are read at once.
pub const BLOCK: usize = 256 << 10;
/// Bytes before `at` that stay readable.
pub const CONTEXT: usize = 8;
/// Zero bytes after the last one, so that a vector may be loaded at any byte.
pub const PADDING: usize = 64;

/// A sliding view of `source` that ends at `limit`.
pub struct Window<'a> {
    source: &'a Source,
    /// The bytes, then [`PADDING`] zeros.
    bytes: Vec<u8>,
    /// File offset of `bytes[0]`.
    base: u64,
    /// Index of the next byte to look at.
    at: usize,
    /// Index after the last byte.
    end: usize,
    /// File offset where the view ends.
    limit: u64,
    /// How many bytes the next read asks for.
    block: usize,
    checksum: Option<&'a mut Checksum>,
}

impl<'a> Window<'a> {
    /// A view of the bytes from `start` to `limit`; the first read asks for `block` bytes.
    pub fn new(source: &'a Source, start: u64, limit: u64, block: usize) -> Window<'a> {
        Window {
            source,
            bytes: Vec::new(),
            base: start,
            at: 0,
            end: 0,
            limit,
            block,
            checksum: None,
        }
    }

    /// The same view; what is accepted in it is added to `checksum`.
    pub fn summed(mut self, checksum: &'a mut Checksum) -> Window<'a> {
        self.checksum = Some(checksum);
        self
    }

    /// File offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The buffer with its padding, the index of the next byte and the index after the last.
    #[inline]
    pub fn parts(&self) -> (&[u8], usize, usize) {
        (&self.bytes, self.at, self.end)
    }

    /// The bytes that were read and not yet passed.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// File offset of the buffer's first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Moves to another byte of the buffer.
    #[inline]
    pub fn set_at(&mut self, at: usize) {
        debug_assert!(at <= self.end);
        self.at = at;
    }

    /// The next byte, or none at the end of the view.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>> {
        if self.at == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.bytes[self.at]))
    }

    /// Passes the byte that `peek` gave.
    #[inline]
    pub fn pass(&mut self) {
        self.at += 1;
    }

    /// Moves forward to the next LF, or answers false at the end of the view.
    pub fn find_lf(&mut self) -> Result<bool> {
        loop {
            if let Some(found) = memchr::memchr(b'\n', self.rest()) {
                self.at += found;
                return Ok(true);
            }
            self.at = self.end;
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Moves to a byte at or after the last accepted one, which may have been dropped already.
    pub fn seek(&mut self, offset: u64) {
        let end = self.base + self.end as u64;
        if (self.base..=end).contains(&offset) {
            self.at = usize::try_from(offset - self.base).expect("it lies in the buffer");
            return;
        }
        self.base = offset;
        self.at = 0;
        self.end = 0;
        self.bytes.clear();
    }

    /// Says that all bytes before the file offset `offset`, which lies in the buffer, are accepted.
    pub fn accept(&mut self, offset: u64) {
        if let Some(checksum) = &mut self.checksum {
            checksum.accept(&self.bytes[..self.end], self.base, offset);
        }
    }

    /// Reads more; false at the end of the view.
    ///
    /// A file that ends before `limit` was cut while it was read.
    pub fn fill(&mut self) -> Result<bool> {
        let from = self.base + self.end as u64;
        let left = self.limit - from;
        if left == 0 {
            return Ok(false);
        }
        let offset = self.offset();
        if let Some(checksum) = &mut self.checksum {
            checksum.pass(&self.bytes[..self.end], self.base, offset);
        }
        self.bytes.truncate(self.end);
        let drop = self.at.saturating_sub(CONTEXT);
        self.bytes.copy_within(drop.., 0);
        self.bytes.truncate(self.end - drop);
        self.base += drop as u64;
        self.at -= drop;
        let wanted = usize::try_from(left).map_or(self.block, |left| left.min(self.block));
        self.block = (self.block * 4).min(BLOCK);
        self.bytes.reserve_exact(wanted + PADDING);
        let read = self.source.read(from, wanted, &mut self.bytes)?;
        self.end = self.bytes.len();
        self.bytes.resize(self.end + PADDING, 0);
        if read < wanted {
            return Err(Error::Source(SourceReason::Changed, 0));
        }
        Ok(true)
    }
}
