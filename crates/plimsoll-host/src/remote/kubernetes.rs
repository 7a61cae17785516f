//! By Kubernetes: a pod is made for as long as the run goes on, and `kubectl exec` starts an agent in it for each trial.

use std::process::Command;

use plimsoll_model::experiment::Kubernetes;

use super::allocation::Request;
use super::bring::{self, Program};

/// What the shell does. Its arguments are the pod's name, the pod, and the options that say where it is. It says the pod's name and node when the pod runs,
/// and closes its output when the pod is gone, or can never run. Whatever happens, it removes the pod when its input ends.
const HOLD: &str = r#"command -v kubectl >/dev/null || { echo "there is no program kubectl here" >&2; exit 1; }
name=$1; pod=$2; shift 2
exec 3<&0
remove() { kubectl "$@" delete pod "$name" --now --ignore-not-found --wait=false >/dev/null; }
printf '%s' "$pod" | kubectl "$@" create --validate=false -f - >/dev/null || exit 1
{
    while :; do
        phase=$(kubectl "$@" get pod "$name" -o 'jsonpath={.status.phase}') || exit 1
        case $phase in
            Running) break ;;
            Failed|Succeeded) echo "the pod has ended: $(kubectl "$@" get pod "$name" -o 'jsonpath={.status}')" >&2; exit 1 ;;
        esac
        why=$(kubectl "$@" get pod "$name" -o 'jsonpath={.status.conditions[*].message} {.status.containerStatuses[*].state.waiting.message}')
        [ "$why" = "$told" ] || echo "$why" >&2
        told=$why
        sleep 1
    done
    echo "$name $(kubectl "$@" get pod "$name" -o 'jsonpath={.spec.nodeName}')"
    while [ "$(kubectl "$@" get pod "$name" -o 'jsonpath={.status.phase}')" = Running ]; do sleep 5; done
    echo "the pod runs no more" >&2
} <&- &
exec >&-
cat <&3 >/dev/null
kill $! 2>/dev/null
remove "$@""#;
/// What names of pods begin with.
const NAME: &str = "plimsoll";

/// Asks for a pod that stands for a host.
pub(super) fn request(asked: &Kubernetes, host: &str) -> Request {
    let name = name(host);
    let mut shell = Command::new("sh");
    shell.args(["-c", HOLD, "hold", &name, &asked.pod(&name).to_string()]).args(asked.words());
    Request { queue: "Kubernetes", shell, start_within: asked.start_within, removed_by: "kubectl delete pod" }
}

/// A name that no other pod has, of the letters that names of pods may have (RFC 1123).
fn name(host: &str) -> String {
    let host: String = host.to_ascii_lowercase().chars().map(|c| if c == '_' { '-' } else { c }).collect();
    let unlike = crate::clock::raw_ns() % 100_000_000;
    format!("{NAME}-{}-{unlike:08}-{}", std::process::id(), host.trim_matches('-'))
}

/// The command that starts the agent in a pod, where it is brought along if it is missing.
pub(super) fn command(pod: &str, asked: &Kubernetes, program: &Program) -> Command {
    let mut command = Command::new("kubectl");
    command.args(asked.words()).args(["exec", "--stdin", pod, "--", "/bin/sh", "-c"]);
    command.arg(bring::remote_command(program));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_kubectl_that_is_told() {
        let mut shell = Command::new("/bin/sh");
        let told = shell.args(["-c", HOLD]).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&told.stderr), "there is no program kubectl here\n");
        assert_eq!(told.status.code(), Some(1));
    }

    #[test]
    fn a_pods_name_is_one_that_kubernetes_takes() {
        let name = name("Load_Generator-");
        let rest = name.strip_prefix("plimsoll-").unwrap();
        assert!(rest.ends_with("-load-generator") && name.len() < 64, "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
    }
}
