//! Decimal numbers are compared by their value, whatever their scale.

use permazen::encoding::Value;
use permazen::encoding::number::BigDecimal;
use permazen::object::Migrate;
use permazen::schema::{CompositeIndex, Field, ObjectType, SchemaModel};

use super::database::{Fixture, encoding, id};

fn decimal(text: &str) -> Value {
    Value::BigDecimal(text.parse().expect("a number"))
}

/// Items with these prices, which are in a set too. The number at the end of an ID counts them,
/// beginning with 1.
fn items(prices: &[String]) -> Fixture {
    let fixture = Fixture::new();
    let object_type = ObjectType::new("Item")
        .field(Field::new("price", encoding("BigDecimal").indexed()))
        .field(Field::new("kind", encoding("int")))
        .field(Field::set("prices", encoding("BigDecimal").indexed()))
        .composite_index(CompositeIndex::new("both", ["kind", "price"]));
    fixture.with(SchemaModel::new().object_type(object_type), |tx| {
        for (number, price) in (1..).zip(prices) {
            let id = id(tx, "Item", number);
            tx.create_with_id(id).unwrap();
            tx.set(id, "price", &decimal(price), Migrate::No).unwrap();
            tx.set(id, "kind", &Value::Int((number % 2) as i32), Migrate::No).unwrap();
            tx.set_view(id, "prices", Migrate::No).unwrap().add(&decimal(price)).unwrap();
        }
    });
    fixture
}

fn numbers(fixture: &Fixture, statement: &str) -> Vec<usize> {
    let rows = fixture.ask(statement).rows;
    let number = |id: String| usize::from_str_radix(&id[2..], 16).expect("a number");
    rows.iter().map(|row| number(row.id.expect("an ID").to_string())).collect()
}

#[test]
fn a_number_is_found_in_every_scale() {
    let prices = ["100", "100.00", "1E+2", "100.5", "-7.0", "-7", "0", "0.000"];
    let fixture = items(&prices.map(str::to_owned));
    let rows = [
        ("price = 100", "1 2 3"),
        ("price = 1e2", "1 2 3"),
        ("price in {100.0, -7}", "1 2 3 5 6"),
        ("price != 100", "4 5 6 7 8"),
        ("price > 100", "4"),
        ("price >= 100.000", "1 2 3 4"),
        ("price < -7", ""),
        ("price <= -7.00", "5 6"),
        ("price = 0.0", "7 8"),
        ("price < 0", "5 6"),
        ("price > 0", "1 2 3 4"),
        ("price in -7.000..=0", "5 6 7 8"),
        ("prices has 100", "1 2 3"),
        ("price = 100 and kind = 0", "2"),
    ];
    for (condition, expected) in rows {
        for using in ["", " using none"] {
            let mut found = numbers(&fixture, &format!("find Item where {condition}{using}"));
            found.sort_unstable();
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected, "{condition}{using}");
        }
    }
    let plan = fixture.plan("find Item where price = 100");
    assert!(plan.contains("entries (1E+2)"), "{plan}");
    assert_eq!(fixture.ask("index Item.price (100)").rows.len(), 3);
    let entries = numbers(&fixture, "index Item.both (0, 100..)");
    assert_eq!(entries, [2, 4]);
    assert_eq!(numbers(&fixture, "index Item.both (1, 1e2)"), [3, 1]);
}

/// Equal numbers are in the order of their scales, with and without an index.
#[test]
fn the_order_is_that_of_the_encoding() {
    let prices = ["2.00", "2", "-1", "-1.0", "2.0", "1.999"].map(str::to_owned);
    let fixture = items(&prices);
    for using in ["", " using none", " using Item.price"] {
        let found = numbers(&fixture, &format!("find Item order by price{using}"));
        assert_eq!(found, [4, 3, 6, 2, 5, 1], "{using}");
    }
}

/// The value times 10⁶ of a number with at most six digits after the point.
fn value(text: &str) -> i64 {
    let number: BigDecimal = text.parse().expect("a number");
    let unscaled: i64 = number.unscaled().to_string().parse().expect("a small number");
    unscaled * 10_i64.pow(u32::try_from(6 - number.scale()).expect("a scale"))
}

#[test]
fn an_index_and_a_scan_find_the_same() {
    let mut state = 12_345_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut number = |for_statement: bool| {
        let unscaled = [0_i64, 1, 10, 100, 12, 120, 99, 101, 1001, 10_001][random(10) as usize];
        let unscaled = if random(2) == 0 { unscaled } else { -unscaled };
        let scale = if unscaled == 0 { random(4) as i32 } else { random(6) as i32 - 2 };
        let text = BigDecimal::new(&unscaled.into(), scale).to_string();
        if for_statement { text.replace("E+", "e") } else { text }
    };
    let prices: Vec<String> = (0..250).map(|_| number(false)).collect();
    let fixture = items(&prices);
    for _ in 0..20 {
        let (a, b) = (number(true), number(true));
        let (of_a, of_b) = (value(&a), value(&b));
        let conditions: [(String, &dyn Fn(i64) -> bool); 9] = [
            (format!("= {a}"), &|value| value == of_a),
            (format!("!= {a}"), &|value| value != of_a),
            (format!("< {a}"), &|value| value < of_a),
            (format!("<= {a}"), &|value| value <= of_a),
            (format!("> {a}"), &|value| value > of_a),
            (format!(">= {a}"), &|value| value >= of_a),
            (format!("in {a}..{b}"), &|value| of_a <= value && value < of_b),
            (format!("in {a}..={b}"), &|value| of_a <= value && value <= of_b),
            (format!("in {{{a}, {b}}}"), &|value| value == of_a || value == of_b),
        ];
        for (condition, is_met) in conditions {
            let is_met = |price: &String| is_met(value(price));
            let expected: Vec<_> =
                (1..).zip(&prices).filter(|(_, price)| is_met(price)).map(|(at, _)| at).collect();
            for query in [
                format!("Item where price {condition}"),
                format!("Item where price {condition} using none"),
                format!("Item where prices {condition}"),
                format!("Item where kind in {{0, 1}} and price {condition}"),
            ] {
                let mut found = numbers(&fixture, &format!("find {query}"));
                found.sort_unstable();
                assert_eq!(found, expected, "{query}");
            }
        }
    }
}
