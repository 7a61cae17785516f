//! One line of the table.

/// `| method | figure | reached | target |`; the target is empty where another method is shown for comparison.
pub(crate) fn row(method: &str, figure: &str, reached: &str, target: &str) -> String {
    format!("| {method} | {figure} | {reached} | {target} |")
}

/// `count` of `of` as a per cent.
pub(crate) fn share(count: usize, of: usize) -> String {
    format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64)
}
