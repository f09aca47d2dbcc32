//! Running a query: its objects, one after the other.

use permazen::kv::Direction;
use permazen::{ObjId, StorageId};

use super::entries::{Entry, each_entry, each_entry_from_end};
use super::fail::Result;
use super::id_sorter::{IdSorter, SortedIds};
use super::meets::meets;
use super::order;
use super::reader::{Lookup, Reader};
use super::sets::{ObjectsOfType, Sets};
use super::sort::Sorter;
use super::subject::{Flow, Pairs, Subject};
use super::wanted::{WantedFields, load, scan};
use crate::catalog::Catalog;
use crate::check::{CheckedCondition, CheckedOrder, CheckedPath};
use crate::limits::Limits;
use crate::plan::{
    IndexScan, Ordering, QueryPlan, Reads, Source, TypeScan, comes_by_id, reads, repeats,
};

/// How many bytes of an object are kept at most while objects are sorted.
const KEPT: usize = 256;

/// Runs queries.
pub(crate) struct Query<'r> {
    pub(crate) reader: &'r Reader<'r>,
    pub(crate) limits: &'r Limits,
    pub(crate) catalog: &'r Catalog,
}

/// The parts that are read of each object that is found.
pub(crate) struct Needs<'p> {
    /// These paths.
    pub(crate) paths: Vec<&'p CheckedPath>,
    /// All fields, if it is not `None`, of objects of these types.
    pub(crate) whole: Option<&'p [StorageId]>,
}

impl Needs<'_> {
    pub(crate) fn nothing() -> Self {
        Needs { paths: Vec::new(), whole: None }
    }
}

/// The function that is called with each object.
type Each<'e> = dyn FnMut(&Subject<'_>) -> Result<Flow> + 'e;

/// How the needed parts of an object are read.
struct Loader<'l> {
    reads: Reads,
    wanted: WantedFields,
    filter: Option<&'l CheckedCondition>,
    /// Whether objects whose schema is not known are noted as damaged.
    notes_damage: bool,
    pairs: Pairs,
}

impl<'l> Loader<'l> {
    /// `covered` are simple fields whose values are known.
    fn new(
        query: &Query<'_>,
        filter: Option<&'l CheckedCondition>,
        needs: &Needs<'_>,
        covered: &[StorageId],
    ) -> Self {
        // Fields that the index gives are not read, which can make single gets the cheaper way.
        let mut reads = reads(filter, needs.paths.iter().copied(), covered);
        // With all fields wanted, the pairs are read in one go.
        reads.whole = needs.whole.is_some();
        let wanted = match needs.whole {
            Some(types) => WantedFields::all(query.catalog, types),
            None => WantedFields::of(filter, &needs.paths),
        };
        Loader { reads, wanted, filter, notes_damage: true, pairs: Pairs::default() }
    }

    /// For objects that are read again.
    fn without_notes(mut self) -> Self {
        self.notes_damage = false;
        self
    }

    /// Reads the needed parts of an object if that is better done at once, and gives it to `each`
    /// if it meets the filter.
    fn give(
        &mut self,
        reader: &Reader<'_>,
        subject: &Subject<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // A few fields are cheaper to get one by one, and only if the filter needs them.
        if !self.reads.in_one_go() {
            return self.filtered(reader, subject, each);
        }
        // The buffer is taken out while it is lent to the subject, and put back for the next
        // object.
        let mut pairs = std::mem::take(&mut self.pairs);
        let found = load(reader, subject.id, &self.wanted, &mut pairs)?;
        let flow = match found {
            // An index can have an entry for an object that is gone, if the data is damaged.
            Lookup::Missing => Flow::More,
            found => {
                self.filtered(reader, &Subject::with_pairs(subject.id, found, &pairs), each)?
            }
        };
        self.pairs = pairs;
        Ok(flow)
    }

    fn filtered(
        &self,
        reader: &Reader<'_>,
        subject: &Subject<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // The filter decides first: an object that does not meet it is not shown.
        let flow = match self.filter {
            Some(filter) if !meets(reader, filter, subject)? => Flow::More,
            _ => each(subject)?,
        };
        // Whether the object is damaged can be known only after the filter or the consumer read it.
        if self.notes_damage && subject.known_version() == Some(Lookup::Damaged) {
            reader.note_damage();
        }
        Ok(flow)
    }
}

impl<'r> Query<'r> {
    /// Finds the objects of a query, in order. `each` reads what `needs` says.
    pub(crate) fn objects(
        &self,
        plan: &QueryPlan,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // Without a limit, the countdown never ends in practice.
        let mut left = plan.limit.unwrap_or(u64::MAX);
        // `limited` counts down before it looks, so a limit of 0 must not get there.
        if left == 0 {
            return Ok(Flow::More);
        }
        let mut ended = Flow::More;
        let mut limited = |subject: &Subject<'_>| {
            left -= 1;
            ended = each(subject)?;
            // The limit ends the reading. Only what `each` says is returned.
            Ok(if left == 0 { Flow::Enough } else { ended })
        };
        match &plan.order {
            Ordering::ById => self.by_id(plan, needs, &mut limited)?,
            Ordering::ByIdFromEnd => self.by_id_from_end(plan, needs, &mut limited)?,
            Ordering::AsFound => self.in_any_order(plan, needs, &mut limited)?,
            Ordering::ByIndex { reverse } => self.by_index(plan, *reverse, needs, &mut limited)?,
            Ordering::Sorted(keys) => self.sorted(plan, keys, needs, &mut limited)?,
        };
        Ok(ended)
    }

    /// The objects sorted by some keys.
    fn sorted(
        &self,
        plan: &QueryPlan,
        keys: &[CheckedOrder],
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // The sort keys are read first; the shown values are read only of objects that come out.
        let mut at_first = Needs { paths: keys.iter().map(|key| &key.path).collect(), whole: None };
        // A scan reads all pairs. The needed parts of a small object are kept, so that they are not
        // read again. A limit leaves few objects, so theirs are read again.
        let keeps = matches!(plan.source, Source::Type(_)) && plan.limit.is_none();
        if keeps {
            at_first.paths.extend(&needs.paths);
            at_first.whole = needs.whole;
        }
        let most = if keeps { KEPT } else { 0 };
        // With a limit, the sorter keeps only the first records, and others are dropped at once.
        let mut sorter = Sorter::new(self.limits, plan.limit);
        let mut record = Vec::new();
        self.in_any_order(plan, &at_first, &mut |subject| {
            order::record(self.reader, keys, subject, &mut record)?;
            // What was read is kept with the record, up to the bound, to save reading it again.
            order::pack(subject, most, &mut record);
            sorter.push(&record)?;
            Ok(Flow::More)
        })?;
        let mut sorted = sorter.finish()?;
        // The filter was met before the sort.
        let mut loader = Loader::new(self, None, needs, &[]);
        // Damaged objects were noted when they were read first.
        let mut of_damaged = Loader::new(self, None, needs, &[]).without_notes();
        let mut pairs = Pairs::default();
        while sorted.next(&mut record)? {
            // Reading the sorted records touches no pair, so a stop must be looked for here.
            self.reader.look()?;
            let Some((id, packed)) = order::unpack(&record) else { continue };
            let flow = match Subject::unpack(id, packed, &mut pairs) {
                // The packed content has all that is shown, so the object is not read again.
                Some(subject) => each(&subject)?,
                None if packed == order::DAMAGED_OBJECT => {
                    of_damaged.give(self.reader, &Subject::of(id), each)?
                }
                None => loader.give(self.reader, &Subject::of(id), each)?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    /// The objects in the order of their IDs.
    fn by_id(&self, plan: &QueryPlan, needs: &Needs<'_>, each: &mut Each<'_>) -> Result<Flow> {
        // These sources give the IDs sorted, so a limit can end the reading early.
        if comes_by_id(&plan.source) {
            return self.as_given(plan, needs, each);
        }
        // Without a filter, every object counts, so the first IDs are the ones that are wanted.
        // With a filter, an ID that is dropped here could be one that is needed in place of a
        // filtered one.
        let most = if plan.filter.is_none() { plan.limit } else { None };
        self.sorted_by_id(plan, most, needs, each)
    }

    /// The objects of a type in the order of their IDs, the greatest first.
    fn by_id_from_end(
        &self,
        plan: &QueryPlan,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // Only the objects of a type can be read from the end of their IDs.
        let Source::Type(of_type) = &plan.source else { return self.as_given(plan, needs, each) };
        let mut loader = Loader::new(self, plan.filter.as_ref(), needs, &[]);
        for object in ObjectsOfType::from_end(self.reader, of_type)? {
            let (id, schema) = object?;
            let subject = Subject::found(id, Lookup::Of((of_type.object_type, schema)));
            if loader.give(self.reader, &subject, each)?.is_break() {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// The objects of a source, in the order in which it gives them, but each once.
    fn in_any_order(
        &self,
        plan: &QueryPlan,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // An object that comes several times must be given once, and only sorted IDs show that.
        if repeats(&plan.source) {
            return self.sorted_by_id(plan, None, needs, each);
        }
        self.as_given(plan, needs, each)
    }

    /// The objects of indexes, sorted by ID; those with the first `most` IDs.
    fn sorted_by_id(
        &self,
        plan: &QueryPlan,
        most: Option<u64>,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // The IDs are sorted before anything is read of the objects, so each object is read once.
        let mut sorter = IdSorter::new(self.limits).keeping(most);
        let scans = match &plan.source {
            Source::Index(scan) => std::slice::from_ref(scan),
            Source::AnyOf(scans) => scans,
            // Other sources come sorted already and do not get here.
            _ => &[],
        };
        for scan in scans {
            self.entries(scan, &mut |entry| {
                sorter.push(entry.id)?;
                Ok(Flow::More)
            })?;
            // These objects are read again below, where damage is noted.
            let loader = self.completing(scan, &Needs::nothing()).without_notes();
            self.completed(scan, loader, &mut |subject| {
                sorter.push(subject.id)?;
                Ok(Flow::More)
            })?;
        }
        let mut loader = Loader::new(self, plan.filter.as_ref(), needs, &[]);
        for id in sorter.finish()? {
            if loader.give(self.reader, &Subject::of(id?), each)?.is_break() {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// The objects of a source, as it gives them.
    fn as_given(&self, plan: &QueryPlan, needs: &Needs<'_>, each: &mut Each<'_>) -> Result<Flow> {
        let filter = plan.filter.as_ref();
        match &plan.source {
            Source::Nothing => Ok(Flow::More),
            Source::Ids(ids) => {
                let mut loader = Loader::new(self, filter, needs, &[]);
                for id in ids {
                    let subject = Subject::of(*id);
                    // In one go, `give` finds out itself whether there is such an object.
                    // A get for each ID that finds nothing would be one get too many.
                    if !loader.reads.in_one_go() && subject.version(self.reader)? == Lookup::Missing
                    {
                        continue;
                    }
                    if loader.give(self.reader, &subject, each)?.is_break() {
                        return Ok(Flow::Enough);
                    }
                }
                Ok(Flow::More)
            }
            Source::Type(of_type) => self.type_scan(of_type, filter, needs, each),
            Source::Set(set) => {
                // A query within a set is run by this one, with the same limits and counters.
                let of_query = |plan: &QueryPlan| self.sorted_ids(plan);
                let sets = Sets { reader: self.reader, limits: self.limits, of_query: &of_query };
                let mut loader = Loader::new(self, filter, needs, &[]);
                for id in sets.ids(set)? {
                    if loader.give(self.reader, &Subject::of(id?), each)?.is_break() {
                        return Ok(Flow::Enough);
                    }
                }
                Ok(Flow::More)
            }
            Source::Index(index) => {
                if self.index_scan(index, filter, needs, each)?.is_break() {
                    return Ok(Flow::Enough);
                }
                // Objects that the index lacks come after its entries: such a plan has no order.
                self.completed(index, self.completing(index, needs), each)
            }
            Source::AnyOf(_) => self.sorted_by_id(plan, None, needs, each),
        }
    }

    /// The objects of a query, in the order of their IDs.
    fn sorted_ids(&self, plan: &QueryPlan) -> Result<SortedIds> {
        // A set within a statement is collected first, since sets are merged in the order of the
        // IDs.
        let mut sorter = IdSorter::new(self.limits);
        self.objects(plan, &Needs::nothing(), &mut |subject| {
            sorter.push(subject.id)?;
            Ok(Flow::More)
        })?;
        sorter.finish()
    }

    fn type_scan(
        &self,
        of_type: &TypeScan,
        filter: Option<&CheckedCondition>,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // With no field to read, the object schema index has fewer pairs than the objects.
        let loader = Loader::new(self, filter, needs, &[]);
        if loader.reads.reads_fields() {
            let range = (&of_type.ids.0[..], of_type.ids.1.as_deref());
            return scan(self.reader, range, &loader.wanted, &mut |subject| {
                loader.filtered(self.reader, subject, each)
            });
        }
        for object in ObjectsOfType::new(self.reader, of_type)? {
            let (id, schema) = object?;
            let subject = Subject::found(id, Lookup::Of((of_type.object_type, schema)));
            if loader.filtered(self.reader, &subject, each)?.is_break() {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }

    /// The objects of the entries of an index, in their order. An object that has several entries
    /// with equal values comes once for them.
    fn index_scan(
        &self,
        index: &IndexScan,
        filter: Option<&CheckedCondition>,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        let mut flow = Flow::More;
        for part in &index.parts {
            let covered = &part.shape.fields;
            // Each part can cover other fields, so what is read of an object differs.
            let mut loader = Loader::new(self, filter, needs, covered);
            let mut last: Option<ObjId> = None;
            for span in &part.spans {
                flow = each_entry(
                    self.reader,
                    &part.shape,
                    span,
                    Direction::Forward,
                    index.object_type,
                    &mut |entry| {
                        // Entries of one object with equal values follow each other.
                        if last.replace(entry.id) == Some(entry.id) {
                            return Ok(Flow::More);
                        }
                        self.of_entry(&entry, covered, &mut loader, each)
                    },
                )?;
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(flow)
    }

    /// Gives the object of an entry to `each`.
    fn of_entry(
        &self,
        entry: &Entry<'_>,
        covered: &[StorageId],
        loader: &mut Loader<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        let mut values: [&[u8]; 4] = [&[]; 4];
        for (column, value) in values.iter_mut().enumerate().take(covered.len()) {
            *value = entry.value(column);
        }
        // An index with more columns than there is room for covers nothing, so its fields are read.
        let values = values.get(..covered.len()).unwrap_or_default();
        let covered = if values.is_empty() { &[] } else { covered };
        loader.give(self.reader, &Subject::with_columns(entry.id, covered, values), each)
    }

    /// The objects in the order of an index.
    fn by_index(
        &self,
        plan: &QueryPlan,
        reverse: bool,
        needs: &Needs<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        let Source::Index(index) = &plan.source else {
            return self.as_given(plan, needs, each);
        };
        if !reverse {
            return self.index_scan(index, plan.filter.as_ref(), needs, each);
        }
        // From the end, the parts and their ranges come in the opposite order too.
        for part in index.parts.iter().rev() {
            let covered = &part.shape.fields;
            let mut loader = Loader::new(self, plan.filter.as_ref(), needs, covered);
            for span in part.spans.iter().rev() {
                let flow = each_entry_from_end(
                    self.reader,
                    &part.shape,
                    span,
                    index.object_type,
                    &mut |entry| self.of_entry(&entry, covered, &mut loader, each),
                )?;
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(Flow::More)
    }

    /// All entries of an index that a plan reads.
    fn entries(
        &self,
        index: &IndexScan,
        each: &mut dyn FnMut(Entry<'_>) -> Result<Flow>,
    ) -> Result<()> {
        for part in &index.parts {
            for span in &part.spans {
                let of = index.object_type;
                each_entry(self.reader, &part.shape, span, Direction::Forward, of, each)?;
            }
        }
        Ok(())
    }

    /// Reads objects of the schemas that an index lacks.
    fn completing<'l>(&self, index: &'l IndexScan, needs: &Needs<'_>) -> Loader<'l> {
        Loader::new(self, index.condition.as_ref(), needs, &[])
    }

    /// The objects of the schemas that an index lacks which meet the condition.
    fn completed(
        &self,
        index: &IndexScan,
        mut loader: Loader<'_>,
        each: &mut Each<'_>,
    ) -> Result<Flow> {
        // No scan is begun if no object is missing.
        if index.completed.is_empty() {
            return Ok(Flow::More);
        }
        // The schemas were compared before the run, so the type is there.
        let Some(entry) = self.catalog.type_with_id(index.object_type) else {
            return Ok(Flow::More);
        };
        let (min, max) = index.object_type.key_range();
        let scan = TypeScan {
            name: entry.name.clone(),
            object_type: index.object_type,
            schemas: index.completed.clone(),
            ids: (min, Some(max)),
            // The range is that of the whole type, but of some of its schemas only.
            is_part: true,
        };
        for object in ObjectsOfType::new(self.reader, &scan)? {
            let (id, schema) = object?;
            let subject = Subject::found(id, Lookup::Of((index.object_type, schema)));
            if loader.give(self.reader, &subject, each)?.is_break() {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::More)
    }
}
