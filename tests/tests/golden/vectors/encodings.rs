//! `encodings.json` and `convert.json`: values, texts and bytes of every encoding, and conversions
//! between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::encoding::{
    EncodingKind, EnumArrayEncoding, EnumEncoding, NullSafe, ObjIdEncoding, ReferenceEncoding,
    StringEncoding, TupleEncoding, UnsignedIntEncoding,
};
use permazen::StorageId;
use permazen::encoding::time::ZoneId;
use permazen::encoding::{Encoding, EncodingId, EncodingRegistry, Reader, Value};
use permazen_tests::hex;
use serde::Deserialize;
use serde_json::Value as Json;

use super::numbers::bytes;
use crate::report::{Outcome, Report, fail, same, same_text};

/// Checks one row of a list of an encoding.
type CheckRow = fn(&Described, &dyn Encoding, &Json) -> Outcome;

#[derive(Deserialize)]
struct Described {
    name: String,
    kind: String,
    id: Option<String>,
    identifiers: Option<Vec<String>>,
    dimensions: Option<u32>,
    allowed_storage_ids: Option<Vec<u32>>,
    components: Option<Vec<String>>,
    inner: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

/// The encodings described so far, by name.
#[derive(Default)]
struct Known {
    registry: EncodingRegistry,
    by_name: BTreeMap<String, Arc<dyn Encoding>>,
}

impl Known {
    fn find(&self, name: &str) -> Outcome<Arc<dyn Encoding>> {
        self.by_name.get(name).cloned().ok_or_else(|| fail(format!("no encoding {name} before")))
    }

    fn add(&mut self, described: &Described) -> Outcome<Arc<dyn Encoding>> {
        let missing = || fail("a member is missing");
        let enumeration = || EnumEncoding::new(described.identifiers.clone().unwrap_or_default());
        let encoding: Arc<dyn Encoding> = match described.kind.as_str() {
            "builtin" | "array" => {
                let id = EncodingId::new(described.id.as_deref().ok_or_else(missing)?)?;
                self.registry.find(&id)?.ok_or_else(|| fail("not registered"))?
            }
            "enum" => Arc::new(enumeration()?),
            "enum_array" => {
                EnumArrayEncoding::build(enumeration()?, described.dimensions.ok_or_else(missing)?)?
            }
            "reference" => {
                let allowed = described
                    .allowed_storage_ids
                    .as_ref()
                    .map(|ids| ids.iter().filter_map(|&id| StorageId::new(id)).collect());
                Arc::new(ReferenceEncoding::new(allowed))
            }
            "tuple" => {
                let names = described.components.as_ref().ok_or_else(missing)?;
                let components: Vec<_> =
                    names.iter().map(|name| self.find(name)).collect::<Outcome<_>>()?;
                Arc::new(TupleEncoding::new(components)?)
            }
            "null_safe" => Arc::new(NullSafe::new(
                None,
                self.find(described.inner.as_deref().ok_or_else(missing)?)?,
            )?),
            "internal" => match described.name.as_str() {
                "unsigned int" => Arc::new(UnsignedIntEncoding),
                "object id" => Arc::new(ObjIdEncoding),
                "string not null" => Arc::new(StringEncoding::not_null()),
                other => return Err(fail(format!("unknown internal encoding {other}"))),
            },
            other => return Err(fail(format!("unknown kind {other}"))),
        };
        self.by_name.insert(described.name.clone(), encoding.clone());
        Ok(encoding)
    }
}

/// Members of an encoding that are checked besides its lists, and members that only concern Java.
const MEMBERS: &[&str] = &[
    "null",
    "default",
    "prefix_00",
    "prefix_ff",
    "fixed_width",
    "sorts_naturally",
    "array_dimensions",
    "element",
    "java_type",
    "java_library",
    "java_comparable",
    "java_equals_by_value",
    "java_order_agrees",
    "defect",
];

/// Lists of an encoding, and the checks of their rows.
const LISTS: [(&str, CheckRow); 8] = [
    ("values", value),
    ("random", value),
    ("texts", text),
    ("bad_texts", bad_text),
    ("bad_writes", bad_write),
    ("odd_bytes", odd_bytes),
    ("bad_bytes", bad_bytes),
    ("skip", skip_value),
];

pub fn run(group: &str, content: &str, report: &mut Report) {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        encodings: Vec<Described>,
    }
    let file: File = match serde_json::from_str(content) {
        Ok(file) => file,
        Err(error) => return report.case(group, "the file", || Err(error.into())),
    };
    let mut known = Known::default();
    report.case(group, "tolerance of changed zone rules", || tolerance(&known.registry));
    for described in &file.encodings {
        let name = &described.name;
        let encoding = match known.add(described) {
            Ok(encoding) => encoding,
            Err(error) => {
                report.case(group, &format!("{name} exists"), || Err(error));
                continue;
            }
        };
        report.case(group, &format!("{name} properties"), || {
            properties(described, encoding.as_ref())
        });
        report.case(group, &format!("{name} order"), || order(described, encoding.as_ref()));
        for member in described.rest.keys() {
            if !MEMBERS.contains(&&**member) && !LISTS.iter().any(|(list, _)| list == member) {
                report.case(group, &format!("{name} {member}"), || {
                    Err(fail("nothing checks this list or member"))
                });
            }
        }
        for (list, check) in LISTS {
            for (index, row) in rows(described, list).iter().enumerate() {
                report.case(group, &format!("{name} {list} {index}"), || {
                    check(described, encoding.as_ref(), row)
                });
            }
        }
    }
}

fn rows<'d>(described: &'d Described, list: &str) -> &'d [Json] {
    described.rest.get(list).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn properties(described: &Described, encoding: &dyn Encoding) -> Outcome {
    let member = |name: &str| described.rest.get(name).unwrap_or(&Json::Null);
    if let (Some(dimensions), Some(id)) = (member("array_dimensions").as_u64(), encoding.id()) {
        same("dimensions", id.dimensions() as u64, dimensions)?;
    }
    if let (Some(element), EncodingKind::Array(found)) =
        (member("element").as_str(), encoding.kind())
    {
        same("element", &*found.name(), element)?;
    }
    same("id", encoding.id().map(EncodingId::as_str), described.id.as_deref())?;
    same("null", Some(encoding.supports_null()), member("null").as_bool())?;
    same("prefix 00", Some(encoding.has_prefix_00()), member("prefix_00").as_bool())?;
    same("prefix ff", Some(encoding.has_prefix_ff()), member("prefix_ff").as_bool())?;
    same(
        "width",
        encoding.fixed_width().map(|width| width as u64),
        member("fixed_width").as_u64(),
    )?;
    same("natural", Some(encoding.sorts_naturally()), member("sorts_naturally").as_bool())?;
    let default = member("default");
    same("default", encoding.default_bytes().map(hex::encode).as_deref(), default["hex"].as_str())?;
    let default_value = encoding.default_value();
    same("default value", default_value.is_some(), default.is_object())?;
    let default_text = default_value.and_then(|value| encoding.to_text(&value).ok());
    same("default text", default_text.as_deref(), default["text"].as_str())?;
    same("itself", encoding.is_same(encoding), true)
}

/// The values listed are in ascending order, and so are their bytes.
fn order(described: &Described, encoding: &dyn Encoding) -> Outcome {
    for list in ["values", "random"] {
        let mut previous: Option<(Vec<u8>, Value)> = None;
        for row in rows(described, list) {
            let bytes = bytes(row, "hex")?;
            let value = encoding.decode_all(&bytes)?;
            if let Some((previous_bytes, previous)) = &previous {
                same("ascending bytes", *previous_bytes < bytes, true)?;
                if previous >= &value {
                    return Err(fail(format!("{previous:?} should be less than {value:?}")));
                }
            }
            previous = Some((bytes, value));
        }
    }
    Ok(())
}

/// A member of a row, in the form of Java 25 where that differs.
fn newest<'r>(row: &'r Json, name: &str) -> &'r Json {
    row["java25"].get(name).unwrap_or(&row[name])
}

fn encoded(encoding: &dyn Encoding, value: &Value) -> Outcome<String> {
    // The bytes already in the buffer must stay.
    let mut out = vec![0xab];
    encoding.encode(value, &mut out)?;
    Ok(hex::encode(&out[1..]))
}

fn value(described: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let bytes = bytes(row, "hex")?;
    let value = encoding.decode_all(&bytes)?;
    same_bytes(encoding, &value, Some(&hex::encode(&bytes)))?;
    encoding.check_canonical(&bytes)?;
    let mut reader = Reader::new(&bytes);
    encoding.skip(&mut reader)?;
    same("skipped", reader.rest().len(), 0)?;
    for end in 0..bytes.len().min(200) {
        if encoding.decode_all(&bytes[..end]).is_ok() {
            return Err(fail(format!("accepted when cut to {end} bytes")));
        }
    }
    same("equal", &encoding.decode_all(&bytes)?, &value)?;
    let text = newest(row, "text");
    let parts = newest(row, "parts");
    if let Some(parts) = parts.as_array() {
        let Value::Tuple(values) = &value else { return Err(fail("no tuple")) };
        same("parts", values.len(), parts.len())?;
        same("a part is null", values.iter().any(Value::is_null), parts.iter().any(Json::is_null))?;
    }
    let Some(text) = text.as_str() else {
        let has_null = value.is_null() || parts.is_array();
        return same("null", has_null && encoding.to_text(&value).is_err(), true);
    };
    same_value_text(encoding, &value, text)?;
    let again = encoding.from_text(text).and_then(|again| encoding.encode_all(&again));
    let bytes = if rules_changed(&value) { encoding.encode_all(&value)? } else { bytes };
    let read_back = row["text_reads_back"] != false;
    match again {
        Ok(again) if read_back => same("read back", hex::encode(&again), hex::encode(&bytes)),
        // Unpadded Base64 is read here.
        Ok(again) if row["defect"] == "D4" => {
            same("read back", hex::encode(&again), hex::encode(&bytes))
        }
        Ok(again) => same(&format!("{} differs", described.name), again != bytes, true),
        Err(error) if read_back => Err(error.into()),
        Err(_) => Ok(()),
    }
}

/// Whether a value is, or has an item that is, a time in a region.
fn is_in_region(value: &Value) -> bool {
    match value {
        Value::ZonedDateTime(time) => time.zone().region().is_some(),
        Value::Array(items) | Value::Tuple(items) => items.iter().any(is_in_region),
        _ => false,
    }
}

/// Regions whose rules differ between the built-in edition and the edition of the recorded answers.
const CHANGED_REGIONS: [&str; 19] = [
    "Africa/Casablanca",
    "Africa/El_Aaiun",
    "America/Edmonton",
    "America/Ensenada",
    "America/Inuvik",
    "America/Rainy_River",
    "America/Santa_Isabel",
    "America/Tijuana",
    "America/Vancouver",
    "America/Winnipeg",
    "America/Yellowknife",
    "CST6CDT",
    "Canada/Central",
    "Canada/Mountain",
    "Canada/Pacific",
    "EST5EDT",
    "MST7MDT",
    "Mexico/BajaNorte",
    "PST8PDT",
];

/// Whether a value is, or has an item that is, a time in a region whose rules have changed.
fn rules_changed(value: &Value) -> bool {
    match value {
        Value::ZonedDateTime(time) => {
            time.zone().region().is_some_and(|region| CHANGED_REGIONS.contains(&region))
        }
        Value::Array(items) | Value::Tuple(items) => items.iter().any(rules_changed),
        _ => false,
    }
}

/// Checks that the bytes of a value are those recorded. The offsets of times in regions whose rules
/// have changed may differ, because reading replaces them.
fn same_bytes(encoding: &dyn Encoding, value: &Value, recorded: Option<&str>) -> Outcome {
    let written = encoded(encoding, value)?;
    if rules_changed(value)
        && let Some(bytes) = recorded.and_then(hex::decode)
    {
        encoding.check_canonical(&bytes)?;
        return same("bytes read", &encoding.decode_all(&bytes)?, value);
    }
    same("bytes", Some(written.as_str()), recorded)
}

/// Checks that the text of a value is the recorded one, except for such offsets.
fn same_value_text(encoding: &dyn Encoding, value: &Value, recorded: &str) -> Outcome {
    let text = encoding.to_text(value)?;
    if text != recorded && rules_changed(value) {
        return same("text read", &encoding.from_text(recorded)?, value);
    }
    same_text("text", &text, recorded)
}

/// Tests the tolerance itself. In a region whose rules have changed, an offset with one hour more
/// or less is accepted, and nothing else is.
fn tolerance(registry: &EncodingRegistry) -> Outcome {
    let zoned = registry.find_alias("ZonedDateTime")?.ok_or_else(|| fail("no encoding"))?;
    let offsets = registry.find_alias("OffsetDateTime")?.ok_or_else(|| fail("no encoding"))?;
    let passes = |text: &str, recorded: &str, zone: &str| -> Outcome<bool> {
        let value = zoned.from_text(text)?;
        let mut bytes = offsets.encode_all(&offsets.from_text(recorded)?)?;
        bytes.extend_from_slice(zone.as_bytes());
        bytes.push(0);
        let text = format!("{recorded}[{zone}]");
        let bytes = same_bytes(zoned.as_ref(), &value, Some(&hex::encode(&bytes))).is_ok();
        same("text as bytes", same_value_text(zoned.as_ref(), &value, &text).is_ok(), bytes)?;
        Ok(bytes)
    };
    let value = "2030-01-01T12:00Z[America/Vancouver]";
    for recorded in ["2030-01-01T04:00-08:00", "2030-01-01T05:00-07:00"] {
        same("offset", passes(value, recorded, "America/Vancouver")?, true)?;
    }
    same("time", passes(value, "2030-01-01T04:01-08:00", "America/Vancouver")?, false)?;
    same("zone", passes(value, "2030-01-01T04:00-08:00", "America/Tijuana")?, false)?;
    let value = "2030-01-01T12:00Z[America/New_York]";
    same("same", passes(value, "2030-01-01T07:00-05:00", "America/New_York")?, true)?;
    same("other", passes(value, "2030-01-01T08:00-04:00", "America/New_York")?, false)
}

fn text(_: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let text = row["text"].as_str().ok_or_else(|| fail("no text"))?;
    let value = encoding.from_text(text)?;
    same_bytes(encoding, &value, row["hex"].as_str())?;
    let canonical = newest(row, "canonical").as_str().ok_or_else(|| fail("no canonical text"))?;
    same_value_text(encoding, &value, canonical)
}

/// Whether a text, or an item of its list, is Base64 that Java prints but does not read (D4). We
/// read it.
fn is_unpadded(encoding: &dyn Encoding, value: &Value, text: &str) -> bool {
    let numbers =
        matches!(encoding.kind(), EncodingKind::PrimitiveArray(_)) && !text.starts_with('[');
    let printed = encoding.to_text(value).ok();
    let items = matches!(encoding.kind(), EncodingKind::Array(inner) if matches!(inner.kind(), EncodingKind::PrimitiveArray(_)));
    (numbers || items) && !text.contains('=') && printed.as_deref() == Some(text)
}

fn bad_text(_: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let Some(text) = row["text"].as_str() else {
        // Rust text cannot hold unpaired surrogates, so such a text cannot be passed at all.
        return same("unpaired", row["text16"].is_string(), true);
    };
    match encoding.from_text(text) {
        Ok(value) if is_unpadded(encoding, &value, text) => Ok(()),
        Ok(value) => Err(fail(format!("{text:?} is accepted as {value:?}"))),
        Err(_) => Ok(()),
    }
}

fn bad_write(_: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let value = encoding.from_text(row["text"].as_str().ok_or_else(|| fail("no text"))?)?;
    let mut out = vec![1, 2, 3];
    same("refused", encoding.encode(&value, &mut out).is_err(), true)?;
    same("left as it was", out, vec![1, 2, 3])
}

/// A text without its zone, if the zone is only an offset. We make it an offset when the text is
/// read; Java does so when the value is written.
fn without_fixed_zone(text: &str) -> &str {
    let split = text.strip_suffix(']').and_then(|text| text.split_once('['));
    match split {
        Some((time, zone)) if ZoneId::new(zone).is_ok_and(|zone| zone.offset().is_some()) => time,
        _ => text,
    }
}

fn odd_bytes(_: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let bytes = bytes(row, "hex")?;
    let value = encoding.decode_all(&bytes)?;
    if let Some(text) = newest(row, "value").as_str() {
        same_value_text(encoding, &value, without_fixed_zone(text))?;
    }
    if row.get("rewrite_error").is_some() {
        // Reading does not check which types a reference may refer to.
        encoding.check_canonical(&bytes)?;
        return same("cannot be written", encoding.encode_all(&value).is_err(), true);
    }
    let refused = encoding.check_canonical(&bytes).is_err();
    // Whether the offset belongs to the region is not checked, because the rules of regions change.
    same("canonical", refused || is_in_region(&value), true)?;
    same_bytes(encoding, &value, row["canonical"].as_str())
}

fn bad_bytes(_: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let bytes = bytes(row, "hex")?;
    same("canonical", encoding.check_canonical(&bytes).is_err(), true)?;
    match encoding.decode_all(&bytes) {
        Ok(value) => Err(fail(format!("{} is accepted as {value:?}", hex::encode(&bytes)))),
        Err(_) => Ok(()),
    }
}

fn skip_value(_: &Described, encoding: &dyn Encoding, row: &Json) -> Outcome {
    let bytes = bytes(row, "hex")?;
    for read in [false, true] {
        let mut reader = Reader::new(&bytes);
        if read {
            encoding.decode(&mut reader)?;
        } else {
            encoding.skip(&mut reader)?;
        }
        same("length", Some((bytes.len() - reader.rest().len()) as u64), row["len"].as_u64())?;
    }
    Ok(())
}

pub fn run_convert(group: &str, content: &str, report: &mut Report) {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        types: Vec<Described>,
        rows: Vec<Json>,
    }
    let file: File = match serde_json::from_str(content) {
        Ok(file) => file,
        Err(error) => return report.case(group, "the file", || Err(error.into())),
    };
    let mut known = Known::default();
    for described in &file.types {
        if described.kind != "counter" {
            let added = known.add(described).map(drop);
            report.case(group, &described.name, || added);
        }
    }
    for (index, row) in file.rows.iter().enumerate() {
        let name = |member: &str| row[member].as_str().unwrap_or_default();
        let title = format!("{index}: {} to {}", name("from"), name("to"));
        report.case(group, &title, || convert(&known, row));
    }
}

fn convert(known: &Known, row: &Json) -> Outcome {
    const COUNTER: &str = "counter";
    let name = |member: &str| row[member].as_str().unwrap_or_default();
    let long = || known.registry.find_alias("long").ok().flatten().ok_or_else(|| fail("no long"));
    let input = bytes(row, "in")?;
    let (from, value) = if name("from") == COUNTER {
        let count: Result<[u8; 8], _> = input.try_into();
        (long()?, Value::Long(i64::from_be_bytes(count.map_err(|_| fail("no counter"))?)))
    } else {
        let from = known.find(name("from"))?;
        let value = from.decode_all(&input)?;
        (from, value)
    };
    if name("to") == COUNTER {
        let count = value.to_counter().map(|count| hex::encode(&count.to_be_bytes()));
        return same("count", count.as_deref(), row["out"].as_str());
    }
    let to = known.find(name("to"))?;
    let value_in = value;
    let out = newest(row, "out").as_str();
    let converted =
        to.convert(from.as_ref(), &value_in).and_then(|value| Ok((to.encode_all(&value)?, value)));
    match (converted, out) {
        (Ok((bytes, value)), Some(out)) => {
            if rules_changed(&value_in) && matches!(to.kind(), EncodingKind::String) {
                let text = newest(row, "out_text").as_str().ok_or_else(|| fail("no text"))?;
                return same_value_text(from.as_ref(), &value_in, text);
            }
            if rules_changed(&value) {
                return same_bytes(to.as_ref(), &value, Some(out));
            }
            same("bytes", hex::encode(&bytes).as_str(), out)?;
            same("text", to.to_text(&value).ok().as_deref(), newest(row, "out_text").as_str())
        }
        (Ok((_, value)), None)
            if from
                .to_text(&value_in)
                .is_ok_and(|text| is_unpadded(to.as_ref(), &value, &text)) =>
        {
            Ok(())
        }
        (Ok((_, value)), None) => {
            Err(fail(format!("converted to {value:?}, but {} was expected", row["error"])))
        }
        (Err(error), Some(_)) => Err(error.into()),
        (Err(_), None) => Ok(()),
    }
}
