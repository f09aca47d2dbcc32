//! The events that listeners and callbacks got, made comparable.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The events in an order that does not depend on the order of listeners. Adjacent events that
/// differ only in listener and referrers are sorted by listener. Where the whole order is
/// undefined, all are sorted by their text.
pub fn in_order(events: Vec<Value>, unordered: bool) -> Vec<Value> {
    let mut events = events;
    if unordered {
        events.sort_by_cached_key(Value::to_string);
        return events;
    }
    let mut start = 0;
    while start < events.len() {
        let end = run_end(&events, start);
        events[start..end].sort_by_cached_key(|event| listener(event).to_owned());
        start = end;
    }
    events
}

/// The end of the run that starts at `start`: a listener's second event begins another one.
fn run_end(events: &[Value], start: usize) -> usize {
    let change = what_happened(&events[start]);
    let mut heard = BTreeSet::from([listener(&events[start])]);
    let mut end = start + 1;
    while end < events.len()
        && what_happened(&events[end]) == change
        && heard.insert(listener(&events[end]))
    {
        end += 1;
    }
    end
}

fn listener(event: &Value) -> &str {
    event.get("listener").and_then(Value::as_str).unwrap_or_default()
}

fn what_happened(event: &Value) -> Map<String, Value> {
    let mut members = event.as_object().cloned().unwrap_or_default();
    members.remove("referrers");
    members.remove("listener");
    members
}
