//! Strings as they stand in the file, as text, and as the page shows them.
//!
//! `raw` is always the inside of a JSON string, or a piece of one, that the scan
//! found well-formed: whole characters and escapes, no surrogate pair torn.

const REPLACEMENT: char = '\u{FFFD}';

/// One stretch of a raw string.
#[derive(Clone, Copy)]
enum Token<'a> {
    /// Characters that stand for themselves.
    Plain(&'a [u8]),
    /// An escape, as it stands, and what it means.
    Escape(&'a [u8], char),
}

/// The stretches of a raw string.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    #[inline]
    fn next(&mut self) -> Option<Token<'a>> {
        let raw = self.0;
        if *raw.first()? == b'\\' {
            let (meaning, length) = escape(raw);
            let (this, rest) = raw.split_at(length);
            self.0 = rest;
            return Some(Token::Escape(this, meaning));
        }
        let (this, rest) = raw.split_at(plain(raw));
        self.0 = rest;
        Some(Token::Plain(this))
    }
}

/// How many bytes come before the next backslash.
#[inline]
fn plain(raw: &[u8]) -> usize {
    memchr::memchr(b'\\', raw).unwrap_or(raw.len())
}

/// What the escape at the start of `raw` means, and its length.
#[inline]
fn escape(raw: &[u8]) -> (char, usize) {
    let meaning = match raw[1] {
        b'b' => '\u{8}',
        b'f' => '\u{C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return long_escape(raw),
        byte => char::from(byte),
    };
    (meaning, 2)
}

fn long_escape(raw: &[u8]) -> (char, usize) {
    let unit = unit(&raw[2..6]);
    if unit & 0xFC00 == 0xD800 && raw.len() >= 12 && raw[6] == b'\\' && raw[7] == b'u' {
        let low = self::unit(&raw[8..12]);
        if low & 0xFC00 == 0xDC00 {
            let scalar = 0x1_0000 + ((unit - 0xD800) << 10 | (low - 0xDC00));
            return (char::from_u32(scalar).unwrap_or(REPLACEMENT), 12);
        }
    }
    (char::from_u32(unit).unwrap_or(REPLACEMENT), 6)
}

fn unit(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |unit, &digit| {
        unit << 4 | char::from(digit).to_digit(16).unwrap_or(0)
    })
}

/// Appends the text that `raw` means, as UTF-8.
pub fn decode(raw: &[u8], into: &mut Vec<u8>) {
    for token in Tokens(raw) {
        match token {
            Token::Plain(bytes) => into.extend_from_slice(bytes),
            Token::Escape(_, meaning) => push(meaning, into),
        }
    }
}

/// What a raw string would become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// How many bytes fewer its text has.
    pub saved: u64,
    /// Whether it has the page's form already.
    pub is_page_form: bool,
}

impl Measure {
    /// Of a string without escapes.
    pub const PLAIN: Measure = Measure {
        saved: 0,
        is_page_form: true,
    };

    /// Of the string whose escapes are `escape` and what `self` measured.
    #[inline]
    pub fn and(&mut self, escape: &[u8]) {
        let (meaning, length) = self::escape(escape);
        self.saved += (length - meaning.len_utf8()) as u64;
        self.is_page_form &= is_page_form(&escape[..length]);
    }
}

/// Measures a raw string.
#[must_use]
pub fn measure(raw: &[u8]) -> Measure {
    let mut measure = Measure::PLAIN;
    for token in Tokens(raw) {
        if let Token::Escape(escape, _) = token {
            measure.and(escape);
        }
    }
    measure
}

/// Scalar values of the text that `raw` means.
#[must_use]
pub fn chars(raw: &[u8]) -> usize {
    chars_within(raw, raw.len()).0
}

/// How many raw bytes the first `most` scalar values take; all of them where there are no more.
#[must_use]
pub fn prefix(raw: &[u8], most: usize) -> usize {
    let (mut at, mut left) = (0, most);
    // No text has more characters than its raw form has bytes.
    while raw.len() - at > left && left > 0 {
        let (chars, length) = chars_within(&raw[at..], left);
        at += length;
        left -= chars;
    }
    if left == 0 { at } else { raw.len() }
}

/// The scalar values that begin in the first `length` bytes of `raw`, and where the last one ends.
pub fn chars_within(raw: &[u8], length: usize) -> (usize, usize) {
    let mut chars = leads(&raw[..length]);
    let mut end = length;
    let mut after = 0;
    for escape in memchr::memchr_iter(b'\\', &raw[..length]) {
        // The second byte of an escape, or the second half of a pair.
        if escape < after {
            continue;
        }
        after = escape + escape_length(&raw[escape..]);
        chars -= after.min(length) - escape - 1;
    }
    end = end.max(after);
    while raw.get(end).is_some_and(|&byte| !is_lead(byte)) {
        end += 1;
    }
    (chars, end)
}

/// The length of the escape at the start of `raw`.
fn escape_length(raw: &[u8]) -> usize {
    match (raw[1], raw.get(2)) {
        (b'u', Some(b'd' | b'D')) => long_escape(raw).1,
        (b'u', _) => 6,
        _ => 2,
    }
}

/// Appends `raw` in the page's form.
///
/// That form escapes `"`, `\` and U+0000 to U+001F only, in short where JSON has a
/// short escape, else as `\u00xx` in lower case: RFC 8785, section 3.2.2.2.
pub fn write_page_form(raw: &[u8], into: &mut Vec<u8>) {
    for token in Tokens(raw) {
        match token {
            Token::Plain(bytes) => into.extend_from_slice(bytes),
            Token::Escape(escape, meaning) => write_escape(escape, meaning, into),
        }
    }
}

fn write_escape(escape: &[u8], meaning: char, into: &mut Vec<u8>) {
    if is_page_form(escape) {
        into.extend_from_slice(escape);
    } else {
        push_page_form(meaning, into);
    }
}

/// Whether the page writes this escape in the same way.
#[inline]
fn is_page_form(escape: &[u8]) -> bool {
    match escape {
        [b'\\', b'/'] => false,
        [_, _] => true,
        [_, _, b'0', b'0', tens @ (b'0' | b'1'), ones] => match (tens, ones) {
            (b'0', b'8' | b'9' | b'a' | b'c' | b'd') => false,
            (_, ones) => matches!(ones, b'0'..=b'9' | b'a'..=b'f'),
        },
        _ => false,
    }
}

fn push_page_form(meaning: char, into: &mut Vec<u8>) {
    match meaning {
        '"' => into.extend_from_slice(b"\\\""),
        '\\' => into.extend_from_slice(b"\\\\"),
        '\u{8}' => into.extend_from_slice(b"\\b"),
        '\u{C}' => into.extend_from_slice(b"\\f"),
        '\n' => into.extend_from_slice(b"\\n"),
        '\r' => into.extend_from_slice(b"\\r"),
        '\t' => into.extend_from_slice(b"\\t"),
        '\0'..='\u{1F}' => into.extend_from_slice(format!("\\u{:04x}", meaning as u32).as_bytes()),
        _ => push(meaning, into),
    }
}

fn push(meaning: char, into: &mut Vec<u8>) {
    into.extend_from_slice(meaning.encode_utf8(&mut [0; 4]).as_bytes());
}

/// How many characters begin in `bytes`.
pub fn leads(bytes: &[u8]) -> usize {
    // Sums of bytes are what the compiler turns into vectors.
    bytes
        .chunks(255)
        .map(|chunk| {
            let count: u8 = chunk.iter().map(|&byte| u8::from(is_lead(byte))).sum();
            usize::from(count)
        })
        .sum()
}

/// Whether a character begins with this byte.
#[must_use]
pub const fn is_lead(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_form(raw: &str, most: usize) -> String {
        let mut out = Vec::new();
        let raw = &raw.as_bytes()[..prefix(raw.as_bytes(), most)];
        write_page_form(raw, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_page_form_escapes_only_what_it_must() {
        let raw =
            r#"a\/b\"\\\b\f\n\r\t\u0000\u001B\u001b\u0009\u00e9\u0041\ud83d\ude00\ud83d!\ude00"#;
        assert!(!measure(raw.as_bytes()).is_page_form);
        let form = "a/b\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001b\\u001b\\téA😀\u{FFFD}!\u{FFFD}";
        assert_eq!(page_form(raw, 1000), form);
        assert!(measure(form.as_bytes()).is_page_form);
        for most in 0..22 {
            let cut = page_form(raw, most);
            let text: String = serde_free_decode(&cut);
            assert_eq!(text.chars().count(), most.min(20));
            assert!(form.starts_with(&cut));
        }
    }

    fn serde_free_decode(raw: &str) -> String {
        let mut out = Vec::new();
        decode(raw.as_bytes(), &mut out);
        let saved = measure(raw.as_bytes()).saved;
        assert_eq!(out.len() as u64, raw.len() as u64 - saved);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.chars().count(), chars(raw.as_bytes()));
        text
    }

    #[test]
    fn long_plain_text_is_cut_at_a_character() {
        for unit in ["é", "x", "漢", "😀"] {
            let raw = unit.repeat(1000);
            for most in [0, 1, 31, 32, 33, 64, 999, 1000, 1001] {
                assert_eq!(page_form(&raw, most), unit.repeat(most.min(1000)));
            }
            assert_eq!(chars(raw.as_bytes()), 1000);
        }
    }
}
