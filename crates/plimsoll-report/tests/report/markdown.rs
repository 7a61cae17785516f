use plimsoll_model::report::RunReport;
use plimsoll_report::markdown;

use crate::fixture;

fn written(report: &RunReport) -> String {
    let mut out = Vec::new();
    markdown::run(&mut out, report).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_run_that_recovered_is_a_table_with_one_line() {
    insta::assert_snapshot!(written(&fixture::recovered()));
}

#[test]
fn a_run_that_did_not_recover_shows_the_ladder() {
    insta::assert_snapshot!(written(&fixture::not_recovered()));
}

#[test]
fn a_run_without_a_verdict_is_still_a_summary() {
    insta::assert_snapshot!(written(&fixture::interrupted()));
    insta::assert_snapshot!(written(&fixture::empty()));
}

#[test]
fn a_hostile_name_is_neither_markup_nor_a_column() {
    let text = written(&fixture::hostile());
    assert!(!text.contains('\u{1b}'), "{text}");
    let (prose, command) = text.rsplit_once("The same again: ").unwrap();
    assert!(!prose.contains("<img") && !prose.contains("</script>"), "{prose}");
    assert_eq!(command.matches('`').count(), 2, "one span of code: {command}");
    let columns = |line: &str| line.replace(r"\|", "").matches('|').count();
    let is_below_titles = |line: &str| line.starts_with("| --") || line.starts_with("| :-");
    let (mut wanted, mut hostile) = (0, 0);
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        if is_below_titles(line) {
            wanted = columns(line);
        } else if line.contains("onerror") {
            assert_eq!(columns(line), wanted, "{line}");
            hostile += 1;
        }
    }
    assert!(hostile > 2, "{text}");
}
