//! How what a load found is stored, and what was stored before version 2 of a run: a field of the result for each kind of fact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BulkFacts, Datagrams, DiagnoseFacts, LoadFacts, MailFacts, PathFacts, ProbedPath, Stream};
use crate::experiment::load::messaging::MessagingFacts;
use crate::experiment::load::storage::StorageFacts;

#[derive(Serialize)]
struct Written<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<&'f LoadFacts>,
}

/// What is read: facts as they are written now, or fields as they were.
#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    facts: Option<LoadFacts>,
    #[serde(default)]
    streams: Vec<Stream>,
    #[serde(default)]
    datagrams: Option<Datagrams>,
    #[serde(default)]
    path: Option<ProbedPath>,
    #[serde(default)]
    path_facts: Option<PathFacts>,
    #[serde(default)]
    mail: Option<MailFacts>,
    #[serde(default)]
    storage: Option<StorageFacts>,
    #[serde(default)]
    messaging: Option<MessagingFacts>,
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
pub(super) fn serialize<S: Serializer>(facts: &Option<LoadFacts>, serializer: S) -> Result<S::Ok, S::Error> {
    Written { facts: facts.as_ref() }.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LoadFacts>, D::Error> {
    let read = Read::deserialize(deserializer)?;
    let streams = read.streams;
    let of_streams = match read.path_facts {
        Some(path) => Some(DiagnoseFacts { path, streams }.into()),
        None => (!streams.is_empty()).then(|| BulkFacts { streams }.into()),
    };
    let others = [
        read.datagrams.map(LoadFacts::from),
        read.path.map(LoadFacts::from),
        read.mail.map(LoadFacts::from),
        read.storage.map(LoadFacts::from),
        read.messaging.map(LoadFacts::from),
    ];
    Ok(read.facts.or(of_streams).or_else(|| others.into_iter().flatten().next()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::observation::{Datagrams, DiagnoseFacts, LoadResult, MailFacts, ProbedPath, StorageFacts};

    /// A result as it was stored before, with these fields beside those that every load has.
    fn old(fields: &Value) -> LoadResult {
        let mut result = json!({
            "started_ns": 1, "elapsed_ns": 2_000_000_000_u64, "connections": 0, "requests": 4, "bytes": 400, "errors": {"reset": 1},
            "latency": {"connect": "", "first_byte": "", "total": "",
                        "percentiles": {"p50": 1, "p90": 2, "p99": 3, "max": 4}},
            "intervals": [], "user_us": 5, "system_us": 6, "threads": 1,
        });
        result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(result).unwrap()
    }

    #[test]
    fn what_every_kind_of_load_stored_before_is_read() {
        assert_eq!(old(&json!({})).facts, None);
        let datagrams = json!({"datagrams": {"intended": 10, "sent": 9, "received": 8, "duplicates": 0, "reordered": 0,
                                             "jitter_us": 1.5, "receiver_cpu_us": 7}});
        assert_eq!(old(&datagrams).found::<Datagrams>().unwrap().lost(), 1);
        let stream = json!({"from": "a", "to": "b", "sent": 1, "received": 2, "elapsed_ns": 3, "tcp": []});
        assert_eq!(old(&json!({"streams": [stream]})).streams()[0].received, 2);
        let limits = json!({"send_buffer": 1, "receive_buffer": 2, "window_scaling": true, "selective_acks": true,
                            "congestion": "cubic"});
        let train = json!({"sent": 3, "received": 2, "elapsed_ns": 1});
        let path = json!({"frame_bytes": 1514, "apart": train, "at_rate": train, "bursts": [train], "sender": limits,
                          "receiver": limits});
        let diagnosed = old(&json!({"streams": [stream], "path_facts": path}));
        assert_eq!(diagnosed.found::<DiagnoseFacts>().unwrap().path.bursts[0].received, 2);
        assert_eq!(diagnosed.streams().len(), 1);
        assert!(old(&json!({"path": {"reached": true, "hops": []}})).found::<ProbedPath>().unwrap().reached);
        let mail = json!({"mail": {"load": "post", "acknowledged": [[1, 5]], "uncertain": [], "refused_recipients": 2,
                                   "commands": {}}});
        assert_eq!(old(&mail).found::<MailFacts>().unwrap().refused_recipients, 2);
        let storage = json!({"storage": {"reads": 4, "writes": 0, "read_bytes": 400, "written_bytes": 0, "syncs": 0,
                                         "mean_us": 2.5, "over_2s": 0, "over_10s": 0, "device_read_bytes": 100}});
        assert_eq!(old(&storage).found::<StorageFacts>().unwrap().device_share(), Some(0.25));
        let crowd = json!({"messaging": {"workers": 40, "rounds": 3}});
        assert!(old(&crowd).facts.unwrap().measures_its_own_work());
    }

    #[test]
    fn what_is_written_now_is_read_back_and_a_corrupt_histogram_is_an_error() {
        let result = LoadResult {
            facts: Some(Datagrams { sent: 3, ..Datagrams::default() }.into()),
            ..old(&json!({}))
        };
        let mut written = serde_json::to_value(&result).unwrap();
        assert_eq!(written["facts"]["udp"]["sent"], 3);
        assert_eq!(serde_json::from_value::<LoadResult>(written.clone()).unwrap(), result);
        assert!(serde_json::to_value(old(&json!({}))).unwrap().get("facts").is_none());
        written["facts"] = json!({"smtp": {"load": "post", "acknowledged": [], "uncertain": [], "refused_recipients": 0,
            "commands": {"MAIL": {"percentiles": {"p50": 1, "p90": 2, "p99": 3, "max": 4}, "histogram": "?"}}}});
        let error = serde_json::from_value::<LoadResult>(written).unwrap_err().to_string();
        assert!(error.contains("no Base64"), "{error}");
    }
}
