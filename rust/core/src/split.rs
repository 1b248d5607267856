//! Long streamed messages, which Letta Code splits into several rows.

const MARK: &[u8] = b"-split-";
/// Most digits of a split's number.
const DIGITS: usize = 9;

/// The decoded ids of an assistant row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// `source_line_id`.
    pub line: Option<Vec<u8>>,
    /// `source_message_id`.
    pub message: Option<Vec<u8>>,
}

impl Ids {
    /// Whether a row that goes on with this one's text could come.
    pub fn is_split(&self) -> bool {
        self.line.as_deref().and_then(split).is_some()
    }
}

/// Whether the row with `own` ids goes on with the text of the row with the `earlier` ones,
/// which stands directly before it: `X-split-<n>`, then `X-split-<n+1>` or `X`.
pub fn goes_on(earlier: &Ids, own: &Ids) -> bool {
    let (Some(before), Some(line)) = (&earlier.line, &own.line) else {
        return false;
    };
    let Some((name, number)) = split(before) else {
        return false;
    };
    earlier.message == own.message
        && line.strip_prefix(name).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix(MARK)
                    .is_some_and(|rest| rest == (number + 1).to_string().as_bytes())
        })
}

/// `X` and `n` of `X-split-<n>`.
fn split(id: &[u8]) -> Option<(&[u8], u32)> {
    let at = memchr::memmem::rfind(id, MARK)?;
    let digits = &id[at + MARK.len()..];
    let canonical = digits.len() <= DIGITS
        && digits.iter().all(u8::is_ascii_digit)
        && (digits == b"0" || digits.first().is_some_and(|&digit| digit != b'0'));
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    canonical.then_some((&id[..at], number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(line: &str) -> Ids {
        Ids {
            line: Some(line.as_bytes().to_vec()),
            message: None,
        }
    }

    #[test]
    fn a_split_goes_on_with_the_next_number_or_the_bare_id() {
        for (earlier, own) in [
            ("m-split-0", "m-split-1"),
            ("m-split-0", "m"),
            ("m-split-9", "m-split-10"),
            ("-split-0", ""),
            ("a-split-1-split-2", "a-split-1"),
            ("m-split-999999999", "m-split-1000000000"),
        ] {
            assert!(goes_on(&ids(earlier), &ids(own)), "{earlier} {own}");
        }
        for (earlier, own) in [
            ("m-split-0", "m-split-2"),
            ("m-split-1", "m-split-1"),
            ("m-split-00", "m"),
            ("m-split-", "m"),
            ("m-split-x", "m"),
            ("m", "m"),
            ("m-split-0", "n"),
            ("m-split-0", "m-split-01"),
            ("m-split-1000000000", "m"),
        ] {
            assert!(!goes_on(&ids(earlier), &ids(own)), "{earlier} {own}");
        }
        let mut other = ids("m");
        other.message = Some(b"x".to_vec());
        assert!(!goes_on(&ids("m-split-0"), &other));
    }
}
