create table runs (
    id text primary key,
    experiment text not null,
    source text not null,
    settings text not null,
    seed text not null,
    started_unix_s integer not null,
    elapsed_s real not null,
    status text not null,
    notes text not null
) strict;
create table trials (
    run text not null references runs (id),
    number integer not null,
    block integer not null,
    cell text not null,
    faults integer,
    around_us integer,
    record blob,
    primary key (run, number)
) strict, without rowid;
create table phases (
    run text not null,
    trial integer not null,
    ordinal integer not null,
    name text not null,
    cycle integer not null,
    kind text not null,
    elapsed_ns integer not null,
    record blob not null,
    primary key (run, trial, ordinal),
    foreign key (run, trial) references trials (run, number) on delete cascade
) strict;
create table series (
    run text not null,
    trial integer not null,
    host text not null,
    samples blob not null,
    primary key (run, trial, host),
    foreign key (run, trial) references trials (run, number) on delete cascade
) strict;
create table inventories (
    run text not null references runs (id),
    host text not null,
    inventory blob not null,
    primary key (run, host)
) strict;
create table versions (
    run text primary key references runs (id),
    versions text not null
) strict;
create table tags (
    run text not null references runs (id),
    tag text not null,
    primary key (run, tag)
) strict, without rowid;
create table remarks (
    run text primary key references runs (id),
    remark text not null
) strict;
create table baselines (
    name text primary key,
    run text not null references runs (id)
) strict;
create table outcomes (
    run text primary key references runs (id),
    outcomes text not null
) strict;
create table figures (
    run text not null references runs (id),
    place integer not null,
    name text not null,
    unit text not null,
    value real not null,
    low real,
    high real,
    primary key (run, place)
) strict, without rowid;
create table imported (
    run text not null references runs (id),
    ordinal integer not null,
    name text not null,
    bytes integer not null,
    packed blob not null,
    primary key (run, ordinal)
) strict;
create index runs_by_time on runs (started_unix_s desc, experiment, id, elapsed_s, status);
create index runs_by_experiment on runs (experiment, started_unix_s desc, id, elapsed_s, status);
create index runs_by_tag on tags (tag, run);
create index baselines_by_run on baselines (run);
