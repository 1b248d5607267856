//! Opens a transcript N times: what `benches/instructions.py` runs under callgrind.
//!
//! `open PATH N [scalar|avx2|avx512|neon]` prints the number of entries.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use lettafast_core::scan::Isa;
use lettafast_core::{Options, Transcript};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, times, isa @ ..] = arguments.as_slice() else {
        panic!("usage: open PATH N [scalar|avx2|avx512|neon]");
    };
    let isa = match isa.first().map(String::as_str) {
        None => Isa::best(),
        Some("scalar") => Isa::Scalar,
        Some("avx2") => Isa::Avx2,
        Some("avx512") => Isa::Avx512,
        Some("neon") => Isa::Neon,
        Some(other) => panic!("unknown instructions: {other}"),
    };
    let path = Path::new(path);
    let root = path.parent().expect("a file has a folder");
    let name = path.file_name().expect("a file has a name");
    let options = Options {
        isa,
        ..Options::default()
    };
    let mut entries = 0;
    for _ in 0..times.parse().expect("N is a number") {
        let transcript = Transcript::open(root, name.as_bytes(), options).expect("it opens");
        entries = transcript.summary().expect("it is open").counts.entries();
    }
    println!("{entries}");
}
