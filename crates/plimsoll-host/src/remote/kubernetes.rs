//! Pods of Kubernetes: a pod lives as long as the run, and `kubectl exec` starts an agent in it for each trial.

use std::process::Command;

use plimsoll_model::experiment::Kubernetes;

use super::allocation::Request;
use super::bring::{self, Program};

/// Script of the shell. Its arguments are the pod's name, the pod, and options for its place. It prints the pod's name and node when the pod
/// runs, and closes its output when the pod is gone, or can never run. In any case it removes the pod when its input ends.
const HOLD: &str = r#"command -v kubectl >/dev/null || { echo "there is no program kubectl here" >&2; exit 1; }
name=$1; pod=$2; shift 2
exec 3<&0
fields='{.status.phase}|{.spec.nodeName}|{.status.conditions[*].message} {.status.containerStatuses[*].state.waiting.message}'
look() {
    # A server that does not answer says nothing of the pod.
    said=$(kubectl "$@" get pod "$name" --ignore-not-found -o "jsonpath=$fields") || said="Unknown|"
    phase=${said%%|*} said=${said#*|}
}
printf '%s' "$pod" | kubectl "$@" create --validate=false -f - >/dev/null || exit 1
{
    while look "$@"; do
        why=${said#*|}
        case $phase in
            Running) break ;;
            Pending|Unknown) ;;
            *) echo "the pod has ended: $why" >&2; exit 1 ;;
        esac
        [ "$why" = "$shown" ] || echo "$why" >&2
        shown=$why
        sleep 1
    done
    echo "$name ${said%%|*}"
    while look "$@"; do
        case $phase in
            Running|Unknown) sleep 5 ;;
            *) break ;;
        esac
    done
    echo "the pod runs no more" >&2
} <&- &
exec >&-
cat <&3 >/dev/null
kill $! 2>/dev/null
kubectl "$@" delete pod "$name" --now --ignore-not-found --wait=false >/dev/null"#;
/// Prefix of the pods' names.
const NAME: &str = "plimsoll";

/// Request for a pod as a host.
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

/// Command that starts the agent in a pod, and brings it along if it is missing.
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
    fn a_missing_kubectl_is_reported() {
        let mut shell = Command::new("/bin/sh");
        let output = shell.args(["-c", HOLD]).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "there is no program kubectl here\n");
        assert_eq!(output.status.code(), Some(1));
    }

    /// A fake kubectl: each call prints the next word of a file as the pod's phase, and the last word again after that.
    const KUBECTL: &str = r#"#!/bin/sh
case "$*" in
    create*) cat >/dev/null ;;
    delete*) echo "$*" >>"$FOLDER/deleted" ;;
    get*)
        read -r word <"$FOLDER/phases"
        [ "$(wc -l <"$FOLDER/phases")" = 1 ] || sed -i 1d "$FOLDER/phases"
        [ "$word" != deaf ] || exit 1
        [ "$word" = gone ] || printf '%s|node1|no room yet' "$word"
        ;;
esac"#;

    /// Output of the shell while the pod goes through these phases, and the removed pods. It does not sleep between two looks.
    fn held(phases: &str) -> (String, String) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("kubectl", KUBECTL), ("sleep", "#!/bin/sh\nexit 0\n")] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(folder.path().join("phases"), phases.replace(' ', "\n") + "\n").unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", HOLD, "hold", "pod1", "{}"]).env("PATH", path).env("FOLDER", folder.path());
        let shell = shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let input = shell.stdin.take();
        // Until the pod is gone.
        let said = std::io::read_to_string(shell.stdout.take().unwrap()).unwrap();
        drop(input);
        shell.wait().unwrap();
        (said, std::fs::read_to_string(folder.path().join("deleted")).unwrap_or_default())
    }

    #[test]
    fn a_pod_is_there_until_it_is_said_to_be_gone_and_is_removed_in_any_case() {
        let removed = "delete pod pod1 --now --ignore-not-found --wait=false\n";
        for phases in [
            "Pending Running Failed",
            "Pending deaf Running deaf Running deaf gone",
            "deaf Running Succeeded",
        ] {
            assert_eq!(held(phases), ("pod1 node1\n".into(), removed.into()), "{phases}");
        }
        for phases in ["Pending Failed", "Pending gone"] {
            assert_eq!(held(phases), (String::new(), removed.into()), "{phases}");
        }
    }

    #[test]
    fn a_pods_name_is_one_that_kubernetes_takes() {
        let name = name("Load_Generator-");
        let rest = name.strip_prefix("plimsoll-").unwrap();
        assert!(rest.ends_with("-load-generator") && name.len() < 64, "{name}");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
    }
}
