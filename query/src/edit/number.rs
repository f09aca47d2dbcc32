//! `+=` and `-=` of numbers.

use permazen::encoding::{Encoding, Value};

use super::big_number;
use crate::text::literal;

/// The number `old` with `by` added or taken away; why there is none, as one clause.
pub(super) fn changed(
    encoding: &dyn Encoding,
    old: &Value,
    by: &Value,
    adds: bool,
) -> Result<Value, String> {
    macro_rules! whole {
        ($kind:ident, $a:ident, $b:ident) => {
            if adds { $a.checked_add(*$b) } else { $a.checked_sub(*$b) }.map(Value::$kind)
        };
    }
    macro_rules! float {
        ($kind:ident, $a:ident, $b:ident) => {{
            let sum = if adds { $a + $b } else { $a - $b };
            // Infinity and NaN are values, but finite numbers must not become infinite.
            let is_in_range = sum.is_finite() || !$a.is_finite() || !$b.is_finite();
            is_in_range.then_some(Value::$kind(sum))
        }};
    }
    let new = match (old, by) {
        (Value::Null, _) => return Err("it is null, which is no number".to_owned()),
        (Value::Byte(a), Value::Byte(b)) => whole!(Byte, a, b),
        (Value::Short(a), Value::Short(b)) => whole!(Short, a, b),
        (Value::Int(a), Value::Int(b)) => whole!(Int, a, b),
        (Value::Long(a), Value::Long(b)) => whole!(Long, a, b),
        (Value::Float(a), Value::Float(b)) => float!(Float, a, b),
        (Value::Double(a), Value::Double(b)) => float!(Double, a, b),
        (Value::BigInteger(a), Value::BigInteger(b)) => {
            let by = if adds { Some(b.clone()) } else { big_number::negative_integer(b) };
            by.and_then(|by| big_number::integers(a, &by)).map(Value::BigInteger)
        }
        (Value::BigDecimal(a), Value::BigDecimal(b)) => {
            let by = if adds { Some(b.clone()) } else { big_number::negative_decimal(b) };
            by.and_then(|by| big_number::decimals(a, &by)).map(Value::BigDecimal)
        }
        _ => return Err("it is no number".to_owned()),
    };
    let of = |value: &Value| literal(value, encoding);
    let sign = if adds { "+" } else { "-" };
    let (old, by) = (of(old), of(by));
    new.ok_or_else(|| format!("{old} {sign} {by} is out of the range of {}", encoding.name()))
}
