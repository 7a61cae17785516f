create table places(id int primary key, name text);
insert into places select i, 'place ' || i from generate_series(1, 100) i;
create table parcels(id bigint primary key, place int, body text);
create procedure work(n int) language plpgsql as $$
declare r record; s bigint := 0;
begin
  for i in 1..n loop
    delete from parcels where id = (select id from parcels order by id limit 1 for update skip locked) returning * into r;
    s := s + r.place;
    commit;
  end loop;
  raise info 'sum %', s;
end $$;
