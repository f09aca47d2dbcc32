//! Encoded values as plain values, and back.

use std::fmt;

use permazen_kv::Hex;

use super::GraphValue;
use super::error::shortened;
use crate::encoding::{Encoding, EncodingKind, Primitive, Value};

/// The largest whole number that every reader of JSON returns as it is.
const LARGEST_EXACT: u64 = (1 << 53) - 1;

impl fmt::Display for GraphValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphValue::Null => f.write_str("null"),
            GraphValue::Bool(value) => write!(f, "{value}"),
            GraphValue::Number(value) => write!(f, "{value}"),
            GraphValue::Float(value) => write!(f, "{value:?}"),
            GraphValue::Text(value) => write!(f, "{:?}", shortened(value)),
            GraphValue::List(values) => write!(f, "a list of {}", values.len()),
            GraphValue::Encoded(digits) => write!(f, "{{\"encoded\": {:?}}}", shortened(digits)),
        }
    }
}

/// The plain form of an encoded value: the natural one, if it gives the same bytes again.
///
/// # Errors
/// If no value of the encoding has these bytes.
pub(super) fn to_plain(encoding: &dyn Encoding, bytes: &[u8]) -> Result<GraphValue, String> {
    if let Some(value) = natural(encoding, bytes)
        // A backup must give the same bytes again. Some texts of Java are read as other values.
        && to_encoded(encoding, &value).is_ok_and(|again| again == bytes)
    {
        return Ok(value);
    }
    // Bytes that no value has would be refused by the import, so they are refused here.
    encoding.check_canonical(bytes).map_err(|error| error.to_string())?;
    Ok(GraphValue::Encoded(Hex(bytes).to_string()))
}

/// A whole number: as text if other programs would round it.
pub(super) fn whole(number: i64) -> GraphValue {
    match number.unsigned_abs() <= LARGEST_EXACT {
        true => GraphValue::Number(number),
        // JavaScript and others read numbers of JSON as floating-point numbers.
        false => GraphValue::Text(number.to_string()),
    }
}

fn natural(encoding: &dyn Encoding, bytes: &[u8]) -> Option<GraphValue> {
    Some(match encoding.decode_all(bytes).ok()? {
        Value::Null => GraphValue::Null,
        Value::Bool(value) => GraphValue::Bool(value),
        Value::Byte(value) => GraphValue::Number(value.into()),
        Value::Short(value) => GraphValue::Number(value.into()),
        Value::Int(value) => GraphValue::Number(value.into()),
        Value::Long(value) => whole(value),
        Value::String(value) => GraphValue::Text(value),
        value => GraphValue::Text(encoding.to_text(&value).ok()?),
    })
}

/// The encoded form of a plain value.
///
/// # Errors
/// If the encoding has no such value.
pub(super) fn to_encoded(encoding: &dyn Encoding, value: &GraphValue) -> Result<Vec<u8>, String> {
    let value = match value {
        GraphValue::Null => Value::Null,
        GraphValue::Bool(value) => Value::Bool(*value),
        // The number may be of any width, so the widths are tried one after the other.
        GraphValue::Number(number) => return number_to_encoded(encoding, *number),
        GraphValue::Float(number) => float(encoding, *number)?,
        // The text form of a string has escapes, but a plain string is as it is.
        GraphValue::Text(text) if matches!(encoding.kind(), EncodingKind::String) => {
            Value::String(text.clone())
        }
        GraphValue::Text(text) => encoding.from_text(text).map_err(|error| error.to_string())?,
        GraphValue::Encoded(digits) => {
            let bytes = from_hex(digits).ok_or("these are no pairs of hex digits")?;
            encoding.check_canonical(&bytes).map_err(|error| error.to_string())?;
            return Ok(bytes);
        }
        GraphValue::List(_) => return Err(format!("a value of {} is no list", encoding.name())),
    };
    encoding.encode_all(&value).map_err(|error| error.to_string())
}

/// The encoded form of a whole number, whatever the width.
fn number_to_encoded(encoding: &dyn Encoding, number: i64) -> Result<Vec<u8>, String> {
    if is_float(encoding) {
        let rounded = number as f64;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "a number that is rounded to 2⁶³ fits into the wider type"
        )]
        let again = rounded as i128;
        // Otherwise a number would come back as another one without a word.
        if again != i128::from(number) {
            return Err(not_exactly(encoding));
        }
        let value = float(encoding, rounded)?;
        return encoding.encode_all(&value).map_err(|error| error.to_string());
    }
    // From the narrowest on: an encoding refuses a value of another width.
    let forms = [
        i8::try_from(number).ok().map(Value::Byte),
        i16::try_from(number).ok().map(Value::Short),
        i32::try_from(number).ok().map(Value::Int),
        Some(Value::Long(number)),
    ];
    let encoded = forms.iter().flatten().find_map(|form| encoding.encode_all(form).ok());
    encoded.ok_or_else(|| {
        format!("{} has no such number, or has another form: write it as text", encoding.name())
    })
}

fn is_float(encoding: &dyn Encoding) -> bool {
    use EncodingKind::{Primitive as Plain, Wrapper};
    matches!(
        encoding.kind(),
        Plain(Primitive::Float | Primitive::Double) | Wrapper(Primitive::Float | Primitive::Double)
    )
}

/// The value of a floating-point number that is the same in the encoding.
fn float(encoding: &dyn Encoding, number: f64) -> Result<Value, String> {
    use EncodingKind::{Primitive as Plain, Wrapper};
    match encoding.kind() {
        Plain(Primitive::Double) | Wrapper(Primitive::Double) => Ok(Value::Double(number)),
        Plain(Primitive::Float) | Wrapper(Primitive::Float) => {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "whether it is still the same number is checked"
            )]
            let narrow = number as f32;
            // NaN is unequal to itself. The shortest digits of the narrow type count as the number
            // too.
            let is_same = number.is_nan()
                || f64::from(narrow) == number
                || narrow.to_string().parse::<f64>().is_ok_and(|again| again == number);
            if is_same { Ok(Value::Float(narrow)) } else { Err(not_exactly(encoding)) }
        }
        _ => Err(format!("{} has no such number: write the value as text", encoding.name())),
    }
}

fn not_exactly(encoding: &dyn Encoding) -> String {
    format!("{} does not have exactly this number; as text, it is rounded", encoding.name())
}

/// The bytes that hex digits stand for.
fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}
