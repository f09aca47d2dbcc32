//! Where scripts come from: `-c`, `-f` and standard input.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use permazen::__internal::escape::path_text;
use permazen::__internal::open::open_to_read;
use permazen_query::Mistake;
use permazen_query::syntax::Span;

use super::Source;
use crate::args::Args;
use crate::failure::Failure;

/// The texts that the command line gives; `None` if there are none, so that the prompt is meant.
pub(crate) fn sources(args: &Args) -> Result<Option<Vec<Source>>, Failure> {
    if !args.statements.is_empty() {
        let several = args.statements.len() > 1;
        let source = |(at, text): (usize, &String)| Source {
            name: several.then(|| format!("-c {}", at + 1)),
            text: text.clone(),
        };
        return Ok(Some(args.statements.iter().enumerate().map(source).collect()));
    }
    let source = match &args.file {
        Some(file) if file != Path::new("-") => {
            let name = path_text(file);
            let text = open_to_read(file).and_then(read).map_err(|error| {
                Failure::new(format!("{name}: {}", Failure::from(error).message))
            })?;
            utf8(text, name)?
        }
        None if io::stdin().is_terminal() => return Ok(None),
        _ => utf8(read(io::stdin())?, "standard input".to_owned())?,
    };
    Ok(Some(vec![source]))
}

fn read(mut file: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

fn utf8(text: Vec<u8>, name: String) -> Result<Source, Failure> {
    match String::from_utf8(text) {
        Ok(text) => Ok(Source { name: Some(name), text }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let mistake = Mistake::new(Span::new(at, at), "the text is not UTF-8 from here on");
            let valid = error.as_bytes().get(..at).unwrap_or_default();
            Err(Failure::mistake(&mistake, &String::from_utf8_lossy(valid), Some(&name)))
        }
    }
}
