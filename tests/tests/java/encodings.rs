//! Texts, bytes and conversions of every registered encoding, made up by changing recorded ones: both sides
//! take and refuse the same, and give the same values.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::encoding::{Encoding, EncodingId, EncodingRegistry, Value};
use permazen_tests::outcome::{Outcome, fail};
use permazen_tests::{files, hex};
use serde_json::{Value as Json, json};

use crate::driver::Driver;
use crate::exceptions::left_out;
use crate::random::{Random, mixed};

/// Differences shown of one sort.
const SHOWN: usize = 8;

/// Questions asked at a time.
const BATCH: usize = 200;

/// Longer inputs are not made up.
const MAX_LENGTH: usize = 2000;

/// Characters that mean something in some encoding, or nearly do.
const ODD_CHARS: &str = " \t\n\r\u{b}\u{c}\0\u{1}\u{7f}\u{85}\u{a0}+-.,:;/%#?@&=_~()[]{}<>\"'\\|^$*!`0189aAbBdDeEfFhHiInNpPsStTuUwWxXyYzZ\
    \u{131}\u{130}\u{17f}\u{212a}\u{e9}\u{ff10}\u{ff19}\u{661}\u{966}\u{1d7ce}\u{1f600}\u{2028}\u{3000}\u{feff}\u{fffe}\u{ffff}\u{d7ff}";

/// Pieces that are at a limit, or begin another form.
const ODD_PIECES: [&str; 32] = [
    "null",
    "NaN",
    "Infinity",
    "0x",
    "#",
    "00",
    "07",
    "-0",
    "127",
    "128",
    "-128",
    "-129",
    "32767",
    "32768",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "999999999",
    "1000000000",
    "23:59:59",
    "24:00",
    "02-29",
    "02-30",
    "+18:00",
    "::",
    "[UTC]",
    "\\u0041",
    "\"",
];

/// Texts where the sides once differed, and other odd forms, besides the recorded ones.
const ODD_TEXTS: [(&str, &[&str]); 6] = [
    (
        "Inet6Address",
        &[
            "::1%",
            "fe80::%0",
            "::1.2.3.4%1",
            "::1.2.3.4",
            "::0.0.0.0",
            "1:2:3:4:5:6:7::",
            "::ffff:1.2.3.4",
        ],
    ),
    ("Inet4Address", &["１.２.３.４", "1.2.3.０4"]),
    (
        "URI",
        &[
            "//[::01.2.3.4]",
            "//u@[fe80::1%eth0]:80/p?q#f",
            "mailto:a@b",
            "//a:b@c:1/",
            "///x",
            "//?",
            "a:#",
            "//[::1]:",
            "%41",
            "//h%41:x",
        ],
    ),
    ("Duration", &["P1Dt", "p-1dt-1h+1m-1,5s", "-PT1.S", "P106751991167300DT15H30M7.999999999S"]),
    ("byte[]", &["MTExMTExMTExMTExMTExMTExMTEx", "[ \"1\" ]", "AA=="]),
    (
        "Pattern",
        &[
            "(?<a1>x)\\k<a1>",
            "(?<=a{1,3}|b)c",
            "[a-c&&[^b]]",
            "\\Q[\\E",
            "(?x) a # b",
            "(?i-s:a)",
            "\\p{IsLatin}",
            "\\x{1F600}",
            "\\N{DIGIT ONE}",
            "[]a]",
            "a{2,3}+",
            "\\0377",
            "\\cA",
            "\\b{g}",
        ],
    ),
];

/// What one side makes of an input: bytes and text, or an error.
pub type Answer = Result<(String, Option<String>), String>;

/// One input.
#[derive(Debug, Clone)]
pub enum Input {
    Text(String),
    Bytes(Vec<u8>),
    /// A value of another encoding.
    From(usize, Vec<u8>),
}

/// One encoding with what was recorded of it.
#[derive(Debug)]
struct Subject {
    id: String,
    alias: String,
    encoding: Arc<dyn Encoding>,
    texts: Vec<String>,
    bytes: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
}

/// Compares so many texts, as many byte strings, and as many conversions to each encoding.
pub fn compare(java: &mut Driver, seed: u64, count: usize) -> Outcome {
    let subjects = subjects()?;
    let mut tally = Tally::default();
    for (nth, subject) in subjects.iter().enumerate() {
        let mut random = Random::new(mixed(seed ^ mixed(nth as u64)));
        let mut rest = 3 * count;
        while rest > 0 {
            let inputs: Vec<Input> = (0..rest.min(BATCH))
                .map(|nth| made_up(&subjects, subject, nth % 3, &mut random))
                .collect();
            rest -= inputs.len();
            ask(java, &subjects, subject, &inputs, &mut tally)?;
        }
    }
    tally.end()
}

fn subjects() -> Outcome<Vec<Subject>> {
    let vectors: Json = files::json(&files::data_dir().join("vectors"), "encodings.json")?;
    let registry = EncodingRegistry::new();
    let mut subjects = Vec::new();
    for entry in vectors["encodings"].as_array().into_iter().flatten() {
        if !matches!(entry["kind"].as_str(), Some("builtin" | "array")) {
            continue;
        }
        let id = EncodingId::new(entry["id"].as_str().unwrap_or_default())?;
        let encoding = registry.find(&id)?.ok_or_else(|| fail(format!("{id} is unknown")))?;
        let rows = |name: &str| entry[name].as_array().cloned().unwrap_or_default();
        let member = |names: &[&str], member: &str| -> Vec<String> {
            let rows = names.iter().flat_map(|name| rows(name));
            rows.filter_map(|row| row[member].as_str().map(str::to_owned))
                .filter(|text| text.len() <= MAX_LENGTH)
                .collect()
        };
        let bytes = member(&["values", "random", "odd_bytes", "bad_bytes"], "hex");
        let mut texts = member(&["values", "random", "texts", "bad_texts"], "text");
        for (alias, odd) in ODD_TEXTS {
            if alias == id.alias() {
                texts.extend(odd.iter().map(|&text| text.to_owned()));
            }
        }
        subjects.push(Subject {
            id: id.to_string(),
            alias: id.alias().to_owned(),
            encoding,
            texts,
            bytes: bytes.iter().filter_map(|hex| hex::decode(hex)).collect(),
            values: member(&["values", "random"], "hex")
                .iter()
                .filter_map(|hex| hex::decode(hex))
                .collect(),
        });
    }
    Ok(subjects)
}

fn made_up(subjects: &[Subject], subject: &Subject, sort: usize, random: &mut Random) -> Input {
    match sort {
        0 => Input::Text(changed_text(subject, random)),
        1 => Input::Bytes(changed_bytes(subject, random)),
        _ => {
            let from = random.below(subjects.len());
            let bytes = random.of(&subjects[from].values).cloned().unwrap_or_default();
            Input::From(from, bytes)
        }
    }
}

fn changed_text(subject: &Subject, random: &mut Random) -> String {
    let mut chars: Vec<char> =
        random.of(&subject.texts).map_or(vec![], |text| text.chars().collect());
    let odd: Vec<char> = ODD_CHARS.chars().collect();
    for _ in 0..1 + random.below(6) / 3 {
        let at = random.below(chars.len() + 1);
        let end = (at + 1 + random.below(3)).min(chars.len());
        let end = if random.chance(80) { end.min(at + 1) } else { end };
        let here = chars.get(at).copied();
        match random.below(8) {
            0 => drop(chars.drain(at..end)),
            1 => chars.splice(at..at, random.of(&odd).copied()).for_each(drop),
            2 => chars.splice(at..end, random.of(&odd).copied()).for_each(drop),
            3 => {
                let again = chars[at..end].to_vec();
                chars.splice(at..at, again).for_each(drop);
            }
            4 => {
                let swapped = here.map(|c| {
                    if c.is_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }
                });
                chars.splice(at..(at + 1).min(chars.len()), swapped).for_each(drop);
            }
            5 => {
                let other: Vec<char> =
                    random.of(&subject.texts).map_or(vec![], |text| text.chars().collect());
                let from = random.below(other.len() + 1);
                chars.truncate(at);
                chars.extend_from_slice(&other[from..]);
            }
            6 => {
                let piece = random.of(&ODD_PIECES).copied().unwrap_or_default();
                chars.splice(at..end, piece.chars()).for_each(drop);
            }
            _ => {
                let from = random.below(chars.len() + 1);
                let one = chars.get(from).copied();
                chars.splice(at..end, one).for_each(drop);
            }
        }
    }
    chars.truncate(MAX_LENGTH);
    chars.into_iter().collect()
}

fn changed_bytes(subject: &Subject, random: &mut Random) -> Vec<u8> {
    let mut bytes = random.of(&subject.bytes).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(6) / 3 {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1).min(bytes.len());
        let odd =
            [0, 1, 2, 0x7e, 0x7f, 0x80, 0xf6, 0xf7, 0xfa, 0xfb, 0xfe, 0xff, random.next() as u8];
        match random.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.splice(at..at, random.of(&odd).copied()).for_each(drop),
            2 => bytes.splice(at..end, random.of(&odd).copied()).for_each(drop),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = byte.wrapping_add([1, 0xff][random.below(2)]);
                }
            }
            _ => {
                let other = random.of(&subject.bytes).cloned().unwrap_or_default();
                let from = random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes.truncate(MAX_LENGTH);
    bytes
}

fn ask(
    java: &mut Driver,
    subjects: &[Subject],
    subject: &Subject,
    inputs: &[Input],
    tally: &mut Tally,
) -> Outcome {
    let (mut texts, mut bytes, mut conversions) = (vec![], vec![], vec![]);
    for input in inputs {
        match input {
            Input::Text(text) => texts.push(json!(text)),
            Input::Bytes(data) => bytes.push(json!(hex::encode(data))),
            Input::From(from, data) => {
                conversions.push(json!([subjects[*from].id, hex::encode(data)]))
            }
        }
    }
    let answers = java.must(json!({"op": "encoding", "encoding": subject.id, "texts": texts, "bytes": bytes, "conversions": conversions}))?;
    let order = |input: &&Input| match input {
        Input::Text(_) => 0,
        Input::Bytes(_) => 1,
        Input::From(..) => 2,
    };
    let mut inputs: Vec<&Input> = inputs.iter().collect();
    inputs.sort_by_key(order);
    let answers = answers.as_array().cloned().unwrap_or_default();
    if answers.len() != inputs.len() {
        return Err(fail(format!("{} answers for {} inputs", answers.len(), inputs.len())));
    }
    for (input, answer) in inputs.into_iter().zip(answers) {
        let theirs = match answer.as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok((
                answer[0].as_str().unwrap_or_default().to_owned(),
                answer[1].as_str().map(str::to_owned),
            )),
        };
        let from = match input {
            Input::From(from, _) => subjects[*from].encoding.as_ref(),
            _ => subject.encoding.as_ref(),
        };
        let ours = ours(subject.encoding.as_ref(), from, input);
        tally.count(subject, from, input, &ours, &theirs);
    }
    Ok(())
}

fn ours(encoding: &dyn Encoding, from: &dyn Encoding, input: &Input) -> Answer {
    let value = || -> permazen::encoding::Result<(Vec<u8>, Value)> {
        let value = match input {
            Input::Text(text) => encoding.from_text(text)?,
            Input::Bytes(bytes) => encoding.decode_all(bytes)?,
            Input::From(_, bytes) => encoding.convert(from, &from.decode_all(bytes)?)?,
        };
        let bytes = encoding.encode_all(&value)?;
        let again = encoding.decode_all(&bytes)?;
        Ok((bytes, again))
    };
    let (bytes, value) = value().map_err(|error| error.to_string())?;
    let text = if value.is_null() {
        None
    } else {
        Some(encoding.to_text(&value).map_err(|error| error.to_string())?)
    };
    Ok((hex::encode(&bytes), text))
}

/// What was compared, and the differences by sort.
#[derive(Default)]
struct Tally {
    compared: usize,
    refused: usize,
    left_out: BTreeMap<&'static str, usize>,
    differences: BTreeMap<String, (usize, Vec<String>)>,
}

impl Tally {
    fn count(
        &mut self,
        subject: &Subject,
        from: &dyn Encoding,
        input: &Input,
        ours: &Answer,
        theirs: &Answer,
    ) {
        self.compared += 1;
        let sort = match (ours, theirs) {
            (Err(_), Err(_)) => {
                self.refused += 1;
                return;
            }
            (Ok(ours), Ok(theirs)) if ours == theirs => return,
            (Ok(_), Err(_)) => "we take, Java refuses",
            (Err(_), Ok(_)) => "we refuse, Java takes",
            (Ok(ours), Ok(theirs)) if ours.0 != theirs.0 => "other bytes",
            (Ok(_), Ok(_)) => "other text",
        };
        if let Some(reason) = left_out(subject.encoding.as_ref(), from, input, ours, theirs) {
            *self.left_out.entry(reason).or_default() += 1;
            return;
        }
        let what = match input {
            Input::Text(_) => "text",
            Input::Bytes(_) => "bytes",
            Input::From(..) => "conversion",
        };
        let entry =
            self.differences.entry(format!("{} {what}: {sort}", subject.alias)).or_default();
        entry.0 += 1;
        if entry.1.len() < SHOWN {
            let shown = match input {
                Input::Text(text) => format!("{text:?}"),
                Input::Bytes(bytes) => hex::encode(bytes),
                Input::From(_, bytes) => format!("{} {}", from.name(), hex::encode(bytes)),
            };
            entry.1.push(format!("{shown}\n      we   {ours:?}\n      Java {theirs:?}"));
        }
    }

    fn end(self) -> Outcome {
        for (reason, count) in &self.left_out {
            println!("left out: {count}, {reason}");
        }
        println!("encodings: {} inputs ({} refused by both)", self.compared, self.refused);
        if self.differences.is_empty() {
            return Ok(());
        }
        let mut text = String::from("differences in encodings:");
        for (sort, (count, shown)) in self.differences {
            text += &format!("\n  {sort} ({count})");
            for one in shown {
                text += &format!("\n    {one}");
            }
        }
        Err(fail(text))
    }
}
