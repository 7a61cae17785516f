//! The CPUs of a host: a number of them, or certain ones.

use super::Host;
use crate::experiment::prelude::*;

/// CPUs of the machine: how many, or which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cpus {
    /// This number (1 or more). Those are taken that the fewest hosts have, so that hosts share none as long as there are enough.
    Number(u32),
    /// These, by number; all when empty.
    These(Vec<u32>),
}

impl Default for Cpus {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl Cpus {
    /// Whether nothing is said of CPUs.
    pub fn are_all(&self) -> bool {
        matches!(self, Self::These(these) if these.is_empty())
    }
}

/// A host that wants CPUs which the machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{host}` is to have {wanted}, and this machine has {here}")]
pub struct NoSuchCpus {
    host: String,
    wanted: String,
    here: String,
}

/// Which of the CPUs that may be used each host gets; an empty list for a host that may use all.
///
/// # Errors
/// When a host wants more than there are, or one that is not there.
pub fn assign(
    hosts: &BTreeMap<String, Host>,
    usable: &[u32],
) -> Result<BTreeMap<String, Vec<u32>>, NoSuchCpus> {
    let error = |host: &String, wanted: String| {
        let here: Vec<String> = usable.iter().map(ToString::to_string).collect();
        NoSuchCpus {
            host: host.clone(),
            wanted,
            here: format!("{} that may be used ({})", usable.len(), here.join(", ")),
        }
    };
    let mut users: BTreeMap<u32, u32> = usable.iter().map(|cpu| (*cpu, 0)).collect();
    let mut assigned = BTreeMap::new();
    for (name, host) in hosts {
        let Cpus::These(these) = &host.cpus else { continue };
        // The CPUs of another machine are not known here.
        for cpu in these.iter().filter(|_| !host.kind.own().kernel) {
            *users.get_mut(cpu).ok_or_else(|| error(name, format!("the CPU {cpu}")))? += 1;
        }
        assigned.insert(name.clone(), these.clone());
    }
    for (name, host) in hosts {
        let Cpus::Number(number) = host.cpus else { continue };
        if host.kind.own().kernel {
            // Its processors are its own.
            assigned.insert(name.clone(), Vec::new());
            continue;
        }
        let mut by_users: Vec<u32> = users.keys().copied().collect();
        by_users.sort_by_key(|cpu| users[cpu]);
        let number = number as usize;
        if number > by_users.len() {
            return Err(error(name, format!("{number} CPUs")));
        }
        by_users.truncate(number);
        by_users.iter().for_each(|cpu| *users.entry(*cpu).or_default() += 1);
        assigned.insert(name.clone(), by_users);
    }
    Ok(assigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(cpus: &[(&str, Cpus)]) -> BTreeMap<String, Host> {
        let host = |cpus: &Cpus| Host { cpus: cpus.clone(), ..Host::default() };
        cpus.iter().map(|(name, cpus)| ((*name).to_owned(), host(cpus))).collect()
    }

    #[test]
    fn a_number_of_cpus_is_taken_where_the_fewest_have_them() {
        let wanted = hosts(&[
            ("a", Cpus::Number(1)),
            ("b", Cpus::Number(2)),
            ("c", Cpus::These(vec![0])),
            ("d", Cpus::default()),
        ]);
        let found = assign(&wanted, &[0, 1, 2, 3]).unwrap();
        let of = |name: &str| found[name].as_slice();
        assert_eq!((of("a"), of("b"), of("c"), of("d")), (&[1][..], &[2, 3][..], &[0][..], &[][..]));
        // With fewer than are wanted they are shared.
        let crowded = assign(&hosts(&[("a", Cpus::Number(1)), ("b", Cpus::Number(2))]), &[4, 7]).unwrap();
        assert_eq!((crowded["a"].as_slice(), crowded["b"].as_slice()), (&[4][..], &[7, 4][..]));
    }

    #[test]
    fn cpus_that_the_machine_does_not_have_are_named() {
        let error = assign(&hosts(&[("a", Cpus::Number(3))]), &[0, 1]).unwrap_err().to_string();
        assert_eq!(error, "`a` is to have 3 CPUs, and this machine has 2 that may be used (0, 1)");
        let error = assign(&hosts(&[("a", Cpus::These(vec![5]))]), &[0, 1]).unwrap_err().to_string();
        assert!(error.starts_with("`a` is to have the CPU 5"), "{error}");
    }
}
