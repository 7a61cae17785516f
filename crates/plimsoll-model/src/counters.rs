//! Names of the kernel's counters, as probes write them and as readers of saved files find them.

/// Columns of `/proc/diskstats` after the name (Documentation/admin-guide/iostats.rst), each with its factor:
/// sectors are 512 bytes, times are milliseconds and become microseconds.
pub const DISK_FIELDS: [(&str, f64); 17] = [
    ("reads", 1.0),
    ("reads_merged", 1.0),
    ("read_bytes", 512.0),
    ("read_time", 1000.0),
    ("writes", 1.0),
    ("writes_merged", 1.0),
    ("written_bytes", 512.0),
    ("write_time", 1000.0),
    ("in_flight", 1.0),
    ("busy", 1000.0),
    ("queue_time", 1000.0),
    ("discards", 1.0),
    ("discards_merged", 1.0),
    ("discarded_bytes", 512.0),
    ("discard_time", 1000.0),
    ("flushes", 1.0),
    ("flush_time", 1000.0),
];
