//! What can be done with a store can be done through a pointer to it.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvRead, KvTransaction, KvWrite, Pair,
    Result, Scan, SharedRead, Statistics, TxOptions, Visitor, Watch, Writes,
};

macro_rules! read_through {
    ($($pointer:ty),*) => {$(
        impl<T: KvRead + ?Sized> KvRead for $pointer {
            fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
                (**self).get(key)
            }

            fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
                (**self).scan(span, direction)
            }

            fn visit(
                &self,
                span: KeySpan<'_>,
                direction: Direction,
                visitor: &mut Visitor<'_>,
            ) -> Result<()> {
                (**self).visit(span, direction, visitor)
            }

            fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
                (**self).at_least(min, max)
            }

            fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
                (**self).at_most(min, max)
            }

            fn max_key_len(&self) -> usize {
                (**self).max_key_len()
            }

            fn encode_counter(&self, count: i64) -> [u8; 8] {
                (**self).encode_counter(count)
            }

            fn decode_counter(&self, value: &[u8]) -> Result<i64> {
                (**self).decode_counter(value)
            }
        }
    )*};
}

macro_rules! write_through {
    ($($pointer:ty),*) => {$(
        impl<T: KvWrite + ?Sized> KvWrite for $pointer {
            fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
                (**self).put(key, value)
            }

            fn remove(&mut self, key: &[u8]) -> Result<()> {
                (**self).remove(key)
            }

            fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
                (**self).remove_span(span)
            }

            fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
                (**self).adjust_counter(key, by)
            }

            fn apply(&mut self, writes: &Writes) -> Result<()> {
                (**self).apply(writes)
            }
        }
    )*};
}

macro_rules! begin_through {
    ($($pointer:ty),*) => {$(
        impl<D: KvDatabase + ?Sized> KvDatabase for $pointer {
            fn begin<'db>(
                &'db self,
                options: &TxOptions,
            ) -> Result<Box<dyn KvTransaction + Send + 'db>> {
                (**self).begin(options)
            }

            fn capabilities(&self) -> Capabilities {
                (**self).capabilities()
            }

            fn verify(&self) -> Result<Vec<String>> {
                (**self).verify()
            }

            fn statistics(&self) -> Result<Statistics> {
                (**self).statistics()
            }
        }
    )*};
}

read_through!(&T, &mut T, Box<T>, Arc<T>);
write_through!(&mut T, Box<T>);

impl<T: KvTransaction + ?Sized> KvTransaction for Box<T> {
    fn is_read_only(&self) -> bool {
        (**self).is_read_only()
    }

    fn set_read_only(&mut self) -> Result<()> {
        (**self).set_read_only()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        (**self).set_timeout(timeout)
    }

    fn snapshot(&self) -> Result<SharedRead> {
        (**self).snapshot()
    }

    fn version(&self) -> Option<u64> {
        (**self).version()
    }

    fn watch(&mut self, key: &[u8]) -> Result<Watch> {
        (**self).watch(key)
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        (**self).untracked()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        (*self).commit()
    }

    fn rollback(self: Box<Self>) {
        (*self).rollback();
    }
}

begin_through!(&D, Box<D>, Arc<D>);
