//! Random numbers that are the same for the same seed, on every machine.

/// A generator (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    /// The numbers for one commit (or for whatever else `number` counts) of a run with this seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The number in an environment variable.
pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seed of a run: `PERMAZEN_SEED`, or a new one. It is printed, so that the run can be
/// repeated.
pub(crate) fn seed(what: &str) -> u64 {
    let seed = setting("PERMAZEN_SEED").unwrap_or_else(|| {
        use std::hash::{BuildHasher, RandomState};
        RandomState::new().hash_one(what) >> 32
    });
    println!("{what}: PERMAZEN_SEED={seed}");
    seed
}
