//! Frames in, facts out: runs services and loads on a host and samples it.
