-- What open directories list, against what is known of their files. As that of the
-- inventory these views stand in schema report over tables of both schemas: they are made
-- after every migration of either, and with each new generation of views.
create or replace view report.directory_listing as
select l.discovery, coalesce(f.dataset, '')::text as dataset, l.path, l.raw_file_hash, split_part(l.url, '?', 1)::text as url, l.size, l.modified,
    l.first_at, l.last_at, l.changed_at, l.gone_at, coalesce(f.status, '')::text as status
from record.directory_listing l
left join accession.file f on f.raw_file_hash = l.raw_file_hash;
comment on view report.directory_listing is 'One row per file that an open directory has listed.';
comment on column report.directory_listing.discovery is 'Name of the discovery.';
comment on column report.directory_listing.dataset is 'Dataset of the file; empty = the tables do not know it yet.';
comment on column report.directory_listing.path is 'Path below the directory.';
comment on column report.directory_listing.raw_file_hash is 'The file that it is known as.';
comment on column report.directory_listing.url is 'Where it is, without its query.';
comment on column report.directory_listing.size is 'Bytes as listed last; null = not said, or rounded.';
comment on column report.directory_listing.modified is 'When it was modified as listed last; null = not said.';
comment on column report.directory_listing.first_at is 'When it was first listed.';
comment on column report.directory_listing.last_at is 'When it was last listed.';
comment on column report.directory_listing.changed_at is 'When its size or time was last found changed; null = never.';
comment on column report.directory_listing.gone_at is 'Since when it is not listed; null = it is.';
comment on column report.directory_listing.status is 'State of the file; empty = the tables do not know it yet.';

create or replace view report.dataset_reconciliation as
select f.dataset, f.group_name, f.path, f.raw_file_hash,
    (case when not h.held and h.listed then 'missing'
          when not h.held then 'gone'
          when l.discovery is null and o.discovery is not null then 'replaced'
          when not h.listed then 'extra'
          when l.size <> f.size or l.changed_at > coalesce(f.download_started_at, f.discovered_at) then 'changed'
          when f.status = 'SKIPPED' then 'skipped'
          when f.status = 'PROCESSED' then 'processed'
          else 'held' end)::text as result,
    h.listed::boolean as listed, h.held::boolean as held, (f.status = 'PROCESSED')::boolean as processed, f.status,
    coalesce(l.discovery, o.discovery, '')::text as discovery, l.size as listed_size, f.size, l.modified as listed_modified,
    coalesce(l.last_at, o.last_at) as listed_at, coalesce(l.changed_at, o.changed_at) as changed_at, l.gone_at, f.reason_code, f.reason_message,
    (case when g.decided_at is null then '' else coalesce(m.part, 'late') end)::text as deposit, coalesce(g.batch_id, '')::text as deposit_batch
from accession.file f
left join record.group_deposit g on g.dataset = f.dataset and g.group_name = f.group_name
left join record.group_file m on m.dataset = f.dataset and m.group_name = f.group_name and m.raw_file_hash = f.raw_file_hash
left join lateral (
    select * from record.directory_listing r where r.raw_file_hash = f.raw_file_hash order by r.gone_at desc nulls first, r.last_at desc limit 1
) l on true
left join lateral (
    select r.discovery, r.last_at, r.changed_at from record.discovery d join record.directory_listing r on r.discovery = d.name and r.path = f.path
    where l.discovery is null and d.url = f.source and r.gone_at is null limit 1
) o on true
cross join lateral (
    select l.discovery is not null and l.gone_at is null as listed,
        f.status in ('DOWNLOADED', 'SKIPPED', 'READY', 'PROCESSING', 'PROCESSED', 'PROCESSING_FAILED', 'ABANDONED') as held
) h
where f.job_id = '' and f.dataset <> '';
comment on view report.dataset_reconciliation is 'One row per file of a dataset: listed by its directory, held, and processed.';
comment on column report.dataset_reconciliation.dataset is 'The dataset.';
comment on column report.dataset_reconciliation.group_name is 'Group within the dataset; empty = none.';
comment on column report.dataset_reconciliation.path is 'Path below the directory.';
comment on column report.dataset_reconciliation.raw_file_hash is 'The file.';
comment on column report.dataset_reconciliation.result is 'missing (listed, not held), extra (held, listed no more), changed (listed with another size, or changed since its download), replaced (its directory lists another version, a file of its own), gone (neither listed nor held), else held, skipped or processed.';
comment on column report.dataset_reconciliation.listed is 'Its directory lists it, as of the last complete poll.';
comment on column report.dataset_reconciliation.held is 'Its content was downloaded, and is not to be downloaded again.';
comment on column report.dataset_reconciliation.processed is 'Its result is stored.';
comment on column report.dataset_reconciliation.status is 'Its state.';
comment on column report.dataset_reconciliation.discovery is 'Discovery that lists it, or did; empty = none.';
comment on column report.dataset_reconciliation.listed_size is 'Bytes as listed last; null = not said.';
comment on column report.dataset_reconciliation.size is 'Bytes as downloaded, before that as listed at its discovery; 0 = unknown.';
comment on column report.dataset_reconciliation.listed_modified is 'When it was modified, as listed last; null = not said.';
comment on column report.dataset_reconciliation.listed_at is 'When it, or what replaces it, was last listed; null = never.';
comment on column report.dataset_reconciliation.changed_at is 'When its size or time was last found changed; null = never.';
comment on column report.dataset_reconciliation.gone_at is 'Since when it is not listed; null = it is, or never was.';
comment on column report.dataset_reconciliation.reason_code is 'Code of the reason of its last change; null = none.';
comment on column report.dataset_reconciliation.reason_message is 'Sentence of that reason.';
comment on column report.dataset_reconciliation.deposit is 'What it is in the deposit of its group: deposited, marker, missing, excluded, or late (it became known after the group was found complete); empty = no deposit was made of its group.';
comment on column report.dataset_reconciliation.deposit_batch is 'Batch of that deposit; empty = none.';

create or replace view report.group_deposit as
select g.dataset, g.group_name, g.discovery, (case when g.decided_at is null then 'waiting' when g.batch_id = '' then 'decided' else 'deposited' end)::text as status,
    g.waits, g.waits_at, g.cause, g.decided_at, g.batch_id, g.ended_at, n.deposited, n.missing, n.excluded, n.late
from record.group_deposit g
cross join lateral (
    select count(*) filter (where m.part = 'deposited') as deposited, count(*) filter (where m.part = 'missing') as missing, count(*) filter (where m.part = 'excluded') as excluded,
        count(*) filter (where m.part is null and g.decided_at is not null) as late
    from accession.file f
    left join record.group_file m on m.dataset = f.dataset and m.group_name = f.group_name and m.raw_file_hash = f.raw_file_hash
    where f.dataset = g.dataset and f.group_name = g.group_name and f.job_id = ''
) n;
comment on view report.group_deposit is 'One row per group of a dataset whose groups become deposits.';
comment on column report.group_deposit.dataset is 'The dataset.';
comment on column report.group_deposit.group_name is 'The group.';
comment on column report.group_deposit.discovery is 'Discovery whose setting says what becomes of the group.';
comment on column report.group_deposit.status is 'waiting, decided (it is complete, its batch is not made yet) or deposited.';
comment on column report.group_deposit.waits is 'What it waits for; empty = for nothing.';
comment on column report.group_deposit.waits_at is 'Since when it waits for this.';
comment on column report.group_deposit.cause is 'Why it was complete: slot, marker, files or quiet; empty = it waits.';
comment on column report.group_deposit.decided_at is 'When it was found complete; null = it waits.';
comment on column report.group_deposit.batch_id is 'Its batch; empty = none.';
comment on column report.group_deposit.ended_at is 'When its batch and its files were brought to their end; null = not yet.';
comment on column report.group_deposit.deposited is 'Files in its batch.';
comment on column report.group_deposit.missing is 'Files that were missing when it was found complete: given up, gone, or changed at their source.';
comment on column report.group_deposit.excluded is 'Files that were skipped, or replaced by another version.';
comment on column report.group_deposit.late is 'Files that became known after it was found complete.';
