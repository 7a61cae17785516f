//! Saved output of other programs with any damage: read or refused, and never wrong without a message.

use plimsoll_import::saved::{self, Saved};
use proptest::prelude::*;

const VMSTAT: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu-------
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu
 5  0      0 20000000  40000 2000000    0    0    26   250 1800    6 30 10 60  0  0  0
 4  0      0 20000000  40000 2000000    0    0    0    0 1000  2000 40 20 35  5  0  0
 4  0      0 20000000  40000 2000000    0    0    0    0 1000  2000 40 21 34  5  0  0
 4  0      0 20000000  40000 2000000    0    0    0    0 1000  2000 40 22 33  5  0  0
";
const SAR: &str = "\
Linux 6.1.0-18-cloud-amd64 (relay) \t11/23/26 \t_x86_64_\t(2 CPU)

21:24:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
21:24:02        all     12,00      0,00     61,00      0,00      0,00     27,00
21:24:03        all     11,00      0,00     63,00      0,00      0,00     26,00
21:24:04        all     11,00      0,00     65,00      0,00      0,00     24,00

21:24:01     DEV       tps     rkB/s
21:24:02     vda     10.00      4.00
21:24:03     vda     11.00      4.00
21:24:04     vda     12.00      4.00
Average:     vda     11.00      4.00
";
const PERF: &str = "\
relay  1234/1234 [001]  5678.901234:     250000 cpu-clock:pppH:
\tffffffff81a2b3c4 fib_rules_lookup+0x84 ([kernel.kallsyms])
\tffffffff81a2b3d4 ip_route_output_flow+0x14 ([kernel.kallsyms])
\t    7f0012345678 main+0x10 (/usr/bin/relay)

a name 12 [000]  5678.951234:     250000 cpu-clock:pppH:
\tffffffff81a2b3c4 fib_rules_lookup+0x84 ([kernel.kallsyms])

swapper     0 [000]  5679.001234:     250000 cpu-clock:pppH:
\tffffffff81000000 default_idle+0x4 ([kernel.kallsyms])
";
/// Replacements for words.
const ODD: [&str; 16] = [
    "", "-1", "1e999", "NaN", "inf", "0,5", "1.2.3", "größe", "\u{202e}", "[000]", "all", ":", "21:24:05",
    "us", "5678.9:", "(a)",
];

/// A damage of a text: to a line or a word, by place.
#[derive(Clone, Debug)]
enum Damage {
    Drop(usize),
    Twice(usize),
    Swap(usize, usize),
    Word(usize, usize, usize),
    Cut(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Drop),
        any::<usize>().prop_map(Damage::Twice),
        any::<(usize, usize)>().prop_map(|(a, b)| Damage::Swap(a, b)),
        any::<(usize, usize, usize)>().prop_map(|(line, word, odd)| Damage::Word(line, word, odd)),
        any::<usize>().prop_map(Damage::Cut),
    ]
}

fn damaged(text: &str, all: &[Damage]) -> String {
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    for one in all {
        let n = lines.len().max(1);
        if lines.is_empty() {
            break;
        }
        match *one {
            Damage::Drop(at) => drop(lines.remove(at % n)),
            Damage::Twice(at) => lines.insert(at % n, lines[at % n].clone()),
            Damage::Swap(a, b) => lines.swap(a % n, b % n),
            Damage::Word(line, word, odd) => {
                let line = &mut lines[line % n];
                let words: Vec<&str> = line.split(' ').collect();
                let at = word % words.len();
                let with =
                    |(n, word): (usize, &&str)| if n == at { ODD[odd % ODD.len()] } else { *word }.to_owned();
                *line = words.iter().enumerate().map(with).collect::<Vec<_>>().join(" ");
            }
            Damage::Cut(at) => {
                let line = lines.last_mut().expect("there is a line");
                let chars: Vec<char> = line.chars().collect();
                *line = chars[..at % (chars.len() + 1)].iter().collect();
            }
        }
    }
    lines.join("\n")
}

/// Place of the column `free` in the tables that are made here.
const FREE: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_damaged_file_is_read_or_refused(
        which in 0..3_usize,
        all in prop::collection::vec(damage(), 0..6),
    ) {
        let text = damaged([VMSTAT, SAR, PERF][which], &all);
        match saved::read(&text, "").map(|mut all| all.remove(0)) {
            Ok(Saved::Counters(counters)) => prop_assert!(!counters.readings.is_empty() || counters.unread.lines > 0),
            Ok(Saved::Table(table)) => {
                prop_assert!(!table.columns.is_empty());
                for column in &table.columns {
                    prop_assert!(column.values.len() >= 3, "{} of {text}", column.name);
                    prop_assert!(column.values.iter().all(|value| value.is_finite()));
                }
            }
            Ok(Saved::Stacks(stacks)) => prop_assert!(stacks.seconds.is_finite() && stacks.seconds > 0.0, "{text}"),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    /// Every printed value comes back. The first line, the mean since boot, and free memory, which caches shrink, are not compared.
    #[test]
    fn a_table_comes_back_as_it_was_printed(
        rows in prop::collection::vec(prop::array::uniform10(0..1_000_000_u32), 4..20),
    ) {
        let mut text = " r  b swpd free  in   cs us sy id wa\n".to_owned();
        for row in &rows {
            text += &row.map(|figure| format!(" {figure}")).concat();
            text += "\n";
        }
        let Ok(Some(Saved::Table(table))) = saved::read(&text, "").map(|mut all| all.pop()) else { return Err(TestCaseError::fail("not read")) };
        let compared: Vec<usize> = (0..10).filter(|column| *column != FREE).collect();
        prop_assert_eq!(table.columns.len(), compared.len());
        for (at, column) in compared.into_iter().zip(&table.columns) {
            let printed: Vec<f64> = rows[1..].iter().map(|row| f64::from(row[at])).collect();
            prop_assert_eq!(&column.values, &printed);
        }
    }
}
