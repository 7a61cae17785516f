create table if not exists series (
    id integer primary key,
    name text not null unique,
    unit text not null
) strict;
create table if not exists chunks (
    tier integer not null,
    start integer not null,
    series integer not null references series (id),
    points blob not null,
    primary key (tier, start, series)
) strict, without rowid;
create table if not exists rolled (tier integer primary key, until integer not null) strict;
create table if not exists states (series text primary key, state text not null) strict;
create table if not exists notices (
    id integer primary key,
    series text not null,
    since_unix_s integer not null,
    found_unix_s integer not null,
    notice text not null
) strict;
