//! A check of a database with thousands of types costs so much for each type, not for each pair of
//! types. The counts are the same each time: operations of the store and allocations of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;
use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_jsck::{Options, check};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: Everything is left to the system's allocator. Counting allocates nothing itself, since
// the counter is a thread-local constant without destructor.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: As for the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: As for the caller; the pointer came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: As for the caller; the pointer came from the same allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many operations of the store, and how many allocations, a check takes of a database with so
/// many types. Each has eight references to objects of all types, one to some, an index, and an
/// object.
fn cost(types: usize) -> [u64; 2] {
    let mut xml = String::from("<Schema>");
    for n in 0..types {
        let _ = write!(
            xml,
            r#"<ObjectType name="T{n:05}">
               <SimpleField name="n{n}" encoding="urn:fdc:permazen.io:2020:int" indexed="true"/>
               <ReferenceField name="one{n}"><ObjectTypes><ObjectType name="T{:05}"/></ObjectTypes></ReferenceField>
               <ReferenceField name="to{n}" inverseDelete="NULLIFY"/>"#,
            n / 2
        );
        for other in 0..7 {
            let _ = write!(xml, r#"<ReferenceField name="other{n}x{other}"/>"#);
        }
        xml.push_str("</ObjectType>");
    }
    xml.push_str("</Schema>");
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let model = SchemaModel::from_xml(xml.as_bytes()).expect("a schema");
    let config = TransactionConfig::new(model).expect("a schema");
    let tx = Database::new(Arc::new(store.clone())).begin(&config).expect("begin");
    let mut last = None;
    for n in 0..types {
        let id = tx.create(&format!("T{n:05}")).expect("create");
        tx.set(id, &format!("n{n}"), &Value::Int(1), Migrate::No).expect("set");
        let before = last.replace(id).unwrap_or(id);
        tx.set(id, &format!("to{n}"), &Value::Ref(before), Migrate::No).expect("set");
    }
    tx.commit().expect("commit");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    counter.take();
    let before = COUNT.get();
    let report = check(&*kv, &Options::default(), &mut |_| {}).expect("check");
    let allocations = COUNT.get() - before;
    assert!(report.is_clean());
    assert_eq!(report.objects, types as u64);
    let operations = counter.take();
    assert_eq!(operations.writes(), 0);
    [operations.reads(), allocations]
}

#[test]
fn a_check_costs_so_much_for_each_type() {
    for (few, many) in cost(100).into_iter().zip(cost(500)) {
        println!("{many} for 500 types, {few} for 100");
        // If each reference collected all types anew, it would be seven times as much.
        assert!(2 * many <= 11 * few, "{many} for 500 types, {few} for 100");
    }
}
