//! The behaviour of object transactions, by the numbers of the behaviour table. Besides, random
//! operations are compared with simple models, and costs are counted.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
mod collection_costs;
mod copying;
mod costs;
mod coverage;
mod creation;
mod damage;
mod deletion;
mod deletion_model;
mod deletion_rule;
mod deletion_scenarios;
mod deletion_steps;
mod deletions_agree;
mod encoded;
mod error_texts;
mod failed_deletions;
mod failures;
mod fields;
mod first_reads;
mod given_content;
mod interference;
mod life_cycle;
mod listeners_after_operations;
mod listeners_in_larger_operations;
mod migration;
mod notifications;
mod peculiar_store;
mod reentrant_closures;
mod registrations;
mod support;

mod collection_models;
mod enumeration;
mod id_sets;
mod index_models;
mod indexes;
mod lists;
mod maps;
mod paths;
mod sets;
mod sorted_puts;
mod stale_entries;
mod store_features;
mod stray_positions;
mod unknown_encodings;
mod unreference;
mod view_costs;
