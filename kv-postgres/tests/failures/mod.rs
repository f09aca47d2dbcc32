//! Failures between a store and its server: connections that are lost or refused, servers that say
//! nothing or nonsense, errors, and poolers between them.

mod encrypted;
mod lost;
mod pooled;
mod raised;
mod refused;
mod silent;
mod strange;
