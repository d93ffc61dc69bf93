package projtest

import (
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// The batches of [Story.Classic].
const (
	ClassicObjects = domain.BatchID("bid0000000001") // lists 15 objects
	ClassicFiles   = domain.BatchID("bid0000000002") // lists one object of 15 files
)

// Hostile is a name that a stranger may give to a file: a formula, a script, and
// characters that steer terminals.
const Hostile = "=cmd|' /C calc'!A0<script>alert(1)</script>\x1b[2J\u009b.tif"

// Classic returns of the classic complaint, twice: 15 are listed, 9 are ingested, why?
// Once of objects, once of the files of an object.
func (s *Story) Classic() {
	s.T.Helper()
	s.Warnings = []string{"line 3: #%columns is not known, and ignored; a comment starts with # alone"}
	s.Submit(ClassicObjects, "jid0000000001", 15, domain.Submission{Submitter: "maria", ErcWhat: "Maps of the coast", FileName: "maps.checkm",
		ProfileName: "maps", Type: domain.TypeBatchManifest, SubmissionMode: "add"})
	why := func(class domain.Class, code domain.Code, text string) domain.Reason {
		return domain.Reason{Class: class, Code: code, Message: text, Attempt: 1, Worker: "w1"}
	}
	s.Warnings = nil
	missing := why(domain.ClassContent, "http_status", "https://files.test answered 404 Not Found")
	for i := range 15 {
		id := domain.NewJobID(int64(i + 1))
		start := []domain.JobCommand{domain.AcceptJob{}, domain.EstimateJob{Files: 1, Bytes: 1000, Priority: 5}, domain.ProvisionJob{}}
		switch i {
		case 4:
			start[0] = domain.AcceptJob{Warnings: []string{"line 4: the column nfo:page is not known, and its cells are ignored"}}
			s.Job(id, append(start, complete(id, 1)...)...)
		case 9:
			s.Job(id, append(start, domain.FailJob{Reason: missing})...)
		case 10:
			s.Job(id, append(start, domain.FailJob{Reason: missing}, domain.RequeueJob{},
				domain.FailJob{Reason: why(domain.ClassContent, domain.CodeDigestMismatch, "the file's SHA-256 is not the one in the manifest")})...)
		case 11:
			s.Job(id, domain.HoldJob{Reason: why(domain.ClassWait, domain.CodeHeldByOperator, "held: wait for the rights")})
		case 12:
			r := why(domain.ClassCancelled, "asked", "listed by mistake")
			s.Job(id, append(start, domain.FailJob{Reason: missing}, domain.DeleteJob{Reason: &r})...)
		case 13:
			s.Job(id, append(start[:2], domain.WaitJob{Reason: why(domain.ClassWait, domain.CodeSpaceShort, "there is no room to work in")})...)
		case 14: // still pending
		default:
			s.Job(id, append(start, complete(id, 1)...)...)
		}
	}

	s.Submit(ClassicFiles, "jid0000000016", 1, domain.Submission{Submitter: "omar", ErcWhat: "Scans", FileName: "scans.checkm",
		ProfileName: "maps", Type: domain.TypeObjectManifest, SubmissionMode: "add"})
	job := domain.JobID("jid0000000016")
	s.Job(job, domain.AcceptJob{}, domain.EstimateJob{Files: 15, Bytes: 15_000, Priority: 5}, domain.ProvisionJob{})
	l := domain.Limits{Max: 2, Timeout: time.Hour}
	for i := range 15 {
		name := fmt.Sprintf("scan-%02d.tif", i+1)
		if i == 9 {
			name = Hostile
		}
		f := s.Discover(job, name, 1000)
		download := func() {
			s.File(f, domain.StartDownload{Worker: "w1", Limits: l})
			s.File(f, domain.FinishDownload{Fence: s.Files[f].Fence, Size: 1000, SHA256: Sum(name)})
		}
		fail := func(r domain.Reason) {
			s.File(f, domain.StartDownload{Worker: "w2", Limits: l})
			s.File(f, domain.FailDownload{Fence: s.Files[f].Fence, Reason: r, Limits: l})
		}
		switch i {
		case 9, 10:
			fail(missing)
			fail(missing)
		case 11:
			download()
			s.File(f, domain.SkipFile{Reason: why(domain.ClassCancelled, "unwanted", "it is a thumbnail")})
		case 12:
			download()
			s.File(f, domain.ReadyFile{})
			for range 2 {
				s.File(f, domain.StartProcessing{Worker: "w1"})
				s.File(f, domain.FailProcessing{Fence: s.Files[f].Fence, Reason: why(domain.ClassSystem, "object_corrupt", "the stored copy differs"), Limits: l})
				if s.Files[f].State == domain.FileProcessingFailed {
					_ = s.TryFile(f, domain.RetryProcessing{Limits: l})
				}
			}
		case 13:
			fail(why(domain.ClassSystem, "http_status", "https://files.test answered 503 Service Unavailable"))
		case 14:
			s.File(f, domain.StartDownload{Worker: "w3", Limits: l})
		default:
			download()
			s.File(f, domain.ReadyFile{}, domain.StartProcessing{Worker: "w1"})
			s.File(f, domain.FinishProcessing{Fence: s.Files[f].Fence})
		}
	}
	s.Job(job, complete(job, 9)[:3]...)
	s.Job(job, domain.RecordJob{})
}

// complete leads a job from downloading to its end.
func complete(id domain.JobID, files int) []domain.JobCommand {
	primary := "ark:/99999/fk4" + string(id[len(id)-4:])
	return []domain.JobCommand{domain.DownloadJob{Files: files, Bytes: int64(files) * 1000, Priority: 5},
		domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: primary}, Minted: true},
		domain.ProcessJob{Object: domain.StoredObject{Primary: primary, Version: 1, ManifestKey: "objects/" + string(id), Files: files, Bytes: int64(files) * 1000}},
		domain.RecordJob{}, domain.CompleteJob{Callback: "none"}}
}

// Sum is the made-up SHA-256 of a file's content.
func Sum(name string) string { return fmt.Sprintf("%064x", len(name)) }

// Record puts into the inventory what the story's jobs and files have stored.
func (s *Story) Record(db query.DB) {
	s.T.Helper()
	exec := func(sql string, args ...any) {
		s.T.Helper()
		if _, err := db.Exec(s.T.Context(), sql, args...); err != nil {
			s.T.Fatal(err)
		}
	}
	for _, j := range s.Jobs {
		if j.State != domain.JobCompleted && j.State != domain.JobNotify {
			continue
		}
		p := j.Identifiers.Primary
		exec("insert into record.object values ($1, 'us', 'maps', 1, '', '', '', '{}')", p)
		exec("insert into record.object_version values ($1, 1, $2, $3, 'maps', 'maria', 'k', '', 1, 1000, now())", p, string(j.ID), string(j.Configuration.BatchID))
		for _, f := range s.Files {
			if f.Spec.JobID == j.ID && f.State == domain.FileProcessed {
				exec("insert into record.object_file values ($1, 1, 'producer', $2, 'k', 1000, $3, '')", p, f.Spec.Path, f.SHA256)
			}
		}
	}
}
