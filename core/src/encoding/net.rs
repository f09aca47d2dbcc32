//! Internet addresses, as types of the standard library.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::java_digit;
use super::value::plain_value;
use super::{Encodable, EncodingId, Reader, Result, Value, ids};
use crate::bytes::invalid;

/// Reads a numeric address. The scope of an IPv6 address is dropped, and an IPv4 address within
/// IPv6 becomes IPv4.
///
/// As in Java, digits may be of any script.
fn parse(text: &str) -> Option<IpAddr> {
    let (address, scope) =
        text.split_once('%').map_or((text, None), |(address, scope)| (address, Some(scope)));
    let Some((start, end)) = address.rsplit_once(':') else {
        return parse_v4(address).filter(|_| scope.is_none()).map(IpAddr::V4);
    };
    let to_ascii = |char: char| {
        java_digit(char, 16).and_then(|digit| char::from_digit(digit, 16)).unwrap_or(char)
    };
    let mut address: String = start.chars().map(to_ascii).collect();
    address.push(':');
    if end.contains('.') {
        // Java accepts no scope after an address that ends like IPv4.
        let quad = parse_v4(end).filter(|_| scope.is_none())?;
        address.push_str(&quad.to_string());
    } else {
        address.extend(end.chars().map(to_ascii));
    }
    let address: Ipv6Addr = address.parse().ok()?;
    // The scope is dropped, but it must be valid.
    let is_scope =
        |scope: &str| scope.chars().all(|char| char.is_alphanumeric() || "._-".contains(char));
    if !scope.is_none_or(is_scope) {
        return None;
    }
    match address.to_ipv4_mapped() {
        // An address that becomes IPv4 must not have a scope.
        Some(mapped) => scope.is_none().then_some(IpAddr::V4(mapped)),
        None => Some(IpAddr::V6(address)),
    }
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let octets: Option<Vec<u8>> = text.split('.').map(parse_octet).collect();
    <[u8; 4]>::try_from(octets?).ok().map(Ipv4Addr::from)
}

/// Reads one to three decimal digits. The first of several must not be `0`, but it may be the zero
/// of another script.
fn parse_octet(text: &str) -> Option<u8> {
    if text.is_empty() || text.chars().count() > 3 || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    let number = text.chars().try_fold(0, |number, char| Some(number * 10 + java_digit(char, 10)?));
    u8::try_from(number?).ok()
}

impl Encodable for Ipv4Addr {
    const FIXED_WIDTH: Option<usize> = Some(4);
    plain_value!(Inet4Address, ids::INET4_ADDRESS);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.octets());
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array::<4>().map(Ipv4Addr::from)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        match parse(text) {
            Some(IpAddr::V4(address)) => Ok(address),
            _ => invalid(format!("invalid Inet4Address {text:?}")),
        }
    }
}

/// IPv6 addresses, except IPv4 addresses within IPv6: Java cannot hold those as IPv6.
impl Encodable for Ipv6Addr {
    const FIXED_WIDTH: Option<usize> = Some(16);
    plain_value!(Inet6Address, ids::INET6_ADDRESS);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        check_not_mapped(self)?;
        out.extend_from_slice(&self.octets());
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let address = Ipv6Addr::from(reader.array::<16>()?);
        check_not_mapped(&address)?;
        Ok(address)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        reader.take(16).map(drop)
    }

    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        match parse(text) {
            Some(IpAddr::V6(address)) => Ok(address),
            _ => invalid(format!("invalid Inet6Address {text:?}")),
        }
    }
}

fn check_not_mapped(address: &Ipv6Addr) -> Result<()> {
    match address.to_ipv4_mapped() {
        Some(mapped) => {
            invalid(format!("{address} is an IPv4 address within IPv6: store it as {mapped}"))
        }
        None => Ok(()),
    }
}

const V4: u8 = 4;
const V6: u8 = 6;

impl Encodable for IpAddr {
    const PREFIX_00: bool = false;
    const PREFIX_FF: bool = false;

    fn encoding_id() -> EncodingId {
        ids::INET_ADDRESS
    }

    /// Stores IPv4 addresses within IPv6 as IPv4.
    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        match self.to_canonical() {
            IpAddr::V4(address) => {
                out.push(V4);
                address.write_to(out)
            }
            IpAddr::V6(address) => {
                out.push(V6);
                address.write_to(out)
            }
        }
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.byte()? {
            V4 => reader.array::<4>().map(|bytes| IpAddr::V4(bytes.into())),
            V6 => reader.array::<16>().map(|bytes| IpAddr::V6(bytes.into()).to_canonical()),
            other => invalid(format!("invalid encoded InetAddress starting with 0x{other:02x}")),
        }
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        match reader.byte()? {
            V4 => reader.take(4).map(drop),
            V6 => reader.take(16).map(drop),
            other => invalid(format!("invalid encoded InetAddress starting with 0x{other:02x}")),
        }
    }

    fn to_text(&self) -> String {
        self.to_canonical().to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        match parse(text) {
            Some(address) => Ok(address),
            None => invalid(format!("invalid InetAddress {text:?}")),
        }
    }

    fn into_value(self) -> Value {
        match self {
            IpAddr::V4(address) => Value::Inet4Address(address),
            IpAddr::V6(address) => Value::Inet6Address(address),
        }
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        match value {
            Value::Inet4Address(address) => Some(Cow::Owned(IpAddr::V4(*address))),
            Value::Inet6Address(address) => Some(Cow::Owned(IpAddr::V6(*address))),
            _ => None,
        }
    }
}
