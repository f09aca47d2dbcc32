//! Damaged databases: what the checker must find in them, and what repair must make of them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use permazen::__internal::schema::inflate;
use permazen::StorageId;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvTransaction, TxOptions};
use permazen::schema::{SchemaIndex, SchemaModel};
use permazen_jsck::{Class, Finding, Options, RepairReport, Report as CheckReport};
use permazen_tests::digest::state_digest;
use permazen_tests::{files, hex};
use serde::Deserialize;

use crate::report::{Outcome, Report, Stop, fail, same};

#[derive(Deserialize)]
struct Base {
    state_digest: String,
    pairs: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    base: String,
    title: String,
    class: String,
    mutations: Vec<Mutation>,
    #[serde(default)]
    options: CaseOptions,
    repair: Demand,
    digest: Option<String>,
    also_acceptable: Option<AlsoAcceptable>,
    #[serde(default)]
    optional_finding: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mutation {
    Del(String),
    Put((String, String)),
}

#[derive(Deserialize, Default)]
struct CaseOptions {
    format_version_override: Option<u32>,
    max_issues: Option<u64>,
    #[serde(default)]
    schema_overrides: BTreeMap<u32, Option<String>>,
    #[serde(default)]
    storage_id_overrides: BTreeMap<u32, Option<String>>,
    #[serde(default)]
    garbage_collect_schemas: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Demand {
    Restores,
    State,
    Unrepairable,
    Legal,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum AlsoAcceptable {
    Restores,
    Refuse,
}

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Checks and repairs every case of `dir`.
pub fn run(dir: &Path, report: &mut Report) {
    let cases: Vec<Case> = match files::json(dir, "cases.json") {
        Ok(cases) => cases,
        Err(error) => return report.case("corruptions", "cases.json", || Err(error.into())),
    };
    if cases.is_empty() {
        report.case("corruptions", "cases.json", || Err(fail("there is no case in it")));
    }
    for file in files::all_below(dir) {
        let base = file
            .strip_prefix("bases/")
            .and_then(|file| file.strip_suffix(".json").or_else(|| file.strip_suffix(".xml")));
        let used = base.is_some_and(|base| cases.iter().any(|case| case.base == base));
        if file != "cases.json" && !used && !files::is_for_people(&file) {
            report.case("corruptions", &file, || Err(fail("no case uses this file")));
        }
    }
    let mut bases: HashMap<String, Result<(Base, Pairs), String>> = HashMap::new();
    for case in &cases {
        let base = bases
            .entry(case.base.clone())
            .or_insert_with(|| read_base(&dir.join("bases"), &case.base));
        report.case("corruptions", &format!("{} {}", case.id, case.title), || match base {
            Ok((base, pairs)) => case.run(base, pairs),
            Err(error) => Err(fail(error.clone())),
        });
    }
}

fn read_base(dir: &Path, name: &str) -> Result<(Base, Pairs), String> {
    let base: Base = files::json(dir, &format!("{name}.json")).map_err(|e| e.to_string())?;
    let mut pairs = Pairs::new();
    for (key, value) in &base.pairs {
        pairs.insert(bytes(key)?, bytes(value)?);
    }
    Ok((base, pairs))
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    hex::decode(text).ok_or_else(|| format!("{text:?} is not hex"))
}

impl Case {
    fn run(&self, base: &Base, base_pairs: &Pairs) -> Outcome {
        let mut damaged = base_pairs.clone();
        for mutation in &self.mutations {
            match mutation {
                Mutation::Del(key) => damaged.remove(&bytes(key).map_err(fail)?),
                Mutation::Put((key, value)) => {
                    damaged.insert(bytes(key).map_err(fail)?, bytes(value).map_err(fail)?)
                }
            };
        }
        let options = self.options()?;
        let store = MemoryStore::new();
        let mut kv = store.begin(&TxOptions::writing())?;
        for (key, value) in &damaged {
            kv.put(key, value)?;
        }
        self.check(&*kv, &options)?;
        same("pairs after the check", &all(&*kv)?, &damaged)?;

        let (repair, pairs) = mend(&mut *kv, &options)?;
        self.compare(&repair, &pairs, &damaged, base, base_pairs)?;
        if repair.passes > 0 && self.options.max_issues.is_none() {
            let (again, _) = mend(&mut *kv, &Options::default())?;
            let refused = self.also_acceptable == Some(AlsoAcceptable::Refuse);
            if !refused && !self.is_empty_database(&again.found) {
                same("findings after repair", again.found.findings, 0)?;
            }
            same("pairs after another repair", &all(&*kv)?, &pairs)?;
            if !refused {
                same("pairs after a repair bit by bit", &bit_by_bit(&damaged, options)?, &pairs)?;
            }
        }
        Ok(())
    }

    fn is_empty_database(&self, report: &CheckReport) -> bool {
        self.base == "empty" && report.complete
    }

    fn options(&self) -> Result<Options, Stop> {
        let mut options = Options::default();
        options.format_version = self.options.format_version_override;
        options.max_findings = self.options.max_issues.unwrap_or(u64::MAX);
        options.collect_schemas = self.options.garbage_collect_schemas;
        for (&index, xml) in &self.options.schema_overrides {
            let index = SchemaIndex::new(index).ok_or_else(|| fail("schema index"))?;
            let model = match xml {
                None => None,
                Some(xml) => {
                    Some(SchemaModel::from_xml(xml.as_bytes()).map_err(|e| fail(e.to_string()))?)
                }
            };
            options.schemas.insert(index, model);
        }
        for (&id, schema_id) in &self.options.storage_id_overrides {
            let id = StorageId::new(id).ok_or_else(|| fail("storage id"))?;
            let schema_id = match schema_id {
                None => None,
                Some(text) => Some(text.parse().map_err(|_| fail("schema id"))?),
            };
            options.storage_ids.insert(id, schema_id);
        }
        Ok(options)
    }

    /// The findings without repair.
    fn check(&self, kv: &dyn KvRead, options: &Options) -> Outcome {
        let mut found = Vec::new();
        let report = permazen_jsck::check(kv, options, &mut |finding| found.push(finding.clone()))
            .map_err(|e| fail(format!("check: {e}")))?;
        if self.repair == Demand::Legal {
            let listed: Vec<_> = found.iter().map(ToString::to_string).collect();
            if report.findings > 0 || (report.warnings > 0 && !self.optional_finding) {
                return Err(fail(format!("findings in a legal database: {listed:#?}")));
            }
            return Ok(());
        }
        // C055b names the missing entry of the object schema index `missing-index-entry`; C111u and
        // X018 name it `missing-schema-index-entry`. README does not say more. If a case asks for
        // the former, both are accepted, as the object schema index is an index too.
        let class = |finding: &Finding| match finding.class {
            Class::MissingSchemaIndexEntry if self.class == Class::MissingIndexEntry.as_str() => {
                Class::MissingIndexEntry
            }
            class => class,
        };
        if found.iter().any(|finding| class(finding).as_str() == self.class) {
            return Ok(());
        }
        let listed: Vec<_> = found.iter().map(ToString::to_string).collect();
        Err(fail(format!("no finding of class {}, but: {listed:#?}", self.class)))
    }

    fn compare(
        &self,
        repair: &RepairReport,
        pairs: &Pairs,
        damaged: &Pairs,
        base: &Base,
        base_pairs: &Pairs,
    ) -> Outcome {
        let unchanged = pairs == damaged;
        let restored = || restored(pairs, base_pairs);
        match (self.repair, self.also_acceptable) {
            (Demand::Legal, _) => {
                same("findings of repair", repair.found.findings, 0)?;
                same("pairs after repair", pairs, damaged)
            }
            (Demand::Unrepairable, Some(AlsoAcceptable::Restores)) if !unchanged => restored(),
            (Demand::Unrepairable, _) => {
                same("pairs after a refused repair", pairs, damaged)?;
                same("is anything unrepairable", repair.left.unrepairable > 0, true)
            }
            (Demand::State, Some(AlsoAcceptable::Refuse)) if unchanged => Ok(()),
            (Demand::Restores, _) if self.options.max_issues.is_none() => {
                same(
                    "digest of the base",
                    &base.state_digest,
                    self.digest.as_ref().unwrap_or(&base.state_digest),
                )?;
                restored()
            }
            _ => {
                let store = MemoryStore::new();
                let mut kv = store.begin(&TxOptions::writing())?;
                for (key, value) in pairs {
                    kv.put(key, value)?;
                }
                let digest = state_digest(&*kv)?.sha256;
                match &self.digest {
                    Some(expected) if *expected != digest => Err(fail(format!(
                        "digest {digest}, not {expected}; {}",
                        difference(pairs, damaged)
                    ))),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn mend(
    kv: &mut (dyn KvTransaction + Send),
    options: &Options,
) -> Result<(RepairReport, Pairs), Stop> {
    let repair = permazen_jsck::repair(kv, options, &mut |_| {}, &mut |_| {}, &mut |_| Ok(()))
        .map_err(|e| fail(format!("repair: {e}")))?;
    Ok((repair, all(kv)?))
}

/// The result of repairing one finding after the other.
fn bit_by_bit(damaged: &Pairs, mut options: Options) -> Result<Pairs, Stop> {
    options.max_findings = 1;
    let store = MemoryStore::new();
    let mut kv = store.begin(&TxOptions::writing())?;
    for (key, value) in damaged {
        kv.put(key, value)?;
    }
    let mut left = 10_000;
    loop {
        let (repair, pairs) = mend(&mut *kv, &options)?;
        if repair.found.findings == 0 {
            return Ok(pairs);
        }
        // An override by hand would be a finding each time.
        options.schemas.clear();
        options.storage_ids.clear();
        left -= 1;
        same("does it come to an end", left > 0, true)?;
    }
}

fn all(kv: &(impl KvRead + ?Sized)) -> Result<Pairs, Stop> {
    let mut pairs = Pairs::new();
    for pair in kv.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        pairs.insert(key.into_owned(), value.into_owned());
    }
    Ok(pairs)
}

/// Equal pair by pair; schema table values are compared inflated.
fn restored(pairs: &Pairs, base: &Pairs) -> Outcome {
    let plain = |pairs: &Pairs| -> Pairs {
        pairs
            .iter()
            .map(|(key, value)| {
                let inflated = key.starts_with(&[0, 1]).then(|| inflate(value).ok()).flatten();
                (key.clone(), inflated.unwrap_or_else(|| value.clone()))
            })
            .collect()
    };
    let (pairs, base) = (plain(pairs), plain(base));
    if pairs == base { Ok(()) } else { Err(fail(difference(&pairs, &base))) }
}

fn difference(found: &Pairs, expected: &Pairs) -> String {
    let surplus = found.iter().filter(|&(key, value)| expected.get(key) != Some(value));
    let lacking = expected.iter().filter(|(key, _)| !found.contains_key(*key));
    let shown = |sign: &str, key: &[u8], value: &[u8]| {
        format!(
            "{sign} {}={}",
            hex::encode(key),
            hex::encode(value).get(..80.min(value.len() * 2)).unwrap_or_default()
        )
    };
    let lines: Vec<_> = surplus
        .map(|(key, value)| shown("+", key, value))
        .chain(lacking.map(|(key, value)| shown("-", key, value)))
        .take(12)
        .collect();
    format!("pairs differ: {lines:#?}")
}
