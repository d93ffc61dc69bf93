package proof

import (
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// queues compares the number of entries in each queue with the jobs' states.
func (c *comparer) queues() error {
	o, err := c.live.Overview(c.ctx)
	if err != nil {
		return err
	}
	want := map[domain.JobState]int{}
	for _, j := range c.jobs {
		if j.QueueEntry() != "" && !c.gone(j.Configuration.BatchID) {
			want[j.State]++
		}
	}
	for _, s := range domain.JobStates {
		if want[s] != o.Queues[s] {
			c.differ("queue "+string(s), "zookeeper", fmt.Sprintf("%d entries", want[s]), fmt.Sprintf("%d", o.Queues[s]))
		}
	}
	return nil
}

// tables compares the rows of history with the log: each event once, one
// transition a change of state, one failed attempt a failure, and batches and files
// that add up.
func (c *comparer) tables() error {
	for _, q := range []struct {
		what, sql string
		want      int
	}{
		{"rows of accession.event", "select count(*) from accession.event", c.events},
		{"distinct events in accession.event", "select count(distinct id) from accession.event", c.events},
		{"rows of accession.batch", "select count(*) from accession.batch", len(c.batches)},
		{"rows of accession.job", "select count(*) from accession.job", len(c.jobs)},
		{"batches that do not add up", `select count(*) from accession.batch
			where rows_listed <> jobs_completed + jobs_failed + jobs_held + jobs_deleted + jobs_in_progress`, 0},
		{"batches whose counters differ from their jobs", `select count(*) from accession.batch b
			where b.jobs_failed <> (select count(*) from accession.job j where j.batch_id = b.id and j.status = 'failed')
			or b.jobs_completed <> (select count(*) from accession.job j where j.batch_id = b.id and j.status = 'completed')`, 0},
		{"failed jobs without an open attempt", `select count(*) from accession.job j where j.status = 'failed' and not exists (
			select from accession.retry r where r.kind = 'job' and r.job_id = j.id and r.outcome = 'open' and r.resumed_at is null)`, 0},
		{"rows of accession.file", "select count(*) from accession.file", len(c.files)},
		{"rows of accession.file_transition", "select count(*) from accession.file_transition", c.moves},
		{"jobs and batches whose files do not add up", `select count(*) from accession.file_count
			where files_listed <> files_processed + files_skipped + files_given_up + files_deleted + files_in_progress`, 0},
		{"jobs and batches whose counters differ from their files", `select count(*) from accession.file_count c,
			lateral (select count(*) as files, coalesce(sum(f.size), 0) as bytes from accession.file f
				where f.job_id <> '' and (f.job_id = c.id or f.batch_id = c.id)) f
			where c.files_listed <> f.files or c.bytes_listed <> f.bytes`, 0},
		{"jobs whose counters differ from the states of their files", `select count(*) from accession.file_count c join accession.job j on j.id = c.id,
			lateral (select count(*) filter (where f.status = 'PROCESSED') as processed, count(*) filter (where f.status = 'SKIPPED') as skipped,
				count(*) filter (where f.status in ('IGNORE', 'ABANDONED')) as given_up from accession.file f where f.job_id = c.id) f
			where j.status <> 'deleted' and (c.files_processed <> f.processed or c.files_skipped <> f.skipped or c.files_given_up <> f.given_up)`, 0},
		{"failed files without an open attempt", `select count(*) from accession.file f
			where f.status in ('DOWNLOADING_FAILED', 'PROCESSING_FAILED') and not exists (
			select from accession.retry r where r.raw_file_hash = f.raw_file_hash and r.number = f.version and r.outcome = 'open')`, 0},
		{"poisoned events", "select count(*) from accession.poison_event", 0},
	} {
		var got int
		if err := c.db.QueryRow(c.ctx, q.sql).Scan(&got); err != nil {
			return fmt.Errorf("count %s: %w", q.what, err)
		}
		if got != q.want {
			c.differ(q.what, "postgres", fmt.Sprint(q.want), fmt.Sprint(got))
		}
	}
	return nil
}
