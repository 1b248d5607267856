//! A JSON text whose head was written after its body.

/// The bytes of a JSON text, somewhere in a buffer.
#[derive(Debug, Default)]
pub struct Json {
    buffer: Vec<u8>,
    start: usize,
}

impl Json {
    /// The text is everything from `start` on.
    pub(crate) fn new(buffer: Vec<u8>, start: usize) -> Json {
        Json { buffer, start }
    }

    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}
