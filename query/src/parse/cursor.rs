//! Going from token to token.

use super::keywords::RESERVED;
use super::lexer::Lexer;
use super::limits::{MAX_DEPTH, MAX_LENGTH, Result};
use super::token::{Token, TokenKind};
use crate::mistake::{Mistake, nearest};
use crate::syntax::{Name, Span};

/// The place in a text up to which it is parsed.
pub(super) struct Cursor<'s> {
    lexer: Lexer<'s>,
    token: Token,
    /// Where the token before ended.
    pub(super) last_end: usize,
    depth: usize,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(source: &'s str) -> Result<Self> {
        if source.len() > MAX_LENGTH {
            return Err(too_long());
        }
        Cursor::at_start_of(source)
    }

    /// At the beginning of a text of any length. The text that is parsed of it is not longer than a
    /// statement.
    pub(super) fn at_start_of(source: &'s str) -> Result<Self> {
        let mut lexer = Lexer::new(source);
        let token = lexer.token()?;
        Ok(Cursor { lexer, token, last_end: 0, depth: 0 })
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    pub(super) fn start(&self) -> usize {
        self.token.span.start
    }

    /// From a position to the end of the token before.
    pub(super) fn since(&self, start: usize) -> Span {
        Span::new(start, self.last_end.max(start))
    }

    pub(super) fn take(&mut self) -> Result<Token> {
        let next = self.lexer.token()?;
        self.last_end = self.token.span.end;
        if self.last_end > MAX_LENGTH {
            return Err(too_long());
        }
        Ok(std::mem::replace(&mut self.token, next))
    }

    pub(super) fn at_end(&self) -> bool {
        self.token.kind == TokenKind::End
    }

    pub(super) fn at_sign(&self, sign: &str) -> bool {
        matches!(self.token.kind, TokenKind::Sign(found) if found == sign)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(&self.token.kind, TokenKind::Word(found) if found == word)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> Result<bool> {
        let there = self.at_sign(sign);
        if there {
            self.take()?;
        }
        Ok(there)
    }

    pub(super) fn take_word(&mut self, word: &str) -> Result<bool> {
        let there = self.at_word(word);
        if there {
            self.take()?;
        }
        Ok(there)
    }

    pub(super) fn need_sign(&mut self, sign: &str) -> Result<()> {
        if self.take_sign(sign)? { Ok(()) } else { Err(self.unexpected(&[&format!("`{sign}`")])) }
    }

    pub(super) fn need_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word)? { Ok(()) } else { Err(self.unexpected(&[&format!("`{word}`")])) }
    }

    pub(super) fn end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected(&["the end of the statement"])) }
    }

    /// The mistake that the current token is not one of these.
    pub(super) fn unexpected(&self, expected: &[&str]) -> Mistake {
        let span = self.token.span;
        let found = match &self.token.kind {
            TokenKind::End => "the statement ends too early".to_owned(),
            TokenKind::Word(word) => {
                let mistake = Mistake::new(span, format!("`{word}` is not expected here"));
                let words = expected.iter().filter_map(|word| {
                    word.strip_prefix('`').and_then(|word| word.strip_suffix('`'))
                });
                // After a whole expression any word that continues it could be meant.
                let near = nearest(word, words.chain(RESERVED)).filter(|near| near != word);
                return Mistake { nearest: near, ..mistake }.expecting(expected);
            }
            TokenKind::Quoted(_) => "a name is not expected here".to_owned(),
            TokenKind::Number(_) => "a number is not expected here".to_owned(),
            TokenKind::Text(_) => "a text is not expected here".to_owned(),
            TokenKind::Bytes(_) => "bytes are not expected here".to_owned(),
            TokenKind::Id(_) => "an ID is not expected here".to_owned(),
            TokenKind::Parameter(_) => "a parameter is not expected here".to_owned(),
            TokenKind::StorageId(_) => "a storage ID is not expected here".to_owned(),
            TokenKind::Sign(sign) => format!("`{sign}` is not expected here"),
        };
        Mistake::new(span, found).expecting(expected)
    }

    /// Runs a part of the parser that can contain itself.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            let what = format!("this is nested deeper than {MAX_DEPTH}");
            return Err(Mistake::new(self.token.span, what));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Whether a name can begin here.
    pub(super) fn at_name(&self) -> bool {
        match &self.token.kind {
            TokenKind::Word(word) => !RESERVED.contains(&word.as_str()),
            TokenKind::Quoted(_) | TokenKind::StorageId(_) => true,
            _ => false,
        }
    }

    /// A name. `what` says whose, if there is none.
    pub(super) fn name(&mut self, what: &str) -> Result<Name> {
        if !self.at_name() {
            let mut mistake = self.unexpected(&[what]);
            if let TokenKind::Word(word) = &self.token.kind {
                mistake.nearest = None;
                mistake.what = format!(
                    "`{word}` is a word of the language; as a name it is written in backticks"
                );
            }
            return Err(mistake);
        }
        let start = self.start();
        let text = match self.take()?.kind {
            TokenKind::StorageId(id) => {
                return Ok(Name { span: self.since(start), text: None, storage_id: Some(id) });
            }
            TokenKind::Word(text) | TokenKind::Quoted(text) => text,
            _ => String::new(),
        };
        // `name#17`, without a blank.
        let storage_id = match self.token.kind {
            TokenKind::StorageId(id) if self.start() == self.last_end => {
                self.take()?;
                Some(id)
            }
            _ => None,
        };
        Ok(Name { span: self.since(start), text: Some(text), storage_id })
    }

    /// Names with dots between them.
    pub(super) fn names(&mut self, what: &str) -> Result<Vec<Name>> {
        let mut names = vec![self.name(what)?];
        while self.take_sign(".")? {
            names.push(self.name("a name")?);
        }
        Ok(names)
    }

    /// A whole number, for `limit`.
    pub(super) fn count(&mut self) -> Result<u64> {
        if let TokenKind::Number(number) = &self.token.kind
            && let Ok(count) = number.parse()
        {
            self.take()?;
            return Ok(count);
        }
        Err(self.unexpected(&["a whole number", "a parameter"]))
    }
}

fn too_long() -> Mistake {
    let what = format!("a statement is longer than {MAX_LENGTH} bytes");
    Mistake::new(Span::new(MAX_LENGTH, MAX_LENGTH), what)
}
