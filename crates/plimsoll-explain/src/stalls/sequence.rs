//! Arithmetic on sequence numbers, which wrap (RFC 1982).

/// Whether `a` comes after `b`.
#[inline]
pub(super) const fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// Whether `a` comes before `b`.
#[inline]
pub(super) const fn before(a: u32, b: u32) -> bool {
    after(b, a)
}

/// How far `a` is beyond `b`; zero if it is not.
#[inline]
pub(super) const fn beyond(a: u32, b: u32) -> u32 {
    if after(a, b) { a.wrapping_sub(b) } else { 0 }
}
