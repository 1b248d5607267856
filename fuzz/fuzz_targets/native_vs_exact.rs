//! The fast pass against the exact parser: see `lettafast_fuzz::native_vs_exact`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lettafast_fuzz::native_vs_exact(data));
