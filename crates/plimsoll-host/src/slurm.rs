//! Common parts of all calls of Slurm's own commands.

use std::process::Command;

/// Variables that also count outside of a job: the cluster's configuration, and the user's credentials.
const KEPT: [&str; 2] = ["SLURM_CONF", "SLURM_JWT"];

/// Removes the variables of a surrounding job, whose options would also apply to new requests.
pub(crate) fn leave_job(command: &mut Command) {
    if std::env::var_os("SLURM_JOB_ID").is_none() {
        return;
    }
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_str().is_some_and(is_of_job)) {
        command.env_remove(name);
    }
}

fn is_of_job(name: &str) -> bool {
    name.starts_with("SLURM") && !KEPT.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_was_given_is_left_behind_and_the_cluster_is_not() {
        let of_job: Vec<_> = ["SLURM_JOB_ID", "SLURMD_NODENAME", "SLURM_MEM_PER_CPU"]
            .into_iter()
            .filter(|name| is_of_job(name))
            .collect();
        assert_eq!(of_job.len(), 3);
        assert!(!["SLURM_CONF", "SLURM_JWT", "SALLOC_PARTITION", "PATH"].into_iter().any(is_of_job));
    }
}
