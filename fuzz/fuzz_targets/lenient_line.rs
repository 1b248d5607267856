//! Any bytes, read leniently: see `lettafast_fuzz::lenient_line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lettafast_fuzz::lenient_line(data));
