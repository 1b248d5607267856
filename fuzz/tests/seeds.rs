//! The committed seeds and the cases of the fixtures hold every law of the fuzz targets.

use std::path::Path;

/// Every file beneath a folder of this repository.
fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let found: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a seed"))
        .collect();
    assert!(!found.is_empty(), "no seeds in {}", folder.display());
    found
}

fn replay(law: fn(&[u8]), folder: &str) {
    for seed in files(folder) {
        law(&seed);
    }
}

#[test]
fn strict_line() {
    replay(lettafast_fuzz::strict_line, "seeds/lines");
    replay(lettafast_fuzz::strict_line, "../fixtures/cases");
}

#[test]
fn lenient_line() {
    replay(lettafast_fuzz::lenient_line, "seeds/lines");
    replay(lettafast_fuzz::lenient_line, "../fixtures/cases");
}

#[test]
fn native_vs_exact() {
    replay(lettafast_fuzz::native_vs_exact, "seeds/lines");
    replay(lettafast_fuzz::native_vs_exact, "../fixtures/cases");
}

#[test]
fn page() {
    replay(lettafast_fuzz::page, "seeds/pages");
}
