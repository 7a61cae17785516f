//! By Slurm: its controller chooses the machine.

use std::fmt::Write as _;

use crate::effect::word;
use crate::experiment::prelude::*;

/// Request to Slurm. Settings left out are as the cluster's configuration, or the user's `SALLOC_...` and `SBATCH_...` variables, have them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Slurm {
    /// The partition, or several (`"short,long"`).
    pub partition: Option<String>,
    /// Features that the machine has to have (`"skylake&ib"`).
    pub constraint: Option<String>,
    /// Whose time it is.
    pub account: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// This machine, by Slurm's name of it.
    pub nodelist: Option<String>,
    /// How long the machine may be kept, 1 minute at least; Slurm takes it back then.
    pub time_limit: Option<Span>,
    /// How long the machine may be waited for; as long as it takes where nothing is said.
    pub start_within: Option<Span>,
    /// Whether jobs of others may run on the machine at the same time. Unless that is said, the whole machine is asked for (`--exclusive --mem=0`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Further options, each as on the command line: `["--gres=nic:1"]`. They come last, and so win.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Of a time limit, in seconds: Slurm counts in minutes.
const SHORTEST_LIMIT_S: u64 = 60;

impl Slurm {
    /// The options that ask for one machine, for salloc(1) and sbatch(1) alike.
    pub fn words(&self) -> Vec<String> {
        let said = self.said().map(|(key, value)| format!("--{key}={value}"));
        let limit = self.time_limit.map(|limit| format!("--time={}", limit.0.as_secs().div_ceil(60)));
        let whole: &[&str] = if self.shared { &[] } else { &["--exclusive", "--mem=0"] };
        let whole = whole.iter().map(ToString::to_string);
        let fixed = ["--nodes=1".to_owned()];
        fixed.into_iter().chain(said).chain(limit).chain(whole).chain(self.options.iter().cloned()).collect()
    }

    /// Settings of a single word, each with Slurm's own name for it.
    fn said(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("partition", &self.partition),
            ("constraint", &self.constraint),
            ("account", &self.account),
            ("qos", &self.qos),
            ("nodelist", &self.nodelist),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }

    /// First senseless part, and the expected one.
    pub fn objection(&self) -> Option<(String, &'static str)> {
        if let Some((key, value)) = self.said().find(|(_, value)| !is_plain(value)) {
            return Some((format!("{} is no {key} of Slurm", word(value)), "a word without blanks"));
        }
        if self.time_limit.is_some_and(|limit| limit.0.as_secs() < SHORTEST_LIMIT_S) {
            return Some(("this time limit is too short".into(), "1 minute at least"));
        }
        let odd = self.options.iter().find(|option| !option.starts_with("--") || !is_plain(option));
        odd.map(|odd| {
            let expected = "a long option with its value in one word, such as \"--gres=nic:1\"";
            (format!("{} is no option of Slurm", word(odd)), expected)
        })
    }

    /// The request in words, for the middle of a sentence: `Slurm (partition main, constraint ib)`.
    pub fn describe(&self) -> String {
        let mut parts: Vec<String> =
            self.said().map(|(key, value)| format!("{key} {}", word(value))).collect();
        parts.extend(self.options.iter().map(|option| word(option)));
        if self.shared {
            parts.push("shared with others".into());
        }
        let mut text = "Slurm".to_owned();
        if !parts.is_empty() {
            // Writing to a string cannot fail.
            write!(text, " ({})", parts.join(", ")).ok();
        }
        text
    }
}

/// A word that a command line of Slurm takes for one value.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.len() <= 1024 && !word.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_for_in_slurms_own_words_and_options_win() {
        let slurm = Slurm {
            partition: Some("main".into()),
            constraint: Some("ib&skylake".into()),
            time_limit: Some(Span::secs(61)),
            options: vec!["--mem=4G".into()],
            ..Slurm::default()
        };
        let expected = [
            "--nodes=1",
            "--partition=main",
            "--constraint=ib&skylake",
            "--time=2",
            "--exclusive",
            "--mem=0",
            "--mem=4G",
        ];
        assert_eq!(slurm.words(), expected);
        assert_eq!(slurm.describe(), "Slurm (partition main, constraint ib&skylake, --mem=4G)");
        let shared = Slurm { shared: true, ..Slurm::default() };
        assert_eq!(shared.words(), ["--nodes=1"]);
        assert_eq!(Slurm::default().describe(), "Slurm");
    }

    #[test]
    fn what_is_no_word_or_no_option_is_refused() {
        let fine =
            Slurm { partition: Some("a,b".into()), options: vec!["--gres=nic:1".into()], ..Slurm::default() };
        assert_eq!(fine.objection(), None);
        let odd = [
            Slurm { partition: Some("a b".into()), ..Slurm::default() },
            Slurm { account: Some(String::new()), ..Slurm::default() },
            Slurm { nodelist: Some("n\n1".into()), ..Slurm::default() },
            Slurm { time_limit: Some(Span::secs(59)), ..Slurm::default() },
            Slurm { options: vec!["/bin/sh".into()], ..Slurm::default() },
            Slurm { options: vec!["--gres nic".into()], ..Slurm::default() },
        ];
        for slurm in odd {
            assert!(slurm.objection().is_some(), "{slurm:?}");
        }
    }
}
