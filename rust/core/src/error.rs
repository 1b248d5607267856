//! What can go wrong. The numbers are part of the C ABI and never change (`docs/ABI.md`).

/// Why a file could not be opened or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum SourceReason {
    /// Nothing is there.
    Missing = 1,
    /// The system does not let us.
    PermissionDenied = 2,
    /// A part of the path is a link.
    Symlink = 3,
    /// It is no regular file (or the root is no folder).
    NotRegular = 4,
    /// The name could lead elsewhere.
    BadName = 5,
    /// The file ended before the size that it had.
    Changed = 6,
    /// Another error of the system.
    Io = 7,
}

/// Why a line was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)] // each is defined in docs/FORMAT.md
pub enum RefusedReason {
    Bom = 101,
    LineTooLong = 102,
    NulPadding = 103,
    BlankLine = 104,
    NotAnObject = 105,
    MalformedJson = 106,
    InvalidUtf8 = 107,
    ControlCharacter = 108,
    DuplicateKey = 109,
    UnknownField = 110,
    WrongType = 111,
    UnknownKind = 112,
    BadTimestamp = 113,
    MissingField = 114,
    TrailingData = 115,
}

/// How a history ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HistoryReason {
    /// The file is shorter than what was validated.
    Truncated = 201,
    /// Another file, or none, is at the place.
    Replaced = 202,
    /// What was validated is no longer what the file holds.
    Rewritten = 203,
    /// A cursor or ref belongs to another history.
    OtherHistory = 204,
    /// A cursor or ref lies beyond the validated end.
    BeyondEnd = 205,
}

/// Why a cursor is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CursorReason {
    /// It does not have the form of a cursor.
    Form = 301,
    /// Its offset begins no line.
    NotALine = 302,
}

/// Why a ref names no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum RefReason {
    /// It does not have the form of a ref or of a bare id.
    Form = 401,
    /// No entry is there.
    NotFound = 402,
    /// Several tool calls have this id.
    Ambiguous = 403,
    /// An entry of this kind has no such part.
    NoSuchPart = 404,
}

/// A fault of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which fault.
    pub reason: RefusedReason,
    /// The line, from 1.
    pub line: u64,
    /// The line's first byte.
    pub line_offset: u64,
    /// The fault's byte.
    pub offset: u64,
    /// The member concerned: at most 64 characters of its name.
    pub field: Option<String>,
    /// Printable ASCII around the fault.
    pub excerpt: String,
}

/// Everything that a call may answer instead of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The file could not be opened or read; with the system's number or 0.
    Source(SourceReason, i32),
    /// The transcript is refused.
    Refused(Box<Fault>),
    /// The history is gone.
    History(HistoryReason),
    /// The cursor is none.
    Cursor(CursorReason),
    /// The ref names no text.
    Ref(RefReason),
    /// A range starts above the size of its text.
    Range {
        /// UTF-8 bytes of the text.
        size: u64,
    },
}

impl Error {
    /// The number of this error in the C ABI.
    #[must_use]
    pub fn code(&self) -> i32 {
        match self {
            Error::Source(reason, _) => *reason as i32,
            Error::Refused(fault) => fault.reason as i32,
            Error::History(reason) => *reason as i32,
            Error::Cursor(reason) => *reason as i32,
            Error::Ref(reason) => *reason as i32,
            Error::Range { .. } => 501,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Source(reason, number) => write!(out, "{reason:?} (os error {number})"),
            Error::Refused(fault) => write!(
                out,
                "line {}: {:?} at byte {}",
                fault.line, fault.reason, fault.offset
            ),
            Error::History(reason) => write!(out, "history changed: {reason:?}"),
            Error::Cursor(reason) => write!(out, "cursor: {reason:?}"),
            Error::Ref(reason) => write!(out, "ref: {reason:?}"),
            Error::Range { size } => write!(out, "range above the size {size}"),
        }
    }
}

impl std::error::Error for Error {}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
