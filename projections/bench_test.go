package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

// walks gives a log in which jobs walk all the way, many at the same time, as a
// busy installation writes it: twelve events a job.
func walks(b *testing.B, n int) []domain.Recorded {
	const abreast = 500
	w := newWorld(b, 1)
	for len(w.log) < n {
		id := domain.NewBatchID(w.nextBID)
		w.nextBID++
		w.batches[id] = domain.Batch{ID: id}
		w.batch(id, domain.SubmitBatch{Submission: w.submission()})
		w.batch(id, domain.ListBatch{Listing: domain.Listing{Rows: abreast, FirstJID: domain.NewJobID(w.nextJID)}})
		for range abreast {
			w.createJob(w.batches[id])
		}
		w.batch(id, domain.StartBatch{})
		for _, step := range []domain.JobCommand{
			domain.AcceptJob{}, domain.EstimateJob{Files: 2, Bytes: 7, Priority: 5}, domain.ProvisionJob{},
			domain.DownloadJob{Files: 2, Bytes: 9, Priority: 5}, domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/99999/x"}},
			domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/x", Version: 1, Files: 2, Bytes: 9}},
			domain.RecordJob{}, domain.CompleteJob{Callback: "none"}, domain.CleanJob{},
		} {
			for _, j := range w.ofBatch[id] {
				w.job(j, step)
			}
		}
		w.ofBatch[id] = nil
		clear(w.jobs) // the past is not needed any more
	}
	return w.log[:n]
}

// lives gives the log of a job with n files that are all processed: six events a
// file, in the order in which a job writes them, step by step.
func lives(b *testing.B, n int) []domain.Recorded {
	w := newWorld(b, 1)
	id := domain.NewBatchID(1)
	w.batches[id] = domain.Batch{ID: id}
	w.mustBatch(id, domain.SubmitBatch{Submission: w.submission()}, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: domain.NewJobID(1)}})
	w.createJob(w.batches[id])
	job := w.ofBatch[id][0]
	for i := range n {
		spec := domain.FileSpec{Source: string(job), Path: fmt.Sprintf("scans/%05d.tif", i), BatchID: id, JobID: job, URL: "http://files.test/scan", Size: 5}
		w.file(spec.Hash(), domain.DiscoverFile{Spec: spec})
	}
	for _, step := range []func(domain.File) domain.FileCommand{start, fetched, ready, process, done} {
		for _, f := range w.found {
			w.mustFile(f, step)
		}
	}
	return w.log
}

// BenchmarkProjectFiles measures events a second for a job of 10,000 files.
func BenchmarkProjectFiles(b *testing.B) {
	log := lives(b, 10_000)
	for range b.N {
		b.StopTimer()
		db := projtest.DB(b)
		b.StartTimer()
		began := time.Now()
		if err := run(b, config(db, log)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(log))/time.Since(began).Seconds(), "events/s")
		b.StopTimer()
		if n := count(b, db, "select files_processed from accession.file_count where id = 'jid0000000001'"); n != 10_000 {
			b.Fatalf("%d files are processed, want 10,000", n)
		}
		b.StartTimer()
	}
}

// BenchmarkProject measures events a second, the log in memory, PostgreSQL real.
func BenchmarkProject(b *testing.B) {
	log := walks(b, 50_000)
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				db := projtest.DB(b)
				cfg := config(db, log)
				cfg.MaxBatch = size
				b.StartTimer()
				began := time.Now()
				if err := run(b, cfg); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(log))/time.Since(began).Seconds(), "events/s")
				b.StopTimer()
				if n := count(b, db, "select count(*) from accession.event"); n != len(log) {
					b.Fatalf("%d events were projected, want %d", n, len(log))
				}
				b.StartTimer()
			}
		})
	}
}
