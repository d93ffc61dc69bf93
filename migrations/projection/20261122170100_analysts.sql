-- What analysts ask: one row per job and per file with all that matters, the life of
-- jobs, the history of settings, and how things stood at a moment. Functions have parsed
-- bodies, which follow the views when a rebuild renames their schemas.

-- +goose Up
create view report.event as
select e.epoch, e.seq, e.stored as at, e.type, e.kind, e.aggregate_id, e.version, e.batch_id, e.actor, e.time as written_at, e.trace_parent, e.data
from accession.event e;
comment on view report.event is 'One row per event of the log: everything that ever happened.';
comment on column report.event.epoch is 'Epoch, from 1; every restore of the live state begins a new one.';
comment on column report.event.seq is 'Sequence of the event in the log.';
comment on column report.event.at is 'When the log took it.';
comment on column report.event.type is 'What happened, such as job.completed.';
comment on column report.event.kind is 'batch, job, file or setting.';
comment on column report.event.aggregate_id is 'Whose event it is, such as jid0000000042.';
comment on column report.event.version is 'Number among the events of its aggregate, from 1.';
comment on column report.event.batch_id is 'Its batch; empty = none.';
comment on column report.event.actor is 'Who caused it.';
comment on column report.event.written_at is 'Clock of the writer.';
comment on column report.event.trace_parent is 'W3C trace context; empty = none.';
comment on column report.event.data is 'Data of the event, as its JSON Schema says.';

create view report.failed_attempt as
select r.kind, r.batch_id, r.job_id, r.raw_file_hash, r.number, r.attempt,
       coalesce(f.path, j.file_name, '')::text as file_name, coalesce(f.url, j.payload_url, '')::text as url,
       coalesce(nullif(r.host, ''), nullif(f.host, ''), nullif(j.host, ''), substring(coalesce(f.url, j.payload_url) from '^https?://([^/?#]+)'), '')::text as host,
       coalesce(nullif(f.collection, ''), j.collection, '')::text as collection, coalesce(nullif(f.profile_name, ''), j.profile_name, '')::text as profile_name,
       coalesce(j.submitter, '')::text as submitter,
       r.status as failed_in, r.class, r.code, r.message, r.worker, r.uncounted,
       (case when r.outcome not in ('open', 'given_up') or j.status = 'deleted' then 'none'
             when r.outcome = 'open' and (r.kind = 'file' or r.resumed_at is not null) then 'service'
             else coalesce(nullif(r.who_acts, ''), case r.class when 'content' then 'depositor' when 'cancelled' then 'none' when 'wait' then 'service' else 'operator' end) end)::text as who_acts,
       r.failed_at, r.resumed_at, r.resumed_by, r.resumed_to,
       (case when r.kind = 'file' and r.outcome in ('open', 'given_up') and j.status = 'deleted' then 'deleted' else r.outcome end)::text as outcome,
       r.trace_id
from accession.retry r
left join accession.job j on j.id = r.job_id
left join accession.file f on r.kind = 'file' and f.raw_file_hash = r.raw_file_hash;
comment on view report.failed_attempt is 'One row per failed attempt of a job or a file, with the server, the collection and who must act.';
comment on column report.failed_attempt.kind is 'What failed: job or file.';
comment on column report.failed_attempt.batch_id is 'Its batch; empty = none.';
comment on column report.failed_attempt.job_id is 'The job, or the job of the file; empty = none.';
comment on column report.failed_attempt.raw_file_hash is 'The file; empty = the job itself failed.';
comment on column report.failed_attempt.number is 'Orders the failures of one job or file.';
comment on column report.failed_attempt.attempt is 'Which attempt failed, from 1.';
comment on column report.failed_attempt.file_name is 'Path of the file, or file name of the payload of the job.';
comment on column report.failed_attempt.url is 'What was fetched, without its query.';
comment on column report.failed_attempt.host is 'Server that the failure is about, else that of the URL; empty = unknown.';
comment on column report.failed_attempt.collection is 'Its collection; empty = unknown.';
comment on column report.failed_attempt.profile_name is 'Its profile; empty = unknown.';
comment on column report.failed_attempt.submitter is 'Who deposited it; empty = unknown.';
comment on column report.failed_attempt.failed_in is 'The state that it failed in.';
comment on column report.failed_attempt.class is 'content, system, timeout or cancelled.';
comment on column report.failed_attempt.code is 'Stable word for programs.';
comment on column report.failed_attempt.message is 'Why it failed, one sentence for people.';
comment on column report.failed_attempt.worker is 'Worker that made the attempt.';
comment on column report.failed_attempt.uncounted is 'The attempt was given back: the fault was ours.';
comment on column report.failed_attempt.who_acts is 'Who must act now: depositor, operator, service (it goes on by itself) or none.';
comment on column report.failed_attempt.failed_at is 'When it failed.';
comment on column report.failed_attempt.resumed_at is 'When it was requeued, or its next attempt allowed; null = not yet.';
comment on column report.failed_attempt.resumed_by is 'Who did that.';
comment on column report.failed_attempt.resumed_to is 'The state that it went on from.';
comment on column report.failed_attempt.outcome is 'open, succeeded, failed_again, given_up, deleted or abandoned.';
comment on column report.failed_attempt.trace_id is 'Trace of the failure, as in the lines of the log; null = none.';

create view report.job as
select j.id as job_id, j.batch_id, j.manifest_row, j.status, j.primary_identifier, j.object_version, j.local_id,
       j.collection, j.profile_name, j.profile_version, j.submitter, j.erc_what, j.erc_who, j.erc_when, j.file_name,
       coalesce(nullif(j.host, ''), substring(j.payload_url from '^https?://([^/?#]+)'), '')::text as host, j.payload_url, j.payload_type, j.submission_mode,
       j.priority, (j.retry_count + 1)::bigint as attempts, j.files, j.bytes, j.manifest_key,
       j.created_at, j.status_since, j.completed_at,
       extract(epoch from coalesce(j.completed_at, case when j.status in ('failed', 'deleted') then j.status_since else clock_timestamp() end) - j.created_at)::double precision as seconds,
       j.reason_class, j.reason_code, j.reason_message,
       f.failed_at as first_failed_at, f.status as first_failed_in, f.class as first_class, f.code as first_code, f.message as first_message,
       l.failed_at as last_failed_at, l.status as last_failed_in, l.class as last_class, l.code as last_code, l.message as last_message, l.host as last_host,
       (case when j.status = 'failed' then coalesce(nullif(j.reason_who_acts, ''), case j.reason_class when 'content' then 'depositor' when 'cancelled' then 'none' when 'wait' then 'service' else 'operator' end)
             when j.status = 'held' then 'operator' when j.status in ('completed', 'deleted') then 'none' else 'service' end)::text as who_acts
from accession.job j
left join lateral (select r.* from accession.retry r where r.job_id = j.id and r.raw_file_hash = '' order by r.number limit 1) f on true
left join lateral (select r.* from accession.retry r where r.job_id = j.id and r.raw_file_hash = '' order by r.number desc limit 1) l on true;
comment on view report.job is 'One row per job: what it is, where it stands, how it went, and who must act.';
comment on column report.job.job_id is 'The job.';
comment on column report.job.batch_id is 'Its batch.';
comment on column report.job.manifest_row is 'Row of the batch manifest, from 0.';
comment on column report.job.status is 'State of the job.';
comment on column report.job.primary_identifier is 'Identifier of its object; empty until it is known.';
comment on column report.job.object_version is 'Version of the object that it stored; null until then.';
comment on column report.job.local_id is 'Local identifiers of the depositor.';
comment on column report.job.collection is 'Collection; empty = unknown.';
comment on column report.job.profile_name is 'Profile.';
comment on column report.job.profile_version is 'Version of the profile when the job was created; empty = unknown.';
comment on column report.job.submitter is 'Who deposited it.';
comment on column report.job.erc_what is 'Title of the object.';
comment on column report.job.erc_who is 'Creator of the object.';
comment on column report.job.erc_when is 'Date of the object.';
comment on column report.job.file_name is 'File name of the payload.';
comment on column report.job.host is 'Server of the payload; empty = none.';
comment on column report.job.payload_url is 'URL of the payload, without its query.';
comment on column report.job.payload_type is 'file, container or object_manifest.';
comment on column report.job.submission_mode is 'add or update.';
comment on column report.job.priority is '0 to 99; lower runs first.';
comment on column report.job.attempts is 'How often it was begun: 1, and one for each requeue.';
comment on column report.job.files is 'How many files it has; null until its estimate.';
comment on column report.job.bytes is 'Their bytes; null until its estimate.';
comment on column report.job.manifest_key is 'Key of the storage manifest in the object store; null until it is stored.';
comment on column report.job.created_at is 'When it was created.';
comment on column report.job.status_since is 'When it entered its state.';
comment on column report.job.completed_at is 'When it completed; null = not yet.';
comment on column report.job.seconds is 'Seconds from its creation to its end, or until now.';
comment on column report.job.reason_class is 'Class of the reason why it failed or waits now; null = none.';
comment on column report.job.reason_code is 'Code of that reason.';
comment on column report.job.reason_message is 'Sentence of that reason.';
comment on column report.job.first_failed_at is 'When it first failed; null = never.';
comment on column report.job.first_failed_in is 'State that it first failed in.';
comment on column report.job.first_class is 'Class of the first failure.';
comment on column report.job.first_code is 'Code of the first failure.';
comment on column report.job.first_message is 'Sentence of the first failure.';
comment on column report.job.last_failed_at is 'When it last failed; null = never.';
comment on column report.job.last_failed_in is 'State that it last failed in.';
comment on column report.job.last_class is 'Class of the last failure.';
comment on column report.job.last_code is 'Code of the last failure.';
comment on column report.job.last_message is 'Sentence of the last failure.';
comment on column report.job.last_host is 'Server that the last failure is about; empty = none.';
comment on column report.job.who_acts is 'Who must act now: depositor, operator, service (it goes on by itself) or none.';

create view report.file as
select f.raw_file_hash, f.path, f.job_id, f.batch_id, f.status,
       coalesce(nullif(f.collection, ''), j.collection, '')::text as collection, coalesce(nullif(f.profile_name, ''), j.profile_name, '')::text as profile_name,
       coalesce(j.submitter, '')::text as submitter, coalesce(j.primary_identifier, '')::text as primary_identifier, f.dataset, f.group_name,
       coalesce(nullif(f.host, ''), substring(f.url from '^https?://([^/?#]+)'), '')::text as host, f.url, f.source, f.size, f.sha256, f.source_modified,
       f.download_attempts, f.processing_attempts, f.discovered_at, f.status_since, f.download_started_at, f.processing_started_at,
       f.reason_class, f.reason_code, f.reason_message,
       a.failures, a.uncounted,
       a.first_failed_at, a.first_class, a.first_code, a.first_message, a.last_failed_at, a.last_class, a.last_code, a.last_message,
       (case when f.status in ('PROCESSED', 'SKIPPED') or j.status = 'deleted' then 'none'
             when f.status in ('IGNORE', 'ABANDONED') then coalesce(nullif(f.reason_who_acts, ''), case f.reason_class when 'content' then 'depositor' when 'cancelled' then 'none' when 'wait' then 'service' else 'operator' end)
             else 'service' end)::text as who_acts
from accession.file f
left join accession.job j on j.id = f.job_id
left join lateral (
    select count(*) as failures, count(*) filter (where r.uncounted) as uncounted,
           min(r.failed_at)::timestamptz as first_failed_at, (array_agg(r.class order by r.number))[1]::text as first_class,
           (array_agg(r.code order by r.number))[1]::text as first_code, (array_agg(r.message order by r.number))[1]::text as first_message,
           max(r.failed_at)::timestamptz as last_failed_at, (array_agg(r.class order by r.number desc))[1]::text as last_class,
           (array_agg(r.code order by r.number desc))[1]::text as last_code, (array_agg(r.message order by r.number desc))[1]::text as last_message
    from accession.retry r where r.raw_file_hash = f.raw_file_hash and r.kind = 'file'
) a on true;
comment on view report.file is 'One row per file: what it is, where it stands, how it went, and who must act.';
comment on column report.file.raw_file_hash is 'Identity of the file.';
comment on column report.file.path is 'Path within its source; of a file of a job its name.';
comment on column report.file.job_id is 'Its job; empty = none.';
comment on column report.file.batch_id is 'Its batch; empty = none.';
comment on column report.file.status is 'State of the file.';
comment on column report.file.collection is 'Collection; empty = unknown.';
comment on column report.file.profile_name is 'Profile; empty = unknown.';
comment on column report.file.submitter is 'Who deposited it; empty = unknown.';
comment on column report.file.primary_identifier is 'Identifier of the object of its job; empty = unknown.';
comment on column report.file.dataset is 'Dataset; empty = none.';
comment on column report.file.group_name is 'Group within the dataset; empty = none.';
comment on column report.file.host is 'Server of the URL; empty = unknown.';
comment on column report.file.url is 'Where it is fetched, without the query; empty = unknown.';
comment on column report.file.source is 'Where it comes from: the id of a job, or the URL of a listing.';
comment on column report.file.size is 'Bytes, 0 = unknown.';
comment on column report.file.sha256 is 'SHA-256 of its content, in hex; empty = not downloaded.';
comment on column report.file.source_modified is 'Time of modification at the source; null = unknown.';
comment on column report.file.download_attempts is 'Downloads begun since its discovery, or since it was reopened.';
comment on column report.file.processing_attempts is 'Processings begun since its discovery, or since it was reopened.';
comment on column report.file.discovered_at is 'When it became known.';
comment on column report.file.status_since is 'When it entered its state.';
comment on column report.file.download_started_at is 'When its last download began; null = none yet.';
comment on column report.file.processing_started_at is 'When its last processing began; null = none yet.';
comment on column report.file.reason_class is 'Class of the reason of its last event; null = none.';
comment on column report.file.reason_code is 'Code of that reason.';
comment on column report.file.reason_message is 'Sentence of that reason.';
comment on column report.file.failures is 'How many attempts failed.';
comment on column report.file.uncounted is 'How many of them were given back.';
comment on column report.file.first_failed_at is 'When an attempt first failed; null = never.';
comment on column report.file.first_class is 'Class of the first failure.';
comment on column report.file.first_code is 'Code of the first failure.';
comment on column report.file.first_message is 'Sentence of the first failure.';
comment on column report.file.last_failed_at is 'When an attempt last failed; null = never.';
comment on column report.file.last_class is 'Class of the last failure.';
comment on column report.file.last_code is 'Code of the last failure.';
comment on column report.file.last_message is 'Sentence of the last failure.';
comment on column report.file.who_acts is 'Who must act now: depositor, operator, service (it goes on by itself) or none.';

create view report.job_life as
select t.batch_id, t.job_id, t.version, t.seq, t.from_status, t.to_status, t.at, t.seconds, t.actor, (t.retry_count + 1)::bigint as attempt,
       t.reason_class, t.reason_code, t.reason_message, coalesce(t.reason_host, '')::text as reason_host, j.collection, j.profile_name, j.submitter
from accession.job_transition t
join accession.job j on j.id = t.job_id;
comment on view report.job_life is 'One row per change of state of a job, with the time that it had been in the state before.';
comment on column report.job_life.batch_id is 'Its batch.';
comment on column report.job_life.job_id is 'The job.';
comment on column report.job_life.version is 'Number of the event among those of the job.';
comment on column report.job_life.seq is 'Sequence of the event in the log.';
comment on column report.job_life.from_status is 'State before; empty = it was created.';
comment on column report.job_life.to_status is 'State after.';
comment on column report.job_life.at is 'When it changed.';
comment on column report.job_life.seconds is 'Seconds that it had been in the state before.';
comment on column report.job_life.actor is 'Who changed it.';
comment on column report.job_life.attempt is 'Attempt of the job, from 1.';
comment on column report.job_life.reason_class is 'Class of the reason given; null = none.';
comment on column report.job_life.reason_code is 'Code of the reason given.';
comment on column report.job_life.reason_message is 'Sentence of the reason given.';
comment on column report.job_life.reason_host is 'Server that the reason is about; empty = none.';
comment on column report.job_life.collection is 'Collection of the job; empty = unknown.';
comment on column report.job_life.profile_name is 'Profile of the job.';
comment on column report.job_life.submitter is 'Who deposited it.';

create view report.settings_history as
select e.seq, e.stored as at, e.data ->> 'kind' as kind, e.data ->> 'name' as name, e.version, e.actor as changed_by,
       e.data ->> 'from' as from_status, e.data ->> 'to' as to_status, coalesce(e.data ->> 'why', '') as why,
       coalesce(e.data -> 'previous', lag(case when e.data ? 'value' then e.data -> 'value' when e.data ? 'hold' then jsonb_build_object('hold', e.data -> 'hold') end)
           over (partition by e.aggregate_id order by e.version)) as previous,
       case when e.data ? 'value' then e.data -> 'value' when e.data ? 'hold' then jsonb_build_object('hold', e.data -> 'hold') end as value
from accession.event e
where e.kind = 'setting' and e.type = 'setting.changed';
comment on view report.settings_history is 'One row per change of a setting: holds, pauses and all others, with the value before and after.';
comment on column report.settings_history.seq is 'Sequence of the event in the log.';
comment on column report.settings_history.at is 'When the log took it.';
comment on column report.settings_history.kind is 'Kind of the setting, such as collection or queue.';
comment on column report.settings_history.name is 'Name of the setting.';
comment on column report.settings_history.version is 'Number of the event among those of the setting.';
comment on column report.settings_history.changed_by is 'Who changed it.';
comment on column report.settings_history.from_status is 'State before.';
comment on column report.settings_history.to_status is 'State after.';
comment on column report.settings_history.why is 'Why; empty = no reason given.';
comment on column report.settings_history.previous is 'Value before; null = it was not set.';
comment on column report.settings_history.value is 'Value after; null = it is not set.';

create view report.time_in_state_by_profile as
select s.kind, s.profile_name, s.status, count(*) as times,
       percentile_cont(0.50) within group (order by s.seconds) as p50,
       percentile_cont(0.95) within group (order by s.seconds) as p95,
       percentile_cont(0.99) within group (order by s.seconds) as p99,
       max(s.seconds)::double precision as longest
from (
    select 'job'::text as kind, j.profile_name, t.from_status as status, t.seconds
    from accession.job_transition t join accession.job j on j.id = t.job_id where t.from_status <> ''
    union all
    select 'file'::text, coalesce(nullif(f.profile_name, ''), j.profile_name, ''), t.from_status, t.seconds
    from accession.file_transition t join accession.file f on f.raw_file_hash = t.raw_file_hash left join accession.job j on j.id = f.job_id
    where t.from_status <> ''
) s
group by s.kind, s.profile_name, s.status;
comment on view report.time_in_state_by_profile is 'Seconds spent in each state, by profile.';
comment on column report.time_in_state_by_profile.kind is 'job or file.';
comment on column report.time_in_state_by_profile.profile_name is 'Profile; empty = unknown.';
comment on column report.time_in_state_by_profile.status is 'The state.';
comment on column report.time_in_state_by_profile.times is 'How often it was left.';
comment on column report.time_in_state_by_profile.p50 is 'Median, in seconds.';
comment on column report.time_in_state_by_profile.p95 is '95 of 100 took no longer, in seconds.';
comment on column report.time_in_state_by_profile.p99 is '99 of 100 took no longer, in seconds.';
comment on column report.time_in_state_by_profile.longest is 'The longest, in seconds.';

-- Changes of settings are few among the events.
create index event_setting on accession.event (seq) where kind = 'setting';

-- +goose StatementBegin
create function report.job_at(job text, moment timestamptz)
    returns table (job_id text, batch_id text, seq bigint, version bigint, at timestamptz, event text, actor text, status text, last_successful_status text, attempt bigint, priority bigint, reason_class text, reason_code text, reason_message text)
    language sql stable
begin atomic
    select e.aggregate_id,
        e.batch_id,
        e.seq,
        e.version,
        e.at,
        e.type,
        e.actor,
        e.data ->> 'to',
        e.data ->> 'last_successful_status',
        (e.data ->> 'retry_count')::bigint + 1,
        (e.data ->> 'priority')::bigint,
        e.data -> 'reason' ->> 'class',
        e.data -> 'reason' ->> 'code',
        e.data -> 'reason' ->> 'message'
    from report.event e
    where e.kind = 'job' and e.aggregate_id = job and e.at <= moment
    order by e.version desc limit 1;
end;
-- +goose StatementEnd
comment on function report.job_at(text, timestamptz) is 'Returns the state of a job as it was at a time, by the clock of the log; no row = it did not exist yet.';

-- +goose StatementBegin
create function report.job_at(job text, moment bigint)
    returns table (job_id text, batch_id text, seq bigint, version bigint, at timestamptz, event text, actor text, status text, last_successful_status text, attempt bigint, priority bigint, reason_class text, reason_code text, reason_message text)
    language sql stable
begin atomic
    select e.aggregate_id,
        e.batch_id,
        e.seq,
        e.version,
        e.at,
        e.type,
        e.actor,
        e.data ->> 'to',
        e.data ->> 'last_successful_status',
        (e.data ->> 'retry_count')::bigint + 1,
        (e.data ->> 'priority')::bigint,
        e.data -> 'reason' ->> 'class',
        e.data -> 'reason' ->> 'code',
        e.data -> 'reason' ->> 'message'
    from report.event e
    where e.kind = 'job' and e.aggregate_id = job and e.seq <= moment
    order by e.version desc limit 1;
end;
-- +goose StatementEnd
comment on function report.job_at(text, bigint) is 'Returns the state of a job as it was after the event of that sequence; no row = it did not exist yet.';

-- +goose StatementBegin
create function report.file_at(file text, moment timestamptz)
    returns table (raw_file_hash text, path text, job_id text, batch_id text, seq bigint, version bigint, at timestamptz, event text, actor text, status text, size bigint, download_attempts bigint, processing_attempts bigint, reason_class text, reason_code text, reason_message text)
    language sql stable
begin atomic
    select e.aggregate_id,
        e.data ->> 'path',
        coalesce(e.data ->> 'job_id', ''),
        e.batch_id,
        e.seq,
        e.version,
        e.at,
        e.type,
        e.actor,
        e.data ->> 'to',
        (e.data ->> 'size')::bigint,
        (e.data ->> 'download_attempts')::bigint,
        (e.data ->> 'processing_attempts')::bigint,
        e.data -> 'reason' ->> 'class',
        e.data -> 'reason' ->> 'code',
        e.data -> 'reason' ->> 'message'
    from report.event e
    where e.kind = 'file' and e.aggregate_id = file and e.at <= moment
    order by e.version desc limit 1;
end;
-- +goose StatementEnd
comment on function report.file_at(text, timestamptz) is 'Returns the state of a file as it was at a time, by the clock of the log; no row = it did not exist yet.';

-- +goose StatementBegin
create function report.file_at(file text, moment bigint)
    returns table (raw_file_hash text, path text, job_id text, batch_id text, seq bigint, version bigint, at timestamptz, event text, actor text, status text, size bigint, download_attempts bigint, processing_attempts bigint, reason_class text, reason_code text, reason_message text)
    language sql stable
begin atomic
    select e.aggregate_id,
        e.data ->> 'path',
        coalesce(e.data ->> 'job_id', ''),
        e.batch_id,
        e.seq,
        e.version,
        e.at,
        e.type,
        e.actor,
        e.data ->> 'to',
        (e.data ->> 'size')::bigint,
        (e.data ->> 'download_attempts')::bigint,
        (e.data ->> 'processing_attempts')::bigint,
        e.data -> 'reason' ->> 'class',
        e.data -> 'reason' ->> 'code',
        e.data -> 'reason' ->> 'message'
    from report.event e
    where e.kind = 'file' and e.aggregate_id = file and e.seq <= moment
    order by e.version desc limit 1;
end;
-- +goose StatementEnd
comment on function report.file_at(text, bigint) is 'Returns the state of a file as it was after the event of that sequence; no row = it did not exist yet.';

-- +goose StatementBegin
create function report.batch_at(batch text, moment timestamptz)
    returns table (batch_id text, seq bigint, version bigint, at timestamptz, event text, actor text, status text,
        rows_listed bigint, jobs_completed bigint, jobs_failed bigint, jobs_held bigint, jobs_deleted bigint, jobs_in_progress bigint,
        reason_class text, reason_code text, reason_message text)
    language sql stable
begin atomic
    with last_event as (
        select e.* from report.event e
        where e.kind = 'batch' and e.aggregate_id = batch and e.at <= moment order by e.version desc limit 1
    ), listing as (
        select (e.data -> 'listing' ->> 'rows')::bigint as listed from report.event e
        where e.kind = 'batch' and e.aggregate_id = batch and e.type = 'batch.listed' and e.at <= moment
    ), jobs as (
        select distinct on (l.job_id) l.to_status from report.job_life l
        where l.batch_id = batch and l.at <= moment order by l.job_id, l.version desc
    ), counted as (
        select count(*) filter (where j.to_status = 'completed') as completed, count(*) filter (where j.to_status = 'failed') as failed,
               count(*) filter (where j.to_status = 'held') as held, count(*) filter (where j.to_status = 'deleted') as deleted from jobs j
    )
    select e.aggregate_id, e.seq, e.version, e.at, e.type, e.actor, e.data ->> 'to',
        (select l.listed from listing l), c.completed, c.failed, c.held, c.deleted,
        (select l.listed from listing l) - c.completed - c.failed - c.held - c.deleted,
        e.data -> 'reason' ->> 'class', e.data -> 'reason' ->> 'code', e.data -> 'reason' ->> 'message'
    from last_event e cross join counted c;
end;
-- +goose StatementEnd
comment on function report.batch_at(text, timestamptz) is 'Returns the state of a batch as it was at a time, by the clock of the log, with its jobs by state; no row = it did not exist yet.';

-- +goose StatementBegin
create function report.batch_at(batch text, moment bigint)
    returns table (batch_id text, seq bigint, version bigint, at timestamptz, event text, actor text, status text,
        rows_listed bigint, jobs_completed bigint, jobs_failed bigint, jobs_held bigint, jobs_deleted bigint, jobs_in_progress bigint,
        reason_class text, reason_code text, reason_message text)
    language sql stable
begin atomic
    with last_event as (
        select e.* from report.event e
        where e.kind = 'batch' and e.aggregate_id = batch and e.seq <= moment order by e.version desc limit 1
    ), listing as (
        select (e.data -> 'listing' ->> 'rows')::bigint as listed from report.event e
        where e.kind = 'batch' and e.aggregate_id = batch and e.type = 'batch.listed' and e.seq <= moment
    ), jobs as (
        select distinct on (l.job_id) l.to_status from report.job_life l
        where l.batch_id = batch and l.seq <= moment order by l.job_id, l.version desc
    ), counted as (
        select count(*) filter (where j.to_status = 'completed') as completed, count(*) filter (where j.to_status = 'failed') as failed,
               count(*) filter (where j.to_status = 'held') as held, count(*) filter (where j.to_status = 'deleted') as deleted from jobs j
    )
    select e.aggregate_id, e.seq, e.version, e.at, e.type, e.actor, e.data ->> 'to',
        (select l.listed from listing l), c.completed, c.failed, c.held, c.deleted,
        (select l.listed from listing l) - c.completed - c.failed - c.held - c.deleted,
        e.data -> 'reason' ->> 'class', e.data -> 'reason' ->> 'code', e.data -> 'reason' ->> 'message'
    from last_event e cross join counted c;
end;
-- +goose StatementEnd
comment on function report.batch_at(text, bigint) is 'Returns the state of a batch as it was after the event of that sequence, with its jobs by state; no row = it did not exist yet.';
