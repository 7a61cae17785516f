//! Services of a compose file (<https://github.com/compose-spec/compose-spec/blob/main/spec.md>).
//!
//! Plimsoll runs no container image. The port that a service publishes makes it a running server; its image, command and environment become
//! remarks in the experiment.

use std::net::IpAddr;
use std::path::Path;

use saphyr::{LoadableYamlNode, Scalar, Yaml};

use crate::bounded;

/// The address of a service, and remarks from its compose file.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) at: IpAddr,
    pub(super) port: u16,
    pub(super) remarks: Vec<String>,
}

/// The file and the service of `FILE.yml:SERVICE`, or of `FILE.yml` alone.
pub(super) fn named(from: &str) -> Option<(&str, Option<&str>)> {
    let is_yaml =
        |file: &str| Path::new(file).extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
    match from.rsplit_once(':') {
        Some((file, service)) if is_yaml(file) => Some((file, Some(service))),
        _ => (is_yaml(from) && !from.contains(' ')).then_some((from, None)),
    }
}

/// A service of a file, at the port that it publishes.
pub(super) fn service(file: &str, service: Option<&str>) -> Result<Published, String> {
    let text = bounded::text(Path::new(file), bounded::FILE)
        .map_err(|error| format!("cannot read {file}: {error}"))?;
    read(&text, file, service)
}

fn read(text: &str, file: &str, wanted: Option<&str>) -> Result<Published, String> {
    let documents = Yaml::load_from_str(text).map_err(|error| format!("{file}: {error}"))?;
    let services = documents.first().and_then(|document| document.as_mapping_get("services"));
    let services = services.and_then(Yaml::as_mapping).ok_or_else(|| format!("{file} has no `services`"))?;
    let names: Vec<&str> = services.keys().filter_map(Yaml::as_str).collect();
    let name = match (wanted, names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, names) => {
            return Err(format!("which service of {file}? {file}:SERVICE with one of {}", names.join(", ")));
        }
    };
    let service = services.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, service)| service);
    let service =
        service.ok_or_else(|| format!("{file} has no service `{name}`; it has {}", names.join(", ")))?;
    let (at, port) = published(service).map_err(|why| format!("{file}: the service `{name}` {why}"))?;
    let at = at
        .parse()
        .map_err(|_| format!("{file}: the service `{name}` publishes at `{at}`, which is not an address"))?;
    Ok(Published { at, port, remarks: remarks(file, name, service) })
}

/// Address and port at which the machine reaches a service.
fn published(service: &Yaml) -> Result<(String, u16), String> {
    let advice = "publish one (`ports: [\"8080:80\"]`), since Plimsoll runs no image; or give its program: --from 'COMMAND {port}'";
    let none = || format!("publishes no TCP port: {advice}");
    let ports = service.as_mapping_get("ports").and_then(Yaml::as_sequence).ok_or_else(none)?;
    for port in ports {
        let found = match port.as_mapping_get("published") {
            Some(published) if of(port, "protocol").is_none_or(|protocol| protocol == "tcp") => {
                let at = of(port, "host_ip").unwrap_or_default();
                Some((at, scalar(published).unwrap_or_default()))
            }
            Some(_) => None,
            None => scalar(port).and_then(|text| short(&text)),
        };
        let Some((at, first)) = found else { continue };
        let number = first.split('-').next().unwrap_or_default();
        let number = number.parse().ok().filter(|&number| number > 0);
        let number = number.ok_or_else(|| {
            format!("publishes `{first}`, which is not a number: --from http://127.0.0.1:PORT")
        })?;
        let everywhere = at.is_empty() || at == "0.0.0.0" || at == "::";
        return Ok((if everywhere { "127.0.0.1".to_owned() } else { at }, number));
    }
    Err(none())
}

/// Address and published port of `[ADDRESS:]PUBLISHED:TARGET[/tcp]`; `None` if nothing is published, or not by TCP.
fn short(text: &str) -> Option<(String, String)> {
    let text = match text.split_once('/') {
        Some((text, "tcp")) => text,
        Some(_) => return None,
        None => text,
    };
    let (rest, _target) = text.rsplit_once(':')?;
    let (at, port) = rest.rsplit_once(':').unwrap_or(("", rest));
    Some((at.trim_matches(['[', ']']).to_owned(), port.to_owned()))
}

/// Settings of the server in the compose file that Plimsoll does not apply.
fn remarks(file: &str, name: &str, service: &Yaml) -> Vec<String> {
    let mut remarks = vec![format!(
        "The service `{name}` of {file}. Plimsoll starts no container: run `docker compose up -d {name}` before."
    )];
    remarks.extend(of(service, "image").map(|image| format!("Its image is {image}.")));
    let command = service.as_mapping_get("command").map(line).filter(|line| !line.is_empty());
    remarks.extend(command.map(|command| {
        format!("Its command is `{command}`. If this program is on the machine, `exec` in place of `running` can start it.")
    }));
    let environment = service.as_mapping_get("environment").map(variables).unwrap_or_default();
    if !environment.is_empty() {
        remarks.push(format!(
            "Its environment has {}; beside `exec`, `env` sets variables.",
            environment.join(", ")
        ));
    }
    remarks
}

fn line(command: &Yaml) -> String {
    let words =
        command.as_sequence().map(|words| words.iter().filter_map(scalar).collect::<Vec<_>>().join(" "));
    words.or_else(|| scalar(command)).unwrap_or_default().replace('\n', " ")
}

/// Names of variables, without their values, which may be secrets.
fn variables(environment: &Yaml) -> Vec<String> {
    if let Some(list) = environment.as_sequence() {
        let names = list.iter().filter_map(Yaml::as_str).map(|pair| pair.split('=').next().unwrap_or(pair));
        return names.map(str::to_owned).collect();
    }
    let table = environment.as_mapping().into_iter().flatten();
    table.filter_map(|(name, _)| name.as_str()).map(str::to_owned).collect()
}

fn of(table: &Yaml, key: &str) -> Option<String> {
    table.as_mapping_get(key).and_then(scalar)
}

fn scalar(node: &Yaml) -> Option<String> {
    match node {
        Yaml::Value(Scalar::String(text)) => Some(text.to_string()),
        Yaml::Value(Scalar::Integer(number)) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
x-common: &common
  environment: { MODE: fast, PASSWORD: hunter2 }
services:
  web:
    <<: *common
    image: nginx:1.27
    command: ["nginx", "-g", "daemon off;"]
    environment: [MODE=fast, PASSWORD=hunter2]
    ports: ["53:53/udp", "127.0.0.1:8080:80"]
  long:
    image: caddy
    ports: [{ target: 80, published: "8081", protocol: tcp }]
  range: { image: a, ports: ["9000-9005:9000-9005"] }
  hidden: { image: b, ports: ["80"], expose: ["80"] }
  variable: { image: c, ports: ["${PORT}:80"] }
  bare: { image: d }
"#;

    fn at(service: &str) -> Result<(String, u16), String> {
        let Published { at, port, .. } = read(FILE, "c.yml", Some(service))?;
        Ok((at.to_string(), port))
    }

    #[test]
    fn the_published_port_is_where_a_service_is_reached() {
        assert_eq!(at("web"), Ok(("127.0.0.1".into(), 8080)));
        assert_eq!(at("long"), Ok(("127.0.0.1".into(), 8081)));
        assert_eq!(at("range"), Ok(("127.0.0.1".into(), 9000)));
    }

    #[test]
    fn what_plimsoll_cannot_reach_is_refused_with_the_reason() {
        for (service, why) in [
            ("hidden", "runs no image"),
            ("bare", "publishes no TCP port"),
            ("variable", "`${PORT}`"),
            ("other", "has no service"),
        ] {
            let said = at(service).unwrap_err();
            assert!(said.contains(why), "{service}: {said}");
        }
        assert!(read(FILE, "c.yml", None).unwrap_err().contains("web, long, range"));
        assert!(read("a: [", "c.yml", None).unwrap_err().starts_with("c.yml: "));
    }

    #[test]
    fn remarks_name_image_command_and_variables_but_no_value() {
        let remarks = read(FILE, "c.yml", Some("web")).expect("it is read").remarks;
        let all = remarks.join("\n");
        for part in ["docker compose up -d web", "nginx:1.27", "nginx -g daemon off;", "MODE, PASSWORD"] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(!all.contains("hunter2"), "{all}");
    }

    #[test]
    fn only_yaml_files_are_compose_files() {
        assert_eq!(named("docker-compose.yml:web"), Some(("docker-compose.yml", Some("web"))));
        assert_eq!(named("a/compose.yaml"), Some(("a/compose.yaml", None)));
        assert_eq!(named("./server --config x.yml"), None);
        assert_eq!(named("make"), None);
    }
}
