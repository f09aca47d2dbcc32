//! What goes wrong between a store and its cluster: requests that are lost or refused, servers that
//! have lost something or say nonsense, and encrypted connections.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod encrypted;
mod gone;
mod lost;
mod refused;
mod strange;
