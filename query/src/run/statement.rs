//! The results of reading statements.

use std::collections::HashMap;
use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::schema::{ResolvedField, ResolvedType};

use super::cells::{field, fill, unknown_version};
use super::fail::Result;
use super::query::{Needs, Query};
use super::reader::Lookup;
use super::subject::{Flow, Subject};
use crate::check::{Access, CheckedColumn, CheckedQuery, Read, Version};
use crate::plan::QueryPlan;
use crate::rows::{Cell, Column, ObjectRow, Row, Rows};

impl Query<'_> {
    /// `find`: a row for each object. Returns how many.
    pub(super) fn find(
        &self,
        plan: &QueryPlan,
        columns: &[CheckedColumn],
        rows: &mut dyn Rows,
    ) -> Result<u64> {
        let heading = |c: &CheckedColumn| (c.path.text.clone(), c.plain.clone(), c.numeric);
        let headings = Column::all(columns.iter().map(heading));
        // A consumer that refuses the columns wants no rows.
        if rows.columns(&headings).is_break() {
            return Ok(0);
        }
        let paths = columns.iter().map(|column| &column.path).collect();
        // One row is used for all objects, so that a long result allocates little.
        let mut row = Row { id: None, cells: vec![Cell::Absent; columns.len()] };
        let mut count = 0;
        self.objects(plan, &Needs { paths, whole: None }, &mut |subject| {
            row.id = Some(subject.id);
            for (column, cell) in columns.iter().zip(&mut row.cells) {
                fill(self.reader, &column.path, subject, cell)?;
            }
            count += 1;
            Ok(rows.row(&row).into())
        })?;
        Ok(count)
    }

    /// `count`: one row.
    pub(super) fn count(&self, plan: &QueryPlan, rows: &mut dyn Rows) -> Result<u64> {
        let mut count = 0;
        self.objects(plan, &Needs::nothing(), &mut |_| {
            count += 1;
            Ok(Flow::More)
        })?;
        // The columns are given after the count, since a stopped statement has no row to give.
        if rows.columns(&[Column::new("count", true)]).is_break() {
            return Ok(0);
        }
        let _ = rows.row(&Row { id: None, cells: vec![Cell::Number(count)] });
        Ok(1)
    }

    /// `show` and `export`: each object with all its fields. Returns how many.
    pub(super) fn show(
        &self,
        plan: &QueryPlan,
        query: &CheckedQuery,
        rows: &mut dyn Rows,
    ) -> Result<u64> {
        // All fields of the types are wanted, whatever the query itself reads.
        let needs = Needs { paths: Vec::new(), whole: Some(&query.objects.types) };
        let mut fields: HashMap<Version, Arc<[Access]>> = HashMap::new();
        // The row is made with the first object, since its ID has no value before.
        let mut object = None;
        let mut count = 0;
        self.objects(plan, &needs, &mut |subject| {
            let object = object.get_or_insert_with(|| ObjectRow {
                id: subject.id,
                type_name: "".into(),
                schema: Cell::Absent,
                schema_id: None,
                fields: Vec::new(),
            });
            self.fill_object(subject, &mut fields, object)?;
            count += 1;
            Ok(rows.object(object).into())
        })?;
        Ok(count)
    }

    fn fill_object(
        &self,
        subject: &Subject<'_>,
        known: &mut HashMap<Version, Arc<[Access]>>,
        object: &mut ObjectRow,
    ) -> Result<()> {
        let object_type = subject.id.storage_id();
        object.id = subject.id;
        if let Some(name) = self.reader.bundle.type_name(object_type)
            && !Arc::ptr_eq(name, &object.type_name)
        {
            object.type_name = Arc::clone(name);
        }
        // Nothing is known of the fields of an object whose schema is not known.
        let Lookup::Of(version) = subject.version(self.reader)? else {
            object.schema = unknown_version(self.reader, subject)?;
            object.schema_id = None;
            object.fields.clear();
            return Ok(());
        };
        object.schema = Cell::Number(version.1.get().into());
        object.schema_id = self.reader.bundle.schema(version.1).map(|schema| schema.id);
        // The fields of a version are worked out once, not for each object.
        let accesses = known.entry(version).or_insert_with(|| {
            let schema = self.reader.bundle.schema(version.1);
            let of = schema.and_then(|schema| schema.type_by_storage_id(object_type));
            of.map(|of| all_fields(of)).unwrap_or_default().into()
        });
        let accesses = Arc::clone(accesses);
        // The object before can have had more fields.
        object.fields.truncate(accesses.len());
        for (at, access) in accesses.iter().enumerate() {
            let name = &access.field.name;
            match object.fields.get_mut(at) {
                // The name is shared by all objects of a version, so its address tells whether it
                // is the same.
                Some((known, _)) if Arc::ptr_eq(known, name) => {}
                Some((known, _)) => *known = Arc::clone(name),
                None => object.fields.push((Arc::clone(name), Cell::Absent)),
            }
            if let Some((_, cell)) = object.fields.get_mut(at) {
                field(self.reader, access, subject, cell)?;
            }
        }
        Ok(())
    }
}

/// How all fields of a type are read.
fn all_fields(object_type: &ResolvedType) -> Vec<Access> {
    let access = |field: &Arc<ResolvedField>| {
        let read = match &field.kind {
            ResolvedKind::Simple(_) => Read::Simple,
            ResolvedKind::Counter => Read::Counter,
            _ => Read::Whole,
        };
        Access { field: Arc::clone(field), stored: true, read, kind: 0 }
    };
    object_type.fields_by_storage_id().map(access).collect()
}
