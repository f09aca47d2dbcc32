//! The checker, beside a scan of the same pairs.

use std::hint::black_box;

use permazen::kv::{KvDatabase, TxOptions};
use permazen_jsck::{Options, check};

use super::Case;
use super::world::{World, pairs};
use crate::measure::timed;
use crate::pairs::Read;

/// Time for a pair of the whole database.
pub fn cases(world: &World) -> Vec<Case<'_>> {
    let pairs = pairs(&world.db).len();
    vec![Case::new(
        "jsck with one thread; by hand a scan",
        3.0,
        move |_| {
            let txn = world.by_hand.read();
            timed(pairs, || {
                txn.visit(&[0], &[0xff], |key, value| {
                    black_box((key, value));
                    true
                });
            })
        },
        move |_| {
            let kv: &dyn KvDatabase = &**world.db.database().kv();
            let kv = kv.begin(&TxOptions::reading()).unwrap();
            timed(pairs, || {
                let report = check(&*kv, &Options::default(), &mut |f| panic!("{f}")).unwrap();
                assert!(report.is_clean());
            })
        },
    )]
}
