//! What a line may hold: kinds, members, and when a time is one.

/// The five kinds of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// What the user said.
    User,
    /// What the agent said.
    Assistant,
    /// What the agent thought.
    Reasoning,
    /// What went wrong in a turn.
    Error,
    /// A tool call with its result.
    ToolCall,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 5] = [
        Kind::User,
        Kind::Assistant,
        Kind::Reasoning,
        Kind::Error,
        Kind::ToolCall,
    ];

    /// The kind's name in a transcript.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Assistant => "assistant",
            Kind::Reasoning => "reasoning",
            Kind::Error => "error",
            Kind::ToolCall => "tool_call",
        }
    }

    /// The kind that a transcript calls `name`.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name().as_bytes() == name)
    }

    /// The members that an entry of this kind may have.
    #[must_use]
    pub const fn allowed(self) -> Members {
        let ids = Member::SourceLineId.bit() | Member::SourceMessageId.bit();
        match self {
            Kind::ToolCall => {
                self.required()
                    | ids
                    | Member::Name.bit()
                    | Member::ArgsText.bit()
                    | Member::ResultText.bit()
                    | Member::ResultOk.bit()
            }
            _ => self.required() | ids,
        }
    }

    /// The members that an entry of this kind must have.
    #[must_use]
    pub const fn required(self) -> Members {
        let both = Member::Kind.bit() | Member::CapturedAt.bit();
        match self {
            Kind::ToolCall => both,
            _ => both | Member::Text.bit(),
        }
    }
}

/// A set of members: one bit each.
pub type Members = u16;

/// The nine members that some kind allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Member {
    /// `kind`
    Kind,
    /// `text`
    Text,
    /// `captured_at`
    CapturedAt,
    /// `name`
    Name,
    /// `argsText`
    ArgsText,
    /// `resultText`
    ResultText,
    /// `resultOk`
    ResultOk,
    /// `source_line_id`
    SourceLineId,
    /// `source_message_id`
    SourceMessageId,
}

/// How many members there are.
pub const MEMBER_COUNT: usize = 9;

impl Member {
    /// All members, in the order of their numbers.
    pub const ALL: [Member; MEMBER_COUNT] = [
        Member::Kind,
        Member::Text,
        Member::CapturedAt,
        Member::Name,
        Member::ArgsText,
        Member::ResultText,
        Member::ResultOk,
        Member::SourceLineId,
        Member::SourceMessageId,
    ];

    /// The member's name in a transcript.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Member::Kind => "kind",
            Member::Text => "text",
            Member::CapturedAt => "captured_at",
            Member::Name => "name",
            Member::ArgsText => "argsText",
            Member::ResultText => "resultText",
            Member::ResultOk => "resultOk",
            Member::SourceLineId => "source_line_id",
            Member::SourceMessageId => "source_message_id",
        }
    }

    /// The member that a transcript calls `name`.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Member> {
        Member::ALL
            .into_iter()
            .find(|member| member.name().as_bytes() == name)
    }

    /// The set of this member alone.
    #[must_use]
    pub const fn bit(self) -> Members {
        1 << self as u8
    }
}

/// A `captured_at`, which always has this many bytes.
pub type Stamp = [u8; 24];

/// One accepted line.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line's first byte.
    pub offset: u64,
    /// The byte after its LF.
    pub end: u64,
    /// Its kind.
    pub kind: Kind,
    /// The members that it has.
    pub members: Members,
    /// `resultOk`, where the row has it.
    pub ok: bool,
    /// Lone surrogates in its strings.
    pub replaced: u64,
    /// `captured_at`.
    pub captured_at: Stamp,
}

impl Row {
    /// Whether the row has `member`.
    #[must_use]
    pub const fn has(&self, member: Member) -> bool {
        self.members & member.bit() != 0
    }
}

/// Whether `stamp` is `YYYY-MM-DDTHH:MM:SS.mmmZ` and a real date and time.
#[must_use]
pub fn is_time(stamp: &Stamp) -> bool {
    let (date, time) = stamp.split_at(11);
    is_date(date) && is_clock(time)
}

/// Whether these 11 bytes are `YYYY-MM-DDT` of the proleptic Gregorian calendar.
#[must_use]
pub fn is_date(bytes: &[u8]) -> bool {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T'] = bytes else {
        return false;
    };
    let (Some(century), Some(year), Some(month), Some(day)) = (
        number(y1, y2),
        number(y3, y4),
        number(m1, m2),
        number(d1, d2),
    ) else {
        return false;
    };
    let leap = if year == 0 {
        century % 4 == 0
    } else {
        year % 4 == 0
    };
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Whether these 13 bytes are `HH:MM:SS.mmmZ`; a second 60 or an hour 24 is not.
#[must_use]
#[inline]
pub fn is_clock(bytes: &[u8]) -> bool {
    let &[h1, h2, b':', m1, m2, b':', s1, s2, b'.', f1, f2, f3, b'Z'] = bytes else {
        return false;
    };
    f1.is_ascii_digit()
        && number(h1, h2).is_some_and(|hour| hour < 24)
        && number(m1, m2).is_some_and(|minute| minute < 60)
        && number(s1, s2).is_some_and(|second| second < 60)
        && number(f2, f3).is_some()
}

#[inline]
fn number(tens: u8, ones: u8) -> Option<u8> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| tens * 10 + ones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_real_dates() {
        let real = |text: &str| is_time(text.as_bytes().try_into().unwrap());
        for good in [
            "0000-01-01T00:00:00.000Z",
            "0000-02-29T00:00:00.000Z",
            "2000-02-29T23:59:59.999Z",
            "2024-02-29T12:00:00.500Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert!(real(good), "{good}");
        }
        for bad in [
            "1900-02-29T00:00:00.000Z",
            "2023-02-29T00:00:00.000Z",
            "2024-04-31T00:00:00.000Z",
            "2024-00-01T00:00:00.000Z",
            "2024-13-01T00:00:00.000Z",
            "2024-01-00T00:00:00.000Z",
            "2024-01-01T24:00:00.000Z",
            "2024-01-01T00:60:00.000Z",
            "2024-01-01T00:00:60.000Z",
            "2024-01-01 00:00:00.000Z",
            "2024-01-01T00:00:00,000Z",
            "2024-01-01T00:00:00.00aZ",
            "2024-01-01T00:00:00.000z",
            "202a-01-01T00:00:00.000Z",
        ] {
            assert!(!real(bad), "{bad}");
        }
    }

    #[test]
    fn names_lead_back_to_themselves() {
        for member in Member::ALL {
            assert_eq!(Member::of(member.name().as_bytes()), Some(member));
        }
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind.name().as_bytes()), Some(kind));
            assert_eq!(kind.required() & !kind.allowed(), 0);
        }
    }
}
