use shop;
set max_heap_table_size = 16384, tmp_memory_table_size = 16384;
select count(*), sum(s.amount), max(n.title) from sales s join names2 n on n.code = s.code where s.id <= 1000;
select count(*), max(c), sum(a) from (select note, count(*) c, sum(amount) a from sales group by note) t;
select count(*), max(c), sum(a) from (select note, id % 3 m, count(*) c, sum(amount) a from sales group by note, m) t;
select count(*), max(c) from (select md5(concat(a.note, b.seq)) h, count(*) c from sales a join seq_1_to_14 b where a.id <= 20000 and md5(concat(a.note, b.seq)) < '01' group by h) t;
