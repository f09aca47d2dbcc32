//! The program `jsck`: what it prints, what it does with files, terminals and signals, and how
//! another program embeds it.

mod embedded;
mod escapes;
mod files;
mod hostile;
mod interrupts;
mod kills;
mod options;
mod order;
mod output;
mod overrides;
mod servers;
mod terminal;
mod undo;
