//! Any bytes, read strictly: see `lettafast_fuzz::strict_line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lettafast_fuzz::strict_line(data));
