//! A whole in parts.

/// One of `number` parts of a whole number, at least 1.
pub(super) fn share(all: u64, place: u32, number: u32) -> u64 {
    let (place, number) = (u64::from(place), u64::from(number));
    (all / number + u64::from(place < all % number)).max(1)
}
