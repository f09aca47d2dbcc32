//! Statements that read: what they find, what they cost, their plans and their mistakes.

#[allow(dead_code)]
mod database;
mod decimals;
mod find;
mod guide;
mod large;
mod limits;
mod long;
mod mistakes;
mod numbers;
mod plans;
