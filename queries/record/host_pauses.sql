-- name: PauseHost :exec
-- Has a server left alone for a while. A pause that is longer stays.
insert into record.host_pause (host, until_at) values (@host, clock_timestamp() + make_interval(secs => @seconds::double precision))
on conflict (host) do update set until_at = greatest(host_pause.until_at, excluded.until_at);

-- name: HostPauses :many
-- How long servers are to be left alone yet.
select host, extract(epoch from until_at - clock_timestamp())::double precision as seconds from record.host_pause where until_at > clock_timestamp();
