//! The cases of `fixtures/cases`, which the Python tests read too, on every instruction set.

use std::path::{Path, PathBuf};

use lettafast_core::error::{Error, Fault};
use lettafast_core::scan::Isa;
use lettafast_core::{Options, Transcript};
use serde_json::{Value, json};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cases");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the cases are there")
        .map(|entry| entry.expect("it is readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    cases.sort();
    assert!(cases.len() > 100, "{} cases", cases.len());
    cases
}

fn answer(path: &Path, isa: Isa, lenient: bool, limit: u64) -> Result<Transcript, Error> {
    let root = path.parent().expect("a file has a folder");
    let name = path.with_extension("jsonl");
    let name = name.file_name().expect("a file has a name");
    let options = Options {
        lenient,
        isa,
        max_line_bytes: limit,
        ..Options::default()
    };
    Transcript::open(root, name.as_encoded_bytes(), options)
}

fn fault(fault: &Fault) -> Value {
    let words = format!("{:?}", fault.reason);
    let mut reason = String::new();
    for letter in words.chars() {
        if letter.is_ascii_uppercase() && !reason.is_empty() {
            reason.push('_');
        }
        reason.push(letter.to_ascii_lowercase());
    }
    json!({
        "reason": reason,
        "line": fault.line,
        "line_offset": fault.line_offset,
        "offset": fault.offset,
        "field": fault.field,
        "excerpt": fault.excerpt,
    })
}

fn entries(transcript: &mut Transcript) -> Value {
    let end = transcript.summary().expect("it is open").validated;
    let (mut all, mut at) = (Vec::new(), 0);
    while at < end {
        let (rows, next) = transcript
            .entries(at, end)
            .expect("its rows are as they were");
        let rows: Vec<[Value; 11]> = serde_json::from_slice(rows.as_bytes()).expect("it is JSON");
        all.extend(rows.into_iter().map(|row| {
            let [
                offset,
                kind,
                at,
                text,
                name,
                args,
                result,
                ok,
                line,
                message,
                replaced,
            ] = row;
            json!({
                "offset": offset, "kind": kind, "captured_at": at, "text": text, "name": name,
                "args_text": args, "result_text": result, "result_ok": ok,
                "source_line_id": line, "source_message_id": message,
                "replaced_surrogates": replaced,
            })
        }));
        at = next;
    }
    Value::from(all)
}

#[test]
fn every_case_gives_its_answer() {
    let isas: Vec<Isa> = Isa::ALL
        .into_iter()
        .filter(|isa| isa.is_available())
        .collect();
    for path in cases() {
        let text = std::fs::read(&path).expect("it is readable");
        let case: Value = serde_json::from_slice(&text).expect("it is JSON");
        let limit = case["max_line_bytes"].as_u64().expect("it is a number");
        for &isa in &isas {
            let about = format!("{} on {isa:?}", path.display());
            match answer(&path, isa, false, limit) {
                Ok(mut strict) => {
                    assert_eq!(case["refused"], Value::Null, "{about}");
                    assert_eq!(entries(&mut strict), case["entries"], "{about}");
                }
                Err(Error::Refused(found)) => assert_eq!(fault(&found), case["refused"], "{about}"),
                Err(error) => panic!("{about}: {error}"),
            }
            let mut lenient = answer(&path, isa, true, limit).expect("lenient reads it");
            let notes: Vec<Value> = lenient
                .diagnostics()
                .expect("it is open")
                .iter()
                .map(fault)
                .collect();
            assert_eq!(Value::from(notes), case["diagnostics"], "{about}");
            assert_eq!(entries(&mut lenient), case["entries"], "{about}");
            let tail = lenient.summary().expect("it is open").tail;
            assert_eq!(case["tail_bytes"], tail, "{about}");
        }
    }
}
