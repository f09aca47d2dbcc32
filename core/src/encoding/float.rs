//! Floating-point numbers as sortable bits.
//!
//! The order is −∞ < … < −0.0 < 0.0 < … < +∞ < NaN. All NaNs become the same.

use std::cmp::Ordering;

/// Bits whose unsigned order is the order of the numbers.
#[inline]
pub(crate) fn sort_bits_f32(value: f32) -> u32 {
    // Java writes all NaNs as the same bits.
    let bits = if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
    // Positive numbers come after all negative ones, so their sign becomes 1; negative ones are
    // inverted.
    if bits >> 31 == 0 { bits ^ (1 << 31) } else { !bits }
}

/// The number that has these sortable bits. Every pattern of bits is a number.
#[inline]
pub(crate) fn from_sort_bits_f32(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits ^ (1 << 31) } else { !bits })
}

/// Does the same as [`sort_bits_f32`] for an `f64`.
#[inline]
pub(crate) fn sort_bits_f64(value: f64) -> u64 {
    let bits = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
    if bits >> 63 == 0 { bits ^ (1 << 63) } else { !bits }
}

/// Does the same as [`from_sort_bits_f32`] for an `f64`.
#[inline]
pub(crate) fn from_sort_bits_f64(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits })
}

pub(crate) fn compare_f32(a: f32, b: f32) -> Ordering {
    sort_bits_f32(a).cmp(&sort_bits_f32(b))
}

pub(crate) fn compare_f64(a: f64, b: f64) -> Ordering {
    sort_bits_f64(a).cmp(&sort_bits_f64(b))
}
