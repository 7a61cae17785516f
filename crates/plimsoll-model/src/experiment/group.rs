//! Groups of hosts: `count = 20` on a host makes twenty alike.
//!
//! The first member has the group's name, the others that name and a number. Loads from the group run on all of them; links that join the
//! group to a host join each of them to it.

use super::problem::{Checked, Part, in_range, problem};
use super::{Experiment, Host};

/// The most hosts of a group that this machine is made into.
const MOST: u32 = 1000;
/// The most of a group of machines that are there already.
const MOST_REACHED: u32 = 1000;

/// The name of a member of a group, from 1.
fn member(group: &str, number: u32) -> String {
    if number == 1 { group.to_owned() } else { format!("{group}{number}") }
}

impl Experiment {
    /// The hosts of a group, the one of its name first; a host that is none is alone.
    pub fn members<'e>(&'e self, host: &'e str) -> Vec<&'e str> {
        let others = self.hosts.iter().filter(|(_, it)| it.member_of.as_deref() == Some(host));
        [host].into_iter().chain(others.map(|(name, _)| name.as_str())).collect()
    }

    /// The hosts as the file has them: of a group the first.
    pub fn declared_hosts(&self) -> impl Iterator<Item = (&String, &Host)> {
        self.hosts.iter().filter(|(_, host)| host.member_of.is_none())
    }

    /// Makes the other members of each group, and their links.
    pub(super) fn make_groups(&mut self) {
        let groups: Vec<(String, u32)> =
            self.hosts.iter().filter_map(|(name, host)| Some((name.clone(), host.count?))).collect();
        for (group, count) in groups {
            let links: Vec<_> =
                self.links.iter().filter(|link| link.between.contains(&group)).cloned().collect();
            for number in 2..=count {
                let name = member(&group, number);
                let like = &self.hosts[&group];
                let reach = like.reach.as_ref().map(|reach| reach.of_member(number));
                let host = Host { count: None, member_of: Some(group.clone()), reach, ..like.clone() };
                self.hosts.insert(name.clone(), host);
                for link in &links {
                    let end = |end: &String| if *end == group { name.clone() } else { end.clone() };
                    let mut link = link.clone();
                    link.between = link.between.each_ref().map(end);
                    // Chance is another on each of them.
                    link.seed = link.seed.map(|seed| seed.wrapping_add(u64::from(number)));
                    self.links.push(link);
                }
            }
            if let Some(first) = self.hosts.get_mut(&group) {
                first.reach = first.reach.as_ref().map(|reach| reach.of_member(1));
            }
            let more: Vec<String> = (2..=count).map(|number| member(&group, number)).collect();
            for nat in self.hosts.values_mut().filter_map(|host| host.nat.as_mut()) {
                if nat.of.contains(&group) {
                    nat.of.extend(more.iter().cloned());
                }
            }
        }
    }
}

/// Groups carry loads only: checks that no service or link needs a single one of their hosts.
pub(super) fn check(experiment: &Experiment) -> Checked {
    for (name, host) in &experiment.hosts {
        let Some(count) = host.count else { continue };
        let here = || path!["hosts", name, "count"];
        let most = if host.reach.is_some() { MOST_REACHED } else { MOST };
        in_range(u64::from(count), 1, u64::from(most), here())?;
        if let Some(taken) =
            (2..=count).map(|number| member(name, number)).find(|it| experiment.hosts.contains_key(it))
        {
            let message = format!("a host of this group would be called `{taken}`, as another is");
            return Err(problem(here(), message, "a group or a host of another name"));
        }
        if name.len() > 8 && count > 1 {
            let message = format!("`{name}` is too long for the name of a group");
            return Err(problem(here(), message, "a name of at most 8 letters, digits, `-` or `_`"));
        }
    }
    let group = |host: &String| experiment.hosts.get(host).is_some_and(|host| host.count.is_some());
    if let Some((name, service)) = experiment.services.iter().find(|(_, service)| group(&service.on)) {
        let message = format!("`{}` is a group of hosts, and a service runs on one", service.on);
        return Err(problem(path!["services", name, "on"], message, "a host without `count`"));
    }
    if let Some((name, volume)) = experiment.volumes.iter().find(|(_, volume)| group(&volume.on)) {
        let message = format!("`{}` is a group of hosts, and a volume is of one", volume.on);
        return Err(problem(path!["volumes", name, "on"], message, "a host without `count`"));
    }
    for (place, link) in experiment.links.iter().enumerate() {
        if link.between.iter().all(group) {
            let message = "the link joins two groups";
            return Err(problem(
                path!["links", place, "between"],
                message,
                "a group and a host without `count`",
            ));
        }
    }
    for (name, load) in experiment.loads.iter().filter(|(_, load)| group(&load.from)) {
        if !load.kind.runs_on_groups() {
            let message = format!("`{}` is a group of hosts, and such a load runs on one", load.from);
            return Err(problem(path!["loads", name, "from"], message, "a host without `count`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    const TEXT: &str = r#"
question = "?"
[hosts.bots]
count = 3
[hosts.wall]
forward = true
[hosts.web]
[[links]]
between = ["bots", "wall"]
delay = "1ms"
[[links]]
between = ["wall", "web"]
[services.site]
on = "web"
web = {}
[loads.flood]
from = "bots"
to = "site"
http = { connections = 10 }
[[phases]]
name = "all"
measure = "flood"
"#;

    #[test]
    fn a_group_has_hosts_and_links_of_its_own_and_loads_come_from_all_of_it() {
        let experiment = parse(TEXT, &[]).unwrap();
        assert_eq!(experiment.members("bots"), ["bots", "bots2", "bots3"]);
        assert_eq!(experiment.members("web"), ["web"]);
        assert_eq!(experiment.hosts.len(), 5);
        assert_eq!(experiment.declared_hosts().count(), 3);
        let ends: Vec<_> = experiment.links.iter().map(|link| link.between[0].as_str()).collect();
        assert_eq!(ends, ["bots", "wall", "bots2", "bots3"]);
        assert!(experiment.links[2].delay.is_some());
    }

    #[test]
    fn what_cannot_come_from_a_group_is_refused() {
        let refused = |from: &str, to: &str| parse(&TEXT.replace(from, to), &[]).unwrap_err().to_string();
        assert!(refused("on = \"web\"", "on = \"bots\"").contains("a service runs on one"));
        assert!(refused("[hosts.web]", "[hosts.web]\ncount = 2").contains("a service runs on one"));
        assert!(refused("count = 3", "count = 0").contains("out of range"));
        assert!(refused("[hosts.web]", "[hosts.web]\n[hosts.bots2]").contains("would be called `bots2`"));
        let messaging = "http = { connections = 10 }";
        assert!(refused(messaging, "messaging = {}").contains("such a load runs on one"));
    }
}
