//! The steps of programs with objects.

use std::collections::BTreeSet;

use permazen::model::{Base, UpgradeReport};
use permazen::object::Error as CoreError;
use permazen::{Error, ObjId, Result, Tx};

use crate::evolutions::naive::{Content, Spec, Stays, Version, unknown};
use crate::evolutions::rules::{Expected, Known};
use crate::evolutions::versions::How;
use crate::evolutions::{Kept, World};

impl World {
    pub(crate) fn step(&mut self) {
        let versions: Vec<usize> = self.open.keys().copied().collect();
        let version = self.random.pick(&versions);
        let ids = self.created.clone();
        let id = self.random.pick(&ids);
        let step = self.random.below(28);
        let knows_type = self.programs[version].model(self.objects[&id].of_type).is_some();
        match step {
            0 => self.open_another(),
            1 if self.objects.len() < 8 => {
                self.create_in(version, "Item");
            }
            2 if self.objects.len() < 8 => {
                self.create_in(version, "Note");
            }
            3 => self.delete(version, id),
            4 => self.upgrade_all(version),
            5 => self.build_indexes(version),
            6 | 7 => self.query(version),
            // The program lacks the type, so it can only look at the object by name.
            _ if !knows_type => self.check(version, id),
            8 | 9 => self.migrate(version, id),
            10..=12 => self.load(version, id),
            13..=15 => self.store(version, id),
            16..=18 => self.get(version, id),
            19 => self.load_base(version, id),
            20..=22 => self.store_base(version),
            23 if self.is_concurrent => {
                let versions = [version, self.random.pick(&versions)];
                let ids = [id, self.random.pick(&ids)];
                let known = |n: usize| {
                    self.programs[versions[n]].model(self.objects[&ids[n]].of_type).is_some()
                };
                if known(0) && known(1) {
                    self.change_together(versions, ids);
                }
            }
            _ => self.change(version, id),
        }
        if self.random.one_in(20) {
            self.check_all();
        }
    }

    fn name(&self, version: usize) -> &'static str {
        self.programs[version].name
    }

    fn get(&mut self, version: usize, id: ObjId) {
        let means = self.random_field(version, id);
        let known = &self.objects[&id];
        let (expected, after) = self.rules().get(version, known, means);
        let get = self.programs[version].model(known.of_type).unwrap().get;
        let only_reads = self.random.one_in(2);
        let what =
            format!("get {means} of {id} in {} (only reads: {only_reads})", self.name(version));
        let db = &self.open[&version];
        let get = |tx: &Tx| Ok(get(tx, id, means));
        let got = if only_reads { db.read(get) } else { db.write(get) }.unwrap();
        self.judge(what, expected, got.map(Expected::Content));
        if !only_reads {
            self.after(version, id, after);
        }
    }

    fn load(&mut self, version: usize, id: ObjId) {
        let known = &self.objects[&id];
        let (expected, after) = self.rules().load(version, known);
        let load = self.programs[version].model(known.of_type).unwrap().load;
        let only_reads = self.random.one_in(2);
        let what = format!("load {id} in {} (only reads: {only_reads})", self.name(version));
        let load = |tx: &Tx| Ok(load(tx, id));
        let db = &self.open[&version];
        let loaded = if only_reads { db.read(load) } else { db.write(load) }.unwrap();
        self.judge(what, expected, loaded.map(Expected::Contents));
        if !only_reads {
            self.after(version, id, after);
        }
    }

    fn migrate(&mut self, version: usize, id: ObjId) {
        let known = &self.objects[&id];
        let (expected, after) = outcome(self.rules().moved(version, known), known);
        let migrate = self.programs[version].model(known.of_type).unwrap().migrate;
        let migrated = self.open[&version].write(|tx| Ok(migrate(tx, id))).unwrap();
        let what = format!("migrate {id} to {}", self.name(version));
        self.judge(what, expected, migrated.map(|_| Expected::Done));
        self.after(version, id, after);
    }

    fn upgrade_all(&mut self, version: usize) {
        self.log.push(format!("upgrade all to {}", self.name(version)));
        let places = self.places_elsewhere(version);
        self.run(
            version,
            places,
            |_, _, _| true,
            |world, dry_run, batch| {
                let run = world.open[&version].upgrade_all().batch(batch);
                if dry_run { run.dry_run().run() } else { run.run() }
            },
        );
    }

    fn build_indexes(&mut self, version: usize) {
        self.log.push(format!("build the indexes of {}", self.name(version)));
        let lacks = |world: &World, version: usize, known: &Known| {
            world.rules().lacks_index(version, known)
        };
        self.run(version, 0, lacks, |world, dry_run, batch| {
            let run = world.open[&version].build_indexes().batch(batch);
            if dry_run { run.dry_run().run() } else { run.run() }
        });
    }

    /// How many places are in other schemas.
    fn places_elsewhere(&self, version: usize) -> u64 {
        let db = &self.open[&version];
        let own = db.schema().schema_id();
        let is_elsewhere = |id: &&ObjId| db.read(|tx| tx.any(**id).schema_id()).unwrap() != own;
        self.places.iter().filter(is_elsewhere).count() as u64
    }

    /// Moves all objects that are wanted, and these places, and compares the refusals.
    fn run(
        &mut self,
        version: usize,
        places: u64,
        wanted: impl Fn(&World, usize, &Known) -> bool,
        run: impl Fn(&World, bool, usize) -> Result<UpgradeReport>,
    ) {
        let rules = self.rules();
        let program = &self.programs[version];
        let to_move = self.objects.iter().filter(|(_, known)| {
            known.version != version
                && program.model(known.of_type).is_some()
                && wanted(self, version, known)
        });
        let results: Vec<_> =
            to_move.map(|(id, known)| (*id, rules.moved(version, known))).collect();
        let moved = results.iter().filter(|(_, result)| result.is_ok()).count() as u64 + places;
        let refused: Vec<(ObjId, &Stays)> = results
            .iter()
            .filter_map(|(id, result)| result.as_ref().err().map(|stays| (*id, stays)))
            .collect();
        let batch = 1 + self.random.below(3);
        for dry_run in [true, false] {
            let report = run(self, dry_run, batch).unwrap();
            let counts = (report.moved, report.refused);
            assert_eq!(counts, (moved, refused.len() as u64), "{report:?}\n{:#?}", self.log);
            for (id, stays) in &refused {
                let found = report.refusals.iter().find(|refusal| refusal.id == *id);
                let is_right = found.is_some_and(|found| is_refusal(stays, &found.error));
                assert!(is_right, "{id} {stays:?} {found:?}\n{:#?}", self.log);
            }
        }
        for (id, result) in results {
            if let Ok(new) = result {
                self.after(version, id, new);
            }
        }
        self.check_all();
    }

    /// An index is complete, or says how many objects it lacks. These are found if they are loaded.
    fn query(&mut self, version: usize) {
        let program = &self.programs[version];
        let of_type = self.random.pick(&["Item", "Item", "Note"]);
        let Some(model) = program.model(of_type) else { return };
        if model.version.indexes.is_empty() {
            return;
        }
        let (name, index) = self.random.pick(&model.version.indexes);
        let wanted = self.rules().find(version, of_type, index, self.objects.iter());
        let query = |how: How| {
            let found = self.open[&version].read(|tx| (model.query)(tx, name, how));
            found.map(|found| found.into_iter().collect::<BTreeSet<_>>())
        };
        let what = || {
            format!(
                "{:#?}\n{wanted:?}\nthe index {name} of {of_type} in {}",
                self.log, program.name
            )
        };
        // Only optional fields have null in the struct.
        let is_null = |(values, _): &(Vec<Option<String>>, ObjId)| values.contains(&None);
        let has_null = wanted.entries.iter().any(is_null);
        let scan_has_null = has_null || wanted.scanned.iter().any(is_null);
        match query(How::Strict) {
            Err(Error::PartialIndex { missing, .. }) => {
                assert!(missing > 0 && missing == wanted.lacking, "{}: {missing}", what());
            }
            Ok(found) => {
                let is_right =
                    wanted.lacking == 0 && !wanted.has_unknown && found == wanted.entries;
                assert!(is_right, "{}: {found:?}", what());
            }
            Err(error) => {
                let is_right = wanted.lacking == 0 && (wanted.has_unknown || has_null);
                assert!(is_right, "{}: {error:?}", what());
            }
        }
        match query(How::Allowing) {
            Ok(found) => assert_eq!(found, wanted.entries, "{}", what()),
            Err(error) => assert!(has_null, "{}: {error:?}", what()),
        }
        match query(How::Scanning) {
            Ok(found) => {
                let all: BTreeSet<_> = wanted.entries.union(&wanted.scanned).cloned().collect();
                let is_right = wanted.stays.is_empty() && !wanted.has_unknown && found == all;
                assert!(is_right, "{}: {found:?}", what());
            }
            Err(error) => {
                let is_right = wanted.stays.iter().any(|stays| is_refusal(stays, &error))
                    || scan_has_null
                    || wanted.stays.is_empty() && wanted.has_unknown;
                assert!(is_right, "{}: {error:?}", what());
            }
        }
    }

    fn delete(&mut self, version: usize, id: ObjId) {
        let text = Some(id.to_string());
        let refers =
            |known: &Known| known.contents.values().flatten().any(|(cell, _)| *cell == text);
        // There is always an item to which new values can refer.
        let items = self.objects.values().filter(|known| known.of_type == "Item").count();
        let is_last = self.objects[&id].of_type == "Item" && items < 3;
        if is_last || self.objects.values().any(refers) {
            return;
        }
        self.log.push(format!("delete {id} in {}", self.name(version)));
        let model = self.programs[version].model(self.objects[&id].of_type);
        let deleted = self.open[&version].write(|tx| match model {
            Some(model) => (model.delete)(tx, id),
            None => tx.any(id).delete(),
        });
        assert!(deleted.unwrap());
        self.objects.remove(&id);
        self.created.retain(|created| *created != id);
        self.refresh();
    }

    fn change(&mut self, version: usize, id: ObjId) {
        let means = self.random_field(version, id);
        let known = &self.objects[&id];
        let change = self.programs[version].model(known.of_type).unwrap().change;
        let random = &mut self.random;
        let (effect, changed) =
            self.open[&version].write(|tx| Ok(change(tx, id, means, random))).unwrap();
        let what = format!("{effect:?} {means} of {id} in {}", self.name(version));
        let (expected, after) = self.rules().change(version, known, means, &effect);
        self.judge(what, expected, changed.map(|()| Expected::Done));
        self.after(version, id, after);
    }

    fn random_field(&mut self, version: usize, id: ObjId) -> &'static str {
        let model = self.programs[version].model(self.objects[&id].of_type).unwrap();
        let fields: Vec<&str> = model.version.fields.iter().map(|field| field.means).collect();
        self.random.pick(&fields)
    }

    /// Two programs change objects in transactions that overlap. Either both succeed, as if one had
    /// run after the other, or the second one must be run again.
    fn change_together(&mut self, versions: [usize; 2], ids: [ObjId; 2]) {
        let transactions = versions.map(|version| self.open[&version].begin().unwrap());
        let mut changes = Vec::new();
        for (n, tx) in transactions.iter().enumerate() {
            let means = self.random_field(versions[n], ids[n]);
            let known = &self.objects[&ids[n]];
            let change = self.programs[versions[n]].model(known.of_type).unwrap().change;
            let (effect, changed) = change(tx, ids[n], means, &mut self.random);
            let name = self.name(versions[n]);
            let what =
                format!("{effect:?} {means} of {} in {name}, at the same time as another", ids[n]);
            let (expected, _) = self.rules().change(versions[n], known, means, &effect);
            let is_done = changed.is_ok();
            self.judge(what, expected, changed.map(|()| Expected::Done));
            changes.push((means, effect, is_done));
        }
        let before = ids.map(|id| self.objects[&id].clone());
        for (n, tx) in transactions.into_iter().enumerate() {
            let (means, effect, is_done) = &changes[n];
            if let Err(error) = tx.commit() {
                assert!(n == 1 && error.is_retryable(), "{error}\n{:#?}", self.log);
                self.log.push("the second one must be run again".to_owned());
                continue;
            }
            if !is_done {
                continue;
            }
            let rules = self.rules();
            let known = &self.objects[&ids[n]];
            let (_, mut after) = rules.change(versions[n], known, means, effect);
            // A change without an effect may also have come first.
            let (_, alone) = rules.change(versions[n], &before[n], means, effect);
            let has_effect =
                alone.version != before[n].version || alone.contents != before[n].contents;
            if !has_effect && !self.is_stored(versions[n], ids[n], &after) {
                after = known.clone();
            }
            self.after(versions[n], ids[n], after);
        }
        for id in ids {
            self.check(versions[0], id);
        }
    }

    /// A lossy conversion shows what it gives when the object moves. Returns whether everything is
    /// known then.
    fn settle(&mut self, version: usize, id: ObjId) -> bool {
        let is_settled = |world: &World| {
            let known = world.objects.get(&id);
            known.is_none_or(|known| !world.rules().see(version, known).values().any(is_unknown))
        };
        if !is_settled(self) {
            self.migrate(version, id);
        }
        is_settled(self)
    }

    fn store(&mut self, version: usize, id: ObjId) {
        if !self.settle(version, id) {
            return;
        }
        let known = &self.objects[&id];
        let store = self.programs[version].model(known.of_type).unwrap().store;
        let (db, random) = (&self.open[&version], &mut self.random);
        let (new, stored) = db.write(|tx| Ok(store(db, tx, id, random))).unwrap();
        let what = format!("store {new:?} in {id} in {}", self.name(version));
        let (expected, after) = outcome(self.rules().store(version, known, &new), known);
        self.judge(what, expected, stored.map(|()| Expected::Done));
        self.after(version, id, after);
    }

    /// Loads an object to store it later.
    fn load_base(&mut self, version: usize, id: ObjId) {
        let known = &self.objects[&id];
        let of_type = known.of_type;
        let (expected, after) = self.rules().load(version, known);
        let load = self.programs[version].model(of_type).unwrap().load_base;
        let loaded = self.open[&version].write(|tx| Ok(load(tx, id))).unwrap();
        let what = format!("load {id} with its base in {}", self.name(version));
        if let Ok((contents, bytes)) = &loaded {
            let known = Known { of_type, version, contents: contents.clone() };
            let kept = Kept { id, known, bytes: bytes.clone() };
            match self.bases.len() {
                0..4 => self.bases.push(kept),
                n => self.bases[self.random.below(n)] = kept,
            }
        }
        self.judge(what, expected, loaded.map(|(contents, _)| Expected::Contents(contents)));
        self.after(version, id, after);
    }

    /// Stores a value that was loaded earlier, maybe by another version of the program.
    fn store_base(&mut self, version: usize) {
        if self.bases.is_empty() {
            return;
        }
        let at = self.random.below(self.bases.len());
        let Kept { id, known: base, bytes } = self.bases.swap_remove(at);
        let Some(model) = self.programs[version].model(base.of_type) else { return };
        let store = model.store_base;
        let mut seen = self.rules().see_all(version, &base);
        if seen.values().any(is_unknown) || !self.settle(version, id) {
            return;
        }
        let (db, random) = (&self.open[&version], &mut self.random);
        let schema = Base::from_bytes(&bytes).unwrap().schema_id();
        let stored = db.write(|tx| {
            let is_recorded = tx.core().bundle().schema_by_id(schema).is_some();
            Ok((is_recorded, store(db, tx, &bytes, random)))
        });
        let (is_recorded, merged) = stored.unwrap();
        if base.version != version && !is_recorded {
            let [to, from] = [version, base.version]
                .map(|version| &self.programs[version].model(base.of_type).unwrap().version);
            // It is not known what became of fields that only the base has.
            let is_same = |one: &Spec, of: &Version| {
                of.fields
                    .iter()
                    .any(|other| other.name == one.name && other.shape.is_same(&one.shape))
            };
            if !from.fields.iter().all(|field| is_same(field, to)) {
                for field in to.fields.iter().filter(|field| !is_same(field, from)) {
                    seen.insert(field.means, None);
                }
            }
        }
        let what = format!(
            "store {:?} in {id} in {}, loaded in {} (recorded: {is_recorded}) as {:?}",
            merged.wanted,
            self.name(version),
            self.name(base.version),
            base.contents
        );
        let stored = merged.stored.map(Expected::Contents);
        let Some(known) = self.objects.get(&id) else {
            // If the type was removed and recorded again, it has other IDs.
            if !matches!(stored, Err(Error::WrongType { .. })) {
                self.judge(what, Expected::Deleted, stored);
            }
            return;
        };
        let same = seen.iter().map(|(means, content)| Some((*means, content.clone()?)));
        match (same.collect::<Option<_>>(), merged.of_base) {
            (Some(contents), Ok(of_base)) => {
                assert_eq!(of_base, contents, "{:#?}\n{what}", self.log);
            }
            (Some(_), Err(Error::Missing { .. })) | (None, Err(Error::DamagedBase { .. })) => {}
            (same, of_base) => panic!("{:#?}\n{what}: {same:?} {of_base:?}", self.log),
        }
        let (expected, after) = self.rules().store_base(version, known, &seen, &merged.wanted);
        self.judge(what, expected, stored);
        self.after(version, id, after);
    }

    /// Compares the result of an operation with the expected one.
    fn judge(&mut self, what: String, expected: Expected, got: Result<Expected>) {
        self.log.push(match &got {
            Ok(_) => what,
            Err(error) => format!("{what}: {error}"),
        });
        let is_right = match (&expected, &got) {
            (Expected::Done, Ok(Expected::Done)) => true,
            (Expected::Content(one), Ok(Expected::Content(other))) => {
                *one == unknown() || one == other
            }
            (Expected::Contents(one), Ok(Expected::Contents(other))) => {
                one.iter().all(|(means, one)| *one == unknown() || other[means] == *one)
            }
            (Expected::Missing, Err(Error::Missing { .. }))
            | (Expected::WrongTarget, Err(Error::WrongTarget { .. }))
            | (Expected::Deleted, Err(Error::Object(CoreError::DeletedObject { .. }))) => true,
            (Expected::Stays(stays), Err(error)) => is_refusal(stays, error),
            (Expected::Changed(fields), Err(Error::ChangedSince(changed))) => {
                let name = |field: &str| field.split('[').next().map(str::to_owned);
                let found = changed.fields.iter().filter_map(|found| name(&found.field));
                found.collect::<BTreeSet<_>>() == *fields
            }
            _ => false,
        };
        assert!(is_right, "{:#?}\nexpected {expected:?}\ngot {got:?}", self.log);
    }
}

fn is_unknown(content: &Option<Content>) -> bool {
    *content == Some(unknown())
}

/// The result of an operation that gives nothing but its success.
fn outcome(result: std::result::Result<Known, Stays>, old: &Known) -> (Expected, Known) {
    match result {
        Ok(new) => (Expected::Done, new),
        Err(stays) => (Expected::Stays(stays), old.clone()),
    }
}

fn is_refusal(stays: &Stays, error: &Error) -> bool {
    match (stays, error) {
        (Stays::Refused(lost), Error::Refused(refusal)) => {
            let fields = refusal.losses.iter().map(|loss| loss.field.clone());
            fields.collect::<BTreeSet<_>>() == *lost
        }
        (Stays::Upgrade, Error::Upgrade { .. })
        | (Stays::NotAllowed, Error::Object(CoreError::InvalidValue { .. }))
        | (Stays::TooLong, Error::Object(CoreError::KeyTooLong { .. })) => true,
        _ => false,
    }
}
