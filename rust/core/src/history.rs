//! Which history an offset belongs to: ids, cursors and refs.

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::source::{Source, Status};

/// Most bytes of the first line that identify a history.
const FIRST: usize = 4096;

/// The id of the history in `source`, which has a whole first line.
pub fn base_id(source: &Source, status: &Status) -> Result<String> {
    let mut first = Vec::new();
    source.read(0, FIRST, &mut first)?;
    if let Some(lf) = memchr::memchr(b'\n', &first) {
        first.truncate(lf + 1);
    }
    let mut hash = Sha256::new();
    hash.update(format!("{}:{}:", status.dev, status.ino));
    hash.update(&first);
    let digest = hash.finalize();
    let eight = digest[..8]
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte));
    Ok(format!("v1-{eight:016x}"))
}

/// The histories that one object has met: how often each was arrived at.
#[derive(Debug, Default)]
pub struct Met(Vec<(String, u64)>);

impl Met {
    /// The id of a history that is arrived at now: counted up when it was met before.
    pub fn arrive(&mut self, base: String) -> String {
        if let Some((base, times)) = self.0.iter_mut().find(|(known, _)| *known == base) {
            *times += 1;
            return format!("{base}.{times}");
        }
        self.0.push((base.clone(), 0));
        base
    }
}

/// An offset in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The history's id.
    pub history: &'a str,
    /// The offset; the greatest number there is where the digits say more.
    pub offset: u64,
}

impl<'a> Place<'a> {
    /// Reads `<history_id>:<offset>`; none where `text` has another form.
    pub fn parse(text: &'a [u8]) -> Option<Place<'a>> {
        let text = std::str::from_utf8(text).ok()?;
        let (history, offset) = text.rsplit_once(':')?;
        if !is_decimal(offset) || !is_history(history) {
            return None;
        }
        let offset = offset.parse().unwrap_or(u64::MAX);
        Some(Place { history, offset })
    }
}

fn is_history(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("v1-") else {
        return false;
    };
    let (hex, count) = match rest.split_once('.') {
        Some((hex, count)) => (hex, Some(count)),
        None => (rest, None),
    };
    hex.len() == 16
        && hex
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && count.is_none_or(|count| is_decimal(count) && count != "0")
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_one_form() {
        let good = "v1-0123456789abcdef:0";
        let place = Place::parse(good.as_bytes()).unwrap();
        assert_eq!((place.history, place.offset), ("v1-0123456789abcdef", 0));
        let counted = Place::parse(b"v1-0123456789abcdef.12:345").unwrap();
        assert_eq!(counted.history, "v1-0123456789abcdef.12");
        let huge = b"v1-0123456789abcdef:99999999999999999999999";
        assert_eq!(Place::parse(huge).unwrap().offset, u64::MAX);
        for bad in [
            "",
            "0",
            "v1-0123456789abcdef",
            "v1-0123456789abcdef:",
            "v1-0123456789abcdef:01",
            "v1-0123456789abcdef:-1",
            "v1-0123456789abcdef:+1",
            "v1-0123456789abcdef: 1",
            "v1-0123456789abcde:1",
            "v1-0123456789ABCDEF:1",
            "v1-0123456789abcdef.0:1",
            "v1-0123456789abcdef.01:1",
            "v1-0123456789abcdef.:1",
            "v2-0123456789abcdef:1",
            "v1-0123456789abcdef:1\n",
        ] {
            assert_eq!(Place::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
