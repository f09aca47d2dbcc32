//! IDs, references and counters through serde. In formats for people, such as JSON, an ID is its 16
//! hex digits; in others, it is its number. A counter is its number.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::reference::Ref;
use super::values::Counter;
use crate::id::ObjId;

impl Serialize for ObjId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match to.is_human_readable() {
            true => to.collect_str(self),
            false => to.serialize_u64(u64::from_be_bytes(self.to_bytes())),
        }
    }
}

impl<'de> Deserialize<'de> for ObjId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match from.is_human_readable() {
            true => from.deserialize_str(IdVisitor),
            false => from.deserialize_u64(IdVisitor),
        }
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = ObjId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ID of an object")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ObjId, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ObjId, E> {
        ObjId::from_bytes(number.to_be_bytes()).map_err(E::custom)
    }
}

impl<M> Serialize for Ref<M> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.id().serialize(to)
    }
}

impl<'de, M> Deserialize<'de> for Ref<M> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ObjId::deserialize(from).map(Ref::new)
    }
}

impl Serialize for Counter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(self.get())
    }
}

impl<'de> Deserialize<'de> for Counter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        i64::deserialize(from).map(Counter)
    }
}
