create table t(a integer, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<500000) insert into t select i*7919%500009, 'row '||i, i/3.0 from n;
create index ti on t(a);
select b, sum(c), count(*) from t group by a%1000 order by 2 limit 3;
select count(*) from t x join t y on x.a=y.a+1;
