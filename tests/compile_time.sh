#!/usr/bin/env bash
# How long a program with 50 models of 12 fields takes to build again after a change of one model:
# `tests/compile_time.sh [MODELS] [FOLDER]`. Makes the program in the folder, which stays for more runs.
set -euo pipefail
core=$(cd "$(dirname "$0")/../core" && pwd)
models=${1:-50}
folder=${2:-$(mktemp -d)}
mkdir -p "$folder/src"
cp "$core/../Cargo.lock" "$folder/Cargo.lock"
cat > "$folder/Cargo.toml" <<END
[package]
name = "many-models"
version = "0.1.0"
edition = "2024"
publish = false

[dependencies]
permazen = { path = "$core" }

[workspace]
END

# model NUMBER FIELD: a module with one model; FIELD is the name of its last field.
model() {
    local next=$(( ($1 + 1) % models ))
    cat > "$folder/src/model$1.rs" <<END
use permazen::{Counter, PermazenObject, Ref};
#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(composite(name = "byNameAge", fields(name, age)))]
pub struct Model$1 {
    #[permazen(indexed, unique)]
    pub name: String,
    pub age: i32,
    pub nick: Option<String>,
    #[permazen(indexed)]
    pub size: i64,
    pub weight: f64,
    pub active: bool,
    #[permazen(inverse_delete = "nullify")]
    pub next: Option<Ref<super::model$next::Model$next>>,
    pub hits: Counter,
    #[permazen(element(indexed))]
    pub tags: Vec<String>,
    pub words: std::collections::BTreeSet<String>,
    pub scores: std::collections::BTreeMap<String, i32>,
    pub $2: Option<i32>,
}

pub fn use_it(tx: &permazen::Tx) -> permazen::Result<()> {
    let object = tx.create(Model$1::default())?;
    object.set_name("a")?;
    object.set_$2(object.age()?)?;
    tx.index(Model$1::NAME)?.get("a")?.count()?;
    println!("{:?}", object.load()?);
    Ok(())
}
END
}

{
    for ((n = 0; n < models; n++)); do
        model "$n" last
        echo "mod model$n;"
    done
    echo "fn main() -> permazen::Result<()> {"
    echo "    let store = permazen::kv::memory::MemoryStore::new();"
    echo "    let db = permazen::Permazen::builder(store)"
    for ((n = 0; n < models; n++)); do echo "        .model::<model$n::Model$n>()"; done
    echo "        .build()?;"
    echo "    db.write(|tx| {"
    for ((n = 0; n < models; n++)); do echo "        model$n::use_it(tx)?;"; done
    echo "        Ok(())"
    echo "    })"
    echo "}"
} > "$folder/src/main.rs"

cd "$folder"
export CARGO_INCREMENTAL=1
cargo build --quiet
for field in first second third; do
    model 7 "$field"
    start=$(date +%s.%N)
    cargo build --quiet
    echo "one model changed: $(echo "$(date +%s.%N) - $start" | bc) s (load $(cut -d' ' -f1 /proc/loadavg))"
done
