//! Texts, bytes and conversions of every registered encoding, made up by changing recorded ones.
//! Both sides accept and refuse the same, and give the same values.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::encoding::{Encoding, EncodingId, EncodingRegistry, Value};
use permazen_tests::outcome::{Outcome, fail};
use permazen_tests::{files, hex};
use serde_json::{Value as Json, json};

use crate::driver::Driver;
use crate::encoding_exceptions::left_out;
use crate::encoding_inputs::{MAX_LENGTH, ODD_TEXTS, changed_bytes, changed_text};
use crate::random::{Random, mixed};

/// How many differences of one sort are shown.
const SHOWN: usize = 8;

/// How many texts, byte strings and conversions are asked for at a time, each.
const BATCH: usize = 60;

/// From `INPUTS` inputs on, one in `TAKEN` must have been taken by both sides.
const INPUTS: usize = 10_000;
const TAKEN: usize = 10;

/// The answer of one side to an input: bytes and text, or an error.
pub type Answer = Result<(String, Option<String>), String>;

/// One input.
#[derive(Debug, Clone)]
pub enum Input {
    Text(String),
    Bytes(Vec<u8>),
    /// A value of another encoding.
    From(usize, Vec<u8>),
}

/// One encoding with its recorded answers.
#[derive(Debug)]
struct Subject {
    id: String,
    alias: String,
    encoding: Arc<dyn Encoding>,
    texts: Vec<String>,
    bytes: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
}

/// Compares `count` texts, as many byte strings, and as many conversions for each encoding, or only
/// for the encoding with this alias.
pub fn compare(java: &mut Driver, seed: u64, count: usize, alias: Option<&str>) -> Outcome {
    let subjects = subjects()?;
    let mut tally = Tally::default();
    for (nth, subject) in subjects.iter().enumerate() {
        if alias.is_some_and(|alias| alias != subject.alias) {
            continue;
        }
        let mut random = Random::new(mixed(seed ^ mixed(nth as u64)));
        let mut rest = count;
        while rest > 0 {
            let size = rest.min(BATCH);
            rest -= size;
            let inputs = made_up(&subjects, subject, size, &mut random);
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

/// Makes up texts, then as many byte strings, then as many conversions.
fn made_up(
    subjects: &[Subject],
    subject: &Subject,
    size: usize,
    random: &mut Random,
) -> Vec<Input> {
    let mut inputs = Vec::with_capacity(3 * size);
    for _ in 0..size {
        inputs.push(Input::Text(changed_text(&subject.alias, &subject.texts, random)));
    }
    for _ in 0..size {
        inputs.push(Input::Bytes(changed_bytes(&subject.bytes, random)));
    }
    for _ in 0..size {
        let from = random.below(subjects.len());
        let bytes = random.of(&subjects[from].values).cloned().unwrap_or_default();
        inputs.push(Input::From(from, bytes));
    }
    inputs
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
                conversions.push(json!([subjects[*from].id, hex::encode(data)]));
            }
        }
    }
    let answers = java.must(json!({
        "op": "encoding",
        "encoding": subject.id,
        "texts": texts,
        "bytes": bytes,
        "conversions": conversions,
    }))?;
    let answers = answers.as_array().cloned().unwrap_or_default();
    if answers.len() != inputs.len() {
        return Err(fail(format!("{} answers for {} inputs", answers.len(), inputs.len())));
    }
    for (input, answer) in inputs.iter().zip(answers) {
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

/// The numbers of comparisons, and the differences by sort.
#[derive(Default)]
struct Tally {
    compared: usize,
    taken: usize,
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
            (Ok(ours), Ok(theirs)) if ours == theirs => {
                self.taken += 1;
                return;
            }
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
        let Tally { compared, refused, taken, .. } = self;
        println!("encodings: {compared} inputs, {taken} taken and {refused} refused by both");
        if compared >= INPUTS && taken < compared / TAKEN {
            return Err(fail("too few inputs of encodings are values"));
        }
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
