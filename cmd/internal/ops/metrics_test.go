package ops

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// at is some seconds after noon.
func at(seconds int) domain.Time {
	return domain.At(time.Date(2026, 3, 1, 12, 0, seconds, 0, time.UTC))
}

func job(state domain.JobState, seconds, retries int) domain.Job {
	return domain.Job{ID: "jid0000000001", State: state, Modified: at(seconds), RetryCount: retries}
}

func jobChange(before, after domain.Job) []eventstore.Change {
	return []eventstore.Change{{Job: &eventstore.Transition[domain.Job]{From: before, To: after}}}
}

func fileEvent(name domain.EventType, data domain.EventData) eventstore.Append {
	return eventstore.Append{Event: domain.Recorded{Event: domain.Event{Type: name, Aggregate: domain.FileHash(strings.Repeat("a", 64)).Aggregate(), Data: data}}}
}

func TestWhatHappensIsCounted(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.Build("v1", "test")
	m.Discoveries(func() int64 { return 6 })
	m.Installation(shared(func() error { return nil }))
	m.Committed(jobChange(job(domain.JobProcessing, 10, 0), job(domain.JobProcessing, 40, 0)), time.Millisecond, nil) // identified
	m.Committed(jobChange(job(domain.JobProcessing, 40, 0), job(domain.JobRecording, 50, 0)), time.Millisecond, nil)  // 40 s in all
	m.Committed(jobChange(job(domain.JobRecording, 50, 0), job(domain.JobNotify, 53, 0)), time.Millisecond, nil)      // 3 s
	m.Committed(jobChange(job(domain.JobFailed, 53, 0), job(domain.JobDownloading, 60, 1)), time.Millisecond, nil)    // requeued
	m.Committed(jobChange(job(domain.JobNotify, 1, 0), job(domain.JobCompleted, 2, 0)), 0, eventstore.ErrFenced)      // refused
	m.Committed(jobChange(domain.Job{ID: "jid0000000002"}, job(domain.JobPending, 1, 0)), 0, eventstore.ErrFull)      // no room
	m.Claimed(&eventstore.Claim{Aggregate: domain.JobID("jid0000000001").Aggregate(), Attempts: 2}, "notify")
	m.Step("job-notify", "moved", time.Second)
	m.Effect("message", errAway)
	m.Appended([]eventstore.Append{
		fileEvent(domain.EventFileDownloadStarted, &domain.FileStarted{FileMove: domain.FileMove{From: "DOWNLOADING_FAILED", To: "DOWNLOADING", DownloadAttempts: 2}}),
		fileEvent(domain.EventFileDownloaded, &domain.FileFetched{FileMove: domain.FileMove{From: "DOWNLOADING", To: "DOWNLOADED", Size: 1000}}),
		fileEvent(domain.EventFileProcessed, &domain.FileDone{FileMove: domain.FileMove{From: "PROCESSING", To: "PROCESSED"}, Output: &domain.FileOutput{Key: "objects/a/data", Size: 900}}),
		fileEvent(domain.EventFileProcessed, &domain.FileDone{FileMove: domain.FileMove{From: "PROCESSING", To: "PROCESSED"}, Output: &domain.FileOutput{Key: "eid0000000042", Size: 70}}),
	}, time.Millisecond, nil)
	m.Appended([]eventstore.Append{{Event: domain.Recorded{Event: domain.Event{Aggregate: domain.JobID("jid0000000001").Aggregate(), Data: &domain.JobMoved{}}}}}, 0, eventstore.ErrUnknown)
	m.Restarted("relay")

	_, text := ask(t, server(m, NewHealth(), false).Handler(), "GET", "/metrics", "")
	for _, want := range []string{
		`accession_build_info{instance="test",version="v1"} 1`,
		`accession_transitions_total{aggregate="job",from="processing",outcome="done",to="processing"} 1`,
		`accession_transitions_total{aggregate="job",from="notify",outcome="fenced",to="completed"} 1`,
		`accession_transitions_total{aggregate="job",from="",outcome="full",to="pending"} 1`,
		`accession_state_seconds_sum{aggregate="job",state="processing"} 40`,
		`accession_state_seconds_count{aggregate="job",state="processing"} 1`,
		`accession_state_seconds_sum{aggregate="job",state="recording"} 3`,
		`accession_commit_seconds_count{outcome="done"} 4`,
		`accession_claims_total{aggregate="job",state="notify"} 1`,
		`accession_claims_again_total{aggregate="job",state="notify"} 1`,
		`accession_steps_total{daemon="job-notify",outcome="moved"} 1`,
		`accession_step_seconds_count{daemon="job-notify"} 1`,
		`accession_effects_total{effect="message",outcome="failed"} 1`,
		`accession_file_transitions_total{from="DOWNLOADING",to="DOWNLOADED"} 1`,
		`accession_duplicate_discoveries_total 6`,
		`accession_fetched_bytes_total 1000`,
		`accession_stored_bytes_total 900`,
		`accession_retries_total{of="download"} 1`,
		`accession_state_unserved{aggregate="batch",state="pending"} 0`,
		`accession_state_unserved{aggregate="batch",state="reporting"} 1`,
		`accession_state_unserved{aggregate="job",state="notify"} 0`,
		`accession_state_unserved{aggregate="job",state="downloading"} 1`,
		`accession_bulk_actions{state="waiting"} 1`,
		`accession_bulk_actions{state="running"} 2`,
		`accession_bulk_still_seconds 180`,
		`accession_bulk_refused 15`,
		`accession_mails_waiting 4`,
		`accession_mail_oldest_seconds 300`,
		`accession_holds{kind="queue"} 2`,
		`accession_holds{kind="collection"} 0`,
		`accession_hold_oldest_seconds{kind="collection"} 0`,
		`accession_batch_oldest_seconds{state="pending"} 0`,
		`accession_types_lag_events 13`,
		`accession_types_lag_seconds 90`,
		`accession_overdue_files 14`,
		`accession_retries_total{of="job"} 1`,
		`accession_log_appends_total{outcome="done",writer="files"} 1`,
		`accession_log_appends_total{outcome="unknown",writer="relay"} 1`,
		`accession_log_append_events_sum{writer="files"} 4`,
		`accession_role_restarts_total{role="relay"} 1`,
		`accession_queue_jobs{state="pending"} 7`,
		`accession_live_batches 2`,
		`accession_live_jobs 9`,
		`accession_live_heap_bytes 72000`,
		`accession_live_heap_limit_bytes 1e+06`,
		`accession_queue_jobs{state="failed"} 0`,
		`accession_queue_oldest_seconds{state="pending"} 36`,
		`accession_queue_oldest_seconds{state="held"} 0`,
		`accession_processes 3`,
		`accession_host_permits 40`,
		`accession_hosts_full 1`,
		`accession_submitter_permits 64`,
		`accession_submitters_full 2`,
		`accession_outbox_unsent 5`,
		`accession_outbox_oldest_seconds 2`,
		`accession_projection_lag_events 4`,
		`accession_projection_lag_seconds 1.5`,
		`accession_poison_events 6`,
		`accession_batches_unexplained 8`,
		`accession_outbox_level 2`,
		`accession_session_live 1`, `accession_unreadable 3`,
		`accession_sessions_lost_total 2`,
		`accession_relay_held_aggregates 1`,
		`go_goroutines `,
		`process_resident_memory_bytes `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
	if strings.Contains(text, `accession_state_seconds_count{aggregate="job",state="notify"}`) {
		t.Error("a refused transition counts as time in state")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestOneServerAwayTakesNothingElseAway: a scrape has what it can.
func TestOneServerAwayTakesNothingElseAway(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	m.Installation(shared(func() error { return errAway }))
	h := server(m, NewHealth(), false).Handler()
	_, text := ask(t, h, "GET", "/metrics", "")
	if !strings.Contains(text, "\naccession_queue_jobs{state=\"pending\"} 7") || strings.Contains(text, "\naccession_projection_lag_events") {
		t.Errorf("scrape:\n%s", text)
	}
	_, text = ask(t, h, "GET", "/metrics", "")
	if !strings.Contains(text, "\naccession_scrape_errors_total{question=\"lag\"} 1") {
		t.Errorf("the error is not counted, or the question was asked again at once:\n%s", text)
	}
}

// TestSumsAreAskedForOnceAMinute: however often it is scraped.
func TestSumsAreAskedForOnceAMinute(t *testing.T) {
	t.Parallel()
	asked, away := 0, errAway
	n := &count{metric: "accession_batches_unexplained", ask: func(context.Context) (int, error) {
		asked++
		return asked, away
	}}
	c := &installation{descs: map[string]*prometheus.Desc{n.metric: prometheus.NewDesc(n.metric, "sums", nil, nil)}}
	if _, err := c.count(t.Context(), n); !errors.Is(err, errAway) {
		t.Error(err)
	}
	away = nil
	for range 5 {
		if list, err := c.count(t.Context(), n); err != nil || len(list) != 1 {
			t.Error(list, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times: once without an answer, then once", asked)
	}
	n.at = n.at.Add(-countAge)
	if _, err := c.count(t.Context(), n); err != nil || asked != 3 {
		t.Errorf("a minute later: asked %d times, %v", asked, err)
	}
}
