//! The tables of `docs/src/conversions.md` are what the code says.
//!
//! `PERMAZEN_DOCS=write cargo test -p permazen-core-tests --test encodings tables` writes them
//! again.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use permazen::__internal::encoding::{Conversion, Exactness};
use permazen::encoding::Encoding;

use super::samples::find;

/// The types of the first table in Rust, and their encodings with null.
const TYPES: [(&str, &str); 38] = [
    ("bool", "Boolean"),
    ("i8", "Byte"),
    ("i16", "Short"),
    ("i32", "Integer"),
    ("i64", "Long"),
    ("f32", "Float"),
    ("f64", "Double"),
    ("JavaChar", "Character"),
    ("BigInteger", "BigInteger"),
    ("BigDecimal", "BigDecimal"),
    ("String", "String"),
    ("FilePath", "File"),
    ("Uri", "URI"),
    ("Pattern", "Pattern"),
    ("InternetAddress", "InternetAddress"),
    ("Uuid", "UUID"),
    ("BitSet", "BitSet"),
    ("IntSummaryStatistics", "IntSummaryStatistics"),
    ("LongSummaryStatistics", "LongSummaryStatistics"),
    ("DoubleSummaryStatistics", "DoubleSummaryStatistics"),
    ("Ipv4Addr", "Inet4Address"),
    ("Ipv6Addr", "Inet6Address"),
    ("IpAddr", "InetAddress"),
    ("Date", "Date"),
    ("Instant", "Instant"),
    ("OffsetDateTime", "OffsetDateTime"),
    ("ZonedDateTime", "ZonedDateTime"),
    ("LocalDateTime", "LocalDateTime"),
    ("LocalDate", "LocalDate"),
    ("LocalTime", "LocalTime"),
    ("OffsetTime", "OffsetTime"),
    ("Year", "Year"),
    ("YearMonth", "YearMonth"),
    ("MonthDay", "MonthDay"),
    ("Duration", "Duration"),
    ("Period", "Period"),
    ("ZoneOffset", "ZoneOffset"),
    ("ZoneId", "ZoneId"),
];

/// The types that the table calls *texts*.
const TEXTS: [&str; 4] = ["FilePath", "Uri", "Pattern", "InternetAddress"];

/// The arrays of the second table.
const ARRAYS: [(&str, &str); 9] = [
    ("Box<[bool]>", "boolean[]"),
    ("Box<[i8]>", "byte[]"),
    ("Box<[i16]>", "short[]"),
    ("Box<[i32]>", "int[]"),
    ("Box<[i64]>", "long[]"),
    ("Box<[f32]>", "float[]"),
    ("Box<[f64]>", "double[]"),
    ("Box<[JavaChar]>", "char[]"),
    ("Box<[Option<String>]>", "String[]"),
];

/// Values of the third table: the encoding, the text of the value, the encoding converted to.
const EXAMPLES: [(&str, &str, &str); 37] = [
    ("boolean", "true", "int"),
    ("boolean", "true", "char"),
    ("boolean", "true", "String"),
    ("int", "1", "boolean"),
    ("int", "2", "boolean"),
    ("int", "65", "char"),
    ("int", "65536", "char"),
    ("int", "16777217", "float"),
    ("int", "7", "String"),
    ("int", "2024", "Year"),
    ("int", "5", "Year"),
    ("long", "5000000000", "int"),
    ("long", "9007199254740993", "double"),
    ("long", "9223372036854775807", "double"),
    ("double", "3.0", "int"),
    ("double", "3.7", "int"),
    ("double", "-0.0", "int"),
    ("double", "1.0E20", "int"),
    ("double", "NaN", "long"),
    ("double", "0.1", "float"),
    ("double", "3.0", "BigInteger"),
    ("float", "0.1", "double"),
    ("char", "7", "int"),
    ("char", "7", "BigInteger"),
    ("BigDecimal", "1.50", "double"),
    ("BigInteger", "5", "double"),
    ("String", "7", "int"),
    ("String", "007", "int"),
    ("String", "7a", "int"),
    ("String", "yes", "boolean"),
    ("Date", "2024-02-29T12:30:45Z", "Instant"),
    ("Date", "1500-01-01T00:00:00Z", "Instant"),
    ("OffsetDateTime", "2024-02-29T12:30:45Z", "Instant"),
    ("OffsetDateTime", "2024-02-29T12:30:45+02:00", "Instant"),
    ("LocalDateTime", "2024-02-29T12:30:45", "LocalDate"),
    ("InetAddress", "1.2.3.4", "Inet4Address"),
    ("long[]", "[ \"1\", \"5000000000\" ]", "int[]"),
];

type Named = (&'static str, Arc<dyn Encoding>);

fn named(types: &[(&'static str, &str)]) -> Vec<Named> {
    types.iter().map(|(name, alias)| (*name, find(alias))).collect()
}

/// The names of the types to which values are converted as surely as `wanted`.
fn targets(from: &Named, types: &[Named], wanted: Exactness) -> Vec<&'static str> {
    let others = types.iter().filter(|to| to.0 != from.0);
    let told = others.filter(|to| Conversion::new(&*from.1, &*to.1).exactness() == wanted);
    told.map(|to| to.0).collect()
}

fn cell(names: &[&str], all_others: bool) -> String {
    if all_others {
        return "all others".to_owned();
    }
    let has_all_texts = TEXTS.iter().all(|text| names.contains(text));
    let shown = names.iter().filter(|name| !(has_all_texts && TEXTS.contains(name)));
    let mut shown: Vec<String> = shown.map(|name| format!("`{name}`")).collect();
    if has_all_texts {
        shown.push("*texts*".to_owned());
    }
    if shown.is_empty() { "–".to_owned() } else { shown.join(", ") }
}

/// One line for all types that are converted alike.
fn table(types: &[Named]) -> String {
    let mut rows: Vec<(Vec<&str>, String, String)> = Vec::new();
    for from in types {
        let [always, sometimes, never] =
            [Exactness::Always, Exactness::Sometimes, Exactness::Never]
                .map(|wanted| targets(from, types, wanted));
        let (always, sometimes) = (cell(&always, false), cell(&sometimes, never.is_empty()));
        match rows.iter_mut().find(|row| (&row.1, &row.2) == (&always, &sometimes)) {
            Some(row) => row.0.push(from.0),
            None => rows.push((vec![from.0], always, sometimes)),
        }
    }
    let mut table = String::from("| from | every value to | some values to |\n|---|---|---|\n");
    for (from, always, sometimes) in rows {
        writeln!(table, "| {} | {always} | {sometimes} |", cell(&from, false)).expect("a string");
    }
    table
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn examples() -> String {
    let mut table = String::from("| value | of | to | exact | lossy |\n|---|---|---|---|---|\n");
    for (from_name, text, to_name) in EXAMPLES {
        let (from, to) = (find(from_name), find(to_name));
        let value = from.from_text(text).expect("a text of the encoding");
        let bytes = from.encode_all(&value).expect("a value of the encoding");
        let conversion = Conversion::new(&*from, &*to);
        let shown = |bytes: &[u8]| {
            to.decode_all(bytes).and_then(|value| to.to_text(&value)).expect("just converted")
        };
        let exact = conversion.exact(&bytes).map_or("refused".into(), |value| code(&shown(&value)));
        let lossy = conversion.lossy(&bytes).map_or("refused".into(), |value| code(&shown(&value)));
        let line = format!("| {} | `{from_name}` | `{to_name}` | {exact} | {lossy} |", code(text));
        table.push_str(&line);
        table.push('\n');
    }
    table
}

/// The page with the text between the marks of a table replaced.
fn replace(page: &str, name: &str, table: &str) -> String {
    let start = format!("<!-- table {name} -->\n");
    let (before, rest) = page.split_once(&start).expect("the mark of the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    format!("{before}{start}\n{table}\n<!-- end -->{after}")
}

#[test]
fn tables_of_the_guide_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/conversions.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut made = replace(&page, "types", &table(&named(&TYPES)));
    made = replace(&made, "arrays", &table(&named(&ARRAYS)));
    made = replace(&made, "examples", &examples());
    if std::env::var_os("PERMAZEN_DOCS").is_some_and(|value| value == "write") {
        std::fs::write(&path, &made).expect("the page is written");
        return;
    }
    assert!(page == made, "docs/src/conversions.md is out of date: PERMAZEN_DOCS=write writes it");
}
