//! The tables of `openssl speed`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "openssl-speed",
    tool: "openssl",
    command: "openssl speed -evp aes-128-gcm",
    measured: &[
        "higher throughput,algorithm,block kB/s: `1000s of bytes per second` by the size of a block in bytes",
        "lower time,algorithm,operation s: of one `sign`, `verify`, `op`, `keygen`, `encaps` ...",
        "higher operations_per_second,algorithm,operation 1/s: `sign/s`, `verify/s`, `op/s` ...",
    ],
    main: &["throughput", "operations_per_second"],
    checked: Checked::Kept("3.0.19"),
    marks: &["type  ", "The 'numbers' are in 1000s", "sign/s", "op/s", "encaps/s"],
    start: |line| {
        if line.text.starts_with("The 'numbers' are in 1000s of bytes per second processed") {
            return Some(Start::Head);
        }
        (sizes(line).is_some() || operations(line).is_some()).then_some(Start::Head)
    },
    reader: Some(|_| Box::<Speed>::default()),
    ..Format::EMPTY
};

/// The sizes in `type  16 bytes  64 bytes ...`.
fn sizes(line: &Line<'_>) -> Option<Vec<String>> {
    let words: Vec<&str> = line.words().collect();
    let (first, rest) = words.split_first()?;
    let is_size = |pair: &[&str]| matches!(pair, [size, "bytes"] if number(size).is_some());
    (*first == "type" && !rest.is_empty() && rest.chunks(2).all(is_size))
        .then(|| rest.chunks(2).map(|pair| pair[0].to_owned()).collect())
}

/// The operations in `sign  verify  sign/s  verify/s`.
fn operations(line: &Line<'_>) -> Option<Vec<String>> {
    let words: Vec<&str> = line.words().collect();
    let (times, rates) = words.split_at_checked(words.len() / 2)?;
    let is_rate_of = |rate: &str, time: &str| rate == time || rate.strip_suffix('s') == Some(time);
    let pairs =
        |(time, rate): (&&str, &&str)| rate.strip_suffix("/s").is_some_and(|rate| is_rate_of(rate, time));
    (!times.is_empty() && times.len() == rates.len() && times.iter().zip(rates).all(pairs))
        .then(|| times.iter().map(|time| (*time).to_owned()).collect())
}

#[derive(Default)]
struct Speed {
    /// Sizes of blocks, the columns of the table at work.
    sizes: Vec<String>,
    /// Operations, the columns of the table at work.
    operations: Vec<String>,
    algorithms: Vec<String>,
}

impl Reader for Speed {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.starts_with("The 'numbers' are in 1000s") {
            return Fit::Mine;
        }
        if let Some(sizes) = sizes(line) {
            (self.sizes, self.operations) = (sizes, Vec::new());
            return Fit::Mine;
        }
        if let Some(operations) = operations(line) {
            (self.sizes, self.operations) = (Vec::new(), operations);
            return Fit::Mine;
        }
        let words: Vec<&str> = line.words().collect();
        let columns = self.sizes.len().max(2 * self.operations.len());
        let Some((name, values)) = words.len().checked_sub(columns).map(|at| words.split_at(at)) else {
            return Fit::Foreign;
        };
        let figures: Option<Vec<Figure>> = if self.operations.is_empty() {
            self.sizes.iter().zip(values).map(|(size, word)| throughput(size, word)).collect()
        } else {
            let (times, rates) = values.split_at(self.operations.len());
            let times = self.operations.iter().zip(times).map(|(of, word)| time(of, word));
            times.chain(self.operations.iter().zip(rates).map(|(of, word)| rate(of, word))).collect()
        };
        let Some(figures) = figures.filter(|figures| !name.is_empty() && !figures.is_empty()) else {
            return Fit::Foreign;
        };
        let algorithm = name.join(" ");
        if self.algorithms.contains(&algorithm) {
            return Fit::Next;
        }
        for (metric, value, its_unit, label) in figures {
            out.put(metric, value, its_unit, &[("algorithm", &algorithm), label]);
        }
        self.algorithms.push(algorithm);
        Fit::Mine
    }

    fn goes_on(&self, line: &Line<'_>) -> bool {
        // The banner stands above the heading of its table, and tables of other algorithms follow.
        self.algorithms.is_empty() || operations(line).is_some()
    }
}

/// A metric, its value and unit, and the label beside the algorithm.
type Figure<'t> = (&'static str, f64, &'static str, (&'static str, &'t str));

/// `45269.43k`
fn throughput<'t>(size: &'t str, word: &str) -> Option<Figure<'t>> {
    Some(("throughput", number(word.strip_suffix('k')?)?, "kB/s", ("block", size)))
}

/// `0.000296s`
fn time<'t>(operation: &'t str, word: &str) -> Option<Figure<'t>> {
    Some(("time", number(word.strip_suffix('s')?)?, "s", ("operation", operation)))
}

/// `3378.8`
fn rate<'t>(operation: &'t str, word: &str) -> Option<Figure<'t>> {
    Some(("operations_per_second", number(word)?, "1/s", ("operation", operation)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_each_operation_twice() {
        let of = |text| operations(&Line { number: 1, text });
        assert_eq!(of("sign    verify    sign/s verify/s").unwrap(), ["sign", "verify"]);
        let kem = "keygen    encaps    decaps keygens/s  encaps/s  decaps/s";
        assert_eq!(of(kem).unwrap(), ["keygen", "encaps", "decaps"]);
        assert!(of("sign verify verify/s sign/s").is_none() && of("").is_none());
    }
}
