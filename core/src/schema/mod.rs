//! Schemas: their model, XML form, identity, and the tables that record them.
