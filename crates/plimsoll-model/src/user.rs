//! Identity of a user.

/// Number of a user outside of the user namespace that the process is in, by the text of its uid_map (user_namespaces(7): first id inside, first outside, how
/// many). A user whom the map does not name stays who he is.
pub fn outside(inside: u32, map: &str) -> u32 {
    let lines = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    let mut own = lines.filter(|(first, _, number)| inside >= *first && inside - first < *number);
    own.next().map_or(inside, |(first, there, _)| there.saturating_add(inside - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_is_root_in_a_namespace_of_his_own_is_known_by_who_he_is_outside() {
        assert_eq!(outside(0, "         0       1000          1\n"), 1000);
        assert_eq!(outside(1000, "         0          0 4294967295\n"), 1000);
        assert_eq!(outside(7, ""), 7);
        assert_eq!(outside(7, "0 1000 1\n"), 7);
    }
}
