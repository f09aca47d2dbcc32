//! The plain form of objects through serde. A document that repeats a part, or nests parts without
//! end, is refused.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::GraphValue;
use super::error::shortened;

/// How deep values nest: a map is a list of entries, which are lists of values.
const DEEPEST: usize = 3;

/// The only key of an encoded value.
const ENCODED: &str = "encoded";

impl Serialize for GraphValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            GraphValue::Null => to.serialize_unit(),
            GraphValue::Bool(value) => to.serialize_bool(*value),
            GraphValue::Number(value) => to.serialize_i64(*value),
            GraphValue::Float(value) => to.serialize_f64(*value),
            GraphValue::Text(value) => to.serialize_str(value),
            GraphValue::List(values) => to.collect_seq(values),
            GraphValue::Encoded(digits) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry(ENCODED, digits)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for GraphValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Values { deeper: DEEPEST })
    }
}

/// Reads a value that nests at most so deep.
#[derive(Clone, Copy)]
struct Values {
    deeper: usize,
}

impl<'de> DeserializeSeed<'de> for Values {
    type Value = GraphValue;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<GraphValue, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values {
    type Value = GraphValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, a bool, a number, a text, ")?;
        match self.deeper {
            0 => f.write_str("or {\"encoded\": \"hex digits\"}; lists are not nested so deep"),
            _ => f.write_str("a list, or {\"encoded\": \"hex digits\"}"),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<GraphValue, E> {
        Ok(GraphValue::Null)
    }

    fn visit_none<E: Error>(self) -> Result<GraphValue, E> {
        Ok(GraphValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<GraphValue, D::Error> {
        from.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<GraphValue, E> {
        Ok(GraphValue::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<GraphValue, E> {
        Ok(GraphValue::Number(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<GraphValue, E> {
        // Rounding would change the number. As text, BigInteger takes it.
        i64::try_from(value).map(GraphValue::Number).map_err(|_| {
            E::invalid_value(
                Unexpected::Unsigned(value),
                &"a number of at most 9223372036854775807; write larger ones as text",
            )
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<GraphValue, E> {
        Ok(GraphValue::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<GraphValue, E> {
        Ok(GraphValue::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<GraphValue, E> {
        Ok(GraphValue::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<GraphValue, A::Error> {
        // A document without end must not use up the stack.
        let Some(deeper) = self.deeper.checked_sub(1) else {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        };
        let mut values = Vec::new();
        while let Some(value) = from.next_element_seed(Values { deeper })? {
            values.push(value);
        }
        Ok(GraphValue::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<GraphValue, A::Error> {
        let wrong = || A::Error::invalid_type(Unexpected::Map, &self);
        match from.next_key::<String>()? {
            // The only map that is a value. Maps of a field are lists of entries, because their
            // keys need not be texts.
            Some(key) if key == ENCODED => {}
            _ => return Err(wrong()),
        }
        let digits = from.next_value()?;
        match from.next_key::<String>()? {
            None => Ok(GraphValue::Encoded(digits)),
            Some(_) => Err(wrong()),
        }
    }
}

/// Reads the fields of an object. A field may not occur twice.
pub(super) fn fields<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, GraphValue>, D::Error> {
    struct Fields;

    impl<'de> Visitor<'de> for Fields {
        type Value = BTreeMap<String, GraphValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the fields of an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
            let mut fields = BTreeMap::new();
            while let Some(name) = from.next_key::<String>()? {
                // The second value would win without a word.
                if fields.contains_key(&name) {
                    let name = shortened(&name);
                    return Err(A::Error::custom(format!("field {name:?} is there twice")));
                }
                let value = from.next_value()?;
                fields.insert(name, value);
            }
            Ok(fields)
        }
    }

    from.deserialize_map(Fields)
}

/// The schema of an object, as text.
pub(super) mod schema {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::schema::SchemaId;

    pub(in super::super) fn serialize<S: Serializer>(
        id: &Option<SchemaId>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match id {
            None => to.serialize_none(),
            Some(id) => to.collect_str(id),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SchemaId>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse()).transpose().map_err(D::Error::custom)
    }
}
