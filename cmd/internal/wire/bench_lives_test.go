package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
)

// filesOfJob is how many files a job has: with six events each, twelve events of files
// stand beside a job's own eight.
const filesOfJob = 2

// lives returns the events of jobs that walk all the way, 500 at a time, step by step,
// and of their files.
func lives(b *testing.B, n int) []domain.Recorded {
	b.Helper()
	const abreast = 500
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	log := make([]domain.Recorded, 0, n+abreast)
	record := func(e domain.Event, id domain.BatchID) domain.Recorded {
		now = now.Add(time.Millisecond)
		r := domain.Recorded{Event: e, Time: domain.At(now), BatchID: id, Actor: "daemon/bench", CommandID: uuid.NewString(),
			Zxid: int64(len(log)) * 3, Epoch: 1}
		log = append(log, r)
		return r
	}
	first := domain.NewJobID(1)
	for number := int64(1); len(log) < n; number++ {
		batch, jobs := domain.Batch{ID: domain.NewBatchID(number)}, make([]domain.Job, abreast)
		for _, cmd := range []domain.BatchCommand{
			domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Submitter: "user1", PayloadURL: "http://files.test/b.checkm", Type: domain.TypeBatchManifest}},
			domain.ListBatch{Listing: domain.Listing{Rows: abreast, FirstJID: first}},
		} {
			done, err := domain.DecideBatch(batch, cmd, domain.Facts{Collection: "maps"})
			for _, e := range done.Events {
				if err == nil {
					batch, err = domain.EvolveBatch(batch, record(e, batch.ID))
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		move := func(row int, cmd domain.JobCommand) {
			done, err := domain.DecideJob(jobs[row], cmd, domain.Facts{Collection: "maps", Batch: batch.State})
			for _, e := range done.Events {
				if err == nil {
					jobs[row], err = domain.EvolveJob(jobs[row], record(e, batch.ID))
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		var files []domain.File
		handle := func(i int, cmd domain.FileCommand) {
			done, err := domain.DecideFile(files[i], cmd)
			for _, e := range done.Events {
				if err == nil {
					files[i], err = domain.EvolveFile(files[i], record(e, batch.ID))
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		limits := domain.Limits{Max: 3, Timeout: time.Hour}
		beside := map[domain.JobState]func(i int){
			domain.JobDownloading: func(i int) {
				handle(i, domain.StartDownload{Worker: "bench", Limits: limits})
				handle(i, domain.FinishDownload{Fence: files[i].Fence, Size: 10, SHA256: strings.Repeat("ab", 32)})
			},
			domain.JobProcessing: func(i int) {
				handle(i, domain.ReadyFile{})
				handle(i, domain.StartProcessing{Worker: "bench"})
				handle(i, domain.FinishProcessing{Fence: files[i].Fence, Output: &domain.FileOutput{Key: "k", SHA256: strings.Repeat("ab", 32), Size: 10}})
			},
		}
		for row := range jobs {
			jobs[row].ID = first.Plus(row)
			move(row, domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: batch.ID, ProfileName: "maps", Submitter: "user1",
				PayloadURL: "http://files.test/a", PayloadType: domain.TypeObjectManifest, WorkingDir: string(jobs[row].ID), Row: row}})
		}
		for _, step := range life {
			for row := range jobs {
				if step.in == domain.JobEstimating {
					for n := range filesOfJob {
						spec := domain.FileSpec{Source: string(jobs[row].ID), Path: fmt.Sprintf("scans/%05d.tif", n), BatchID: batch.ID, JobID: jobs[row].ID,
							URL: "http://files.test/scan", Size: 10}
						files = append(files, domain.File{Hash: spec.Hash()})
						handle(len(files)-1, domain.DiscoverFile{Spec: spec})
					}
				}
				if work := beside[step.in]; work != nil {
					for n := range filesOfJob {
						work(row*filesOfJob + n)
					}
				}
				move(row, step.cmd)
			}
		}
		first = first.Plus(abreast)
	}
	return log[:n]
}
