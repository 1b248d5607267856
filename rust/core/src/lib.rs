//! Strict reading of Letta Code transcripts, fast and in bounded memory.
//!
//! One direction: bytes ([`source`], `window`), rows (`scan` and `json`, driven by
//! `reader`), turns and pages (`turn`, `page`), all behind [`Transcript`]. What is
//! accepted and refused is `docs/FORMAT.md`; what a page holds is `docs/PAGES.md`.
//!
//! `unsafe` is allowed in `scan` only, where vector instructions are used; each
//! invariant is in `docs/SAFETY.md`.

#![deny(unsafe_code)]

mod brief;
mod checksum;
mod content;
mod diagnostics;
mod entries;
pub mod entry;
pub mod error;
mod history;
mod index;
mod json;
mod json_text;
mod page;
mod reader;
#[allow(unsafe_code)] // vector instructions
#[allow(clippy::inline_always)] // what is not inlined is compiled without them
pub mod scan;
mod sink;
pub mod source;
mod split;
mod text;
mod transcript;
mod turn;
mod values;
mod window;

pub use content::{MAX_RANGE, Part, Range};
pub use index::Counts;
pub use json_text::Json;
pub use transcript::{Options, Summary, Transcript};
