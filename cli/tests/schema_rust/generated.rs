//! The structs that `schema rust` prints for `schemas.rs`.

pub mod reference {
// The structs of Schema_a74fa4308ce05a1de31520b9858a4e91.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
pub struct Person {
    pub age: i32,
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    pub boss: Option<Ref<Any>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub friends: Vec<Option<Ref<Any>>>,
    #[permazen(indexed)]
    pub name: Option<String>,
    #[permazen(key(indexed), value(indexed))]
    pub scores: BTreeMap<Option<String>, i32>,
    #[permazen(inverse_delete = "nullify")]
    pub spouse: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub tags: BTreeSet<Option<String>>,
    pub visits: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct Pet {
    pub born: Option<permazen::encoding::time::Date>,
    #[permazen(indexed)]
    pub name: Option<String>,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Person>().model::<Pet>().schema().expect("a schema")
}
}

pub mod music {
// The structs of Schema_06dfc24617f31ad17d9509e4cdd3c760.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Counter, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byArtistYear", fields(artist, year)))]
pub struct Album {
    #[permazen(inverse_delete = "delete")]
    pub artist: Option<Ref<Artist>>,
    pub cover: Option<permazen::encoding::ByteArray>,
    #[permazen(indexed)]
    pub rating: Option<f64>,
    #[permazen(indexed)]
    pub title: Option<String>,
    pub year: i32,
}

#[derive(PermazenObject, Debug)]
pub struct Artist {
    pub born: Option<permazen::encoding::time::LocalDate>,
    #[permazen(indexed)]
    pub country: Option<Country>,
    #[permazen(element(indexed))]
    pub genres: BTreeSet<Option<Genres>>,
    pub homepage: Option<permazen::encoding::textual::Uri>,
    #[permazen(indexed)]
    pub name: Option<String>,
}

#[derive(PermazenObject, Debug)]
pub struct Listener {
    #[permazen(indexed)]
    pub email: Option<String>,
    #[permazen(element(inverse_delete = "remove"))]
    pub favourites: BTreeSet<Option<Ref<Album>>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub friends: BTreeSet<Option<Ref<Listener>>>,
    #[permazen(accessor = "the_id")]
    pub id: Option<permazen::encoding::Uuid>,
    pub inbox: BTreeMap<Option<permazen::encoding::time::Instant>, Option<String>>,
    #[permazen(indexed)]
    pub joined: Option<permazen::encoding::time::Instant>,
    pub last_seen: Option<permazen::encoding::time::Date>,
    #[permazen(indexed)]
    pub name: Option<String>,
}

#[derive(PermazenObject, Debug)]
pub struct Playlist {
    #[permazen(key(indexed), value(indexed))]
    pub labels: BTreeMap<Option<String>, Option<i32>>,
    #[permazen(indexed)]
    pub name: Option<String>,
    #[permazen(inverse_delete = "delete")]
    pub owner: Option<Ref<Listener>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub tracks: Vec<Option<Ref<Track>>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byAlbumNumber", fields(album, number)))]
pub struct Track {
    #[permazen(inverse_delete = "delete")]
    pub album: Option<Ref<Album>>,
    pub explicit: bool,
    pub number: i32,
    pub plays: Counter,
    #[permazen(indexed)]
    pub seconds: i32,
    #[permazen(indexed)]
    pub title: Option<String>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Country {
    Brazil,
    Canada,
    Czechia,
    France,
    Germany,
    Iceland,
    India,
    Japan,
    Kenya,
    Mexico,
    Norway,
    Portugal,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Genres {
    Ambient,
    Blues,
    Classical,
    Electronic,
    Folk,
    HipHop,
    Jazz,
    Metal,
    Pop,
    Punk,
    Rock,
    Soul,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Album>().model::<Artist>().model::<Listener>().model::<Playlist>().model::<Track>().schema().expect("a schema")
}
}

pub mod evolution1 {
// The structs of Schema_ae076bd319e1b61ad3bfa9c116fc75cd.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
pub struct Customer {
    pub age: i32,
    #[permazen(indexed)]
    pub code: i32,
    #[permazen(value(indexed))]
    pub limits: BTreeMap<Option<String>, Option<i32>>,
    #[permazen(element(indexed))]
    pub marks: BTreeSet<Option<i32>>,
    #[permazen(indexed)]
    pub name: Option<String>,
    #[permazen(element(indexed))]
    pub notes: Vec<Option<String>>,
    #[permazen(inverse_delete = "nullify")]
    pub origin: Option<Ref<OriginKind>>,
    pub phone: Option<String>,
    pub score: i32,
    #[permazen(indexed)]
    pub status: Option<Status>,
}

#[derive(PermazenObject, Debug)]
pub struct Legacy {
    #[permazen(inverse_delete = "nullify")]
    pub holder: Option<Ref<Customer>>,
    #[permazen(indexed)]
    pub label: Option<String>,
    pub weight: f64,
}

#[derive(PermazenObject, Debug)]
pub struct Order {
    #[permazen(inverse_delete = "delete")]
    pub customer: Option<Ref<Customer>>,
    pub lines: Vec<Option<String>>,
    #[permazen(indexed)]
    pub placed: Option<permazen::encoding::time::Date>,
    pub total: i32,
}

#[derive(PermazenObject, Debug)]
pub struct Setting {
    #[permazen(indexed)]
    pub key: Option<String>,
    pub value: i32,
}

#[derive(PermazenObject, Debug)]
pub struct Tag {
    pub uses: Counter,
    #[permazen(indexed)]
    pub word: Option<String>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    New,
    Active,
    Gone,
}

#[derive(PermazenKind)]
pub enum Origin<'t> {
    Customer(Obj<'t, Customer>),
    Legacy(Obj<'t, Legacy>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Customer>().model::<Legacy>().model::<Order>().model::<Setting>().model::<Tag>().schema().expect("a schema")
}
}

pub mod evolution2 {
// The structs of Schema_e9b088669675ab57d79c7f2b243b6932.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
pub struct Customer {
    #[permazen(indexed)]
    pub age: i32,
    #[permazen(indexed)]
    pub code: i64,
    #[permazen(indexed)]
    pub email: Option<String>,
    #[permazen(key(indexed))]
    pub limits: BTreeMap<Option<String>, Option<i32>>,
    #[permazen(element(indexed))]
    pub marks: BTreeSet<Option<i32>>,
    #[permazen(indexed)]
    pub name: Option<String>,
    pub notes: Vec<Option<String>>,
    #[permazen(inverse_delete = "nullify")]
    pub origin: Option<Ref<OriginKind>>,
    pub score: Counter,
    #[permazen(indexed)]
    pub status: Option<Status>,
    pub vip: bool,
}

#[derive(PermazenObject, Debug)]
pub struct Legacy {
    #[permazen(inverse_delete = "nullify")]
    pub holder: Option<Ref<Customer>>,
    #[permazen(indexed)]
    pub label: Option<String>,
    pub remark: Option<String>,
    pub weight: f64,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byCustomer", fields(customer, placed)))]
pub struct Order {
    #[permazen(inverse_delete = "delete")]
    pub customer: Option<Ref<Customer>>,
    #[permazen(element(indexed))]
    pub lines: Vec<Option<String>>,
    #[permazen(indexed)]
    pub placed: Option<permazen::encoding::time::Date>,
    pub total: i64,
}

#[derive(PermazenObject, Debug)]
pub struct Tag {
    pub uses: Counter,
    #[permazen(indexed)]
    pub word: Option<String>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    New,
    Active,
    Paused,
    Gone,
}

#[derive(PermazenKind)]
pub enum Origin<'t> {
    Customer(Obj<'t, Customer>),
    Legacy(Obj<'t, Legacy>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Customer>().model::<Legacy>().model::<Order>().model::<Tag>().schema().expect("a schema")
}
}

pub mod evolution3 {
// The structs of Schema_45d7a0cf45834f525767d1bd6eb13390.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Counter, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
#[permazen(composite(name = "statusCode", fields(status, code)))]
pub struct Customer {
    pub age: Option<i32>,
    #[permazen(indexed)]
    pub city: Option<String>,
    #[permazen(indexed)]
    pub code: Option<String>,
    #[permazen(indexed)]
    pub email: Option<String>,
    pub limits: BTreeMap<Option<String>, Option<i32>>,
    #[permazen(element(indexed))]
    pub marks: BTreeSet<Option<i64>>,
    #[permazen(indexed)]
    pub name: Option<String>,
    #[permazen(element(indexed))]
    pub notes: Vec<Option<String>>,
    #[permazen(inverse_delete = "nullify")]
    pub origin: Option<Ref<Customer>>,
    pub score: Counter,
    #[permazen(indexed)]
    pub status: Option<Status>,
}

#[derive(PermazenObject, Debug)]
pub struct Invoice {
    #[permazen(indexed)]
    pub amount: Option<permazen::encoding::number::BigDecimal>,
    #[permazen(indexed)]
    pub number: i64,
    #[permazen(inverse_delete = "delete")]
    pub order: Option<Ref<Order>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byCustomer", fields(customer, placed)))]
#[permazen(composite(name = "byTotal", fields(total, customer, placed)))]
pub struct Order {
    #[permazen(inverse_delete = "delete")]
    pub customer: Option<Ref<Customer>>,
    #[permazen(element(indexed))]
    pub lines: Vec<Option<String>>,
    #[permazen(indexed)]
    pub placed: Option<permazen::encoding::time::Instant>,
    pub total: Option<String>,
}

#[derive(PermazenObject, Debug)]
pub struct Tag {
    pub uses: Counter,
    #[permazen(indexed)]
    pub word: Option<String>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Active,
    Paused,
    Closed,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Customer>().model::<Invoice>().model::<Order>().model::<Tag>().schema().expect("a schema")
}
}

pub mod encodings {
// The structs of Schema_845d1bbfe5f93c64d75f56c824b72b7f.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "ci1", fields(int, string)))]
#[permazen(composite(name = "ci2", fields(double, boolean, char)))]
#[permazen(composite(name = "ci3", fields(uuid, big_decimal)))]
#[permazen(composite(name = "ci4", fields(r#enum, local_date, reference, float_array)))]
pub struct Everything {
    #[permazen(rename = "BigDecimal", indexed)]
    pub big_decimal: Option<permazen::encoding::number::BigDecimal>,
    #[permazen(rename = "BigDecimalArray", indexed)]
    pub big_decimal_array: Option<Box<[Option<permazen::encoding::number::BigDecimal>]>>,
    #[permazen(rename = "BigInteger", indexed)]
    pub big_integer: Option<permazen::encoding::number::BigInteger>,
    #[permazen(rename = "BitSet", indexed)]
    pub bit_set: Option<permazen::encoding::number::BitSet>,
    #[permazen(rename = "Boolean", indexed)]
    pub boolean: Option<bool>,
    #[permazen(rename = "Byte", indexed)]
    pub byte: Option<i8>,
    #[permazen(rename = "Character", indexed)]
    pub character: Option<permazen::encoding::JavaChar>,
    #[permazen(rename = "Date", indexed)]
    pub date: Option<permazen::encoding::time::Date>,
    #[permazen(rename = "DateArray", indexed)]
    pub date_array: Option<Box<[Option<permazen::encoding::time::Date>]>>,
    #[permazen(rename = "DateArrayArrayArray", indexed)]
    pub date_array_array_array: Option<Box<[Option<Box<[Option<Box<[Option<permazen::encoding::time::Date>]>>]>>]>>,
    #[permazen(rename = "Double", indexed)]
    pub double: Option<f64>,
    #[permazen(rename = "DoubleSummaryStatistics", indexed)]
    pub double_summary_statistics: Option<permazen::encoding::number::DoubleSummaryStatistics>,
    #[permazen(rename = "Duration", indexed)]
    pub duration: Option<permazen::encoding::time::Duration>,
    #[permazen(rename = "File", indexed)]
    pub file: Option<permazen::encoding::textual::FilePath>,
    #[permazen(rename = "Float", indexed)]
    pub float: Option<f32>,
    #[permazen(rename = "Inet4Address", indexed)]
    pub inet4_address: Option<std::net::Ipv4Addr>,
    #[permazen(rename = "Inet4AddressArray", indexed)]
    pub inet4_address_array: Option<Box<[Option<std::net::Ipv4Addr>]>>,
    #[permazen(rename = "Inet6Address", indexed)]
    pub inet6_address: Option<std::net::Ipv6Addr>,
    #[permazen(rename = "InetAddress", indexed)]
    pub inet_address: Option<std::net::IpAddr>,
    #[permazen(rename = "Instant", indexed)]
    pub instant: Option<permazen::encoding::time::Instant>,
    #[permazen(rename = "InstantArray", indexed)]
    pub instant_array: Option<Box<[Option<permazen::encoding::time::Instant>]>>,
    #[permazen(rename = "IntSummaryStatistics", indexed)]
    pub int_summary_statistics: Option<permazen::encoding::number::IntSummaryStatistics>,
    #[permazen(rename = "Integer", indexed)]
    pub integer: Option<i32>,
    #[permazen(rename = "InternetAddress", indexed)]
    pub internet_address: Option<permazen::encoding::textual::InternetAddress>,
    #[permazen(rename = "LocalDate", indexed)]
    pub local_date: Option<permazen::encoding::time::LocalDate>,
    #[permazen(rename = "LocalDateTime", indexed)]
    pub local_date_time: Option<permazen::encoding::time::LocalDateTime>,
    #[permazen(rename = "LocalTime", indexed)]
    pub local_time: Option<permazen::encoding::time::LocalTime>,
    #[permazen(rename = "Long", indexed)]
    pub long: Option<i64>,
    #[permazen(rename = "LongSummaryStatistics", indexed)]
    pub long_summary_statistics: Option<permazen::encoding::number::LongSummaryStatistics>,
    #[permazen(rename = "MonthDay", indexed)]
    pub month_day: Option<permazen::encoding::time::MonthDay>,
    #[permazen(rename = "MonthDayArray", indexed)]
    pub month_day_array: Option<Box<[Option<permazen::encoding::time::MonthDay>]>>,
    #[permazen(rename = "OffsetDateTime", indexed)]
    pub offset_date_time: Option<permazen::encoding::time::OffsetDateTime>,
    #[permazen(rename = "OffsetTime", indexed)]
    pub offset_time: Option<permazen::encoding::time::OffsetTime>,
    #[permazen(rename = "Pattern", indexed)]
    pub pattern: Option<permazen::encoding::textual::Pattern>,
    #[permazen(rename = "Period", indexed)]
    pub period: Option<permazen::encoding::time::Period>,
    #[permazen(rename = "Short", indexed)]
    pub short: Option<i16>,
    #[permazen(rename = "String", indexed)]
    pub string: Option<String>,
    #[permazen(rename = "StringArray", indexed)]
    pub string_array: Option<Box<[Option<String>]>>,
    #[permazen(rename = "StringArrayArray", indexed)]
    pub string_array_array: Option<Box<[Option<Box<[Option<String>]>>]>>,
    #[permazen(rename = "URI", indexed)]
    pub uri: Option<permazen::encoding::textual::Uri>,
    #[permazen(rename = "UUID", indexed)]
    pub uuid: Option<permazen::encoding::Uuid>,
    #[permazen(rename = "UUIDArray", indexed)]
    pub uuid_array: Option<Box<[Option<permazen::encoding::Uuid>]>>,
    #[permazen(rename = "Void", indexed)]
    pub void: Option<permazen::encoding::Void>,
    #[permazen(rename = "Year", indexed)]
    pub year: Option<permazen::encoding::time::Year>,
    #[permazen(rename = "YearMonth", indexed)]
    pub year_month: Option<permazen::encoding::time::YearMonth>,
    #[permazen(rename = "ZoneId", indexed)]
    pub zone_id: Option<permazen::encoding::time::ZoneId>,
    #[permazen(rename = "ZoneOffset", indexed)]
    pub zone_offset: Option<permazen::encoding::time::ZoneOffset>,
    #[permazen(rename = "ZonedDateTime", indexed)]
    pub zoned_date_time: Option<permazen::encoding::time::ZonedDateTime>,
    #[permazen(rename = "ZonedDateTimeArray", indexed)]
    pub zoned_date_time_array: Option<Box<[Option<permazen::encoding::time::ZonedDateTime>]>>,
    #[permazen(rename = "boolean", indexed)]
    pub boolean2: bool,
    #[permazen(indexed)]
    pub boolean_array: Option<Box<[bool]>>,
    #[permazen(indexed)]
    pub boolean_array_array: Option<Box<[Option<Box<[bool]>>]>>,
    #[permazen(rename = "byte", indexed)]
    pub byte2: i8,
    #[permazen(indexed)]
    pub byte_array: Option<permazen::encoding::ByteArray>,
    #[permazen(indexed)]
    pub char: permazen::encoding::JavaChar,
    #[permazen(indexed)]
    pub char_array: Option<Box<[permazen::encoding::JavaChar]>>,
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
    #[permazen(rename = "double", indexed)]
    pub double2: f64,
    #[permazen(indexed)]
    pub double_array: Option<Box<[f64]>>,
    #[permazen(indexed)]
    pub double_array_array: Option<Box<[Option<Box<[f64]>>]>>,
    #[permazen(indexed)]
    pub r#enum: Option<Enum>,
    #[permazen(indexed)]
    pub enum_array: Option<Box<[Option<Enum>]>>,
    #[permazen(indexed)]
    pub enum_array_array: Option<Box<[Option<Box<[Option<Enum>]>>]>>,
    #[permazen(rename = "float", indexed)]
    pub float2: f32,
    #[permazen(indexed)]
    pub float_array: Option<Box<[f32]>>,
    #[permazen(indexed)]
    pub int: i32,
    #[permazen(indexed)]
    pub int_array: Option<Box<[i32]>>,
    #[permazen(indexed)]
    pub int_array_array: Option<Box<[Option<Box<[i32]>>]>>,
    #[permazen(element(indexed))]
    pub list_of_big_decimal: Vec<Option<permazen::encoding::number::BigDecimal>>,
    #[permazen(element(indexed))]
    pub list_of_enum_array: Vec<Option<Box<[Option<Enum>]>>>,
    #[permazen(element(inverse_delete = "nullify"))]
    pub list_of_reference: Vec<Option<Ref<Any>>>,
    #[permazen(rename = "long", indexed)]
    pub long2: i64,
    #[permazen(indexed)]
    pub long_array: Option<Box<[i64]>>,
    pub long_bytes: Option<permazen::encoding::ByteArray>,
    pub long_text: Option<String>,
    #[permazen(map, key(indexed), value(indexed))]
    pub map_double_bytes: Vec<(Option<f64>, Option<permazen::encoding::ByteArray>)>,
    #[permazen(key(indexed), value(indexed))]
    pub map_month_day_zoned: BTreeMap<Option<permazen::encoding::time::MonthDay>, Option<permazen::encoding::time::ZonedDateTime>>,
    #[permazen(key(inverse_delete = "remove"))]
    pub map_reference_float: BTreeMap<Option<Ref<Any>>, f32>,
    #[permazen(inverse_delete = "nullify")]
    pub reference: Option<Ref<Any>>,
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    pub restricted: Option<Ref<Other>>,
    #[permazen(element(indexed))]
    pub set_of_char: BTreeSet<permazen::encoding::JavaChar>,
    #[permazen(element(indexed))]
    pub set_of_enum: BTreeSet<Option<Enum>>,
    #[permazen(rename = "setOfUUID", element(indexed))]
    pub set_of_uuid: BTreeSet<Option<permazen::encoding::Uuid>>,
    #[permazen(rename = "short", indexed)]
    pub short2: i16,
    #[permazen(indexed)]
    pub short_array: Option<Box<[i16]>>,
}

#[derive(PermazenObject, Debug)]
pub struct Other {}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Enum {
    Red,
    Green,
    #[permazen(rename = "Blue")]
    Blue,
    #[permazen(rename = "_under")]
    Under,
    #[permazen(rename = "größe")]
    GrE,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Everything>().model::<Other>().schema().expect("a schema")
}
}

pub mod storage_ids {
// The structs of Schema_ca0c96a7177d80ebc035ffa8dbf0f9ab.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairLargest1", fields(name_largest1, peer_largest1)))]
pub struct Largest1 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_largest1: BTreeMap<Option<String>, i32>,
    pub hits_largest1: Counter,
    #[permazen(indexed)]
    pub name_largest1: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_largest1: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_largest1: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_largest1: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairLargest2", fields(name_largest2, peer_largest2)))]
pub struct Largest2 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_largest2: BTreeMap<Option<String>, i32>,
    pub hits_largest2: Counter,
    #[permazen(indexed)]
    pub name_largest2: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_largest2: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_largest2: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_largest2: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairLargest3", fields(name_largest3, peer_largest3)))]
pub struct Largest3 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_largest3: BTreeMap<Option<String>, i32>,
    pub hits_largest3: Counter,
    #[permazen(indexed)]
    pub name_largest3: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_largest3: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_largest3: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_largest3: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairLargest4", fields(name_largest4, peer_largest4)))]
pub struct Largest4 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_largest4: BTreeMap<Option<String>, i32>,
    pub hits_largest4: Counter,
    #[permazen(indexed)]
    pub name_largest4: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_largest4: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_largest4: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_largest4: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairLargest5", fields(name_largest5, peer_largest5)))]
pub struct Largest5 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_largest5: BTreeMap<Option<String>, i32>,
    pub hits_largest5: Counter,
    #[permazen(indexed)]
    pub name_largest5: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_largest5: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_largest5: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_largest5: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairOne", fields(name_one, peer_one)))]
pub struct One {
    #[permazen(key(indexed), value(indexed))]
    pub ages_one: BTreeMap<Option<String>, i32>,
    pub hits_one: Counter,
    #[permazen(indexed)]
    pub name_one: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_one: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_one: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_one: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairSmallest2", fields(name_smallest2, peer_smallest2)))]
pub struct Smallest2 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_smallest2: BTreeMap<Option<String>, i32>,
    pub hits_smallest2: Counter,
    #[permazen(indexed)]
    pub name_smallest2: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_smallest2: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_smallest2: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_smallest2: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairSmallest3", fields(name_smallest3, peer_smallest3)))]
pub struct Smallest3 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_smallest3: BTreeMap<Option<String>, i32>,
    pub hits_smallest3: Counter,
    #[permazen(indexed)]
    pub name_smallest3: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_smallest3: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_smallest3: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_smallest3: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairSmallest4", fields(name_smallest4, peer_smallest4)))]
pub struct Smallest4 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_smallest4: BTreeMap<Option<String>, i32>,
    pub hits_smallest4: Counter,
    #[permazen(indexed)]
    pub name_smallest4: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_smallest4: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_smallest4: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_smallest4: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "pairSmallest5", fields(name_smallest5, peer_smallest5)))]
pub struct Smallest5 {
    #[permazen(key(indexed), value(indexed))]
    pub ages_smallest5: BTreeMap<Option<String>, i32>,
    pub hits_smallest5: Counter,
    #[permazen(indexed)]
    pub name_smallest5: Option<String>,
    #[permazen(element(indexed))]
    pub numbers_smallest5: Vec<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub peer_smallest5: Option<Ref<Any>>,
    #[permazen(element(indexed))]
    pub words_smallest5: BTreeSet<Option<String>>,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Largest1>().model::<Largest2>().model::<Largest3>().model::<Largest4>().model::<Largest5>().model::<One>().model::<Smallest2>().model::<Smallest3>().model::<Smallest4>().model::<Smallest5>().schema().expect("a schema")
}
}

pub mod every_encoding {
// The structs of Schema_85675b88defac22abb5c0ae4ba6c15d2.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{PermazenEnum, PermazenObject};

#[derive(PermazenObject, Debug)]
pub struct Everything {
    pub array0: Option<Box<[bool]>>,
    pub array1: Option<permazen::encoding::ByteArray>,
    pub array16: Option<Box<[Option<permazen::encoding::Void>]>>,
    pub array17: Option<Box<[Option<Box<[bool]>>]>>,
    pub array18: Option<Box<[Option<permazen::encoding::ByteArray>]>>,
    pub array19: Option<Box<[Option<Box<[permazen::encoding::JavaChar]>>]>>,
    pub array2: Option<Box<[permazen::encoding::JavaChar]>>,
    pub array20: Option<Box<[Option<Box<[i16]>>]>>,
    pub array21: Option<Box<[Option<Box<[i32]>>]>>,
    pub array22: Option<Box<[Option<Box<[i64]>>]>>,
    pub array23: Option<Box<[Option<Box<[f32]>>]>>,
    pub array24: Option<Box<[Option<Box<[f64]>>]>>,
    pub array25: Option<Box<[Option<String>]>>,
    pub array26: Option<Box<[Option<permazen::encoding::number::BigDecimal>]>>,
    pub array27: Option<Box<[Option<permazen::encoding::number::BigInteger>]>>,
    pub array28: Option<Box<[Option<permazen::encoding::number::BitSet>]>>,
    pub array29: Option<Box<[Option<permazen::encoding::time::Date>]>>,
    pub array3: Option<Box<[i16]>>,
    pub array30: Option<Box<[Option<permazen::encoding::Uuid>]>>,
    pub array31: Option<Box<[Option<permazen::encoding::number::IntSummaryStatistics>]>>,
    pub array32: Option<Box<[Option<permazen::encoding::number::LongSummaryStatistics>]>>,
    pub array33: Option<Box<[Option<permazen::encoding::number::DoubleSummaryStatistics>]>>,
    pub array34: Option<Box<[Option<permazen::encoding::textual::FilePath>]>>,
    pub array35: Option<Box<[Option<permazen::encoding::textual::Uri>]>>,
    pub array36: Option<Box<[Option<permazen::encoding::textual::Pattern>]>>,
    pub array37: Option<Box<[Option<permazen::encoding::textual::InternetAddress>]>>,
    pub array38: Option<Box<[Option<std::net::Ipv4Addr>]>>,
    pub array39: Option<Box<[Option<std::net::Ipv6Addr>]>>,
    pub array4: Option<Box<[i32]>>,
    pub array40: Option<Box<[Option<std::net::IpAddr>]>>,
    pub array41: Option<Box<[Option<permazen::encoding::time::Duration>]>>,
    pub array42: Option<Box<[Option<permazen::encoding::time::Instant>]>>,
    pub array43: Option<Box<[Option<permazen::encoding::time::LocalDate>]>>,
    pub array44: Option<Box<[Option<permazen::encoding::time::LocalDateTime>]>>,
    pub array45: Option<Box<[Option<permazen::encoding::time::LocalTime>]>>,
    pub array46: Option<Box<[Option<permazen::encoding::time::MonthDay>]>>,
    pub array47: Option<Box<[Option<permazen::encoding::time::OffsetDateTime>]>>,
    pub array48: Option<Box<[Option<permazen::encoding::time::OffsetTime>]>>,
    pub array49: Option<Box<[Option<permazen::encoding::time::Period>]>>,
    pub array5: Option<Box<[i64]>>,
    pub array50: Option<Box<[Option<permazen::encoding::time::Year>]>>,
    pub array51: Option<Box<[Option<permazen::encoding::time::YearMonth>]>>,
    pub array52: Option<Box<[Option<permazen::encoding::time::ZoneOffset>]>>,
    pub array53: Option<Box<[Option<permazen::encoding::time::ZoneId>]>>,
    pub array54: Option<Box<[Option<permazen::encoding::time::ZonedDateTime>]>>,
    pub array6: Option<Box<[f32]>>,
    pub array7: Option<Box<[f64]>>,
    pub array_set0: BTreeSet<Option<Box<[bool]>>>,
    pub array_set1: BTreeSet<Option<permazen::encoding::ByteArray>>,
    pub array_set16: BTreeSet<Option<Box<[Option<permazen::encoding::Void>]>>>,
    pub array_set17: BTreeSet<Option<Box<[Option<Box<[bool]>>]>>>,
    pub array_set18: BTreeSet<Option<Box<[Option<permazen::encoding::ByteArray>]>>>,
    pub array_set19: BTreeSet<Option<Box<[Option<Box<[permazen::encoding::JavaChar]>>]>>>,
    pub array_set2: BTreeSet<Option<Box<[permazen::encoding::JavaChar]>>>,
    pub array_set20: BTreeSet<Option<Box<[Option<Box<[i16]>>]>>>,
    pub array_set21: BTreeSet<Option<Box<[Option<Box<[i32]>>]>>>,
    pub array_set22: BTreeSet<Option<Box<[Option<Box<[i64]>>]>>>,
    #[permazen(set)]
    pub array_set23: Vec<Option<Box<[Option<Box<[f32]>>]>>>,
    #[permazen(set)]
    pub array_set24: Vec<Option<Box<[Option<Box<[f64]>>]>>>,
    pub array_set25: BTreeSet<Option<Box<[Option<String>]>>>,
    pub array_set26: BTreeSet<Option<Box<[Option<permazen::encoding::number::BigDecimal>]>>>,
    pub array_set27: BTreeSet<Option<Box<[Option<permazen::encoding::number::BigInteger>]>>>,
    pub array_set28: BTreeSet<Option<Box<[Option<permazen::encoding::number::BitSet>]>>>,
    pub array_set29: BTreeSet<Option<Box<[Option<permazen::encoding::time::Date>]>>>,
    pub array_set3: BTreeSet<Option<Box<[i16]>>>,
    pub array_set30: BTreeSet<Option<Box<[Option<permazen::encoding::Uuid>]>>>,
    #[permazen(set)]
    pub array_set31: Vec<Option<Box<[Option<permazen::encoding::number::IntSummaryStatistics>]>>>,
    #[permazen(set)]
    pub array_set32: Vec<Option<Box<[Option<permazen::encoding::number::LongSummaryStatistics>]>>>,
    #[permazen(set)]
    pub array_set33: Vec<Option<Box<[Option<permazen::encoding::number::DoubleSummaryStatistics>]>>>,
    pub array_set34: BTreeSet<Option<Box<[Option<permazen::encoding::textual::FilePath>]>>>,
    pub array_set35: BTreeSet<Option<Box<[Option<permazen::encoding::textual::Uri>]>>>,
    pub array_set36: BTreeSet<Option<Box<[Option<permazen::encoding::textual::Pattern>]>>>,
    pub array_set37: BTreeSet<Option<Box<[Option<permazen::encoding::textual::InternetAddress>]>>>,
    pub array_set38: BTreeSet<Option<Box<[Option<std::net::Ipv4Addr>]>>>,
    pub array_set39: BTreeSet<Option<Box<[Option<std::net::Ipv6Addr>]>>>,
    pub array_set4: BTreeSet<Option<Box<[i32]>>>,
    pub array_set40: BTreeSet<Option<Box<[Option<std::net::IpAddr>]>>>,
    pub array_set41: BTreeSet<Option<Box<[Option<permazen::encoding::time::Duration>]>>>,
    pub array_set42: BTreeSet<Option<Box<[Option<permazen::encoding::time::Instant>]>>>,
    pub array_set43: BTreeSet<Option<Box<[Option<permazen::encoding::time::LocalDate>]>>>,
    pub array_set44: BTreeSet<Option<Box<[Option<permazen::encoding::time::LocalDateTime>]>>>,
    pub array_set45: BTreeSet<Option<Box<[Option<permazen::encoding::time::LocalTime>]>>>,
    pub array_set46: BTreeSet<Option<Box<[Option<permazen::encoding::time::MonthDay>]>>>,
    pub array_set47: BTreeSet<Option<Box<[Option<permazen::encoding::time::OffsetDateTime>]>>>,
    pub array_set48: BTreeSet<Option<Box<[Option<permazen::encoding::time::OffsetTime>]>>>,
    pub array_set49: BTreeSet<Option<Box<[Option<permazen::encoding::time::Period>]>>>,
    pub array_set5: BTreeSet<Option<Box<[i64]>>>,
    pub array_set50: BTreeSet<Option<Box<[Option<permazen::encoding::time::Year>]>>>,
    pub array_set51: BTreeSet<Option<Box<[Option<permazen::encoding::time::YearMonth>]>>>,
    pub array_set52: BTreeSet<Option<Box<[Option<permazen::encoding::time::ZoneOffset>]>>>,
    pub array_set53: BTreeSet<Option<Box<[Option<permazen::encoding::time::ZoneId>]>>>,
    pub array_set54: BTreeSet<Option<Box<[Option<permazen::encoding::time::ZonedDateTime>]>>>,
    #[permazen(set)]
    pub array_set6: Vec<Option<Box<[f32]>>>,
    #[permazen(set)]
    pub array_set7: Vec<Option<Box<[f64]>>>,
    pub deep: Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[i32]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>,
    pub deep_enum: Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<Box<[Option<DeepEnum>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>]>>,
    #[permazen(element(indexed))]
    pub list0: Vec<bool>,
    #[permazen(element(indexed))]
    pub list1: Vec<i8>,
    #[permazen(element(indexed))]
    pub list10: Vec<Option<permazen::encoding::JavaChar>>,
    #[permazen(element(indexed))]
    pub list11: Vec<Option<i16>>,
    #[permazen(element(indexed))]
    pub list12: Vec<Option<i32>>,
    #[permazen(element(indexed))]
    pub list13: Vec<Option<i64>>,
    #[permazen(element(indexed))]
    pub list14: Vec<Option<f32>>,
    #[permazen(element(indexed))]
    pub list15: Vec<Option<f64>>,
    #[permazen(element(indexed))]
    pub list16: Vec<Option<permazen::encoding::Void>>,
    #[permazen(element(indexed))]
    pub list17: Vec<Option<Box<[bool]>>>,
    #[permazen(element(indexed))]
    pub list18: Vec<Option<permazen::encoding::ByteArray>>,
    #[permazen(element(indexed))]
    pub list19: Vec<Option<Box<[permazen::encoding::JavaChar]>>>,
    #[permazen(element(indexed))]
    pub list2: Vec<permazen::encoding::JavaChar>,
    #[permazen(element(indexed))]
    pub list20: Vec<Option<Box<[i16]>>>,
    #[permazen(element(indexed))]
    pub list21: Vec<Option<Box<[i32]>>>,
    #[permazen(element(indexed))]
    pub list22: Vec<Option<Box<[i64]>>>,
    #[permazen(element(indexed))]
    pub list23: Vec<Option<Box<[f32]>>>,
    #[permazen(element(indexed))]
    pub list24: Vec<Option<Box<[f64]>>>,
    #[permazen(element(indexed))]
    pub list25: Vec<Option<String>>,
    #[permazen(element(indexed))]
    pub list26: Vec<Option<permazen::encoding::number::BigDecimal>>,
    #[permazen(element(indexed))]
    pub list27: Vec<Option<permazen::encoding::number::BigInteger>>,
    #[permazen(element(indexed))]
    pub list28: Vec<Option<permazen::encoding::number::BitSet>>,
    #[permazen(element(indexed))]
    pub list29: Vec<Option<permazen::encoding::time::Date>>,
    #[permazen(element(indexed))]
    pub list3: Vec<i16>,
    #[permazen(element(indexed))]
    pub list30: Vec<Option<permazen::encoding::Uuid>>,
    #[permazen(element(indexed))]
    pub list31: Vec<Option<permazen::encoding::number::IntSummaryStatistics>>,
    #[permazen(element(indexed))]
    pub list32: Vec<Option<permazen::encoding::number::LongSummaryStatistics>>,
    #[permazen(element(indexed))]
    pub list33: Vec<Option<permazen::encoding::number::DoubleSummaryStatistics>>,
    #[permazen(element(indexed))]
    pub list34: Vec<Option<permazen::encoding::textual::FilePath>>,
    #[permazen(element(indexed))]
    pub list35: Vec<Option<permazen::encoding::textual::Uri>>,
    #[permazen(element(indexed))]
    pub list36: Vec<Option<permazen::encoding::textual::Pattern>>,
    #[permazen(element(indexed))]
    pub list37: Vec<Option<permazen::encoding::textual::InternetAddress>>,
    #[permazen(element(indexed))]
    pub list38: Vec<Option<std::net::Ipv4Addr>>,
    #[permazen(element(indexed))]
    pub list39: Vec<Option<std::net::Ipv6Addr>>,
    #[permazen(element(indexed))]
    pub list4: Vec<i32>,
    #[permazen(element(indexed))]
    pub list40: Vec<Option<std::net::IpAddr>>,
    #[permazen(element(indexed))]
    pub list41: Vec<Option<permazen::encoding::time::Duration>>,
    #[permazen(element(indexed))]
    pub list42: Vec<Option<permazen::encoding::time::Instant>>,
    #[permazen(element(indexed))]
    pub list43: Vec<Option<permazen::encoding::time::LocalDate>>,
    #[permazen(element(indexed))]
    pub list44: Vec<Option<permazen::encoding::time::LocalDateTime>>,
    #[permazen(element(indexed))]
    pub list45: Vec<Option<permazen::encoding::time::LocalTime>>,
    #[permazen(element(indexed))]
    pub list46: Vec<Option<permazen::encoding::time::MonthDay>>,
    #[permazen(element(indexed))]
    pub list47: Vec<Option<permazen::encoding::time::OffsetDateTime>>,
    #[permazen(element(indexed))]
    pub list48: Vec<Option<permazen::encoding::time::OffsetTime>>,
    #[permazen(element(indexed))]
    pub list49: Vec<Option<permazen::encoding::time::Period>>,
    #[permazen(element(indexed))]
    pub list5: Vec<i64>,
    #[permazen(element(indexed))]
    pub list50: Vec<Option<permazen::encoding::time::Year>>,
    #[permazen(element(indexed))]
    pub list51: Vec<Option<permazen::encoding::time::YearMonth>>,
    #[permazen(element(indexed))]
    pub list52: Vec<Option<permazen::encoding::time::ZoneOffset>>,
    #[permazen(element(indexed))]
    pub list53: Vec<Option<permazen::encoding::time::ZoneId>>,
    #[permazen(element(indexed))]
    pub list54: Vec<Option<permazen::encoding::time::ZonedDateTime>>,
    #[permazen(element(indexed))]
    pub list6: Vec<f32>,
    #[permazen(element(indexed))]
    pub list7: Vec<f64>,
    #[permazen(element(indexed))]
    pub list8: Vec<Option<bool>>,
    #[permazen(element(indexed))]
    pub list9: Vec<Option<i8>>,
    #[permazen(key(indexed))]
    pub map0: BTreeMap<bool, bool>,
    #[permazen(key(indexed))]
    pub map1: BTreeMap<i8, i8>,
    #[permazen(key(indexed))]
    pub map10: BTreeMap<Option<permazen::encoding::JavaChar>, Option<permazen::encoding::JavaChar>>,
    #[permazen(key(indexed))]
    pub map11: BTreeMap<Option<i16>, Option<i16>>,
    #[permazen(key(indexed))]
    pub map12: BTreeMap<Option<i32>, Option<i32>>,
    #[permazen(key(indexed))]
    pub map13: BTreeMap<Option<i64>, Option<i64>>,
    #[permazen(map, key(indexed))]
    pub map14: Vec<(Option<f32>, Option<f32>)>,
    #[permazen(map, key(indexed))]
    pub map15: Vec<(Option<f64>, Option<f64>)>,
    #[permazen(key(indexed))]
    pub map16: BTreeMap<Option<permazen::encoding::Void>, Option<permazen::encoding::Void>>,
    #[permazen(key(indexed))]
    pub map17: BTreeMap<Option<Box<[bool]>>, Option<Box<[bool]>>>,
    #[permazen(key(indexed))]
    pub map18: BTreeMap<Option<permazen::encoding::ByteArray>, Option<permazen::encoding::ByteArray>>,
    #[permazen(key(indexed))]
    pub map19: BTreeMap<Option<Box<[permazen::encoding::JavaChar]>>, Option<Box<[permazen::encoding::JavaChar]>>>,
    #[permazen(key(indexed))]
    pub map2: BTreeMap<permazen::encoding::JavaChar, permazen::encoding::JavaChar>,
    #[permazen(key(indexed))]
    pub map20: BTreeMap<Option<Box<[i16]>>, Option<Box<[i16]>>>,
    #[permazen(key(indexed))]
    pub map21: BTreeMap<Option<Box<[i32]>>, Option<Box<[i32]>>>,
    #[permazen(key(indexed))]
    pub map22: BTreeMap<Option<Box<[i64]>>, Option<Box<[i64]>>>,
    #[permazen(map, key(indexed))]
    pub map23: Vec<(Option<Box<[f32]>>, Option<Box<[f32]>>)>,
    #[permazen(map, key(indexed))]
    pub map24: Vec<(Option<Box<[f64]>>, Option<Box<[f64]>>)>,
    #[permazen(key(indexed))]
    pub map25: BTreeMap<Option<String>, Option<String>>,
    #[permazen(key(indexed))]
    pub map26: BTreeMap<Option<permazen::encoding::number::BigDecimal>, Option<permazen::encoding::number::BigDecimal>>,
    #[permazen(key(indexed))]
    pub map27: BTreeMap<Option<permazen::encoding::number::BigInteger>, Option<permazen::encoding::number::BigInteger>>,
    #[permazen(key(indexed))]
    pub map28: BTreeMap<Option<permazen::encoding::number::BitSet>, Option<permazen::encoding::number::BitSet>>,
    #[permazen(key(indexed))]
    pub map29: BTreeMap<Option<permazen::encoding::time::Date>, Option<permazen::encoding::time::Date>>,
    #[permazen(key(indexed))]
    pub map3: BTreeMap<i16, i16>,
    #[permazen(key(indexed))]
    pub map30: BTreeMap<Option<permazen::encoding::Uuid>, Option<permazen::encoding::Uuid>>,
    #[permazen(map, key(indexed))]
    pub map31: Vec<(Option<permazen::encoding::number::IntSummaryStatistics>, Option<permazen::encoding::number::IntSummaryStatistics>)>,
    #[permazen(map, key(indexed))]
    pub map32: Vec<(Option<permazen::encoding::number::LongSummaryStatistics>, Option<permazen::encoding::number::LongSummaryStatistics>)>,
    #[permazen(map, key(indexed))]
    pub map33: Vec<(Option<permazen::encoding::number::DoubleSummaryStatistics>, Option<permazen::encoding::number::DoubleSummaryStatistics>)>,
    #[permazen(key(indexed))]
    pub map34: BTreeMap<Option<permazen::encoding::textual::FilePath>, Option<permazen::encoding::textual::FilePath>>,
    #[permazen(key(indexed))]
    pub map35: BTreeMap<Option<permazen::encoding::textual::Uri>, Option<permazen::encoding::textual::Uri>>,
    #[permazen(key(indexed))]
    pub map36: BTreeMap<Option<permazen::encoding::textual::Pattern>, Option<permazen::encoding::textual::Pattern>>,
    #[permazen(key(indexed))]
    pub map37: BTreeMap<Option<permazen::encoding::textual::InternetAddress>, Option<permazen::encoding::textual::InternetAddress>>,
    #[permazen(key(indexed))]
    pub map38: BTreeMap<Option<std::net::Ipv4Addr>, Option<std::net::Ipv4Addr>>,
    #[permazen(key(indexed))]
    pub map39: BTreeMap<Option<std::net::Ipv6Addr>, Option<std::net::Ipv6Addr>>,
    #[permazen(key(indexed))]
    pub map4: BTreeMap<i32, i32>,
    #[permazen(key(indexed))]
    pub map40: BTreeMap<Option<std::net::IpAddr>, Option<std::net::IpAddr>>,
    #[permazen(key(indexed))]
    pub map41: BTreeMap<Option<permazen::encoding::time::Duration>, Option<permazen::encoding::time::Duration>>,
    #[permazen(key(indexed))]
    pub map42: BTreeMap<Option<permazen::encoding::time::Instant>, Option<permazen::encoding::time::Instant>>,
    #[permazen(key(indexed))]
    pub map43: BTreeMap<Option<permazen::encoding::time::LocalDate>, Option<permazen::encoding::time::LocalDate>>,
    #[permazen(key(indexed))]
    pub map44: BTreeMap<Option<permazen::encoding::time::LocalDateTime>, Option<permazen::encoding::time::LocalDateTime>>,
    #[permazen(key(indexed))]
    pub map45: BTreeMap<Option<permazen::encoding::time::LocalTime>, Option<permazen::encoding::time::LocalTime>>,
    #[permazen(key(indexed))]
    pub map46: BTreeMap<Option<permazen::encoding::time::MonthDay>, Option<permazen::encoding::time::MonthDay>>,
    #[permazen(key(indexed))]
    pub map47: BTreeMap<Option<permazen::encoding::time::OffsetDateTime>, Option<permazen::encoding::time::OffsetDateTime>>,
    #[permazen(key(indexed))]
    pub map48: BTreeMap<Option<permazen::encoding::time::OffsetTime>, Option<permazen::encoding::time::OffsetTime>>,
    #[permazen(key(indexed))]
    pub map49: BTreeMap<Option<permazen::encoding::time::Period>, Option<permazen::encoding::time::Period>>,
    #[permazen(key(indexed))]
    pub map5: BTreeMap<i64, i64>,
    #[permazen(key(indexed))]
    pub map50: BTreeMap<Option<permazen::encoding::time::Year>, Option<permazen::encoding::time::Year>>,
    #[permazen(key(indexed))]
    pub map51: BTreeMap<Option<permazen::encoding::time::YearMonth>, Option<permazen::encoding::time::YearMonth>>,
    #[permazen(key(indexed))]
    pub map52: BTreeMap<Option<permazen::encoding::time::ZoneOffset>, Option<permazen::encoding::time::ZoneOffset>>,
    #[permazen(key(indexed))]
    pub map53: BTreeMap<Option<permazen::encoding::time::ZoneId>, Option<permazen::encoding::time::ZoneId>>,
    #[permazen(key(indexed))]
    pub map54: BTreeMap<Option<permazen::encoding::time::ZonedDateTime>, Option<permazen::encoding::time::ZonedDateTime>>,
    #[permazen(map, key(indexed))]
    pub map6: Vec<(f32, f32)>,
    #[permazen(map, key(indexed))]
    pub map7: Vec<(f64, f64)>,
    #[permazen(key(indexed))]
    pub map8: BTreeMap<Option<bool>, Option<bool>>,
    #[permazen(key(indexed))]
    pub map9: BTreeMap<Option<i8>, Option<i8>>,
    pub set0: BTreeSet<bool>,
    pub set1: BTreeSet<i8>,
    pub set10: BTreeSet<Option<permazen::encoding::JavaChar>>,
    pub set11: BTreeSet<Option<i16>>,
    pub set12: BTreeSet<Option<i32>>,
    pub set13: BTreeSet<Option<i64>>,
    #[permazen(set)]
    pub set14: Vec<Option<f32>>,
    #[permazen(set)]
    pub set15: Vec<Option<f64>>,
    pub set16: BTreeSet<Option<permazen::encoding::Void>>,
    pub set17: BTreeSet<Option<Box<[bool]>>>,
    pub set18: BTreeSet<Option<permazen::encoding::ByteArray>>,
    pub set19: BTreeSet<Option<Box<[permazen::encoding::JavaChar]>>>,
    pub set2: BTreeSet<permazen::encoding::JavaChar>,
    pub set20: BTreeSet<Option<Box<[i16]>>>,
    pub set21: BTreeSet<Option<Box<[i32]>>>,
    pub set22: BTreeSet<Option<Box<[i64]>>>,
    #[permazen(set)]
    pub set23: Vec<Option<Box<[f32]>>>,
    #[permazen(set)]
    pub set24: Vec<Option<Box<[f64]>>>,
    pub set25: BTreeSet<Option<String>>,
    pub set26: BTreeSet<Option<permazen::encoding::number::BigDecimal>>,
    pub set27: BTreeSet<Option<permazen::encoding::number::BigInteger>>,
    pub set28: BTreeSet<Option<permazen::encoding::number::BitSet>>,
    pub set29: BTreeSet<Option<permazen::encoding::time::Date>>,
    pub set3: BTreeSet<i16>,
    pub set30: BTreeSet<Option<permazen::encoding::Uuid>>,
    #[permazen(set)]
    pub set31: Vec<Option<permazen::encoding::number::IntSummaryStatistics>>,
    #[permazen(set)]
    pub set32: Vec<Option<permazen::encoding::number::LongSummaryStatistics>>,
    #[permazen(set)]
    pub set33: Vec<Option<permazen::encoding::number::DoubleSummaryStatistics>>,
    pub set34: BTreeSet<Option<permazen::encoding::textual::FilePath>>,
    pub set35: BTreeSet<Option<permazen::encoding::textual::Uri>>,
    pub set36: BTreeSet<Option<permazen::encoding::textual::Pattern>>,
    pub set37: BTreeSet<Option<permazen::encoding::textual::InternetAddress>>,
    pub set38: BTreeSet<Option<std::net::Ipv4Addr>>,
    pub set39: BTreeSet<Option<std::net::Ipv6Addr>>,
    pub set4: BTreeSet<i32>,
    pub set40: BTreeSet<Option<std::net::IpAddr>>,
    pub set41: BTreeSet<Option<permazen::encoding::time::Duration>>,
    pub set42: BTreeSet<Option<permazen::encoding::time::Instant>>,
    pub set43: BTreeSet<Option<permazen::encoding::time::LocalDate>>,
    pub set44: BTreeSet<Option<permazen::encoding::time::LocalDateTime>>,
    pub set45: BTreeSet<Option<permazen::encoding::time::LocalTime>>,
    pub set46: BTreeSet<Option<permazen::encoding::time::MonthDay>>,
    pub set47: BTreeSet<Option<permazen::encoding::time::OffsetDateTime>>,
    pub set48: BTreeSet<Option<permazen::encoding::time::OffsetTime>>,
    pub set49: BTreeSet<Option<permazen::encoding::time::Period>>,
    pub set5: BTreeSet<i64>,
    pub set50: BTreeSet<Option<permazen::encoding::time::Year>>,
    pub set51: BTreeSet<Option<permazen::encoding::time::YearMonth>>,
    pub set52: BTreeSet<Option<permazen::encoding::time::ZoneOffset>>,
    pub set53: BTreeSet<Option<permazen::encoding::time::ZoneId>>,
    pub set54: BTreeSet<Option<permazen::encoding::time::ZonedDateTime>>,
    #[permazen(set)]
    pub set6: Vec<f32>,
    #[permazen(set)]
    pub set7: Vec<f64>,
    pub set8: BTreeSet<Option<bool>>,
    pub set9: BTreeSet<Option<i8>>,
    pub simple0: bool,
    pub simple1: i8,
    pub simple10: Option<permazen::encoding::JavaChar>,
    pub simple11: Option<i16>,
    pub simple12: Option<i32>,
    pub simple13: Option<i64>,
    pub simple14: Option<f32>,
    pub simple15: Option<f64>,
    pub simple16: Option<permazen::encoding::Void>,
    pub simple17: Option<Box<[bool]>>,
    pub simple18: Option<permazen::encoding::ByteArray>,
    pub simple19: Option<Box<[permazen::encoding::JavaChar]>>,
    pub simple2: permazen::encoding::JavaChar,
    pub simple20: Option<Box<[i16]>>,
    pub simple21: Option<Box<[i32]>>,
    pub simple22: Option<Box<[i64]>>,
    pub simple23: Option<Box<[f32]>>,
    pub simple24: Option<Box<[f64]>>,
    pub simple25: Option<String>,
    pub simple26: Option<permazen::encoding::number::BigDecimal>,
    pub simple27: Option<permazen::encoding::number::BigInteger>,
    pub simple28: Option<permazen::encoding::number::BitSet>,
    pub simple29: Option<permazen::encoding::time::Date>,
    pub simple3: i16,
    pub simple30: Option<permazen::encoding::Uuid>,
    pub simple31: Option<permazen::encoding::number::IntSummaryStatistics>,
    pub simple32: Option<permazen::encoding::number::LongSummaryStatistics>,
    pub simple33: Option<permazen::encoding::number::DoubleSummaryStatistics>,
    pub simple34: Option<permazen::encoding::textual::FilePath>,
    pub simple35: Option<permazen::encoding::textual::Uri>,
    pub simple36: Option<permazen::encoding::textual::Pattern>,
    pub simple37: Option<permazen::encoding::textual::InternetAddress>,
    pub simple38: Option<std::net::Ipv4Addr>,
    pub simple39: Option<std::net::Ipv6Addr>,
    pub simple4: i32,
    pub simple40: Option<std::net::IpAddr>,
    pub simple41: Option<permazen::encoding::time::Duration>,
    pub simple42: Option<permazen::encoding::time::Instant>,
    pub simple43: Option<permazen::encoding::time::LocalDate>,
    pub simple44: Option<permazen::encoding::time::LocalDateTime>,
    pub simple45: Option<permazen::encoding::time::LocalTime>,
    pub simple46: Option<permazen::encoding::time::MonthDay>,
    pub simple47: Option<permazen::encoding::time::OffsetDateTime>,
    pub simple48: Option<permazen::encoding::time::OffsetTime>,
    pub simple49: Option<permazen::encoding::time::Period>,
    pub simple5: i64,
    pub simple50: Option<permazen::encoding::time::Year>,
    pub simple51: Option<permazen::encoding::time::YearMonth>,
    pub simple52: Option<permazen::encoding::time::ZoneOffset>,
    pub simple53: Option<permazen::encoding::time::ZoneId>,
    pub simple54: Option<permazen::encoding::time::ZonedDateTime>,
    pub simple6: f32,
    pub simple7: f64,
    pub simple8: Option<bool>,
    pub simple9: Option<i8>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeepEnum {
    A,
    B,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Everything>().schema().expect("a schema")
}
}

pub mod hostile {
// The structs of Schema_9a2d0939d280cda15637183b67308d4a.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "Any")]
pub struct Any2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct AnyFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Box")]
pub struct Box2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct BoxFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Counter")]
pub struct Counter2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct CounterFields {}

#[derive(PermazenObject, Debug)]
pub struct Empty {}

#[derive(PermazenObject, Debug)]
pub struct Enums {
    pub array: Option<Box<[Option<Box<[Option<Array>]>>]>>,
    pub same: Option<Array>,
    #[permazen(accessor = "the_set", element(indexed))]
    pub set: BTreeSet<Option<Box<[Option<Set>]>>>,
    #[permazen(indexed)]
    pub state: Option<Array>,
    pub string: Option<Set>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "FIRST")]
pub struct First {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "FIRSTFields")]
pub struct FirstFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "HTTPServer2")]
pub struct HttpServer2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "HTTPServer2Fields")]
pub struct HttpServer2Fields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(storage_id = 1000)]
#[permazen(composite(name = "byName", fields(name, id)))]
#[permazen(composite(name = "byname", fields(id, name)))]
#[permazen(composite(name = "größer", fields(a_b, gr_e)))]
pub struct Names {
    #[permazen(rename = "Any", accessor = "the_any")]
    pub any: i32,
    #[permazen(rename = "Box")]
    pub r#box: i32,
    #[permazen(rename = "Counter", accessor = "the_counter")]
    pub counter: i32,
    #[permazen(rename = "FIRST")]
    pub first: i32,
    #[permazen(rename = "HTTPServer2")]
    pub http_server2: i32,
    #[permazen(rename = "Obj")]
    pub obj: i32,
    #[permazen(rename = "Option")]
    pub option: i32,
    #[permazen(rename = "PermazenObject")]
    pub permazen_object: i32,
    #[permazen(rename = "Ref")]
    pub r#ref: i32,
    #[permazen(rename = "Self")]
    pub self2: i32,
    #[permazen(rename = "String")]
    pub string: i32,
    #[permazen(rename = "Vec")]
    pub vec: i32,
    #[permazen(rename = "_")]
    pub field: i32,
    #[permazen(rename = "__")]
    pub field2: i32,
    #[permazen(rename = "_x")]
    pub x: i32,
    #[permazen(rename = "a$b")]
    pub a_b: i32,
    #[permazen(rename = "a_b")]
    pub a_b2: i32,
    #[permazen(accessor = "the_clone")]
    pub clone: i32,
    #[permazen(rename = "crate")]
    pub crate2: i32,
    pub first_name: i32,
    #[permazen(rename = "first_name")]
    pub first_name2: i32,
    #[permazen(rename = "größe")]
    pub gr_e: i32,
    #[permazen(accessor = "the_id")]
    pub id: i32,
    #[permazen(accessor = "the_load")]
    pub load: i32,
    pub name: i32,
    #[permazen(rename = "self")]
    pub self3: i32,
    #[permazen(accessor = "the_set_name")]
    pub set_name: i32,
    #[permazen(rename = "set_name")]
    pub set_name2: i32,
    #[permazen(rename = "super")]
    pub super2: i32,
    pub r#try: i32,
    pub r#type: i32,
    pub x1: i32,
    #[permazen(rename = "x_1")]
    pub x_1: i32,
    #[permazen(rename = "élan")]
    pub lan: i32,
    #[permazen(rename = "\u{115f}")]
    pub field3: i32,
    #[permazen(rename = "Ⅷ")]
    pub field4: i32,
    #[permazen(rename = "名")]
    pub field5: i32,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Obj")]
pub struct Obj2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct ObjFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Option")]
pub struct Option2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct OptionFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "PermazenObject")]
pub struct PermazenObject2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct PermazenObjectFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Ref")]
pub struct Ref2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct RefFields {}

#[derive(PermazenObject, Debug)]
pub struct References {
    #[permazen(accessor = "the_any")]
    pub any: Option<Ref<Any>>,
    #[permazen(element(storage_id = 1001, inverse_delete = "remove"))]
    pub list: Vec<Option<Ref<ListKind>>>,
    #[permazen(key(inverse_delete = "delete"), value(inverse_delete = "nullify", forward_delete))]
    pub map: BTreeMap<Option<Ref<Any>>, Option<Ref<Any>>>,
    #[permazen(inverse_delete = "ignore", allow_deleted)]
    pub old: Option<Ref<Any>>,
    #[permazen(allow_deleted)]
    pub other: Option<Ref<ListKind>>,
    #[permazen(forward_delete)]
    pub own: Option<Ref<References>>,
    #[permazen(accessor = "the_set", storage_id = 1002, element(indexed))]
    pub set: BTreeSet<i32>,
    #[permazen(inverse_delete = "nullify")]
    pub some: Option<Ref<ListKind>>,
    pub two: Option<Ref<TwoKind>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Self")]
pub struct Self2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct SelfFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "String")]
pub struct String2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct StringFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Vec")]
pub struct Vec2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct VecFields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "_")]
pub struct Type {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "_Fields")]
pub struct Fields {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "__")]
pub struct Type2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "__Fields")]
pub struct Fields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "_x")]
pub struct X {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "_xFields")]
pub struct XFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "a$b")]
pub struct AB {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "a$bFields")]
pub struct ABFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "a_b")]
pub struct AB2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "a_bFields")]
pub struct ABFields3 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "clone")]
pub struct Clone {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "cloneFields")]
pub struct CloneFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "crate")]
pub struct Crate {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "crateFields")]
pub struct CrateFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "firstName")]
pub struct FirstName {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "firstNameFields")]
pub struct FirstNameFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "first_name")]
pub struct FirstName2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "first_nameFields")]
pub struct FirstNameFields3 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "größe")]
pub struct GrE {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "größeFields")]
pub struct GrEFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "id")]
pub struct Id {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "idFields")]
pub struct IdFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "load")]
pub struct Load {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "loadFields")]
pub struct LoadFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "name")]
pub struct Name {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "nameFields")]
pub struct NameFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "self")]
pub struct Self3 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "selfFields")]
pub struct SelfFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "setName")]
pub struct SetName {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "setNameFields")]
pub struct SetNameFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "set_name")]
pub struct SetName2 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "set_nameFields")]
pub struct SetNameFields3 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "super")]
pub struct Super {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "superFields")]
pub struct SuperFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "try")]
pub struct Try {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "tryFields")]
pub struct TryFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "type")]
pub struct Type3 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "typeFields")]
pub struct TypeFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "x1")]
pub struct X1 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "x1Fields")]
pub struct X1Fields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "x_1")]
pub struct X12 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "x_1Fields")]
pub struct X1Fields3 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "élan")]
pub struct Lan {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "élanFields")]
pub struct LanFields2 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "\u{115f}")]
pub struct Type4 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "\u{115f}Fields")]
pub struct Fields3 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Ⅷ")]
pub struct Type5 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "ⅧFields")]
pub struct Fields4 {}

#[derive(PermazenObject, Debug)]
#[permazen(name = "名")]
pub struct Type6 {
    #[permazen(accessor = "the_counter")]
    pub counter: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "名Fields")]
pub struct Fields5 {}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Array {
    A,
    #[permazen(rename = "a")]
    A2,
    HipHop,
    #[permazen(rename = "hipHop")]
    HipHop2,
    #[permazen(rename = "Self")]
    Self2,
    #[permazen(rename = "self")]
    Self3,
    #[permazen(rename = "_")]
    Constant,
    #[permazen(rename = "größe")]
    GrE,
    #[permazen(rename = "名")]
    Constant2,
    #[permazen(rename = "Option")]
    Option,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    One,
}

#[derive(PermazenKind)]
pub enum List<'t> {
    String2(Obj<'t, String2>),
    Vec2(Obj<'t, Vec2>),
    Type6(Obj<'t, Type6>),
}

#[derive(PermazenKind)]
pub enum Two<'t> {
    Ref2(Obj<'t, Ref2>),
    Vec2(Obj<'t, Vec2>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Any2>().model::<AnyFields>().model::<Box2>().model::<BoxFields>().model::<Counter2>().model::<CounterFields>().model::<Empty>().model::<Enums>().model::<First>().model::<FirstFields2>().model::<HttpServer2>().model::<HttpServer2Fields2>().model::<Names>().model::<Obj2>().model::<ObjFields>().model::<Option2>().model::<OptionFields>().model::<PermazenObject2>().model::<PermazenObjectFields>().model::<Ref2>().model::<RefFields>().model::<References>().model::<Self2>().model::<SelfFields>().model::<String2>().model::<StringFields>().model::<Vec2>().model::<VecFields>().model::<Type>().model::<Fields>().model::<Type2>().model::<Fields2>().model::<X>().model::<XFields2>().model::<AB>().model::<ABFields2>().model::<AB2>().model::<ABFields3>().model::<Clone>().model::<CloneFields2>().model::<Crate>().model::<CrateFields2>().model::<FirstName>().model::<FirstNameFields2>().model::<FirstName2>().model::<FirstNameFields3>().model::<GrE>().model::<GrEFields2>().model::<Id>().model::<IdFields2>().model::<Load>().model::<LoadFields2>().model::<Name>().model::<NameFields2>().model::<Self3>().model::<SelfFields2>().model::<SetName>().model::<SetNameFields2>().model::<SetName2>().model::<SetNameFields3>().model::<Super>().model::<SuperFields2>().model::<Try>().model::<TryFields2>().model::<Type3>().model::<TypeFields2>().model::<X1>().model::<X1Fields2>().model::<X12>().model::<X1Fields3>().model::<Lan>().model::<LanFields2>().model::<Type4>().model::<Fields3>().model::<Type5>().model::<Fields4>().model::<Type6>().model::<Fields5>().schema().expect("a schema")
}
}

pub mod random0 {
// The structs of Schema_78b9e3240eaede2523c43d0b3878073d.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "Any")]
#[permazen(composite(name = "composite", fields(option, counter)))]
pub struct Any2 {
    #[permazen(rename = "Counter", accessor = "the_counter", inverse_delete = "delete", forward_delete)]
    pub counter: Option<Ref<Counter3Kind>>,
    #[permazen(rename = "Option")]
    pub option: Option<f32>,
    #[permazen(rename = "a$b", element(indexed))]
    pub a_b: BTreeSet<Option<String>>,
    #[permazen(element(inverse_delete = "delete", forward_delete))]
    pub first_name: BTreeSet<Option<Ref<Box2>>>,
    #[permazen(rename = "first_name")]
    pub first_name2: Counter,
    #[permazen(rename = "größe", inverse_delete = "ignore", allow_deleted)]
    pub gr_e: Option<Ref<Any>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Box")]
#[permazen(composite(name = "composite", fields(clone, obj)))]
pub struct Box2 {
    #[permazen(rename = "Box", key(indexed), value(indexed))]
    pub r#box: BTreeMap<i32, Option<permazen::encoding::textual::Uri>>,
    #[permazen(rename = "Obj", indexed)]
    pub obj: Option<Obj2>,
    #[permazen(rename = "PermazenObject", element(indexed))]
    pub permazen_object: Vec<Option<Box<[i32]>>>,
    #[permazen(rename = "Self")]
    pub self2: BTreeSet<Option<permazen::encoding::time::Instant>>,
    #[permazen(accessor = "the_clone", inverse_delete = "ignore", allow_deleted)]
    pub clone: Option<Ref<CloneKind>>,
    pub first_name: Option<Ref<Any>>,
    #[permazen(accessor = "the_id")]
    pub id: Counter,
    #[permazen(rename = "self", indexed)]
    pub self3: Option<permazen::encoding::Uuid>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Counter")]
#[permazen(composite(name = "composite", fields(vec, permazen_object)))]
pub struct Counter2 {
    #[permazen(rename = "PermazenObject", indexed)]
    pub permazen_object: Option<permazen::encoding::Uuid>,
    #[permazen(rename = "Vec")]
    pub vec: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "_x", key(indexed), value(indexed))]
    pub x: BTreeMap<Option<permazen::encoding::ByteArray>, Option<X>>,
    #[permazen(rename = "größe", indexed)]
    pub gr_e: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "self", indexed)]
    pub self2: Option<permazen::encoding::time::Instant>,
    #[permazen(element(indexed))]
    pub x1: BTreeSet<Option<permazen::encoding::Uuid>>,
    #[permazen(rename = "Ⅷ")]
    pub field: Option<Type2>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "_")]
#[permazen(composite(name = "composite", fields(a_b, string)))]
pub struct Type {
    #[permazen(rename = "Counter", accessor = "the_counter")]
    pub counter: Counter,
    #[permazen(rename = "String")]
    pub string: Option<Type2>,
    #[permazen(rename = "__")]
    pub field: Counter,
    #[permazen(rename = "a$b", indexed)]
    pub a_b: f64,
    #[permazen(accessor = "the_clone")]
    pub clone: f64,
    #[permazen(accessor = "the_load")]
    pub load: BTreeSet<Option<X>>,
    #[permazen(key(inverse_delete = "ignore", allow_deleted), value(inverse_delete = "nullify"))]
    pub r#try: BTreeMap<Option<Ref<Counter3Kind>>, Option<Ref<Box2>>>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obj2 {
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum X {
    #[permazen(rename = "one")]
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type2 {
    #[permazen(rename = "one")]
    One,
    Two,
}

#[derive(PermazenKind)]
pub enum Counter3<'t> {
    Counter2(Obj<'t, Counter2>),
    Type(Obj<'t, Type>),
}

#[derive(PermazenKind)]
pub enum Clone<'t> {
    Any2(Obj<'t, Any2>),
    Box2(Obj<'t, Box2>),
    Type(Obj<'t, Type>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Any2>().model::<Box2>().model::<Counter2>().model::<Type>().schema().expect("a schema")
}
}

pub mod random1 {
// The structs of Schema_94407c70dadda108933f91bec102dc07.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "Any")]
#[permazen(storage_id = 2000)]
#[permazen(composite(name = "composite", fields(self2, name)))]
pub struct Any2 {
    #[permazen(rename = "FIRST")]
    pub first: Counter,
    #[permazen(rename = "PermazenObject", element(inverse_delete = "ignore", forward_delete, allow_deleted))]
    pub permazen_object: Vec<Option<Ref<PermazenObject3Kind>>>,
    #[permazen(rename = "Vec")]
    pub vec: Counter,
    #[permazen(allow_deleted)]
    pub name: Option<Ref<Any>>,
    #[permazen(rename = "self", indexed)]
    pub self2: Option<Self2>,
    #[permazen(element(forward_delete, allow_deleted))]
    pub r#type: Vec<Option<Ref<Any>>>,
    #[permazen(rename = "\u{115f}")]
    pub field: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Obj")]
#[permazen(storage_id = 2001)]
#[permazen(composite(name = "composite", fields(field, counter)))]
pub struct Obj2 {
    #[permazen(rename = "Box")]
    pub r#box: Vec<Option<Self2>>,
    #[permazen(rename = "Counter", accessor = "the_counter", indexed)]
    pub counter: Option<f32>,
    #[permazen(rename = "_")]
    pub field: Option<Type>,
    #[permazen(rename = "a$b")]
    pub a_b: Counter,
    #[permazen(rename = "a_b")]
    pub a_b2: Vec<f64>,
    #[permazen(element(inverse_delete = "delete", allow_deleted))]
    pub first_name: BTreeSet<Option<Ref<Any>>>,
    #[permazen(rename = "super")]
    pub super2: Option<Type>,
    #[permazen(rename = "名", element(indexed))]
    pub field2: Vec<Option<Box<[Option<String>]>>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "PermazenObject")]
#[permazen(composite(name = "composite", fields(self2, r#ref)))]
pub struct PermazenObject2 {
    #[permazen(rename = "Ref", allow_deleted)]
    pub r#ref: Option<Ref<Any>>,
    #[permazen(rename = "Self")]
    pub self2: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "_x", indexed)]
    pub x: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "a_b", element(inverse_delete = "remove"))]
    pub a_b: Vec<Option<Ref<Any>>>,
    #[permazen(key(forward_delete, allow_deleted))]
    pub set_name: BTreeMap<Option<Ref<Any>>, Option<Box<[Option<String>]>>>,
    #[permazen(element(indexed))]
    pub r#try: BTreeSet<Option<permazen::encoding::ByteArray>>,
    #[permazen(rename = "élan", allow_deleted)]
    pub lan: Option<Ref<Any>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "élan")]
#[permazen(composite(name = "composite", fields(vec, any)))]
pub struct Lan {
    #[permazen(rename = "Any", accessor = "the_any")]
    pub any: Option<Self2>,
    #[permazen(rename = "Counter", accessor = "the_counter")]
    pub counter: Vec<Option<Type>>,
    #[permazen(rename = "HTTPServer2", element(indexed))]
    pub http_server2: Vec<Option<Type>>,
    #[permazen(rename = "Vec", inverse_delete = "nullify", forward_delete, allow_deleted)]
    pub vec: Option<Ref<Any>>,
    #[permazen(rename = "größe")]
    pub gr_e: BTreeSet<Option<permazen::encoding::textual::Uri>>,
    #[permazen(accessor = "the_id", indexed)]
    pub id: Option<Box<[Option<String>]>>,
    #[permazen(rename = "set_name")]
    pub set_name: Counter,
    pub r#type: i32,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Self2 {
    One,
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    #[permazen(rename = "one")]
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenKind)]
pub enum PermazenObject3<'t> {
    Any2(Obj<'t, Any2>),
    Obj2(Obj<'t, Obj2>),
    Lan(Obj<'t, Lan>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Any2>().model::<Obj2>().model::<PermazenObject2>().model::<Lan>().schema().expect("a schema")
}
}

pub mod random2 {
// The structs of Schema_8694105baf0c8cf5d3f9d84ea241f7b7.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "_")]
#[permazen(composite(name = "composite", fields(r#try, set_name)))]
pub struct Type {
    #[permazen(rename = "Self", element(inverse_delete = "nullify", forward_delete, allow_deleted))]
    pub self2: Vec<Option<Ref<Self2Kind>>>,
    #[permazen(rename = "Vec", element(indexed))]
    pub vec: Vec<Option<Vec2>>,
    #[permazen(rename = "set_name", indexed)]
    pub set_name: Option<permazen::encoding::ByteArray>,
    pub r#try: Option<permazen::encoding::textual::Uri>,
    #[permazen(element(inverse_delete = "ignore", allow_deleted))]
    pub x1: BTreeSet<Option<Ref<Type3>>>,
    #[permazen(rename = "élan", inverse_delete = "nullify", forward_delete, allow_deleted)]
    pub lan: Option<Ref<Self2Kind>>,
    #[permazen(rename = "\u{115f}")]
    pub field: BTreeSet<Option<String>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "x_1")]
#[permazen(storage_id = 2001)]
#[permazen(composite(name = "composite", fields(id, first_name)))]
pub struct X1 {
    #[permazen(rename = "Box")]
    pub r#box: Counter,
    #[permazen(rename = "Ref", element(indexed))]
    pub r#ref: BTreeSet<Option<permazen::encoding::time::Instant>>,
    #[permazen(indexed)]
    pub first_name: Option<permazen::encoding::time::Instant>,
    #[permazen(accessor = "the_id")]
    pub id: Option<Id>,
    #[permazen(indexed)]
    pub name: Option<f32>,
    pub r#type: Vec<Option<Id>>,
    #[permazen(rename = "\u{115f}")]
    pub field: BTreeSet<Option<permazen::encoding::Uuid>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "\u{115f}")]
#[permazen(composite(name = "composite", fields(first, any)))]
pub struct Type2 {
    #[permazen(rename = "Any", accessor = "the_any", allow_deleted)]
    pub any: Option<Ref<Any2Kind>>,
    #[permazen(rename = "FIRST", indexed)]
    pub first: Option<Box<[Option<String>]>>,
    #[permazen(rename = "_", key(indexed))]
    pub field: BTreeMap<Option<permazen::encoding::textual::Uri>, Option<f32>>,
    #[permazen(rename = "a$b", element(indexed))]
    pub a_b: Vec<i32>,
    #[permazen(rename = "set_name")]
    pub set_name: Option<permazen::encoding::Uuid>,
    #[permazen(rename = "super")]
    pub super2: BTreeSet<Option<permazen::encoding::time::Instant>>,
    pub r#try: i32,
    #[permazen(rename = "名")]
    pub field2: BTreeSet<Option<permazen::encoding::time::Instant>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Ⅷ")]
#[permazen(storage_id = 2003)]
#[permazen(composite(name = "composite", fields(a_b2, permazen_object)))]
pub struct Type3 {
    #[permazen(map, rename = "HTTPServer2", value(indexed))]
    pub http_server2: Vec<(Option<f32>, Option<permazen::encoding::textual::Uri>)>,
    #[permazen(rename = "PermazenObject")]
    pub permazen_object: Option<Box<[Option<String>]>>,
    #[permazen(rename = "a$b")]
    pub a_b: Vec<Option<Vec2>>,
    #[permazen(rename = "a_b", indexed)]
    pub a_b2: Option<AB>,
    #[permazen(rename = "first_name")]
    pub first_name: i32,
    pub r#type: Counter,
    #[permazen(rename = "élan")]
    pub lan: Option<permazen::encoding::textual::Uri>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vec2 {
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    One,
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AB {
    #[permazen(rename = "one")]
    One,
    Two,
}

#[derive(PermazenKind)]
pub enum Self2<'t> {
    X1(Obj<'t, X1>),
    Type2(Obj<'t, Type2>),
    Type3(Obj<'t, Type3>),
}

#[derive(PermazenKind)]
pub enum Any2<'t> {
    Type(Obj<'t, Type>),
    Type2(Obj<'t, Type2>),
    Type3(Obj<'t, Type3>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Type>().model::<X1>().model::<Type2>().model::<Type3>().schema().expect("a schema")
}
}

pub mod random3 {
// The structs of Schema_dcf393f9ae7c107319681f6baa014d4b.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, PermazenEnum, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "_")]
#[permazen(storage_id = 2000)]
#[permazen(composite(name = "composite", fields(first_name, option)))]
pub struct Type {
    #[permazen(rename = "Option")]
    pub option: Option<permazen::encoding::Uuid>,
    #[permazen(rename = "String", value(indexed))]
    pub string: BTreeMap<Option<Box<[i32]>>, Option<String>>,
    pub first_name: Option<f32>,
    #[permazen(rename = "größe", indexed)]
    pub gr_e: Option<permazen::encoding::textual::Uri>,
    #[permazen(rename = "self", indexed)]
    pub self2: Option<permazen::encoding::Uuid>,
    #[permazen(rename = "set_name")]
    pub set_name: BTreeSet<Option<permazen::encoding::ByteArray>>,
    #[permazen(indexed)]
    pub r#try: Option<Try2>,
    #[permazen(rename = "名", element(indexed))]
    pub field: BTreeSet<Option<Type3>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "größe")]
#[permazen(storage_id = 2001)]
#[permazen(composite(name = "composite", fields(obj, r#box)))]
pub struct GrE {
    #[permazen(rename = "Box")]
    pub r#box: i32,
    #[permazen(rename = "Obj")]
    pub obj: Option<String>,
    #[permazen(rename = "String", element(indexed))]
    pub string: BTreeSet<Option<permazen::encoding::textual::Uri>>,
    #[permazen(rename = "__")]
    pub field: Vec<Option<permazen::encoding::time::Instant>>,
    #[permazen(rename = "_x")]
    pub x: Option<permazen::encoding::time::Instant>,
    #[permazen(rename = "a_b", key(inverse_delete = "remove"), value(indexed))]
    pub a_b: BTreeMap<Option<Ref<Any>>, Option<permazen::encoding::time::Instant>>,
    #[permazen(rename = "x_1")]
    pub x_1: Option<permazen::encoding::textual::Uri>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "try")]
#[permazen(composite(name = "composite", fields(obj, counter)))]
pub struct Try {
    #[permazen(rename = "Counter", accessor = "the_counter", indexed)]
    pub counter: Option<Try2>,
    #[permazen(rename = "HTTPServer2", element(allow_deleted))]
    pub http_server2: BTreeSet<Option<Ref<Any>>>,
    #[permazen(rename = "Obj")]
    pub obj: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "Option")]
    pub option: Counter,
    #[permazen(rename = "self", element(inverse_delete = "ignore", allow_deleted))]
    pub self2: BTreeSet<Option<Ref<Any>>>,
    #[permazen(value(indexed))]
    pub r#type: BTreeMap<Option<permazen::encoding::Uuid>, Option<permazen::encoding::Uuid>>,
    #[permazen(rename = "x_1", inverse_delete = "nullify")]
    pub x_1: Option<Ref<Type>>,
    #[permazen(rename = "名")]
    pub field: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "type")]
#[permazen(composite(name = "composite", fields(field2, crate2)))]
pub struct Type2 {
    #[permazen(rename = "_x")]
    pub x: Vec<Option<Try2>>,
    #[permazen(rename = "a_b")]
    pub a_b: Counter,
    #[permazen(rename = "crate", inverse_delete = "ignore", forward_delete, allow_deleted)]
    pub crate2: Option<Ref<Any>>,
    #[permazen(accessor = "the_load", element(indexed))]
    pub load: Vec<Option<Box<[i32]>>>,
    #[permazen(rename = "\u{115f}")]
    pub field: Counter,
    #[permazen(rename = "Ⅷ", indexed)]
    pub field2: Option<Type4>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Try2 {
    One,
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type3 {
    #[permazen(rename = "one")]
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type4 {
    One,
    #[permazen(rename = "two")]
    Two,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Type>().model::<GrE>().model::<Try>().model::<Type2>().schema().expect("a schema")
}
}

pub mod random4 {
// The structs of Schema_51849342115fb1b8e14e05e8651dc50e.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "Any")]
#[permazen(composite(name = "composite", fields(set_name, first_name)))]
pub struct Any2 {
    #[permazen(rename = "Obj")]
    pub obj: Counter,
    #[permazen(rename = "_x", value(inverse_delete = "nullify", forward_delete, allow_deleted))]
    pub x: BTreeMap<Option<permazen::encoding::time::Instant>, Option<Ref<XKind>>>,
    #[permazen(rename = "first_name")]
    pub first_name: i32,
    #[permazen(accessor = "the_id")]
    pub id: Counter,
    #[permazen(element(inverse_delete = "remove", forward_delete))]
    pub name: BTreeSet<Option<Ref<NameKind>>>,
    #[permazen(rename = "set_name", accessor = "the_set_name", inverse_delete = "nullify", allow_deleted)]
    pub set_name: Option<Ref<Any>>,
    #[permazen(indexed)]
    pub r#type: Option<permazen::encoding::textual::Uri>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "Vec")]
#[permazen(composite(name = "composite", fields(field, string)))]
pub struct Vec2 {
    #[permazen(rename = "String")]
    pub string: Option<String2>,
    #[permazen(rename = "__")]
    pub field: Option<String2>,
    #[permazen(rename = "_x", indexed)]
    pub x: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "a_b", indexed)]
    pub a_b: Option<Box<[i32]>>,
    #[permazen(rename = "first_name", indexed)]
    pub first_name: Option<FirstName>,
    #[permazen(accessor = "the_load")]
    pub load: Counter,
    #[permazen(indexed)]
    pub name: Option<Box<[Option<String>]>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "load")]
#[permazen(storage_id = 2002)]
#[permazen(composite(name = "composite", fields(a_b, r#box)))]
pub struct Load {
    #[permazen(rename = "Box")]
    pub r#box: Option<Box2>,
    #[permazen(rename = "_x", element(forward_delete))]
    pub x: BTreeSet<Option<Ref<Any>>>,
    #[permazen(rename = "a$b", indexed)]
    pub a_b: Option<Box<[i32]>>,
    #[permazen(accessor = "the_load", indexed)]
    pub load: Option<permazen::encoding::ByteArray>,
    #[permazen(rename = "set_name", inverse_delete = "ignore", allow_deleted)]
    pub set_name: Option<Ref<Any>>,
    #[permazen(map, rename = "x_1")]
    pub x_1: Vec<(Option<f32>, Option<permazen::encoding::ByteArray>)>,
    #[permazen(rename = "名", indexed)]
    pub field: Option<Type>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "self")]
#[permazen(composite(name = "composite", fields(self2, counter)))]
pub struct Self2 {
    #[permazen(rename = "Counter", accessor = "the_counter", indexed)]
    pub counter: i32,
    #[permazen(rename = "Obj", element(indexed))]
    pub obj: BTreeSet<Option<String>>,
    #[permazen(rename = "String", value(inverse_delete = "ignore", allow_deleted))]
    pub string: BTreeMap<Option<String2>, Option<Ref<String3Kind>>>,
    #[permazen(accessor = "the_id", element(indexed))]
    pub id: BTreeSet<Option<permazen::encoding::ByteArray>>,
    #[permazen(rename = "self")]
    pub self2: Option<Box2>,
    #[permazen(indexed)]
    pub r#try: Option<String2>,
    #[permazen(rename = "élan", indexed)]
    pub lan: Option<FirstName>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum String2 {
    #[permazen(rename = "one")]
    One,
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FirstName {
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Box2 {
    #[permazen(rename = "one")]
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    One,
    Two,
}

#[derive(PermazenKind)]
pub enum X<'t> {
    Load(Obj<'t, Load>),
    Self2(Obj<'t, Self2>),
}

#[derive(PermazenKind)]
pub enum Name<'t> {
    Any2(Obj<'t, Any2>),
    Vec2(Obj<'t, Vec2>),
    Load(Obj<'t, Load>),
}

#[derive(PermazenKind)]
pub enum String3<'t> {
    Vec2(Obj<'t, Vec2>),
    Self2(Obj<'t, Self2>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Any2>().model::<Vec2>().model::<Load>().model::<Self2>().schema().expect("a schema")
}
}

pub mod random5 {
// The structs of Schema_296583f0ad968a2eae2ec52dd8689096.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, Obj, PermazenEnum, PermazenKind, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(name = "Self")]
#[permazen(storage_id = 2000)]
pub struct Self2 {
    #[permazen(rename = "HTTPServer2", value(indexed))]
    pub http_server2: BTreeMap<Option<HttpServer2>, i32>,
    #[permazen(rename = "Obj")]
    pub obj: Counter,
    #[permazen(rename = "_")]
    pub field: Counter,
    #[permazen(rename = "__", element(indexed))]
    pub field2: Vec<Option<Type>>,
    #[permazen(rename = "crate")]
    pub crate2: BTreeSet<i32>,
    #[permazen(rename = "first_name", value(indexed))]
    pub first_name: BTreeMap<Option<FirstName2>, Option<Type>>,
    #[permazen(indexed)]
    pub name: Option<permazen::encoding::time::Instant>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "a_b")]
#[permazen(storage_id = 2001)]
#[permazen(composite(name = "composite", fields(a_b, obj)))]
pub struct AB {
    #[permazen(rename = "Obj")]
    pub obj: Option<String>,
    #[permazen(rename = "PermazenObject", element(forward_delete, allow_deleted))]
    pub permazen_object: BTreeSet<Option<Ref<Any>>>,
    #[permazen(rename = "a_b", indexed)]
    pub a_b: f64,
    #[permazen(rename = "first_name", key(indexed), value(inverse_delete = "ignore", forward_delete, allow_deleted))]
    pub first_name: BTreeMap<Option<String>, Option<Ref<Any>>>,
    #[permazen(accessor = "the_id", indexed)]
    pub id: i32,
    #[permazen(value(indexed))]
    pub set_name: BTreeMap<Option<String>, Option<HttpServer2>>,
    #[permazen(element(inverse_delete = "nullify", forward_delete, allow_deleted))]
    pub r#try: BTreeSet<Option<Ref<TryKind>>>,
    #[permazen(rename = "élan", indexed)]
    pub lan: Option<FirstName2>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "first_name")]
#[permazen(storage_id = 2002)]
#[permazen(composite(name = "composite", fields(self2, r#box)))]
pub struct FirstName {
    #[permazen(rename = "Any", accessor = "the_any", value(indexed))]
    pub any: BTreeMap<Option<permazen::encoding::Uuid>, Option<f32>>,
    #[permazen(rename = "Box")]
    pub r#box: Option<permazen::encoding::time::Instant>,
    #[permazen(rename = "Vec", key(inverse_delete = "delete", forward_delete), value(inverse_delete = "nullify", allow_deleted))]
    pub vec: BTreeMap<Option<Ref<Any>>, Option<Ref<Self2>>>,
    #[permazen(key(inverse_delete = "remove", allow_deleted), value(indexed))]
    pub first_name: BTreeMap<Option<Ref<Any>>, Option<FirstName2>>,
    #[permazen(rename = "first_name")]
    pub first_name2: Vec<i32>,
    #[permazen(rename = "self", indexed)]
    pub self2: Option<Self3>,
    #[permazen(element(inverse_delete = "remove", forward_delete))]
    pub r#try: BTreeSet<Option<Ref<Any>>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(name = "id")]
#[permazen(composite(name = "composite", fields(http_server2, r#box)))]
pub struct Id {
    #[permazen(rename = "Box")]
    pub r#box: f64,
    #[permazen(rename = "HTTPServer2")]
    pub http_server2: Option<permazen::encoding::time::Instant>,
    #[permazen(rename = "Vec", indexed)]
    pub vec: Option<f32>,
    #[permazen(set, rename = "a$b", element(indexed))]
    pub a_b: Vec<f64>,
    #[permazen(accessor = "the_id", key(inverse_delete = "nullify", allow_deleted), value(indexed))]
    pub id: BTreeMap<Option<Ref<Any>>, Option<permazen::encoding::Uuid>>,
    #[permazen(indexed)]
    pub name: Option<Box<[Option<String>]>>,
    #[permazen(accessor = "the_set_name", indexed)]
    pub set_name: Option<Box<[Option<String>]>>,
    #[permazen(rename = "élan")]
    pub lan: Option<HttpServer2>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpServer2 {
    #[permazen(rename = "one")]
    One,
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FirstName2 {
    #[permazen(rename = "one")]
    One,
    #[permazen(rename = "two")]
    Two,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Self3 {
    One,
    Two,
}

#[derive(PermazenKind)]
pub enum Try<'t> {
    Self2(Obj<'t, Self2>),
    AB(Obj<'t, AB>),
    Id(Obj<'t, Id>),
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Self2>().model::<AB>().model::<FirstName>().model::<Id>().schema().expect("a schema")
}
}

pub mod storage_ids_of_reference {
// The structs of Schema_a74fa4308ce05a1de31520b9858a4e91.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use permazen::{Any, Counter, PermazenObject, Ref};

#[derive(PermazenObject, Debug)]
#[permazen(storage_id = 16)]
#[permazen(composite(name = "nameAge", storage_id = 31, fields(name, age)))]
pub struct Person {
    #[permazen(storage_id = 18)]
    pub age: i32,
    #[permazen(storage_id = 20, inverse_delete = "ignore", allow_deleted)]
    pub boss: Option<Ref<Any>>,
    #[permazen(storage_id = 23, element(storage_id = 24, inverse_delete = "remove"))]
    pub friends: Vec<Option<Ref<Any>>>,
    #[permazen(storage_id = 17, indexed)]
    pub name: Option<String>,
    #[permazen(storage_id = 25, key(storage_id = 26, indexed), value(storage_id = 27, indexed))]
    pub scores: BTreeMap<Option<String>, i32>,
    #[permazen(storage_id = 19, inverse_delete = "nullify")]
    pub spouse: Option<Ref<Any>>,
    #[permazen(storage_id = 21, element(storage_id = 22, indexed))]
    pub tags: BTreeSet<Option<String>>,
    #[permazen(storage_id = 28)]
    pub visits: Counter,
}

#[derive(PermazenObject, Debug)]
#[permazen(storage_id = 32)]
pub struct Pet {
    #[permazen(storage_id = 33)]
    pub born: Option<permazen::encoding::time::Date>,
    #[permazen(storage_id = 17, indexed)]
    pub name: Option<String>,
}
pub fn schema() -> permazen::schema::SchemaModel {
permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()).model::<Person>().model::<Pet>().schema().expect("a schema")
}
}

pub fn all() -> Vec<(&'static str, permazen::schema::SchemaModel)> {
vec![
("reference", reference::schema()),
("music", music::schema()),
("evolution1", evolution1::schema()),
("evolution2", evolution2::schema()),
("evolution3", evolution3::schema()),
("encodings", encodings::schema()),
("storage_ids", storage_ids::schema()),
("every_encoding", every_encoding::schema()),
("hostile", hostile::schema()),
("random0", random0::schema()),
("random1", random1::schema()),
("random2", random2::schema()),
("random3", random3::schema()),
("random4", random4::schema()),
("random5", random5::schema()),
]
}
