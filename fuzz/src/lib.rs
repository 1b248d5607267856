//! What the fuzz targets do with any bytes. Each function panics when a law is broken.
//!
//! `cargo test` replays the committed seeds through the same functions.

use std::path::PathBuf;

use lettafast_core::error::{Error, RefusedReason};
use lettafast_core::scan::Isa;
use lettafast_core::{Options, Transcript};

/// A small limit, so that long lines are met by small inputs too.
const MAX_LINE: u64 = 2048;

/// A transcript file with any bytes in it; gone when dropped.
struct File {
    folder: PathBuf,
    name: String,
}

impl File {
    fn new(data: &[u8]) -> File {
        // In memory where there is such a place.
        let shared = PathBuf::from("/dev/shm");
        let folder = if shared.is_dir() {
            shared
        } else {
            std::env::temp_dir()
        };
        let thread = std::thread::current().id();
        let name = format!("lettafast-fuzz-{}-{thread:?}", std::process::id());
        std::fs::write(folder.join(&name), data).expect("a temporary file");
        File { folder, name }
    }

    fn open(&self, options: Options) -> Result<Transcript, Error> {
        Transcript::open(&self.folder, self.name.as_bytes(), options)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // A file that is left behind harms nothing.
        let _ = std::fs::remove_file(self.folder.join(&self.name));
    }
}

fn strict() -> Options {
    Options {
        max_line_bytes: MAX_LINE,
        ..Options::default()
    }
}

fn lenient() -> Options {
    Options {
        lenient: true,
        ..strict()
    }
}

/// All rows, as `entries` writes them, and how many calls that took.
fn entries(transcript: &mut Transcript) -> Vec<u8> {
    let end = transcript.summary().expect("a summary").validated;
    let (mut at, mut all) = (0, Vec::new());
    while at < end {
        let (rows, next) = transcript
            .entries(at, end)
            .expect("rows that were accepted");
        std::str::from_utf8(rows.as_bytes()).expect("UTF-8");
        assert!(next > at, "a reading that stands still at {at}");
        all.extend_from_slice(rows.as_bytes());
        at = next;
    }
    all
}

/// Strict reading either gives rows that account for every byte, and that lenient reading
/// gives too, or one fault that lies in its line.
///
/// # Panics
/// When it does not.
pub fn strict_line(data: &[u8]) {
    let file = File::new(data);
    match file.open(strict()) {
        Ok(mut transcript) => {
            let summary = transcript.summary().expect("a summary");
            assert_eq!(summary.validated + summary.tail, data.len() as u64);
            assert_eq!(summary.counts.entries(), lines(data));
            assert!(!transcript.refresh(true).expect("an unchanged file"));
            let mut other = file.open(lenient()).expect("a lenient reading");
            assert_eq!(other.summary().expect("a summary").diagnostics, 0);
            assert_eq!(entries(&mut transcript), entries(&mut other));
        }
        Err(Error::Refused(fault)) => {
            let size = data.len() as u64;
            assert!(fault.line_offset <= fault.offset && fault.offset <= size);
            assert_eq!(lines(&data[..at(fault.line_offset)]) + 1, fault.line);
            assert!(
                fault
                    .excerpt
                    .bytes()
                    .all(|byte| (0x20..0x7f).contains(&byte))
            );
            let other = file.open(lenient()).expect("a lenient reading");
            let noted = other.summary().expect("a summary").diagnostics;
            // Lenient notes a BOM when its line is judged; in a tail it is just tail.
            assert!(noted > 0 || fault.reason == RefusedReason::Bom);
        }
        Err(other) => panic!("{other}"),
    }
}

/// Lenient reading always answers, with diagnostics in the order of the file.
///
/// # Panics
/// When it does not.
pub fn lenient_line(data: &[u8]) {
    let file = File::new(data);
    let mut transcript = file.open(lenient()).expect("a lenient reading");
    let summary = transcript.summary().expect("a summary");
    assert_eq!(summary.validated + summary.tail, data.len() as u64);
    assert!(summary.counts.entries() <= lines(data));
    let faults = transcript.diagnostics().expect("diagnostics");
    assert_eq!(faults.len() as u64, summary.diagnostics.min(100));
    let places: Vec<_> = faults
        .iter()
        .map(|fault| (fault.line, fault.offset))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!transcript.refresh(true).expect("an unchanged file"));
    entries(&mut transcript);
}

/// Pages of any size, walked back from the newest and forward from the start, end and go one way.
///
/// # Panics
/// When they do not.
pub fn page(data: &[u8]) {
    let [limit, size, data @ ..] = data else {
        return;
    };
    let limit = usize::from(*limit % 4) + 1;
    let options = Options {
        max_page_bytes: u64::from(*size) * 4 + 1,
        ..lenient()
    };
    let file = File::new(data);
    let mut transcript = file.open(options).expect("a lenient reading");
    let end = transcript.summary().expect("a summary").validated;
    let mut before: Option<String> = None;
    loop {
        let page = transcript
            .page(before.as_deref().map(str::as_bytes), limit)
            .expect("a page");
        let page = std::str::from_utf8(page.as_bytes()).expect("UTF-8");
        let Some(older) = older(page) else { break };
        let last = before.as_deref().map_or(end, offset);
        assert!(offset(&older) < last, "{older} does not lie before {last}");
        before = Some(older);
    }
    let mut at = 0;
    while at < end {
        let (page, next) = transcript.appended(at).expect("a page of appended rows");
        std::str::from_utf8(page.as_bytes()).expect("UTF-8");
        assert!(next > at, "a following that stands still at {at}");
        at = next;
    }
}

/// Whichever instructions the fast pass uses, the answer is the same; and it is that of the exact
/// parser, which takes every line that the fast pass thinks odd, as one that begins with a space.
///
/// # Panics
/// When two answers differ.
pub fn native_vs_exact(data: &[u8]) {
    let file = File::new(data);
    let options = strict();
    let answer = |isa: Isa| match file.open(Options { isa, ..options }) {
        Ok(mut transcript) => Ok(entries(&mut transcript)),
        Err(error) => Err(error),
    };
    let scalar = answer(Isa::Scalar);
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        assert_eq!(answer(isa), scalar, "{isa:?}");
    }
    let odd = File::new(&spaced(data));
    let exact = odd.open(Options {
        max_line_bytes: MAX_LINE + 1,
        ..options
    });
    match (scalar, exact) {
        (Ok(rows), Ok(mut exact)) => {
            assert_eq!(
                without_offsets(&rows),
                without_offsets(&entries(&mut exact))
            );
        }
        // What is judged by the very first bytes is something else behind a space.
        (Err(Error::Refused(fault)), _)
            if matches!(fault.reason, RefusedReason::Bom | RefusedReason::NulPadding) => {}
        (Err(Error::Refused(fault)), Err(Error::Refused(exact))) => {
            assert_eq!((fault.reason, &fault.field), (exact.reason, &exact.field));
            let first_byte = fault.reason == RefusedReason::BlankLine;
            assert_eq!(
                fault.offset + fault.line - u64::from(first_byte),
                exact.offset
            );
        }
        (fast, exact) => panic!("{:?} but {:?}", fast.err(), exact.err()),
    }
}

fn at(offset: u64) -> usize {
    usize::try_from(offset).expect("an offset in memory")
}

fn lines(data: &[u8]) -> u64 {
    data.split(|&byte| byte == b'\n').count() as u64 - 1
}

/// The data with a space before each line, the tail included.
fn spaced(data: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    lines
        .iter()
        .flat_map(|line| [b" ", *line].concat())
        .collect()
}

/// The page's member `older`. No text comes before it.
fn older(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("\"older\":")?;
    let (older, _) = rest.strip_prefix('"')?.split_once('"')?;
    Some(older.to_owned())
}

fn offset(cursor: &str) -> u64 {
    let (_, offset) = cursor.split_once(':').expect("a cursor");
    offset.parse().expect("an offset")
}

/// Rows as `entries` writes them, each without its first member.
fn without_offsets(rows: &[u8]) -> Vec<u8> {
    let (mut text, mut escaped, mut depth, mut skipping) = (false, false, 0, false);
    let mut kept = Vec::with_capacity(rows.len());
    for &byte in rows {
        if text {
            text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else {
            match byte {
                b'"' => text = true,
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if byte == b',' {
                skipping = false;
            }
        }
        if !skipping {
            kept.push(byte);
        }
        if !text && byte == b'[' && depth == 2 {
            skipping = true;
        }
    }
    kept
}
