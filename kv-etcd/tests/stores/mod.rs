//! The behaviour of a store on etcd: that of any other store, and its own.

mod counters;
mod limits;
mod objects;
mod removed;
mod round_trips;
mod swept;
mod watches;
