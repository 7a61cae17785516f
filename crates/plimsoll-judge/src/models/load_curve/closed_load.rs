//! The machine repairman: a fixed number of users, each of whom waits for an answer and then thinks (Gross & Harris, *Fundamentals of Queueing
//! Theory*, chapter 2).

/// The mean number of jobs at `servers` that are used to this share while `users` have one job each at most (the machine repairman).
pub fn closed_load(servers: usize, users: usize, utilisation: f64) -> f64 {
    let all = users as f64;
    if utilisation <= 0.0 {
        return 0.0;
    }
    // With fewer users than servers, all of them are served at once.
    if utilisation * servers as f64 >= all {
        return all;
    }
    // The busy share rises with the time that a job takes over the time that a user thinks.
    let (mut low, mut high) = (-30.0_f64, 30.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if repairman(servers, users, middle.exp()).1 < utilisation { low = middle } else { high = middle }
    }
    repairman(servers, users, f64::midpoint(low, high).exp()).0
}

/// The mean number of jobs and the busy share of the servers, for a service that takes `ratio` times as long as a user thinks: the probability of
/// n + 1 jobs is that of n times (users - n)·ratio / min(n + 1, servers).
pub(super) fn repairman(servers: usize, users: usize, ratio: f64) -> (f64, f64) {
    const LARGE: f64 = 1e200;
    let (mut chance, mut sum, mut jobs, mut busy) = (1.0, 1.0, 0.0, 0.0);
    for n in 0..users {
        let serving = (n + 1).min(servers) as f64;
        chance *= (users - n) as f64 * ratio / serving;
        sum += chance;
        jobs += chance * (n + 1) as f64;
        busy += chance * serving;
        if sum > LARGE {
            [&mut chance, &mut sum, &mut jobs, &mut busy].into_iter().for_each(|value| *value /= LARGE);
        }
    }
    (jobs / sum, busy / sum / servers as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repairman_agrees_with_published_values() {
        // One server, five users, a service as long as a fourth of the thinking: p0 = 1/(1 + 1.25 + 1.25 + 0.9375 + 0.46875 + 0.1171875).
        let (jobs, busy) = repairman(1, 5, 0.25);
        let idle = 1.0 / 5.023_437_5;
        assert!((busy - (1.0 - idle)).abs() < 1e-9);
        // Little: the users who think are as many as jobs are done while one thinks.
        assert!((jobs - (5.0 - busy / 0.25)).abs() < 1e-9);
        // As many servers as users: no user waits, and each is busy for ratio / (1 + ratio).
        assert!((closed_load(3, 3, 0.4) - 1.2).abs() < 1e-9);
        // Many users who seldom come are as good as an open queue.
        assert!((closed_load(1, 20_000, 0.5) - 1.0).abs() < 0.01);
    }
}
