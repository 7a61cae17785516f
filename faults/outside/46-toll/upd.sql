\set i random(1, 150)
begin;
update acc set v = v + 1 where id = :i;
select count(*) from hist where g = :i;
commit;
