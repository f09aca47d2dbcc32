//! The traits of a store for pointers: a pointer has all methods of the store.

use std::sync::Arc;

use crate::contract::pass_on::pass_on;
use crate::{KvDatabase, KvRead, KvTransaction, KvWrite};

impl<T: KvRead + ?Sized> KvRead for &T {
    pass_on!(self => **self; READS, LIMITS, CONTENT);
}

impl<T: KvRead + ?Sized> KvRead for &mut T {
    pass_on!(self => **self; READS, LIMITS, CONTENT);
}

impl<T: KvRead + ?Sized> KvRead for Box<T> {
    pass_on!(self => **self; READS, LIMITS, CONTENT);
}

impl<T: KvRead + ?Sized> KvRead for Arc<T> {
    pass_on!(self => **self; READS, LIMITS, CONTENT);
}

impl<T: KvWrite + ?Sized> KvWrite for &mut T {
    pass_on!(self => **self; WRITES);
}

impl<T: KvWrite + ?Sized> KvWrite for Box<T> {
    pass_on!(self => **self; WRITES);
}

impl<T: KvTransaction + ?Sized> KvTransaction for Box<T> {
    pass_on!(self => **self; is_read_only, set_read_only, set_timeout, version, snapshot, watch, untracked, pending);
    pass_on!(self => *self; commit, rollback);
}

impl<D: KvDatabase + ?Sized> KvDatabase for &D {
    pass_on!(self => **self; begin, STORE);
}

impl<D: KvDatabase + ?Sized> KvDatabase for Box<D> {
    pass_on!(self => **self; begin, STORE);
}

impl<D: KvDatabase + ?Sized> KvDatabase for Arc<D> {
    pass_on!(self => **self; begin, STORE);
}
