//! From text to statements.

mod condition;
mod cursor;
mod keywords;
mod lexer;
mod limits;
mod literal;
mod objects;
mod statement;
mod token;

pub(crate) use keywords::is_word_of_language;
pub use keywords::{begins_statement, keywords};
pub(crate) use lexer::is_plain_word;
pub use limits::{MAX_DEPTH, MAX_LENGTH};

use crate::mistake::Mistake;
use crate::syntax::{Literal, Objects, Span, Statement};
use cursor::Cursor;

type Result<T> = std::result::Result<T, Mistake>;

/// The statement that `source` consists of. A `;` may come after it.
///
/// ```
/// let statement = permazen_query::parse("find Person where `order` = 3")?;
/// assert_eq!(statement.to_string(), "find Person where `order` = 3");
/// # Ok::<(), permazen_query::Mistake>(())
/// ```
///
/// # Errors
/// If it is no statement, more than one, longer than [`MAX_LENGTH`] or nested deeper than
/// [`MAX_DEPTH`].
pub fn parse(source: &str) -> Result<Statement> {
    let parsed = || {
        let mut cursor = Cursor::new(source)?;
        let statement = cursor.statement()?;
        cursor.take_sign(";")?;
        cursor.end()?;
        Ok(statement)
    };
    parsed().map_err(|mistake: Mistake| mistake.or_meant(source))
}

/// The statements that `source` consists of, with `;` between them and comments from `--` to the
/// end of a line.
///
/// # Errors
/// The errors of [`parse`], but there may be any number of statements.
pub fn parse_script(source: &str) -> Result<Vec<Statement>> {
    let mut cursor = Cursor::new(source)?;
    let mut statements = Vec::new();
    loop {
        while cursor.take_sign(";")? {}
        if cursor.at_end() {
            return Ok(statements);
        }
        statements.push(cursor.statement()?);
        if !cursor.at_sign(";") {
            cursor.end()?;
        }
    }
}

/// The first of the statements that `source` consists of, and where it ends: at the `;` after it,
/// or at the end of the text. The text after it is not read, and may be no statement.
///
/// ```
/// let source = "find Person; not a statement";
/// let (statement, end) = permazen_query::parse_first(source)?;
/// assert_eq!(statement.to_string(), "find Person");
/// assert_eq!(&source[end..], "; not a statement");
/// # Ok::<(), permazen_query::Mistake>(())
/// ```
///
/// # Errors
/// The errors of [`parse`]; `source` may be longer than a statement.
pub fn parse_first(source: &str) -> Result<(Statement, usize)> {
    let parsed = || {
        let mut cursor = Cursor::at_start_of(source)?;
        let statement = cursor.statement()?;
        if !cursor.at_sign(";") {
            cursor.end()?;
        }
        Ok((statement, cursor.start()))
    };
    parsed().map_err(|mistake: Mistake| mistake.or_meant(source))
}

/// The set of objects that `source` stands for.
///
/// # Errors
/// The errors of [`parse`], for an expression.
pub fn parse_objects(source: &str) -> Result<Objects> {
    let mut cursor = Cursor::new(source)?;
    let objects = cursor.objects()?;
    cursor.end()?;
    Ok(objects)
}

/// The value that `source` stands for: a literal, or a JSON value without objects.
///
/// # Errors
/// The errors of [`parse`], for a value.
pub fn parse_literal(source: &str) -> Result<Literal> {
    let mut cursor = Cursor::new(source)?;
    let literal = cursor.literal()?;
    cursor.end()?;
    Ok(literal)
}

/// Does the same as [`parse_script`] for bytes, which have to be UTF-8.
///
/// # Errors
/// The errors of [`parse_script`]; the position of the first byte that is not UTF-8.
pub fn parse_script_bytes(source: &[u8]) -> Result<Vec<Statement>> {
    match std::str::from_utf8(source) {
        Ok(source) => parse_script(source),
        Err(error) => {
            let at = error.valid_up_to();
            let what = "the text is not UTF-8 from here on";
            Err(Mistake::new(Span::new(at, at + 1), what))
        }
    }
}
