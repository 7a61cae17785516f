//! Carries out an experiment: order, deadlines, phases, teardown.
