set max_parallel_workers_per_gather = 0; set jit = off;
select count(*) from (select ref, amount from orders order by ref offset 0) x;
select count(*) from (select a.ref from orders a join orders b on a.ref = b.ref order by a.ref desc offset 0) x;
select count(*) from (select distinct ref, amount from orders offset 0) x;
