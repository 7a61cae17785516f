//! Servers that misbehave.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A server that lets `behave` do what it wants with each connection, one after the other, once a request has come.
pub(crate) fn server(behave: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok_and(|length| length > 0) {
                behave(stream);
            }
        }
    });
    address
}
