truncate parcels;
insert into parcels select i, i % 100, repeat('x', 40) from generate_series(1, 5200) i;
call work(5200);
