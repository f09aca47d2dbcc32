# Builds the fuzz targets without cargo-fuzz; for the scripts beside it.

# build_targets: afterwards `targets` holds their names, `binaries` is where they are.
build_targets() {
  local host coverage target_dir file
  host=$(rustc -vV | sed -n 's/^host: //p')
  # What cargo-fuzz passes with --sanitizer=none: coverage counters for libFuzzer.
  coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1"
  target_dir=${CARGO_TARGET_DIR:-../target}/fuzz
  CARGO_TARGET_DIR=$target_dir RUSTFLAGS=$(echo $coverage) \
    cargo build --quiet --locked --release --target "$host"
  binaries=$target_dir/$host/release
  targets=()
  for file in fuzz_targets/*.rs; do
    targets+=("$(basename "$file" .rs)")
  done
}
