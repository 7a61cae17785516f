//! The program as its users meet it: arguments in, standard output, standard error, exit status and what is left on the machine out.
//!
//! Everything here runs the real program on real hosts. A test that needs root is ignored unless asked for; the others run as whoever
//! starts the tests, or, where the story is about an ordinary user and the tests run as root, as nobody.

mod experiments;
mod kubernetes;
mod lab;
mod machine;

mod actions;
mod bisected;
mod cannot_be_carried_out;
mod captured;
mod ci_action;
mod claims;
mod cluster;
mod commands_end;
mod configured;
mod explained;
mod flooded;
mod groups;
mod guests;
mod hooks;
mod imports;
mod interactions;
mod interrupted;
mod judging;
mod kept;
mod kept_imports;
mod killed;
mod leaking;
mod limits;
mod links;
mod live;
mod mail;
mod many_agents;
mod messaging;
mod models;
mod offered;
mod old_evidence;
mod own_services;
mod packaged;
mod pages;
mod papers;
mod paths;
mod planted;
mod programs;
mod programs_as_loads;
mod queued;
mod rack;
mod reached;
mod remote;
mod scarce;
mod secure;
mod served;
mod served_live;
mod settings;
mod slurm;
mod steps;
mod storage;
mod stores;
mod strangers;
mod team_store;
mod terminal;
mod total_failure;
mod watched;
mod wrong_files;
