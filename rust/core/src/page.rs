//! Pages: where they begin and end, and their JSON. The rules are `docs/PAGES.md`.

use crate::brief::{Brief, Briefs, Parts};
use crate::entry::Kind;
use crate::error::{Error, HistoryReason, Result};
use crate::json_text::Json;
use crate::sink::Flow;
use crate::transcript::{Open, SMALL_BLOCK, Transcript};
use crate::turn::{TurnWriter, write_number};
use crate::window::BLOCK;

/// Room for everything before the turns, which is written last.
const HEAD: usize = 512;
/// First step back in search of an LF.
const STEP_BACK: u64 = 4 << 10;

/// What a page says besides its turns.
struct Head {
    state: &'static str,
    /// Its first byte, or none where the transcript has no entry.
    cursor: Option<u64>,
    /// Whether an entry lies before it.
    has_older: bool,
    starts_mid_turn: bool,
    ends_mid_turn: bool,
    replaced: u64,
    /// The tail's length and the number of diagnostics, for a newest page.
    whole: Option<(u64, u64)>,
}

impl Transcript {
    pub(crate) fn page_once(&mut self, before: Option<&[u8]>, limit: usize) -> Result<Json> {
        let open = &self.open;
        let end = match before {
            Some(cursor) => open.cursor(cursor)?,
            None => open.validated,
        };
        let whole = before
            .is_none()
            .then_some((open.tail(), open.diagnostics.total()));
        let Some(start) = open.start(end, limit, self.options.max_page_bytes)? else {
            let empty = open.index.units.is_empty();
            let head = Head {
                state: if empty { "empty" } else { "ok" },
                cursor: (!empty).then_some(end),
                has_older: false,
                starts_mid_turn: false,
                ends_mid_turn: false,
                replaced: 0,
                whole,
            };
            return Ok(head.finish(&open.history, vec![0; HEAD]));
        };
        open.page_of(start, end, whole)
    }

    pub(crate) fn appended_once(&mut self, start: u64) -> Result<(Json, u64)> {
        let open = &self.open;
        let end = open.forward_end(start, self.options.max_page_bytes)?;
        let whole = Some((open.tail(), open.diagnostics.total()));
        Ok((open.page_of(start, end, whole)?, end))
    }
}

impl Open {
    /// The page of the rows from `start` to `end`.
    fn page_of(&self, start: u64, end: u64, whole: Option<(u64, u64)>) -> Result<Json> {
        let room = usize::try_from(end - start).unwrap_or(0).min(BLOCK);
        let mut out = Vec::with_capacity(HEAD + room + room / 4);
        out.resize(HEAD, 0);
        let mut writer = TurnWriter::new(self.isa(), &self.history, out);
        self.rows(start, end, BLOCK, &mut writer)?;
        let as_validated = writer
            .first
            .is_some_and(|(first, kind)| first == start && self.begins_unit(start, kind));
        if self.index.is_unit(start) && !as_validated {
            return Err(Error::History(HistoryReason::Rewritten));
        }
        let Some((first, kind)) = writer.first else {
            let head = Head {
                state: if self.index.units.is_empty() {
                    "empty"
                } else {
                    "ok"
                },
                cursor: None,
                has_older: false,
                starts_mid_turn: false,
                ends_mid_turn: false,
                replaced: 0,
                whole,
            };
            return Ok(head.finish(&self.history, vec![0; HEAD]));
        };
        let last_is_user = writer.last == Some(Kind::User);
        let head = Head {
            state: "ok",
            cursor: Some(first),
            has_older: self.index.units_before(first) > 0,
            starts_mid_turn: kind != Kind::User && self.follows_in_turn(first)?,
            ends_mid_turn: !last_is_user && self.goes_on_at(end)?,
            replaced: writer.replaced,
            whole,
        };
        Ok(head.finish(&self.history, writer.finish()))
    }

    /// Whether a row of this kind may be what the unit at `start` began with.
    fn begins_unit(&self, start: u64, kind: Kind) -> bool {
        kind == Kind::User || self.index.units.first() == Some(&start)
    }

    /// Where the page that ends at `end` begins; none where no entry lies before `end`.
    fn start(&self, end: u64, limit: usize, max_bytes: u64) -> Result<Option<u64>> {
        let units = &self.index.units[..self.index.units_before(end)];
        let Some((&newest, older)) = units.split_last() else {
            return Ok(None);
        };
        let fitting = older
            .iter()
            .rev()
            .take(limit - 1)
            .take_while(|&&unit| end - unit <= max_bytes);
        match fitting.last() {
            Some(&start) => Ok(Some(start)),
            None if end - newest > max_bytes => self.cut(newest, end, max_bytes).map(Some),
            None => Ok(Some(newest)),
        }
    }

    /// Where a page that is cut inside the unit at `unit` begins.
    fn cut(&self, unit: u64, end: u64, max_bytes: u64) -> Result<u64> {
        let row = match self.first_row(end - max_bytes, end)? {
            Some(row) => row,
            None => self.last_row(unit, end)?,
        };
        // Back to where the row's run of splits begins.
        let mut first = row.clone();
        while first.kind == Kind::Assistant && first.offset > unit {
            let known = self.kind_before(first.offset);
            if known.is_some_and(|kind| kind != Kind::Assistant) {
                break;
            }
            let earlier = self.last_row(unit, first.offset)?;
            if !first.goes_on(&earlier) {
                break;
            }
            first = earlier;
        }
        if first.offset == row.offset {
            return Ok(row.offset);
        }
        // Forward again, to find the part that holds the row.
        let mut parts = Parts::default();
        let (mut part, mut part_end, mut after) = (first.offset, first.offset, None);
        let mut briefs = Briefs::new(self.isa(), |brief: Brief| {
            let joins = parts.joins(&brief);
            if !joins && brief.offset > row.offset {
                after = Some(brief.offset);
                return Flow::Stop;
            }
            if !joins {
                part = brief.offset;
            }
            part_end = brief.end;
            Flow::Continue
        });
        self.rows(first.offset, end, BLOCK, &mut briefs)?;
        Ok(if part == row.offset || part_end - part > max_bytes {
            row.offset
        } else {
            after.unwrap_or(part)
        })
    }

    /// The first row that begins at `from` or later and before `end`.
    fn first_row(&self, from: u64, end: u64) -> Result<Option<Brief>> {
        let mut start = from;
        if let Some(giant) = self.index.giant_at(from - 1) {
            start = giant.end;
        } else if !self.begins_line(from)? {
            let mut bytes = Vec::new();
            start = loop {
                let at = from + bytes.len() as u64;
                if at >= end {
                    return Ok(None);
                }
                let to = (at + STEP_BACK.max(bytes.len() as u64)).min(end);
                let searched = bytes.len();
                self.bytes(at, to, &mut bytes)?;
                if let Some(lf) = memchr::memchr(b'\n', &bytes[searched..]) {
                    break from + (searched + lf) as u64 + 1;
                }
            };
        }
        if start >= end {
            return Ok(None);
        }
        self.brief_in(start, end)
    }

    /// The first row of the lines from `start` to `end`.
    fn brief_in(&self, start: u64, end: u64) -> Result<Option<Brief>> {
        let mut found = None;
        let mut briefs = Briefs::new(self.isa(), |brief| {
            found = Some(brief);
            Flow::Stop
        });
        self.rows(start, end, SMALL_BLOCK, &mut briefs)?;
        Ok(found)
    }

    /// The kind of the row that ends at `end`, where the index knows it.
    fn kind_before(&self, end: u64) -> Option<Kind> {
        self.index.giant_at(end - 1).map(|giant| giant.kind)
    }

    /// The last row before `end`, in the unit that begins at `unit`.
    fn last_row(&self, unit: u64, end: u64) -> Result<Brief> {
        let mut end = end;
        while end > unit {
            let start = self.line_before(unit, end)?;
            if let Some(row) = self.brief_in(start, end)? {
                return Ok(row);
            }
            end = start;
        }
        // The unit began with a row when it was validated.
        Err(Error::History(HistoryReason::Rewritten))
    }

    /// Where the line that ends at `end` begins; not before `floor`, where one does.
    fn line_before(&self, floor: u64, end: u64) -> Result<u64> {
        if let Some(giant) = self.index.giant_at(end - 1) {
            return Ok(giant.offset);
        }
        let (mut to, mut step) = (end - 1, STEP_BACK);
        let mut bytes = Vec::new();
        while to > floor {
            let from = to.saturating_sub(step).max(floor);
            bytes.clear();
            self.bytes(from, to, &mut bytes)?;
            if let Some(lf) = memchr::memrchr(b'\n', &bytes) {
                return Ok(from + lf as u64 + 1);
            }
            to = from;
            step = (step * 4).min(BLOCK as u64);
        }
        Ok(floor)
    }

    /// Whether the entry before the row at `row`, which is no user entry, is none either.
    fn follows_in_turn(&self, row: u64) -> Result<bool> {
        let units = &self.index.units[..self.index.units_before(row)];
        match units.last() {
            // The row opens the first unit, which no user entry does.
            None => Ok(false),
            Some(&unit) => Ok(match self.kind_before(row) {
                Some(kind) => kind != Kind::User,
                None => self.last_row(unit, row)?.kind != Kind::User,
            }),
        }
    }

    /// Whether the entry at or after `end` exists and is no user entry.
    fn goes_on_at(&self, end: u64) -> Result<bool> {
        if self.index.is_unit(end) {
            return Ok(false);
        }
        let next = self.index.units_before(end);
        let unit_end = self
            .index
            .units
            .get(next)
            .copied()
            .unwrap_or(self.validated);
        if !self.is_lenient() {
            return Ok(end < unit_end);
        }
        Ok(self.first_row(end, unit_end)?.is_some())
    }

    /// Where a page that begins at `start` and goes forward ends.
    fn forward_end(&self, start: u64, max_bytes: u64) -> Result<u64> {
        if self.validated - start <= max_bytes {
            return Ok(self.validated);
        }
        let mut parts = Parts::default();
        let (mut first_part, mut part, mut end) = (start, start, None);
        let mut any = false;
        let mut briefs = Briefs::new(self.isa(), |brief: Brief| {
            if !parts.joins(&brief) {
                part = brief.offset;
                if !any {
                    first_part = part;
                }
            }
            if any && brief.end - start > max_bytes {
                end = Some(if part == first_part {
                    brief.offset
                } else {
                    part
                });
                return Flow::Stop;
            }
            any = true;
            Flow::Continue
        });
        self.rows(start, self.validated, BLOCK, &mut briefs)?;
        Ok(end.unwrap_or(self.validated))
    }
}

impl Head {
    /// Writes the head in front of the turns, which begin at [`HEAD`] in `out`.
    fn finish(&self, history: &str, mut out: Vec<u8>) -> Json {
        let mut head = Vec::with_capacity(HEAD);
        let mut put = |text: &str| head.extend_from_slice(text.as_bytes());
        put(r#"{"v":1,"source":"letta-transcript","state":""#);
        put(self.state);
        put(r#"","history_id":"#);
        match history {
            "" => put("null"),
            id => put(&format!("\"{id}\"")),
        }
        let cursor = self.cursor.map_or_else(
            || "null".to_owned(),
            |offset| format!("\"{history}:{offset}\""),
        );
        put(r#","cursor":"#);
        put(&cursor);
        put(r#","older":"#);
        put(if self.has_older { &cursor } else { "null" });
        put(&format!(
            r#","starts_mid_turn":{},"ends_mid_turn":{},"replaced_surrogates":"#,
            self.starts_mid_turn, self.ends_mid_turn
        ));
        write_number(self.replaced, &mut head);
        for (name, number) in [
            (r#","tail_bytes":"#, self.whole.map(|(tail, _)| tail)),
            (
                r#","diagnostics_total":"#,
                self.whole.map(|(_, total)| total),
            ),
        ] {
            head.extend_from_slice(name.as_bytes());
            match number {
                Some(number) => write_number(number, &mut head),
                None => head.extend_from_slice(b"null"),
            }
        }
        head.extend_from_slice(br#","turns":["#);
        let at = HEAD - head.len();
        out[at..HEAD].copy_from_slice(&head);
        out.extend_from_slice(b"]}");
        Json::new(out, at)
    }
}
