//! Who may ask, and what a browser may do with the answer.
//!
//! A page of a stranger may make a browser send requests to this server, and by a name of its own whose address it changes to 127.0.0.1 it
//! could even read the answers (DNS rebinding, <https://crypto.stanford.edu/dns/dns-rebinding.pdf>). So requests are answered only where their `Host` is an
//! address, `localhost`, or a name that the user gave. Where others than this machine can connect, they must know a token, too.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, AUTHORIZATION, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What a browser may load for a page: nothing from elsewhere, and no script that stands in a page. Plotly sets styles at elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const COOKIE_NAME: &str = "plimsoll-token";
/// The shortest token: as many letters as 64 random bits have as hexadecimal digits.
const SHORTEST: usize = 16;

/// What somebody must know who asks.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token of letters, digits, `-` and `_`, at least 16 of them; nothing where it is another text.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        (text.len() >= SHORTEST && text.chars().all(fits)).then(|| Self(text.to_owned()))
    }

    /// Compares in a time that tells nothing of where they differ.
    fn is(&self, other: &str) -> bool {
        let differ = |all: u8, (a, b): (u8, u8)| all | (a ^ b);
        self.0.len() == other.len() && self.0.bytes().zip(other.bytes()).fold(0, differ) == 0
    }
}

/// Who may ask.
#[derive(Clone, Default)]
pub struct Guard {
    /// What they must know; nothing where everybody who can connect may ask.
    pub token: Option<Token>,
    /// Names by which this server may be asked, beside addresses and `localhost`.
    pub names: Vec<String>,
}

/// Lets a request through, or answers it.
pub(crate) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.objection(request.method(), request.uri(), request.headers()) {
        Some(answer) => answer,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl Guard {
    /// Why a request is not answered, as an answer.
    fn objection(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.is_mine(host) {
            let text = "This server is not asked by this name. `plimsoll serve --name NAME` allows one.\n";
            return Some((StatusCode::MISDIRECTED_REQUEST, text).into_response());
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            let text = "Runs can only be read here.\n";
            return Some((StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")], text).into_response());
        }
        let token = self.token.as_ref()?;
        if let Some(given) = parameter(uri, "token") {
            // The token goes from the address into a cookie, so that it is not sent along with the address of a page.
            return Some(if token.is(given) { entered(uri.path(), given) } else { refused() });
        }
        let known = bearer(headers).into_iter().chain(cookies(headers)).any(|given| token.is(given));
        (!known).then(refused)
    }

    fn is_mine(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or("", |(address, _)| address),
            None => host.split_once(':').map_or(host, |(name, _)| name),
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|mine| mine.eq_ignore_ascii_case(name))
    }
}

fn refused() -> Response {
    let text = "A token is needed: `plimsoll serve` printed an address with one.\n";
    (StatusCode::UNAUTHORIZED, text).into_response()
}

fn entered(path: &str, token: &str) -> Response {
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict");
    // A path that begins with two slashes would lead to another host.
    let path = format!("/{}", path.trim_start_matches('/'));
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, path)]).into_response()
}

fn parameter<'u>(uri: &'u Uri, name: &str) -> Option<&'u str> {
    uri.query()?
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        .map(|it| it.1)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn asked(guard: &Guard, method: &Method, uri: &str, headers: &[(HeaderName, &str)]) -> Option<u16> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        let answer = guard.objection(method, &uri.parse().unwrap(), &headers);
        answer.map(|answer| answer.status().as_u16())
    }

    #[test]
    fn a_name_of_a_stranger_is_refused() {
        let guard = Guard { names: vec!["lab.example".into()], ..Guard::default() };
        for host in ["127.0.0.1:7546", "[::1]:7546", "LocalHost", "192.0.2.7:80", "lab.example:7546"] {
            assert_eq!(asked(&guard, &Method::GET, "/", &[(HOST, host)]), None, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7546", "", "[evil]"] {
            assert_eq!(asked(&guard, &Method::GET, "/", &[(HOST, host)]), Some(421), "{host}");
        }
        assert_eq!(asked(&guard, &Method::GET, "/", &[]), Some(421));
    }

    #[test]
    fn nothing_can_be_changed() {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            assert_eq!(asked(&Guard::default(), &method, "/", &[(HOST, "localhost")]), Some(405));
        }
    }

    #[test]
    fn a_token_is_needed_where_there_is_one() {
        let guard = Guard { token: Token::new(TOKEN), ..Guard::default() };
        let with = |uri: &str, name: HeaderName, value: &str| {
            asked(&guard, &Method::GET, uri, &[(HOST, "localhost"), (name, value)])
        };
        assert_eq!(asked(&guard, &Method::GET, "/", &[(HOST, "localhost")]), Some(401));
        assert_eq!(with("/", COOKIE, "a=b; plimsoll-token=0123456789abcdef"), None);
        assert_eq!(with("/", COOKIE, "plimsoll-token=0123456789abcdeX"), Some(401));
        assert_eq!(with("/", AUTHORIZATION, "Bearer 0123456789abcdef"), None);
        assert_eq!(with("/?token=0123456789abcdef", COOKIE, "a=b"), Some(303), "it goes into a cookie");
        assert_eq!(with("/?token=wrong", COOKIE, "plimsoll-token=0123456789abcdef"), Some(401));
        assert!(Token::new("short").is_none() && Token::new("0123456789abcdef; Path=/x").is_none());
    }

    #[test]
    fn who_enters_stays_on_this_host() {
        let answer = entered("//evil.example/", TOKEN);
        assert_eq!(answer.headers()[LOCATION], "/evil.example/");
    }
}
