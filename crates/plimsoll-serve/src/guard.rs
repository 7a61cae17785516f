//! Access to the pages, and a browser's rights on them.
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

/// Sources from which a browser may load parts of a page: nothing from elsewhere, and no script that stands in a page. Plotly sets styles at elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The shortest token: as many letters as 64 random bits have as hexadecimal digits.
const SHORTEST: usize = 16;

/// Secret of the visitors.
#[derive(Clone)]
pub struct Token {
    text: String,
    /// Value of the cookie, which a browser also sends to other ports of this machine: random, and worthless after the server ends.
    cookie: String,
}

impl Token {
    /// A token of letters, digits, `-` and `_`, at least 16 of them; `None` if it is another text.
    pub fn new(text: &str) -> Option<Self> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let cookie = || format!("{:032x}", rand::random::<u128>());
        (text.len() >= SHORTEST && text.chars().all(fits))
            .then(|| Self { text: text.to_owned(), cookie: cookie() })
    }

    fn is(&self, given: &str) -> bool {
        same(&self.text, given)
    }
}

/// Compares in a time that does not depend on where the texts differ.
fn same(own: &str, given: &str) -> bool {
    let differ = |all: u8, (a, b): (u8, u8)| all | (a ^ b);
    own.len() == given.len() && own.bytes().zip(given.bytes()).fold(0, differ) == 0
}

/// A guard at a port. Browsers keep cookies by host and not by port, so the name has the port in it.
pub(crate) struct Gate {
    guard: Guard,
    cookie_name: String,
}

impl Gate {
    pub(crate) fn new(guard: Guard, port: u16) -> Self {
        Self { guard, cookie_name: format!("plimsoll-{port}") }
    }
}

/// Permitted visitors.
#[derive(Clone, Default)]
pub struct Guard {
    /// Their secret; `None` if every client that can connect is permitted.
    pub token: Option<Token>,
    /// Names by which this server may be asked, beside addresses and `localhost`.
    pub names: Vec<String>,
}

/// Lets a request through, or answers it.
pub(crate) async fn check(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let mut response = match gate.objection(request.method(), request.uri(), request.headers()) {
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

impl Gate {
    /// Why a request is not answered, as an answer.
    fn objection(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !self.guard.is_mine(host) {
            let text = "This server is not asked by this name. `plimsoll serve --name NAME` allows one.\n";
            return Some((StatusCode::MISDIRECTED_REQUEST, text).into_response());
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            let text = "Runs can only be read here.\n";
            return Some((StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")], text).into_response());
        }
        let token = self.guard.token.as_ref()?;
        if let Some(given) = parameter(uri, "token") {
            // The token goes from the address into a cookie, so that it is not sent along with the address of a page.
            return Some(if token.is(given) { self.entered(uri.path(), token) } else { refused() });
        }
        let known = bearer(headers).is_some_and(|given| token.is(given))
            || cookies(headers, &self.cookie_name).any(|given| same(&token.cookie, given));
        (!known).then(refused)
    }

    fn entered(&self, path: &str, token: &Token) -> Response {
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name, token.cookie);
        // A path that begins with two slashes would lead to another host.
        let path = format!("/{}", path.trim_start_matches('/'));
        (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, path)]).into_response()
    }
}

impl Guard {
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

fn parameter<'u>(uri: &'u Uri, name: &str) -> Option<&'u str> {
    uri.query()?
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        .map(|it| it.1)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn cookies<'h>(headers: &'h HeaderMap, cookie: &'h str) -> impl Iterator<Item = &'h str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(name, _)| *name == cookie).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn asked(guard: &Guard, method: &Method, uri: &str, headers: &[(HeaderName, &str)]) -> Option<u16> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        let answer = Gate::new(guard.clone(), 7546).objection(method, &uri.parse().unwrap(), &headers);
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
        let cookie = guard.token.as_ref().map(|token| token.cookie.clone()).unwrap();
        assert_eq!(with("/", COOKIE, &format!("a=b; plimsoll-7546={cookie}")), None);
        assert_eq!(with("/", COOKIE, &format!("plimsoll-7547={cookie}")), Some(401), "of another port");
        assert_eq!(with("/", COOKIE, "plimsoll-7546=0123456789abcdef"), Some(401), "the token is no cookie");
        assert_eq!(with("/", AUTHORIZATION, "Bearer 0123456789abcdef"), None);
        assert_eq!(with("/?token=0123456789abcdef", COOKIE, "a=b"), Some(303), "it goes into a cookie");
        assert_eq!(with("/?token=wrong", COOKIE, &format!("plimsoll-7546={cookie}")), Some(401));
        assert!(Token::new("short").is_none() && Token::new("0123456789abcdef; Path=/x").is_none());
    }

    #[test]
    fn who_enters_stays_on_this_host() {
        let token = Token::new(TOKEN).unwrap();
        let answer = Gate::new(Guard::default(), 7546).entered("//evil.example/", &token);
        assert!(
            !answer.headers()[SET_COOKIE].to_str().unwrap().contains(TOKEN),
            "other ports get the cookie, too"
        );
        assert_eq!(answer.headers()[LOCATION], "/evil.example/");
    }
}
