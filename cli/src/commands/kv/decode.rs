//! `kv decode`: keys in words.

use std::sync::Arc;

use permazen::__internal::describe_key::{Lines, line, pieces};
use permazen::__internal::layout::{self, KeyKind};
use permazen::__internal::schema::{SchemaBundle, read_usable_schemas};
use permazen::ObjId;
use permazen::kv::{Hex, KvRead};
use permazen::schema::ResolvedType;
use serde_json::json;

use super::bytes::Bytes;
use super::read_pairs;
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::session::Session;

/// Say what each part of a key means, by all recorded schemas that can be read.
#[derive(Debug, clap::Args)]
pub(crate) struct Decode {
    /// The key; several arguments are its parts, one after the other
    #[arg(required = true)]
    key: Vec<Bytes>,
}

impl Command for Decode {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let key: Vec<u8> = self.key.iter().flat_map(|part| part.0.iter().copied()).collect();
        let Context { session, out, .. } = context;
        read_pairs(session, |kv| {
            let known = Known::of(kv, session)?;
            let object_type = known.type_of(&key, kv)?;
            let pieces = pieces(&key, &known.schemas, object_type.as_deref());
            if out.is_json() {
                let parts = pieces.iter().map(
                    |piece| json!({ "bytes": Hex(piece.bytes).to_string(), "words": piece.words }),
                );
                return out.json(&json!({
                    "type": "key",
                    "key": Hex(&key).to_string(),
                    "words": known.line(&key, kv)?,
                    "pieces": parts.collect::<Vec<_>>(),
                }));
            }
            // Names and values in it are escaped.
            Lines(&pieces).to_string().lines().for_each(|line| out.say(line));
            Ok(())
        })?;
        Ok(Answer::Yes)
    }
}

/// The schemas that are needed to say what keys mean.
pub(super) struct Known {
    schemas: Arc<SchemaBundle>,
}

impl Known {
    pub(super) fn of(kv: &dyn KvRead, session: &Session) -> Result<Known, Failure> {
        let usable = read_usable_schemas(kv, session.database().encodings())?;
        Ok(Known { schemas: usable.schemas })
    }

    /// The type of the object whose pair it is, in the object's schema.
    pub(super) fn type_of(
        &self,
        key: &[u8],
        kv: &dyn KvRead,
    ) -> Result<Option<Arc<ResolvedType>>, Failure> {
        let KeyKind::Data(..) = layout::parse_key(key) else { return Ok(None) };
        let id = key.first_chunk().and_then(|bytes| ObjId::from_bytes(*bytes).ok());
        let Some(id) = id else { return Ok(None) };
        Ok(match kv.get(id.as_bytes())? {
            None => None,
            Some(info) => layout::parse_object_info(&info)
                .ok()
                .and_then(|index| self.schemas.schema(index))
                .and_then(|schema| schema.type_by_storage_id(id.storage_id()))
                .cloned(),
        })
    }

    /// The meaning of a key, in one line; `None` if that is not known.
    pub(super) fn line(&self, key: &[u8], kv: &dyn KvRead) -> Result<Option<String>, Failure> {
        Ok(line(key, &self.schemas, self.type_of(key, kv)?.as_deref()))
    }
}

/// The meaning of a key in the committed state, in words if it is known.
pub(crate) fn in_words(key: &[u8], session: &Session) -> Result<String, Failure> {
    read_pairs(session, |kv| {
        let words = Known::of(kv, session)?.line(key, kv)?;
        Ok(words.unwrap_or_else(|| format!("the key {}", Hex(key))))
    })
}
