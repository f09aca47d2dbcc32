//! Consistency checker of Permazen databases.
