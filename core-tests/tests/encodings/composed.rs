//! Properties of encodings made of others: tuples, encodings with null added, enums and their
//! arrays, references, arrays of floating point numbers, arrays of arrays.

use std::sync::Arc;

use permazen::__internal::encoding::{
    EnumArrayEncoding, EnumEncoding, NullSafe, ObjIdEncoding, ReferenceEncoding, StringEncoding,
    TupleEncoding, TypedEncoding, UnsignedIntEncoding,
};
use permazen::encoding::{
    Encoding, EncodingId, EncodingRegistry, EnumValue, JavaChar, Reader, Value,
};
use permazen::{ObjId, ObjIdGenerator, StorageId};
use proptest::collection::vec;
use proptest::prelude::*;

use super::support::{any_decimal, any_instant, any_long, any_string, any_uuid, any_zoned};

/// An encoding and two of its values.
type Sample = (Arc<dyn Encoding>, Value, Value);

/// The rules for every value of every encoding. Bytes and texts are read back. Skipping the value
/// leaves what follows untouched. A cut value is refused. Bytes sort like values.
fn check((encoding, a, b): Sample) {
    let [first, second] = [&a, &b].map(|value| {
        let mut out = b"before".to_vec();
        encoding.encode(value, &mut out).expect("a value of the encoding");
        out.split_off(6)
    });
    assert_eq!(first.cmp(&second), a.cmp(&b), "{}: {a:?} and {b:?}", encoding.name());
    assert_eq!(encoding.decode_all(&first).as_ref(), Ok(&a), "{}", encoding.name());
    encoding.check_canonical(&first).expect("just written");
    assert!(encoding.has_prefix_00() || first[0] != 0x00);
    assert!(encoding.has_prefix_ff() || first[0] != 0xff);
    assert!(encoding.fixed_width().is_none_or(|width| width == first.len()));

    let followed = [&first[..], b"\x00\x01\xff"].concat();
    let mut reader = Reader::new(&followed);
    assert_eq!(encoding.decode(&mut reader).as_ref(), Ok(&a));
    assert_eq!(reader.rest(), b"\x00\x01\xff");
    let mut reader = Reader::new(&followed);
    encoding.skip(&mut reader).expect("just written");
    assert_eq!(reader.rest(), b"\x00\x01\xff", "{}: {a:?}", encoding.name());
    assert!(encoding.decode_all(&followed).is_err());
    for end in 0..first.len() {
        assert!(encoding.decode_all(&first[..end]).is_err(), "{a:?} cut to {end}");
        assert!(encoding.skip(&mut Reader::new(&first[..end])).is_err(), "{a:?} cut to {end}");
    }

    let has_text = match &a {
        Value::Null => false,
        Value::Tuple(items) => !items.contains(&Value::Null),
        _ => true,
    };
    match encoding.to_text(&a) {
        Ok(text) => {
            assert!(has_text);
            assert_eq!(encoding.from_text(&text).as_ref(), Ok(&a), "{text:?}");
        }
        Err(error) => assert!(!has_text, "{a:?}: {error}"),
    }
}

fn builtin(alias: &str) -> Arc<dyn Encoding> {
    EncodingRegistry::new().find_alias(alias).expect("an alias").expect("built in")
}

fn or_null(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 6 => value].boxed()
}

fn colours() -> EnumEncoding {
    EnumEncoding::new(["RED", "GREEN", "BLUE", "Ünlü", "$_"]).expect("identifiers")
}

fn any_colour() -> impl Strategy<Value = Value> {
    (0u32..5).prop_map(|ordinal| {
        let names = ["RED", "GREEN", "BLUE", "Ünlü", "$_"];
        Value::Enum(EnumValue::new(names[ordinal as usize], ordinal))
    })
}

fn any_id() -> impl Strategy<Value = Value> {
    let number = prop_oneof![1u32..300, 1u32..100_000, 1u32..=StorageId::MAX];
    (number, any::<u64>()).prop_map(|(number, seed)| {
        let storage_id = StorageId::new(number).expect("in range");
        Value::Ref(ObjIdGenerator::from_seed(seed).next_id(storage_id))
    })
}

/// Arrays of some dimensions, with nulls at every place.
fn nested(item: BoxedStrategy<Value>, dimensions: usize) -> BoxedStrategy<Value> {
    (0..dimensions)
        .fold(item, |item, _| or_null(vec(item, 0..4).prop_map(|items| Value::Array(items.into()))))
}

/// Encodings that a column of a composite index can have, with their values.
fn columns() -> Vec<(Arc<dyn Encoding>, BoxedStrategy<Value>)> {
    let floats = prop_oneof![any::<f64>(), Just(-0.0), Just(0.0), Just(f64::NAN)];
    vec![
        (builtin("int"), any_long().prop_map(|number| Value::Int(number as i32)).boxed()),
        (builtin("long"), any_long().prop_map(Value::Long).boxed()),
        (builtin("boolean"), any::<bool>().prop_map(Value::Bool).boxed()),
        (builtin("Character"), or_null(any::<u16>().prop_map(|u| Value::Char(JavaChar(u))))),
        (builtin("String"), or_null(any_string().prop_map(Value::from))),
        (builtin("float"), floats.clone().prop_map(|number| Value::Float(number as f32)).boxed()),
        (builtin("Double"), or_null(floats.prop_map(Value::Double))),
        (builtin("UUID"), or_null(any_uuid().prop_map(Value::from))),
        (builtin("Instant"), or_null(any_instant().prop_map(Value::from))),
        (builtin("BigDecimal"), or_null(any_decimal().prop_map(Value::from))),
        (builtin("ZonedDateTime"), or_null(any_zoned().prop_map(Value::from))),
        (builtin("String[]"), nested(or_null(any_string().prop_map(Value::from)), 1)),
        (Arc::new(colours()), or_null(any_colour())),
        (Arc::new(ReferenceEncoding::new(None)), or_null(any_id())),
    ]
}

fn any_tuple() -> impl Strategy<Value = Sample> {
    let columns = columns();
    vec(0..columns.len(), 2..=5).prop_flat_map(move |chosen| {
        let (encodings, values): (Vec<_>, Vec<_>) =
            chosen.iter().map(|&at| columns[at].clone()).unzip();
        let tuple = TupleEncoding::new(encodings).expect("two or more");
        let pairs: Vec<_> = values.into_iter().map(|value| (value.clone(), value)).collect();
        // Tuples that begin alike are the interesting ones.
        (pairs, 0usize..5).prop_map(move |(pairs, alike)| {
            let (a, mut b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let alike = alike.min(a.len());
            b[..alike].clone_from_slice(&a[..alike]);
            let tuple: Arc<dyn Encoding> = Arc::new(tuple.clone());
            (tuple, Value::Tuple(a.into()), Value::Tuple(b.into()))
        })
    })
}

fn two(encoding: Arc<dyn Encoding>, value: BoxedStrategy<Value>) -> impl Strategy<Value = Sample> {
    (value.clone(), value).prop_map(move |(a, b)| (Arc::clone(&encoding), a, b))
}

fn any_null_safe() -> impl Strategy<Value = Sample> {
    let inner: Vec<(Arc<dyn Encoding>, BoxedStrategy<Value>)> = vec![
        (Arc::new(UnsignedIntEncoding), (0i32..=i32::MAX).prop_map(Value::Int).boxed()),
        (Arc::new(ObjIdEncoding), any_id().boxed()),
        (Arc::new(StringEncoding::not_null()), any_string().prop_map(Value::from).boxed()),
        (Arc::new(TypedEncoding::<f32>::not_null()), any::<f32>().prop_map(Value::Float).boxed()),
        (Arc::new(TypedEncoding::<i64>::not_null()), any_long().prop_map(Value::Long).boxed()),
    ];
    let plain = (0..inner.len()).prop_flat_map(move |at| {
        let (inner, value) = inner[at].clone();
        let encoding = NullSafe::new(None, inner).expect("without null");
        two(Arc::new(encoding), or_null(value))
    });
    let id = EncodingId::new("urn:fdc:example.com:2026:pair").expect("a URN");
    let tuple = any_tuple().prop_flat_map(move |(inner, a, b)| {
        let encoding: Arc<dyn Encoding> =
            Arc::new(NullSafe::new(Some(id.clone()), inner).expect("without null"));
        let null = prop_oneof![2 => Just(false), 1 => Just(true)];
        null.prop_map(move |null| {
            (Arc::clone(&encoding), a.clone(), if null { Value::Null } else { b.clone() })
        })
    });
    prop_oneof![plain, tuple]
}

fn any_enum_array() -> impl Strategy<Value = Sample> {
    (1usize..=4).prop_flat_map(|dimensions| {
        let encoding = EnumArrayEncoding::build(colours(), dimensions as u32).expect("a few");
        two(encoding, nested(or_null(any_colour()), dimensions))
    })
}

/// Arrays of two and more dimensions, of both styles and of primitive types.
fn any_nested_array() -> impl Strategy<Value = Sample> {
    let ints = vec(any_long(), 0..4)
        .prop_map(|items| Value::Ints(items.into_iter().map(|item| item as i32).collect()));
    let doubles = vec(any::<f64>(), 0..3).prop_map(|items| Value::Doubles(items.into()));
    let bools = vec(any::<bool>(), 0..6).prop_map(|items| Value::Bools(items.into()));
    let bases = [
        // Primitive arrays already have one dimension.
        ("int[]", 1, or_null(ints)),
        ("double[]", 1, or_null(doubles)),
        ("boolean[]", 1, or_null(bools)),
        ("String", 2, or_null(any_string().prop_map(Value::from))),
        ("UUID", 2, or_null(any_uuid().prop_map(Value::from))),
        ("BigDecimal", 2, or_null(any_decimal().prop_map(Value::from))),
        ("Instant", 2, or_null(any_instant().prop_map(Value::from))),
    ];
    (0..bases.len(), 0usize..2).prop_flat_map(move |(at, more)| {
        let (base, least, item) = bases[at].clone();
        let dimensions = least + more;
        let encoding = builtin(&format!("{base}{}", "[]".repeat(dimensions)));
        two(encoding, nested(item, dimensions))
    })
}

proptest! {
    #[test]
    fn tuples(sample in any_tuple()) {
        check(sample);
    }

    #[test]
    fn null_added(sample in any_null_safe()) {
        check(sample);
    }

    #[test]
    fn enums(sample in two(Arc::new(colours()), or_null(any_colour()))) {
        check(sample);
    }

    #[test]
    fn enum_arrays(sample in any_enum_array()) {
        check(sample);
    }

    #[test]
    fn references(sample in two(Arc::new(ReferenceEncoding::new(None)), or_null(any_id()))) {
        check(sample);
    }

    #[test]
    fn object_ids(sample in two(Arc::new(ObjIdEncoding), any_id().boxed())) {
        check(sample);
    }

    #[test]
    fn restricted_references(numbers in vec(1u32..4, 0..3), id in any_id(), small in 1u32..4) {
        let allowed = numbers.iter().filter_map(|&number| StorageId::new(number)).collect();
        let encoding = ReferenceEncoding::new(Some(allowed));
        let encoding: &dyn Encoding = &encoding;
        let small = StorageId::new(small).expect("above 0");
        for value in [id, Value::Ref(ObjId::max(small)), Value::Null] {
            let is_allowed = match &value {
                Value::Ref(id) => numbers.contains(&id.storage_id().get()),
                _ => true,
            };
            prop_assert_eq!(encoding.encode_all(&value).is_ok(), is_allowed);
            // Such a reference can still be read if it is stored.
            let stored = (&ReferenceEncoding::new(None) as &dyn Encoding).encode_all(&value);
            prop_assert_eq!(encoding.decode_all(&stored.expect("any reference")), Ok(value));
        }
    }

    #[test]
    fn float_arrays(sample in two(builtin("float[]"), or_null(
        vec(prop_oneof![any::<f32>(), Just(-0.0f32), Just(0.0), Just(f32::NAN)], 0..20).prop_map(|items| Value::Floats(items.into())),
    ))) {
        check(sample);
    }

    #[test]
    fn double_arrays(sample in two(builtin("double[]"), or_null(
        vec(prop_oneof![any::<f64>(), Just(-0.0), Just(0.0), Just(f64::NAN)], 0..20).prop_map(|items| Value::Doubles(items.into())),
    ))) {
        check(sample);
    }

    #[test]
    fn arrays_of_arrays(sample in any_nested_array()) {
        check(sample);
    }
}
