//! Value encodings: values to sortable bytes and back.
