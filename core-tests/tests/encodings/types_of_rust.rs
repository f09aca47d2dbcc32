//! Types of Rust that Java has under another name, and types of the program that are converted.

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

/// A value that Java can store and the type of Rust cannot hold is an error that names the field.
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

/// A type of another crate, for which a program cannot implement our traits.
mod foreign {
    use std::collections::{BTreeMap, BTreeSet};
    use std::net::SocketAddr;

    use permazen::encoding::{AsText, Encodable, FieldType, Value};
    use permazen::kv::memory::MemoryStore;
    use permazen::{Permazen, PermazenObject};

    #[derive(PermazenObject, Debug, Clone, PartialEq)]
    #[permazen(composite(name = "place", fields(address, rank)))]
    struct Server {
        #[permazen(with = AsText<SocketAddr>, indexed, unique)]
        address: SocketAddr,
        #[permazen(with = AsText<SocketAddr>, indexed)]
        public: Option<SocketAddr>,
        #[permazen(with = Option<AsText<SocketAddr>>)]
        private: Option<SocketAddr>,
        direct: AsText<SocketAddr>,
        rank: i32,
        #[permazen(element(indexed))]
        peers: BTreeSet<AsText<SocketAddr>>,
        list: Vec<Option<AsText<SocketAddr>>>,
        names: BTreeMap<AsText<SocketAddr>, String>,
        array: Box<[AsText<SocketAddr>]>,
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn server(text: &str) -> Server {
        let address = address(text);
        Server {
            address,
            public: Some(address),
            private: None,
            direct: AsText(address),
            rank: 3,
            peers: [AsText(address)].into(),
            list: vec![None, Some(AsText(address))],
            names: [(AsText(address), "here".to_owned())].into(),
            array: [AsText(address)].into(),
        }
    }

    #[test]
    fn types_of_other_crates_are_stored_as_their_text() {
        let db = Permazen::builder(MemoryStore::new()).model::<Server>().build().unwrap();
        let (one, two) = ("10.0.0.1:80", "[::1]:443");
        db.write(|tx| {
            let plain = server(one);
            let object = tx.create(&plain)?;
            let other = tx.create(server(two))?;
            assert_eq!(object.load()?, plain);
            assert_eq!(object.address()?, address(one));
            assert_eq!(tx.find(Server::ADDRESS, address(one))?, Some(object));
            assert_eq!(tx.find(Server::ADDRESS, &address(two))?, Some(other));
            assert_eq!(tx.index(Server::PUBLIC)?.get(address(one))?.count()?, 1);
            assert_eq!(tx.index(Server::PUBLIC)?.get(Some(AsText(address(one))))?.count()?, 1);
            assert_eq!(tx.index(Server::PEERS)?.get(address(two))?.count()?, 1);
            assert_eq!(tx.index(Server::ADDRESS)?.starts_with("10.")?.count()?, 1);
            assert_eq!(tx.index(Server::PUBLIC)?.starts_with("[")?.count()?, 1);
            assert_eq!(tx.index(Server::PLACE)?.get((address(two), 3))?.count()?, 1);
            object.set_public(None)?;
            object.set_private(Some(address(two)))?;
            object.set_direct(address(two))?;
            object.set_peers([address(one), address(two)])?;
            object.list()?.push(address(two))?;
            object.names()?.insert(address(two), "there")?;
            assert_eq!((object.public()?, object.private()?), (None, Some(address(two))));
            assert_eq!(object.direct()?.port(), 443);
            assert_eq!(object.peers()?.len()?, 2);
            assert_eq!(object.names()?.get(address(two))?.as_deref(), Some("there"));
            // By name, the values are strings.
            assert_eq!(object.any().get("address")?, Value::from(one));
            object.any().set("address", &"nowhere".into())?;
            let error = object.address().unwrap_err().to_string();
            assert!(error.contains("\"nowhere\"") && error.contains("address"), "{error}");
            object.set_address(address(one))?;
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn the_bytes_are_those_of_the_text() {
        let (mut text, mut value) = (Vec::new(), Vec::new());
        "10.0.0.1:80".to_owned().encode_to(&mut text).unwrap();
        AsText(address("10.0.0.1:80")).encode_to(&mut value).unwrap();
        assert_eq!(text, value);
        assert_eq!(
            <AsText<SocketAddr> as FieldType>::encoding_id(),
            <String as FieldType>::encoding_id()
        );
        let read = AsText::<SocketAddr>::decode_all(&text).unwrap();
        assert_eq!(read.to_string(), "10.0.0.1:80");
        let shown = Encodable::to_text(&read);
        assert_eq!(<AsText<SocketAddr> as Encodable>::from_text(&shown).unwrap(), read);
        assert_eq!(AsText::<SocketAddr>::from_value(&read.to_value()).unwrap(), read);
        let mut wrong = Vec::new();
        "nowhere".to_owned().encode_to(&mut wrong).unwrap();
        assert!(AsText::<SocketAddr>::decode_all(&wrong).is_err());
        assert!(AsText::<SocketAddr>::from_value(&"nowhere".into()).is_err());
    }
}
