//! One line of the table.

/// `| method | figure | reached | target |`; the target is empty where another method is shown for comparison.
pub fn row(method: &str, figure: &str, reached: &str, target: &str) -> String {
    format!("| {method} | {figure} | {reached} | {target} |")
}

/// `count` of `of` as a per cent.
pub fn share(count: usize, of: usize) -> String {
    format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64)
}

/// Whether a row reaches its target: `missed`, or nothing where it does or has none. Targets read `≤ 5 %`, `≥ 0.80`, `< 2 s` or `93 to 97 %`.
pub fn met(row: &str) -> &'static str {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, _, _, reached, target, ..] = cells.as_slice() else { return "" };
    let Some(reached) = numbers(reached).next() else { return "" };
    let bounds: Vec<f64> = numbers(target).collect();
    let met = match bounds.as_slice() {
        [least, most] => (*least..=*most).contains(&reached),
        [most] if target.starts_with(['≤', '<']) => reached <= *most,
        [least] => reached >= *least,
        _ => true,
    };
    if met { "" } else { "missed" }
}

fn numbers(text: &str) -> impl Iterator<Item = f64> {
    text.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok())
}
