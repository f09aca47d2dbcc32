//! Requests and answers of etcd, as its gateway has them in JSON.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Numbers of 64 bits travel as text.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<'a> {
        Number(i64),
        #[serde(borrow)]
        Text(Cow<'a, str>),
    }
    match Either::deserialize(from)? {
        Either::Number(number) => Ok(number),
        // The number of a cluster has no sign.
        Either::Text(text) => match text.parse::<i64>() {
            Ok(number) => Ok(number),
            Err(_) => text.parse::<u64>().map(u64::cast_signed).map_err(de::Error::custom),
        },
    }
}

fn decoded<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    let text = <Cow<'de, str>>::deserialize(from)?;
    BASE64_STANDARD.decode(text.as_bytes()).map(Bytes::from).map_err(de::Error::custom)
}

fn encoded<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn encoded_option<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
    encoded(bytes.as_deref().unwrap_or_default(), to)
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_none_or_zero(number: &Option<i64>) -> bool {
    number.is_none_or(|number| number == 0)
}

/// The pairs of a range, or of one key.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct Range {
    #[serde(serialize_with = "encoded")]
    pub(crate) key: Vec<u8>,
    #[serde(serialize_with = "encoded_option", skip_serializing_if = "Option::is_none")]
    pub(crate) range_end: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) limit: usize,
    #[serde(skip_serializing_if = "is_none_or_zero")]
    pub(crate) revision: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sort_order: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sort_target: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) serializable: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) keys_only: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) count_only: bool,
    #[serde(skip_serializing_if = "is_none_or_zero")]
    pub(crate) max_mod_revision: Option<i64>,
}

impl Range {
    /// One key.
    pub(crate) fn of(key: Vec<u8>) -> Self {
        Range { key, ..Range::default() }
    }
}

/// A pair to be put.
#[derive(Debug, Serialize)]
pub(crate) struct Put {
    #[serde(serialize_with = "encoded")]
    pub(crate) key: Vec<u8>,
    #[serde(serialize_with = "encoded")]
    pub(crate) value: Vec<u8>,
}

/// A key to be removed.
#[derive(Debug, Serialize)]
pub(crate) struct Delete {
    #[serde(serialize_with = "encoded")]
    pub(crate) key: Vec<u8>,
}

/// Something that a transaction does.
#[derive(Debug, Serialize)]
pub(crate) enum Op {
    #[serde(rename = "request_range")]
    Range(Range),
    #[serde(rename = "request_put")]
    Put(Put),
    #[serde(rename = "request_delete_range")]
    Delete(Delete),
}

impl Op {
    pub(crate) fn get(key: Vec<u8>) -> Self {
        Op::Range(Range::of(key))
    }

    pub(crate) fn put(key: Vec<u8>, value: Vec<u8>) -> Self {
        Op::Put(Put { key, value })
    }
}

/// A condition on a key, or on all present keys of a range.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Compare {
    #[serde(serialize_with = "encoded")]
    key: Vec<u8>,
    #[serde(serialize_with = "encoded_option", skip_serializing_if = "Option::is_none")]
    range_end: Option<Vec<u8>>,
    target: &'static str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mod_revision: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    create_revision: Option<i64>,
    #[serde(serialize_with = "encoded_option", skip_serializing_if = "Option::is_none")]
    value: Option<Vec<u8>>,
}

impl Compare {
    fn new(key: Vec<u8>, target: &'static str, result: &'static str) -> Self {
        let (range_end, mod_revision, create_revision, value) = (None, None, None, None);
        Compare { key, range_end, target, result, mod_revision, create_revision, value }
    }

    /// That nothing in a range was written after a revision.
    pub(crate) fn unchanged(key: Vec<u8>, range_end: Option<Vec<u8>>, revision: i64) -> Self {
        let mod_revision = Some(revision.saturating_add(1));
        Compare { range_end, mod_revision, ..Compare::new(key, "MOD", "LESS") }
    }

    /// That a key was written last at a revision.
    pub(crate) fn written_at(key: Vec<u8>, revision: i64) -> Self {
        Compare { mod_revision: Some(revision), ..Compare::new(key, "MOD", "EQUAL") }
    }

    /// That etcd has nothing under a key.
    pub(crate) fn absent(key: Vec<u8>) -> Self {
        Compare { create_revision: Some(0), ..Compare::new(key, "CREATE", "EQUAL") }
    }

    /// That a key is there, with a smaller value.
    pub(crate) fn value_below(key: Vec<u8>, value: Vec<u8>) -> Self {
        Compare { value: Some(value), ..Compare::new(key, "VALUE", "LESS") }
    }

    pub(crate) fn len(&self) -> usize {
        let len = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        self.key.len() + len(&self.range_end) + len(&self.value) + 16
    }
}

/// A transaction.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Txn {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) compare: Vec<Compare>,
    pub(crate) success: Vec<Op>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failure: Vec<Op>,
}

impl Txn {
    /// About how many bytes etcd counts.
    pub(crate) fn len(&self) -> usize {
        let op = |op: &Op| match op {
            Op::Range(range) => range.key.len() + 16,
            Op::Put(put) => put.key.len() + put.value.len() + 16,
            Op::Delete(delete) => delete.key.len() + 16,
        };
        let compares: usize = self.compare.iter().map(Compare::len).sum();
        compares + self.success.iter().chain(&self.failure).map(op).sum::<usize>()
    }

    /// How many operations etcd counts.
    pub(crate) fn ops(&self) -> usize {
        self.compare.len().max(self.success.len()).max(self.failure.len())
    }
}

/// Where an answer comes from.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(crate) struct Header {
    #[serde(deserialize_with = "number", alias = "clusterId")]
    pub(crate) cluster_id: i64,
    #[serde(deserialize_with = "number")]
    pub(crate) revision: i64,
}

/// A pair, as etcd has it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    #[serde(deserialize_with = "decoded")]
    pub(crate) key: Bytes,
    #[serde(deserialize_with = "decoded")]
    pub(crate) value: Bytes,
    #[serde(deserialize_with = "number", alias = "modRevision")]
    pub(crate) mod_revision: i64,
}

/// The answer to a [`Range`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RangeResponse {
    pub(crate) kvs: Vec<Record>,
    pub(crate) more: bool,
    #[serde(deserialize_with = "number")]
    pub(crate) count: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response {
    #[serde(alias = "responseRange")]
    response_range: Option<RangeResponse>,
}

/// The answer to a [`Txn`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Done {
    pub(crate) header: Header,
    pub(crate) succeeded: bool,
    responses: Vec<Response>,
}

impl Done {
    /// The answers to its ranges.
    pub(crate) fn found(self) -> impl Iterator<Item = RangeResponse> {
        self.responses.into_iter().filter_map(|response| response.response_range)
    }
}

/// The status that a member reports.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    #[serde(deserialize_with = "number", alias = "db_size")]
    #[serde(rename = "dbSize")]
    pub(crate) db_size: i64,
    #[serde(deserialize_with = "number", alias = "db_size_in_use")]
    #[serde(rename = "dbSizeInUse")]
    pub(crate) db_size_in_use: i64,
}

/// An error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Refusal {
    pub(crate) error: String,
    pub(crate) message: String,
    pub(crate) code: i64,
}

/// The name and the password of the user.
#[derive(Serialize)]
pub(crate) struct LogIn<'a> {
    pub(crate) name: &'a str,
    pub(crate) password: &'a str,
}

/// The answer to a log-in.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct LoggedIn {
    pub(crate) token: String,
}

/// The beginning of a watch.
#[derive(Debug, Serialize)]
pub(crate) struct Watch {
    pub(crate) create_request: WatchRange,
}

#[derive(Debug, Serialize)]
pub(crate) struct WatchRange {
    #[serde(serialize_with = "encoded")]
    pub(crate) key: Vec<u8>,
    #[serde(serialize_with = "encoded")]
    pub(crate) range_end: Vec<u8>,
    pub(crate) filters: [&'static str; 1],
    pub(crate) progress_notify: bool,
}

/// A message of a watch.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Told {
    pub(crate) result: Option<Events>,
    pub(crate) error: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Events {
    pub(crate) header: Header,
    pub(crate) created: bool,
    pub(crate) canceled: bool,
    #[serde(alias = "cancelReason")]
    pub(crate) cancel_reason: String,
    pub(crate) events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    pub(crate) kv: Record,
}
