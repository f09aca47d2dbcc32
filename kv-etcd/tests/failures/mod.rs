//! Failures between a store and its cluster: requests that are lost or refused, servers that have
//! lost something or say nonsense, and encrypted connections.

mod encrypted;
mod gone;
mod lost;
mod refused;
mod strange;
