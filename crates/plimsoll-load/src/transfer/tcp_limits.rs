//! TCP's limits on this host, by the settings of its network namespace.

use std::fs;
use std::io;
use std::path::Path;

use plimsoll_model::observation::TcpLimits;

/// Where the settings are.
const SETTINGS: &str = "proc/sys/net/ipv4";

/// Reads the settings below this root directory.
///
/// # Errors
/// When one cannot be read, or says something else than the kernel writes.
pub(crate) fn read(root: &Path) -> io::Result<TcpLimits> {
    let text = |name: &str| {
        let path = root.join(SETTINGS).join(name);
        fs::read_to_string(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    };
    // Least, default, most.
    let most = |name: &str| {
        let text = text(name)?;
        let number = text.split_whitespace().nth(2).and_then(|word| word.parse().ok());
        number
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{name} is `{}`", text.trim())))
    };
    let switched_on = |name: &str| Ok::<_, io::Error>(text(name)?.trim() != "0");
    Ok(TcpLimits {
        send_buffer: most("tcp_wmem")?,
        receive_buffer: most("tcp_rmem")?,
        window_scaling: switched_on("tcp_window_scaling")?,
        selective_acks: switched_on("tcp_sack")?,
        congestion: text("tcp_congestion_control")?.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_three_numbers_counts_and_a_missing_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let settings = root.path().join(SETTINGS);
        fs::create_dir_all(&settings).unwrap();
        let files = [
            ("tcp_wmem", "4096\t16384\t4194304\n"),
            ("tcp_rmem", "4096\t131072\t6291456\n"),
            ("tcp_window_scaling", "1\n"),
            ("tcp_sack", "0\n"),
        ];
        for (name, text) in files {
            fs::write(settings.join(name), text).unwrap();
        }
        let error = read(root.path()).unwrap_err();
        assert!(error.to_string().contains("tcp_congestion_control"), "{error}");
        fs::write(settings.join("tcp_congestion_control"), "cubic\n").unwrap();
        let limits = read(root.path()).unwrap();
        assert_eq!((limits.send_buffer, limits.receive_buffer), (4_194_304, 6_291_456));
        assert_eq!((limits.window_scaling, limits.selective_acks), (true, false));
        assert_eq!(limits.congestion, "cubic");
    }
}
