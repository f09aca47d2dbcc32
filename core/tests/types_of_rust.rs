//! Types of Rust that Java has under another name, and types of the program that are converted.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use permazen::encoding::number::BigInteger;
use permazen::encoding::{FieldType, Value, time};
use permazen::kv::memory::MemoryStore;
use permazen::{Error, Permazen, PermazenObject, Result, Tx};

#[derive(PermazenObject, Debug, Default, Clone, PartialEq)]
struct Job {
    #[permazen(indexed)]
    size: u32,
    #[permazen(indexed)]
    limit: Option<u32>,
    #[permazen(indexed)]
    hash: u64,
    #[permazen(indexed)]
    timeout: Duration,
    pause: Option<Duration>,
    sizes: Box<[u32]>,
    all: Vec<u32>,
    #[permazen(with = String, indexed)]
    email: Option<Email>,
    #[permazen(with = Option<i32>)]
    level: Option<Level>,
    #[permazen(with = i64, indexed)]
    number: Number,
}

#[derive(Debug, Clone, PartialEq)]
struct Email(String);

impl TryFrom<String> for Email {
    type Error = String;
    fn try_from(text: String) -> std::result::Result<Self, String> {
        if text.contains('@') { Ok(Email(text)) } else { Err(format!("{text:?} has no @")) }
    }
}

impl From<Email> for String {
    fn from(email: Email) -> String {
        email.0
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Level {
    Low,
    High,
}

impl From<i32> for Level {
    fn from(number: i32) -> Self {
        if number > 0 { Level::High } else { Level::Low }
    }
}

impl From<Level> for i32 {
    fn from(level: Level) -> i32 {
        i32::from(level == Level::High)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Number(i64);

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Number(number)
    }
}

impl From<Number> for i64 {
    fn from(number: Number) -> i64 {
        number.0
    }
}

fn in_transaction(body: impl FnMut(&Tx) -> Result<()>) {
    let db = Permazen::builder(MemoryStore::new()).model::<Job>().build().unwrap();
    db.write(body).unwrap();
}

#[test]
fn every_value_reads_back() {
    in_transaction(|tx| {
        for number in [0, 1, 255, 1 << 31, u32::MAX] {
            let wide = u64::from(number) << 32 | 7;
            let job = Job {
                size: number,
                limit: Some(number),
                hash: wide,
                timeout: Duration::new(wide >> 1, number % 1_000_000_000),
                pause: Some(Duration::new(0, 999_999_999)),
                sizes: [number; 20].into(),
                all: vec![number, 0],
                email: Some(Email("ann@example.com".into())),
                level: Some(Level::High),
                number: Number(i64::from(number)),
            };
            let object = tx.create(&job)?;
            assert_eq!(object.load()?, job);
            assert_eq!(
                (object.size()?, object.hash()?, object.timeout()?),
                (number, wide, job.timeout)
            );
            object.set_size(number)?;
            object.set_limit(number)?;
            object.set_limit(None)?;
            object.set_pause(Duration::ZERO)?;
            object.set_email(None)?;
            object.set_level(Some(Level::Low))?;
            let expected = Job {
                limit: None,
                pause: Some(Duration::ZERO),
                email: None,
                level: Some(Level::Low),
                ..job
            };
            assert_eq!(object.load()?, expected);
            assert_eq!((object.email()?, object.level()?), (None, Some(Level::Low)));
        }
        Ok(())
    });
}

#[test]
fn java_has_these_types() {
    let id = |id: permazen::encoding::EncodingId| id.alias().to_owned();
    assert_eq!(
        (id(u32::encoding_id()), id(Option::<u32>::encoding_id())),
        ("long".into(), "Long".into())
    );
    assert_eq!(
        (id(u64::encoding_id()), id(Duration::encoding_id())),
        ("BigInteger".into(), "Duration".into())
    );
    assert_eq!(id(Box::<[u32]>::encoding_id()), "long[]");
    in_transaction(|tx| {
        let hash = u64::MAX;
        let timeout = Duration::new(5, 7);
        let object =
            tx.create(Job { size: 3, hash, timeout, sizes: [1].into(), ..Job::default() })?;
        let any = object.any();
        assert_eq!(any.get("size")?, Value::from(3i64));
        let number: BigInteger = "18446744073709551615".parse()?;
        assert_eq!(any.get("hash")?, number.to_value());
        assert_eq!(any.get("timeout")?, time::Duration::new(5, 7)?.to_value());
        assert_eq!(any.get("sizes")?, Box::<[i64]>::from([1]).to_value());
        assert_eq!(any.get("email")?, Value::Null);
        any.set("size", &Value::from(4i64))?;
        assert_eq!(object.size()?, 4);
        Ok(())
    });
}

#[test]
fn indexes_sort_as_rust_does() {
    in_transaction(|tx| {
        let mut numbers =
            [0, 1, 127, 128, 255, 256, 65_536, u64::from(u32::MAX), 1 << 32, 1 << 63, u64::MAX];
        numbers.reverse();
        for number in numbers {
            let small = u32::try_from(number).unwrap_or(u32::MAX);
            let timeout = Duration::new(number >> 1, small % 1_000_000_000);
            tx.create(Job { hash: number, size: small, timeout, ..Job::default() })?;
        }
        numbers.sort_unstable();
        let hashes: Vec<u64> =
            tx.index(Job::HASH)?.iter().map(|it| Ok(it?.0)).collect::<Result<_>>()?;
        assert_eq!(hashes, numbers);
        let sizes: Vec<u32> =
            tx.index(Job::SIZE)?.iter().map(|it| Ok(it?.0)).collect::<Result<_>>()?;
        let times: Vec<Duration> =
            tx.index(Job::TIMEOUT)?.iter().map(|it| Ok(it?.0)).collect::<Result<_>>()?;
        assert!(sizes.is_sorted() && times.is_sorted() && sizes.contains(&u32::MAX));
        assert_eq!(tx.index(Job::SIZE)?.range(..=255)?.count()?, 5);
        assert_eq!(tx.index(Job::HASH)?.get(u64::MAX)?.count()?, 1);
        Ok(())
    });
}

/// What Java can store and the type of Rust cannot hold is an error that names the field.
#[test]
fn values_that_do_not_fit_are_refused() {
    in_transaction(|tx| {
        let object = tx.create(Job::default())?;
        let refused = |error: Error, field: &str, says: &str| {
            let text = error.to_string();
            assert!(text.contains(field) && text.contains(says), "{text}");
        };
        for number in [-1, i64::from(u32::MAX) + 1] {
            object.any().set("size", &Value::from(number))?;
            refused(object.size().unwrap_err(), "Job.size", "u32");
            refused(object.load().unwrap_err(), "Job.size", "u32");
        }
        object.set_size(1)?;
        for text in ["-1", "18446744073709551616"] {
            let number: BigInteger = text.parse()?;
            object.any().set("hash", &number.to_value())?;
            refused(object.hash().unwrap_err(), "Job.hash", "u64");
        }
        object.set_hash(1)?;
        object.any().set("timeout", &time::Duration::new(-1, 999_999_999)?.to_value())?;
        refused(object.timeout().unwrap_err(), "Job.timeout", "PT-0.000000001S");
        let too_long = Duration::new(1 << 63, 0);
        refused(object.set_timeout(too_long).unwrap_err(), "Job.timeout", "Java");
        object.set_timeout(Duration::ZERO)?;
        object.any().set("email", &Value::from("nobody"))?;
        refused(object.email().unwrap_err(), "Job.email", "has no @");
        refused(object.load().unwrap_err(), "Job.email", "has no @");
        Ok(())
    });
}
