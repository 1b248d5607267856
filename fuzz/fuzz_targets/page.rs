//! Any bytes, in pages: see `lettafast_fuzz::page`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lettafast_fuzz::page(data));
