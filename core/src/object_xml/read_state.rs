//! The data that the functions that read a document share: the state of reading, and why it stops.

use std::io::Read;

use super::error::ObjectXmlError;
use super::generated::GeneratedIds;
use crate::encoding::EncodingError;
use crate::object::{MissingTargets, Transaction};
use crate::xml::{Fault, Parser, Start, Tag};

/// Why reading stops.
pub(super) enum Stop {
    Fault(Fault),
    Error(ObjectXmlError),
}

impl From<ObjectXmlError> for Stop {
    fn from(error: ObjectXmlError) -> Self {
        Stop::Error(error)
    }
}

impl From<crate::object::Error> for Stop {
    fn from(error: crate::object::Error) -> Self {
        Stop::Error(error.into())
    }
}

impl From<EncodingError> for Stop {
    fn from(error: EncodingError) -> Self {
        Stop::Fault(error.to_string().into())
    }
}

impl<T: Into<Fault>> From<T> for Stop {
    fn from(fault: T) -> Self {
        Stop::Fault(fault.into())
    }
}

pub(super) type Step<T> = std::result::Result<T, Stop>;

/// A document that is being read.
pub(super) struct Import<'a, R: Read> {
    pub(super) tx: &'a Transaction,
    pub(super) xml: Parser<R>,
    pub(super) ids: &'a mut GeneratedIds,
    pub(super) silent: bool,
    pub(super) missing: MissingTargets,
    pub(super) count: u64,
}

impl<R: Read> Import<'_, R> {
    /// Reads up to the next start tag without a namespace. Skips elements of other namespaces.
    /// `None` at the end of the surrounding element.
    pub(super) fn next_start(&mut self) -> Step<Option<Start>> {
        loop {
            match self.xml.next_tag()? {
                Tag::End => return Ok(None),
                Tag::Start(start) if start.namespace.is_empty() => return Ok(Some(start)),
                Tag::Start(_) => self.xml.skip_element()?,
            }
        }
    }
}
