//! By ssh(1).

use crate::effect::word;
use crate::experiment::prelude::*;

/// One machine, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Destinations {
    /// One.
    One(String),
    /// Several, each another machine.
    Several(Vec<String>),
}

impl Destinations {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }

    pub(super) fn of_member(&self, number: u32) -> Self {
        let place = (number as usize).saturating_sub(1);
        self.all().get(place).map_or_else(|| self.clone(), |one| Self::One(one.clone()))
    }
}

pub(super) fn describe(destinations: &Destinations) -> String {
    let all: Vec<String> = destinations.all().iter().map(|one| word(one)).collect();
    format!("reached by ssh {}", all.join(", "))
}

/// A destination is an argument of ssh(1), and part of what its configuration may hand to a shell (`%h`, `ProxyCommand`): only characters that no
/// shell knows.
pub(super) fn objection(destinations: &Destinations) -> Option<(String, &'static str)> {
    const EXPECTED: &str = "such as \"admin@db1\", \"db1\" or \"ssh://admin@db1:2222\"";
    let all = destinations.all();
    if all.is_empty() {
        return Some(("this leads to no machine".into(), EXPECTED));
    }
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | ':' | '/' | '[' | ']');
    let user_or_host_is_option = |one: &str| one.split(['@', '/']).any(|part| part.starts_with('-'));
    let odd = all.iter().find(|one| {
        one.is_empty() || one.len() > 255 || !one.chars().all(plain) || user_or_host_is_option(one)
    });
    if let Some(odd) = odd {
        return Some((format!("{} is no destination for ssh", word(odd)), EXPECTED));
    }
    let twice = all.iter().enumerate().find(|(place, one)| all[..*place].contains(one));
    twice.map(|(_, one)| (format!("{} stands here twice", word(one)), "each machine once"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_nothing_that_ssh_or_a_shell_would_take_for_something_else() {
        let fine =
            ["db1", "admin@db1", "ssh://admin@db1:2222", "admin@192.0.2.7", "root@[2001:db8::1]", "a_b-c.d"];
        for one in fine {
            assert_eq!(objection(&Destinations::One(one.into())), None, "{one}");
        }
        let odd = [
            "",
            "-oProxyCommand=x",
            "a@-oProxyCommand=x",
            "ssh://-oProxyCommand=x",
            "ssh://a@-l",
            "a b",
            "a;b",
            "$(x)",
            "`x`",
            "a\nb",
            "a'b",
            "a%b",
            "a|b",
            "ä",
        ];
        for one in odd {
            assert!(objection(&Destinations::One(one.into())).is_some(), "{one}");
        }
        assert!(objection(&Destinations::Several(Vec::new())).is_some());
        assert!(objection(&Destinations::Several(vec!["a".into(), "b".into(), "a".into()])).is_some());
    }
}
