//! The behaviour of a store on PostgreSQL: that of any other store, and its own. Also on servers
//! that are similar, and beside Permazen for Java.

mod certain;
mod counters;
mod java;
mod limits;
mod new_keys;
mod objects;
mod portable;
mod settings;
mod shared;
mod watches;
