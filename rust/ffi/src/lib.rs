//! The C ABI of lettafast; `include/lettafast.h` documents it for callers.
//!
//! Every entry point answers 0 or an error's number, runs under `catch_unwind`, and
//! writes its result only on 0. What goes in is borrowed for the call. What comes out
//! lies in the caller's structs or in buffers that the handle owns, which are valid
//! until the next call with that handle. Invariants: `docs/SAFETY.md`.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use lettafast_core::error::{Error, Fault, Result};
use lettafast_core::scan::Isa;
use lettafast_core::{Json, Part, Transcript};

/// Counts up whenever a function, a struct or a number changes its meaning.
const ABI: u32 = 1;
/// The code of a panic, which is a bug.
const PANIC: i32 = -1;
/// The code of instructions that this machine lacks.
const NO_SUCH_ISA: i32 = 601;
/// A length that says that there is none.
const NONE: u32 = u32::MAX;

const LENIENT: u32 = 1;
const NO_OPENAT2: u32 = 2;

/// An open transcript and what its last calls lent.
pub struct Handle {
    transcript: Transcript,
    json: Json,
    text: Vec<u8>,
}

/// How to open; `size` is the struct's size in bytes.
#[repr(C)]
pub struct Options {
    size: u32,
    flags: u32,
    isa: u32,
    reserved: u32,
    max_line_bytes: u64,
    max_page_bytes: u64,
}

/// An error, or a diagnostic. A `field_length` of `UINT32_MAX` says that there is no field.
#[repr(C)]
pub struct Failure {
    code: i32,
    os_error: i32,
    line: u64,
    line_offset: u64,
    offset: u64,
    field_length: u32,
    excerpt_length: u32,
    field: [u8; 256],
    excerpt: [u8; 320],
}

/// Counts of what was validated.
#[repr(C)]
pub struct Totals {
    kinds: [u64; 5],
    turns: u64,
    replaced_surrogates: u64,
    validated: u64,
    tail_bytes: u64,
    diagnostics_total: u64,
    dev: u64,
    ino: u64,
}

/// Bytes that the handle owns, and where to go on.
#[repr(C)]
pub struct View {
    bytes: *const u8,
    length: u64,
    next: u64,
}

/// A range of a text that the handle owns.
#[repr(C)]
pub struct TextView {
    bytes: *const u8,
    length: u64,
    start: u64,
    end: u64,
    size: u64,
}

const _: () = {
    assert!(size_of::<Options>() == 32);
    assert!(size_of::<Failure>() == 616);
    assert!(size_of::<Totals>() == 96);
    assert!(size_of::<View>() == 24);
    assert!(size_of::<TextView>() == 40);
};

/// The number of this ABI.
#[unsafe(no_mangle)]
pub extern "C" fn lettafast_abi() -> u32 {
    ABI
}

/// The widest instructions of this machine: 1 scalar, 2 AVX2, 3 AVX-512, 4 NEON.
#[unsafe(no_mangle)]
pub extern "C" fn lettafast_isa() -> u32 {
    Isa::best() as u32
}

/// Opens the transcript `relative` beneath the folder `root`.
///
/// # Safety
/// `root` and `relative` lead to as many bytes as their lengths say; `options`, `out`
/// and `error` lead to one value each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_open(
    root: *const u8,
    root_length: u64,
    relative: *const u8,
    relative_length: u64,
    options: *const Options,
    out: *mut *mut Handle,
    error: *mut Failure,
) -> i32 {
    // SAFETY: the caller's promise.
    let (root, relative, options) = unsafe {
        (
            borrow(root, root_length),
            borrow(relative, relative_length),
            &*options,
        )
    };
    if options.size as usize != size_of::<Options>() {
        // SAFETY: the caller's promise.
        return unsafe {
            fail(
                error,
                &Failure::of_code(PANIC, "another size of the options"),
            )
        };
    }
    let isa = match options.isa {
        0 => Some(Isa::best()),
        number => Isa::ALL
            .into_iter()
            .find(|isa| *isa as u32 == number && isa.is_available()),
    };
    let Some(isa) = isa else {
        // SAFETY: the caller's promise.
        return unsafe { fail(error, &Failure::of_code(NO_SUCH_ISA, "")) };
    };
    let how = lettafast_core::Options {
        lenient: options.flags & LENIENT != 0,
        max_line_bytes: options.max_line_bytes,
        max_page_bytes: options.max_page_bytes,
        openat2: options.flags & NO_OPENAT2 == 0,
        isa,
    };
    let make = || {
        let transcript = Transcript::open(Path::new(OsStr::from_bytes(root)), relative, how)?;
        Ok(Box::into_raw(Box::new(Handle {
            transcript,
            json: Json::default(),
            text: Vec::new(),
        })))
    };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// Closes a transcript; null is ignored.
///
/// # Safety
/// `handle` came from `lettafast_open` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_close(handle: *mut Handle) {
    if !handle.is_null() {
        // SAFETY: `lettafast_open` made it with `Box::into_raw`; the caller gives it up.
        let handle = unsafe { Box::from_raw(handle) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}

/// Opens the same place again.
///
/// # Safety
/// `handle` is open and no other thread uses it; `error` leads to one value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_reopen(handle: *mut Handle, error: *mut Failure) -> i32 {
    let mut nothing = ();
    // SAFETY: the caller's promise.
    unsafe { give(|| (*handle).transcript.reopen(), &raw mut nothing, error) }
}

/// Counts of what was validated.
///
/// # Safety
/// As for `lettafast_reopen`; `out` leads to one value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_summary(
    handle: *mut Handle,
    out: *mut Totals,
    error: *mut Failure,
) -> i32 {
    let make = || {
        // SAFETY: the caller's promise.
        let summary = unsafe { (*handle).transcript.summary()? };
        Ok(Totals {
            kinds: summary.counts.kinds,
            turns: summary.counts.turns,
            replaced_surrogates: summary.counts.replaced,
            validated: summary.validated,
            tail_bytes: summary.tail,
            diagnostics_total: summary.diagnostics,
            dev: summary.file.0,
            ino: summary.file.1,
        })
    };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// Diagnostic number `index` of those that were kept; with code 0 where there is none.
///
/// # Safety
/// As for `lettafast_summary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_diagnostic(
    handle: *mut Handle,
    index: u64,
    out: *mut Failure,
    error: *mut Failure,
) -> i32 {
    let make = || {
        // SAFETY: the caller's promise.
        let kept = unsafe { (*handle).transcript.diagnostics()? };
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| kept.get(index));
        Ok(found.map_or_else(|| Failure::of_code(0, ""), Failure::of_fault))
    };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// Reads what was appended; `out` is 1 when rows were added. `verify` 1 reads everything again.
///
/// # Safety
/// As for `lettafast_summary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_refresh(
    handle: *mut Handle,
    verify: u32,
    out: *mut u32,
    error: *mut Failure,
) -> i32 {
    // SAFETY: the caller's promise.
    let make = || unsafe { (*handle).transcript.refresh(verify != 0).map(u32::from) };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// A page as JSON: the newest where `before` is null, else the one that ends at that cursor.
///
/// # Safety
/// As for `lettafast_summary`; `before` is null or leads to `before_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_page(
    handle: *mut Handle,
    before: *const u8,
    before_length: u64,
    limit: u64,
    out: *mut View,
    error: *mut Failure,
) -> i32 {
    // SAFETY: the caller's promise.
    let before = (!before.is_null()).then(|| unsafe { borrow(before, before_length) });
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let make = |handle: &mut Handle| Ok((handle.transcript.page(before, limit)?, 0));
    // SAFETY: the caller's promise.
    unsafe { lend(handle, make, out, error) }
}

/// The page of the rows from the line at `start` on; `next` says where it ends.
///
/// # Safety
/// As for `lettafast_summary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_appended(
    handle: *mut Handle,
    start: u64,
    out: *mut View,
    error: *mut Failure,
) -> i32 {
    let make = |handle: &mut Handle| handle.transcript.appended(start);
    // SAFETY: the caller's promise.
    unsafe { lend(handle, make, out, error) }
}

/// Some rows from the line at `start` on and before `end`, as a JSON array of arrays; `next`
/// says where to go on.
///
/// # Safety
/// As for `lettafast_summary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_entries(
    handle: *mut Handle,
    start: u64,
    end: u64,
    out: *mut View,
    error: *mut Failure,
) -> i32 {
    let make = |handle: &mut Handle| handle.transcript.entries(start, end);
    // SAFETY: the caller's promise.
    unsafe { lend(handle, make, out, error) }
}

/// Whether a row begins at `offset`: 1 or 0.
///
/// # Safety
/// As for `lettafast_summary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_is_row(
    handle: *mut Handle,
    offset: u64,
    out: *mut u32,
    error: *mut Failure,
) -> i32 {
    // SAFETY: the caller's promise.
    let make = || unsafe { (*handle).transcript.is_row(offset).map(u32::from) };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// A range of the text (`part` 0), input (1) or output (2) of the entry that `name` names.
///
/// # Safety
/// As for `lettafast_summary`; `name` leads to `name_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lettafast_content(
    handle: *mut Handle,
    name: *const u8,
    name_length: u64,
    part: u32,
    start: u64,
    length: u64,
    out: *mut TextView,
    error: *mut Failure,
) -> i32 {
    let part = match part {
        0 => Some(Part::Text),
        1 => Some(Part::Input),
        2 => Some(Part::Output),
        _ => None,
    };
    let make = || {
        // SAFETY: the caller's promise.
        let (handle, name) = unsafe { (&mut *handle, borrow(name, name_length)) };
        let range = handle.transcript.content(name, part, start, length)?;
        handle.text = range.text;
        Ok(TextView {
            bytes: handle.text.as_ptr(),
            length: handle.text.len() as u64,
            start: range.start,
            end: range.end,
            size: range.size,
        })
    };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// # Safety
/// `bytes` leads to `length` bytes that outlive `'a` and do not change, unless `length` is 0.
unsafe fn borrow<'a>(bytes: *const u8, length: u64) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    let length = usize::try_from(length).expect("it lies in memory");
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(bytes, length) }
}

/// Keeps the bytes that `make` gives in the handle and lends them to the caller.
///
/// # Safety
/// As for `lettafast_summary`.
unsafe fn lend(
    handle: *mut Handle,
    make: impl FnOnce(&mut Handle) -> Result<(Json, u64)>,
    out: *mut View,
    error: *mut Failure,
) -> i32 {
    let make = || {
        // SAFETY: the caller's promise.
        let handle = unsafe { &mut *handle };
        let (json, next) = make(handle)?;
        handle.json = json;
        let bytes = handle.json.as_bytes();
        Ok(View {
            bytes: bytes.as_ptr(),
            length: bytes.len() as u64,
            next,
        })
    };
    // SAFETY: the caller's promise.
    unsafe { give(make, out, error) }
}

/// Writes what `make` gives to `out` and answers 0, or writes the error and answers its number.
///
/// # Safety
/// `out` and `error` lead to one value each, which need not be initialized.
unsafe fn give<T>(make: impl FnOnce() -> Result<T>, out: *mut T, error: *mut Failure) -> i32 {
    quiet_panics();
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(value)) => {
            // SAFETY: the caller's promise.
            unsafe { out.write(value) };
            0
        }
        // SAFETY: the caller's promise.
        Ok(Err(found)) => unsafe { fail(error, &Failure::of(&found)) },
        Err(payload) => {
            let message = panic_message(payload.as_ref());
            // SAFETY: the caller's promise.
            unsafe { fail(error, &Failure::of_code(PANIC, &message)) }
        }
    }
}

/// # Safety
/// `error` leads to one value, which need not be initialized.
unsafe fn fail(error: *mut Failure, failure: &Failure) -> i32 {
    // SAFETY: the caller's promise; the struct is plain data.
    unsafe { std::ptr::copy_nonoverlapping(failure, error, 1) };
    failure.code
}

impl Failure {
    fn of(error: &Error) -> Failure {
        match error {
            Error::Refused(fault) => Failure::of_fault(fault),
            Error::Source(_, number) => Failure {
                os_error: *number,
                ..Failure::of_code(error.code(), "")
            },
            Error::Range { size } => Failure {
                offset: *size,
                ..Failure::of_code(error.code(), "")
            },
            _ => Failure::of_code(error.code(), ""),
        }
    }

    fn of_fault(fault: &Fault) -> Failure {
        let mut failure = Failure::of_code(fault.reason as i32, &fault.excerpt);
        failure.line = fault.line;
        failure.line_offset = fault.line_offset;
        failure.offset = fault.offset;
        if let Some(field) = &fault.field {
            failure.field_length = fill(&mut failure.field, field);
        }
        failure
    }

    fn of_code(code: i32, excerpt: &str) -> Failure {
        let mut failure = Failure {
            code,
            os_error: 0,
            line: 0,
            line_offset: 0,
            offset: 0,
            field_length: NONE,
            excerpt_length: 0,
            field: [0; 256],
            excerpt: [0; 320],
        };
        failure.excerpt_length = fill(&mut failure.excerpt, excerpt);
        failure
    }
}

/// Copies as many whole characters as fit; answers how many bytes.
fn fill(into: &mut [u8], text: &str) -> u32 {
    let mut length = text.len().min(into.len());
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    into[..length].copy_from_slice(&text.as_bytes()[..length]);
    u32::try_from(length).expect("the buffer is short")
}

thread_local! {
    /// Where the last panic of this thread happened.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from printing over a terminal program; they come back as errors.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string);
            PANICKED_AT.with_borrow_mut(|at| *at = place.unwrap_or_default());
        }));
    });
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let words = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic");
    let place = PANICKED_AT.with_borrow(Clone::clone);
    format!("{words} ({place})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    fn call(make: impl FnOnce() -> Result<u32>) -> (i32, u32, Failure) {
        let (mut out, mut error) = (7, MaybeUninit::<Failure>::uninit());
        // SAFETY: both lead to one value; a failing call writes the error, and on 0 it is written here.
        unsafe {
            let code = give(make, &raw mut out, error.as_mut_ptr());
            if code == 0 {
                error.write(Failure::of_code(0, ""));
            }
            (code, out, error.assume_init())
        }
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_words_and_place() {
        let (code, out, error) = call(|| panic!("out of {}", "luck"));
        assert_eq!((code, out), (PANIC, 7));
        let message = &error.excerpt[..error.excerpt_length as usize];
        let message = std::str::from_utf8(message).unwrap();
        assert!(
            message.starts_with("out of luck (") && message.contains("lib.rs"),
            "{message}"
        );
    }

    #[test]
    fn an_error_leaves_the_result_alone() {
        let history = lettafast_core::error::HistoryReason::Replaced;
        let (code, out, error) = call(|| Err(Error::History(history)));
        assert_eq!((code, out, error.code), (202, 7, 202));
        assert_eq!(error.field_length, NONE);
        let (code, out, _) = call(|| Ok(9));
        assert_eq!((code, out), (0, 9));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let mut buffer = [0; 5];
        assert_eq!(fill(&mut buffer, "ééé"), 4);
    }
}
