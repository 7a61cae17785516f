//! Reads the kernel while an experiment runs: counters, profiles, packets.
