//! Erlang's formula of 1917 for jobs that wait.

/// The chance that a job must wait at `servers` offered `traffic` erlangs, below `servers` (Erlang 1917), by the recursion of Erlang B.
pub fn erlang_c(servers: usize, traffic: f64) -> f64 {
    let blocking = (1..=servers).fold(1.0, |b, k| traffic * b / (k as f64 + traffic * b));
    let utilisation = traffic / servers as f64;
    blocking / (1.0 - utilisation * (1.0 - blocking))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erlang_c_agrees_with_published_values() {
        // One server: ρ. Two servers: ρ²·2/(1+ρ). Ten servers at 8 erlangs: 0.409 in the usual tables.
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((erlang_c(10, 8.0) - 0.409).abs() < 5e-4);
    }
}
