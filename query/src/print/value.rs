//! Values, names, paths and ranges.

use std::fmt::{Display, Formatter, Result};

use super::list;
use crate::syntax::{Literal, LiteralKind, Name, Part, Path, Range};
use crate::text::{hex, quoted, quoted_name};

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(text) = &self.text {
            f.write_str(&quoted_name(text))?;
        }
        self.storage_id.map_or(Ok(()), |id| write!(f, "#{id}"))
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (at, part) in self.parts.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match part {
                Part::Name(name) => write!(f, "{dot}{name}")?,
                Part::Special(special) => write!(f, "{dot}{}", special.word())?,
                Part::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            LiteralKind::Null => f.write_str("null"),
            LiteralKind::Bool(value) => write!(f, "{value}"),
            LiteralKind::Number(number) => f.write_str(number),
            LiteralKind::Text(text) => f.write_str(&quoted(text)),
            LiteralKind::Bytes(bytes) => f.write_str(&hex(bytes.iter().copied())),
            LiteralKind::Word(word) => f.write_str(&quoted_name(word)),
            LiteralKind::Id(id) => write!(f, "@{id}"),
            LiteralKind::Parameter(name) => write!(f, "${name}"),
            LiteralKind::List(values) => {
                f.write_str("[")?;
                list(f, values, |f, value| value.fmt(f))?;
                f.write_str("]")
            }
            LiteralKind::Set(values) => {
                f.write_str("{")?;
                list(f, values, |f, value| value.fmt(f))?;
                f.write_str("}")
            }
            LiteralKind::Map(pairs) => {
                f.write_str("{")?;
                list(f, pairs, |f, (key, value)| write!(f, "{key}: {value}"))?;
                f.write_str("}")
            }
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(from) = &self.from {
            from.fmt(f)?;
        }
        f.write_str(if self.with_end { "..=" } else { ".." })?;
        self.to.as_ref().map_or(Ok(()), |to| to.fmt(f))
    }
}
