//! The lines of `perf script`: one for each sample, and below it one for each frame.

/// Content of the first line of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head<'t> {
    /// The process, by the name that it gave itself.
    pub process: &'t str,
    /// The CPU, in brackets, if the line has it.
    pub cpu: Option<&'t str>,
    /// Seconds since some moment.
    pub at: f64,
    /// The event that sampled it.
    pub event: &'t str,
}

/// A line of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'t> {
    /// The function, or `[unknown]`.
    pub name: &'t str,
    /// The file that it is in, or what stands for one in brackets.
    pub module: &'t str,
}

impl Frame<'_> {
    /// Whether it is the kernel's.
    pub fn is_kernel(&self) -> bool {
        self.module.starts_with("[kernel")
            || self.module.starts_with("[guest.kernel")
            || self.module.ends_with(".ko")
            || is_module(self.module)
    }
}

/// `relay 1234/1234 [001] 5678.901234: 250000 cpu-clock:pppH:`; the name of a process may have blanks in it, and the thread, the CPU and the period may
/// be missing.
pub fn head(line: &str) -> Option<Head<'_>> {
    if line.starts_with([' ', '\t']) && line.split_ascii_whitespace().count() < 4 {
        return None;
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let time = words.iter().position(|word| seconds(word).is_some())?;
    let at = seconds(words[time])?;
    let cpu = words[..time].last().filter(|word| word.starts_with('[') && word.ends_with(']')).copied();
    let process_id = words.get(time.checked_sub(1 + usize::from(cpu.is_some()))?)?;
    // A process that has ended already is -1.
    let is_id = |word: &str| !word.is_empty() && word.split('/').all(|part| part.parse::<i32>().is_ok());
    if !is_id(process_id) {
        return None;
    }
    // Its own words, with the blanks that it has between them.
    let from = line.len() - line.trim_start().len();
    let to = line.find(&format!(" {process_id} ")).filter(|to| *to > from)?;
    let event = words[time + 1..].iter().find(|word| word.ends_with(':')).copied().unwrap_or_default();
    Some(Head { process: line[from..to].trim_end(), cpu, at, event })
}

/// `5678.901234:` as a number.
fn seconds(word: &str) -> Option<f64> {
    let number = word.strip_suffix(':')?;
    let (whole, part) = number.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(part)).then(|| number.parse().ok())?
}

/// `ffffffff81a2b3c4 fib_rules_lookup+0x84 ([kernel.kallsyms])` as a frame.
pub fn frame(line: &str) -> Option<Frame<'_>> {
    let (address, rest) = line.trim().split_once(' ')?;
    u64::from_str_radix(address, 16).ok()?;
    let (name, module) = rest.trim().rsplit_once(" (")?;
    let module = module.strip_suffix(')')?;
    Some(Frame { name: name.rsplit_once("+0x").map_or(name, |(name, _)| name), module })
}

/// `[nf_tables]`, as perf names modules of the kernel; what it puts in brackets beside them are no modules.
fn is_module(module: &str) -> bool {
    module.starts_with('[')
        && module.ends_with(']')
        && !["[vdso]", "[vsyscall]", "[unknown]", "[heap]", "[stack]", "[anon]"].contains(&module)
}
