//! A macro for types that wrap a value of the same trait: it makes methods that pass their
//! arguments on.

/// Makes the named methods of a trait of a store. Each calls the same method on the expression
/// after the arrow. That expression may end in `?` where the method can fail. A word in capitals
/// stands for several methods:
///
/// | word | methods |
/// |---|---|
/// | `READS` | `get`, `get_near`, `scan`, `visit`, `at_least`, `at_most` |
/// | `LIMITS` | `max_key_len`, `encode_counter`, `decode_counter`, `prefetch` |
/// | `CONTENT` | `content_name`, `first_difference` |
/// | `WRITES` | `get_to_put`, `put`, `put_new`, `put_if_absent`, `get_or_put`, `append`, `remove`, `remove_span`, `remove_where`, `adjust_counter`, `apply` |
/// | `STORE` | `capabilities`, `verify`, `space`, `statistics`, `counters`, `identity` |
///
/// ```text
/// impl<T: KvRead> KvRead for ReadOnly<T> {
///     pass_on!(self => self.0; READS, LIMITS);
/// }
/// ```
macro_rules! pass_on {
    ($self:ident => $to:expr; $($method:ident),+) => { $($crate::contract::pass_on::pass_on!(@$method $self, $to);)+ };

    (@READS $self:ident, $to:expr) => {
        $crate::contract::pass_on::pass_on!($self => $to; get, get_near, scan, visit, at_least, at_most);
    };
    (@LIMITS $self:ident, $to:expr) => {
        $crate::contract::pass_on::pass_on!($self => $to; max_key_len, encode_counter, decode_counter, prefetch);
    };
    (@CONTENT $self:ident, $to:expr) => {
        $crate::contract::pass_on::pass_on!($self => $to; content_name, first_difference);
    };
    (@WRITES $self:ident, $to:expr) => {
        $crate::contract::pass_on::pass_on!($self => $to; get_to_put, put, put_new, put_if_absent, get_or_put, append, remove, remove_span, remove_where, adjust_counter, apply);
    };
    (@STORE $self:ident, $to:expr) => {
        $crate::contract::pass_on::pass_on!($self => $to; capabilities, verify, space, statistics, counters, identity);
    };

    (@get $self:ident, $to:expr) => {
        fn get(&$self, key: &[u8]) -> $crate::Result<Option<$crate::Blob<'_>>> {
            $to.get(key)
        }
    };
    (@get_near $self:ident, $to:expr) => {
        fn get_near(&$self, key: &[u8], near: &[u8]) -> $crate::Result<Option<$crate::Near<'_>>> {
            $to.get_near(key, near)
        }
    };
    (@scan $self:ident, $to:expr) => {
        fn scan<'a>(
            &'a $self,
            span: $crate::KeySpan<'_>,
            direction: $crate::Direction,
        ) -> $crate::Result<$crate::Scan<'a>> {
            $to.scan(span, direction)
        }
    };
    (@visit $self:ident, $to:expr) => {
        fn visit(
            &$self,
            span: $crate::KeySpan<'_>,
            direction: $crate::Direction,
            visitor: &mut $crate::Visitor<'_>,
        ) -> $crate::Result<()> {
            $to.visit(span, direction, visitor)
        }
    };
    (@at_least $self:ident, $to:expr) => {
        fn at_least(
            &$self,
            min: &[u8],
            max: Option<&[u8]>,
        ) -> $crate::Result<Option<$crate::Pair<'_>>> {
            $to.at_least(min, max)
        }
    };
    (@at_most $self:ident, $to:expr) => {
        fn at_most(
            &$self,
            min: &[u8],
            max: Option<&[u8]>,
        ) -> $crate::Result<Option<$crate::Pair<'_>>> {
            $to.at_most(min, max)
        }
    };
    (@content_name $self:ident, $to:expr) => {
        fn content_name(&$self) -> Option<[u8; 48]> {
            $to.content_name()
        }
    };
    (@first_difference $self:ident, $to:expr) => {
        fn first_difference(
            &$self,
            now: &dyn $crate::KvRead,
            reads: &$crate::KeyRanges,
        ) -> $crate::Result<Option<$crate::Conflict>> {
            $to.first_difference(now, reads)
        }
    };
    (@max_key_len $self:ident, $to:expr) => {
        fn max_key_len(&$self) -> usize {
            $to.max_key_len()
        }
    };
    (@encode_counter $self:ident, $to:expr) => {
        fn encode_counter(&$self, count: i64) -> [u8; 8] {
            $to.encode_counter(count)
        }
    };
    (@decode_counter $self:ident, $to:expr) => {
        fn decode_counter(&$self, value: &[u8]) -> $crate::Result<i64> {
            $to.decode_counter(value)
        }
    };

    (@prefetch $self:ident, $to:expr) => {
        fn prefetch(&$self, spans: &[$crate::KeySpan<'_>]) -> bool {
            $to.prefetch(spans)
        }
    };

    (@get_to_put $self:ident, $to:expr) => {
        fn get_to_put(
            &mut $self,
            key: &[u8],
            near: &[u8],
        ) -> $crate::Result<Option<$crate::Near<'_>>> {
            $to.get_to_put(key, near)
        }
    };
    (@put $self:ident, $to:expr) => {
        fn put(&mut $self, key: &[u8], value: &[u8]) -> $crate::Result<()> {
            $to.put(key, value)
        }
    };
    (@put_new $self:ident, $to:expr) => {
        fn put_new(&mut $self, key: &[u8], value: &[u8]) -> $crate::Result<bool> {
            $to.put_new(key, value)
        }
    };
    (@put_if_absent $self:ident, $to:expr) => {
        fn put_if_absent(&mut $self, key: &[u8], value: &[u8]) -> $crate::Result<bool> {
            $to.put_if_absent(key, value)
        }
    };
    (@get_or_put $self:ident, $to:expr) => {
        fn get_or_put(&mut $self, key: &[u8], value: &[u8]) -> $crate::Result<Option<Vec<u8>>> {
            $to.get_or_put(key, value)
        }
    };
    (@append $self:ident, $to:expr) => {
        fn append(&mut $self, key: &[u8], value: &[u8]) -> $crate::Result<()> {
            $to.append(key, value)
        }
    };
    (@remove $self:ident, $to:expr) => {
        fn remove(&mut $self, key: &[u8]) -> $crate::Result<()> {
            $to.remove(key)
        }
    };
    (@remove_span $self:ident, $to:expr) => {
        fn remove_span(&mut $self, span: $crate::KeySpan<'_>) -> $crate::Result<()> {
            $to.remove_span(span)
        }
    };
    (@remove_where $self:ident, $to:expr) => {
        fn remove_where(
            &mut $self,
            span: $crate::KeySpan<'_>,
            judge: &mut dyn FnMut(&[u8], &[u8]) -> $crate::Verdict,
        ) -> $crate::Result<()> {
            $to.remove_where(span, judge)
        }
    };
    (@adjust_counter $self:ident, $to:expr) => {
        fn adjust_counter(&mut $self, key: &[u8], by: i64) -> $crate::Result<()> {
            $to.adjust_counter(key, by)
        }
    };
    (@apply $self:ident, $to:expr) => {
        fn apply(&mut $self, writes: &$crate::Writes) -> $crate::Result<()> {
            $to.apply(writes)
        }
    };

    (@is_read_only $self:ident, $to:expr) => {
        fn is_read_only(&$self) -> bool {
            $to.is_read_only()
        }
    };
    (@set_read_only $self:ident, $to:expr) => {
        fn set_read_only(&mut $self) -> $crate::Result<()> {
            $to.set_read_only()
        }
    };
    (@set_timeout $self:ident, $to:expr) => {
        fn set_timeout(&mut $self, timeout: Option<std::time::Duration>) -> $crate::Result<()> {
            $to.set_timeout(timeout)
        }
    };
    (@version $self:ident, $to:expr) => {
        fn version(&$self) -> Option<u64> {
            $to.version()
        }
    };
    (@snapshot $self:ident, $to:expr) => {
        fn snapshot(&$self) -> $crate::Result<$crate::SharedRead> {
            $to.snapshot()
        }
    };
    (@watch $self:ident, $to:expr) => {
        fn watch(&mut $self, key: &[u8]) -> $crate::Result<$crate::KeyWatch> {
            $to.watch(key)
        }
    };
    (@untracked $self:ident, $to:expr) => {
        fn untracked(&$self) -> Option<&dyn $crate::KvRead> {
            $to.untracked()
        }
    };
    (@pending $self:ident, $to:expr) => {
        fn pending(&$self) -> Option<$crate::Pending<'_>> {
            $to.pending()
        }
    };
    (@commit $self:ident, $to:expr) => {
        fn commit($self: Box<Self>) -> $crate::Result<()> {
            $to.commit()
        }
    };
    (@rollback $self:ident, $to:expr) => {
        fn rollback($self: Box<Self>) {
            $to.rollback();
        }
    };

    (@begin $self:ident, $to:expr) => {
        fn begin(
            &$self,
            options: &$crate::TxOptions,
        ) -> $crate::Result<Box<dyn $crate::KvTransaction + Send>> {
            $to.begin(options)
        }
    };
    (@capabilities $self:ident, $to:expr) => {
        fn capabilities(&$self) -> $crate::Capabilities {
            $to.capabilities()
        }
    };
    (@verify $self:ident, $to:expr) => {
        fn verify(&$self) -> $crate::Result<Vec<String>> {
            $to.verify()
        }
    };
    (@space $self:ident, $to:expr) => {
        fn space(&$self, spans: &[$crate::KeySpan<'_>]) -> $crate::Result<Vec<$crate::Space>> {
            $to.space(spans)
        }
    };
    (@statistics $self:ident, $to:expr) => {
        fn statistics(&$self) -> $crate::Result<$crate::Statistics> {
            $to.statistics()
        }
    };
    (@counters $self:ident, $to:expr) => {
        fn counters(&$self) -> $crate::Counters {
            $to.counters()
        }
    };
    (@identity $self:ident, $to:expr) => {
        fn identity(&$self) -> Option<$crate::__internal::StoreId> {
            $to.identity()
        }
    };
}

pub(crate) use pass_on;
