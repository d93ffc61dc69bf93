-- The copies of stored versions in other stores.

-- name: RequireReplicas :exec
-- A version that is there with another storage manifest has to be copied again.
insert into record.replica (primary_identifier, version, location, job_id, profile_name, manifest_key, manifest_sha256)
select @primary_identifier, @version, l.location, @job_id, @profile_name, @manifest_key, @manifest_sha256 from unnest(@locations::text[]) as l (location)
on conflict (primary_identifier, version, location) do update set
    job_id = excluded.job_id, profile_name = excluded.profile_name, manifest_key = excluded.manifest_key, manifest_sha256 = excluded.manifest_sha256,
    state = 'pending', since = clock_timestamp(), attempts = 0, next_at = clock_timestamp(), error = ''
where replica.manifest_sha256 <> excluded.manifest_sha256 or replica.manifest_key <> excluded.manifest_key;

-- name: ReplicaStored :exec
update record.replica set state = 'stored', since = case state when 'stored' then since else clock_timestamp() end, attempts = attempts + 1, error = ''
where primary_identifier = @primary_identifier and version = @version and location = @location and manifest_sha256 = @manifest_sha256;

-- name: ReplicaFailed :exec
-- The next attempt is half a minute later, then a minute, and so on up to an hour.
update record.replica set state = 'pending', since = case state when 'pending' then since else clock_timestamp() end, attempts = attempts + 1, error = @error,
    next_at = clock_timestamp() + make_interval(secs => least(3600, 30 * 2 ^ least(attempts, 10)))
where primary_identifier = @primary_identifier and version = @version and location = @location and manifest_sha256 = @manifest_sha256;

-- name: RepeatReplica :exec
update record.replica set state = 'pending', since = clock_timestamp(), attempts = 0, next_at = clock_timestamp(), error = @error
where primary_identifier = @primary_identifier and version = @version and location = @location and manifest_sha256 = @manifest_sha256 and state = 'stored';

-- name: ForgetReplica :exec
delete from record.replica where primary_identifier = @primary_identifier and version = @version and location = @location;

-- name: PendingReplicas :many
-- Those to be tried now, the one that waits for longest first.
select * from record.replica where state = 'pending' and next_at <= clock_timestamp()
order by next_at, primary_identifier, version, location limit @max_rows;

-- name: ReplicasOfJobs :many
select * from record.replica where job_id = any(@jobs::text[]) order by primary_identifier, version, location;

-- name: ReplicasOfObject :many
select * from record.replica where primary_identifier = @primary_identifier order by version, location;
