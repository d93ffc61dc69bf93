package compute_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// TestKeysOfSteps: a key says for which step of which job an entry stands, and no other text
// does; no caller may request work under it.
func TestKeysOfSteps(t *testing.T) {
	t.Parallel()
	job := domain.NewJobID(42)
	for key, want := range map[string]compute.Step{
		"job/jid0000000042/virusscan/0":    {Job: job, Name: "virusscan", Part: 1},
		"job/jid0000000042/virusscan/3/12": {Job: job, Name: "virusscan", Retry: 3, Part: 12},
	} {
		if want.Key() != key {
			t.Errorf("%+v has the key %s", want, want.Key())
		}
		if got, is := compute.StepOf(key); !is || got != want {
			t.Errorf("%s is %+v, %v", key, got, is)
		}
		if _, is := compute.AttemptOf(key); is || !compute.Reserved(key) {
			t.Errorf("%s may be requested, or is that of a file", key)
		}
	}
	for _, key := range []string{"", "job/", "job/jid42/scan/0", "job/jid0000000042/scan", "job/jid0000000042//0", "job/jid0000000042/scan/-1", "job/jid0000000042/scan/00",
		"job/jid0000000042/scan/0/1", "job/jid0000000042/scan/0/0", "job/jid0000000042/scan/0/2/3", "jid0000000042/scan/0", "file/jid0000000042/scan/0"} {
		if s, is := compute.StepOf(key); is {
			t.Errorf("%q is taken for %+v", key, s)
		}
	}
}

// TestStepsWaitForTheirJob: an entry is of use while its job is in processing, at the attempt
// that has requested it.
func TestStepsWaitForTheirJob(t *testing.T) {
	t.Parallel()
	s := compute.Step{Job: domain.NewJobID(1), Name: "scan", Retry: 2, Part: 1}
	for _, c := range []struct {
		job   domain.Job
		waits bool
	}{
		{domain.Job{ID: s.Job, State: domain.JobProcessing, RetryCount: 2}, true},
		{domain.Job{ID: s.Job, State: domain.JobProcessing, RetryCount: 3}, false},
		{domain.Job{ID: s.Job, State: domain.JobFailed, RetryCount: 2}, false},
		{domain.Job{ID: s.Job, State: domain.JobRecording, RetryCount: 2}, false},
		{domain.Job{ID: domain.NewJobID(2), State: domain.JobProcessing, RetryCount: 2}, false},
	} {
		if s.Waits(c.job) != c.waits {
			t.Errorf("%+v: %v", c.job, !c.waits)
		}
	}
}

// TestFailuresOfSteps: a job fails in the class and the words of the worker, if a job can.
func TestFailuresOfSteps(t *testing.T) {
	t.Parallel()
	s := compute.Step{Name: "scan"}
	for class, want := range map[domain.Class]domain.Class{domain.ClassContent: domain.ClassContent, domain.ClassSystem: domain.ClassSystem, domain.ClassTimeout: domain.ClassTimeout,
		domain.ClassCancelled: domain.ClassSystem, domain.ClassWait: domain.ClassSystem, "remote": domain.ClassSystem, "": domain.ClassSystem} {
		why := s.Failure(compute.Entry{Reason: &domain.Reason{Class: class, Code: "worker_failed", Message: "it is infected", Worker: "w", Attempt: 3}})
		if want := (domain.Reason{Class: want, Code: "worker_failed", Message: "scan: it is infected"}); why != want {
			t.Errorf("%s: %+v", class, why)
		}
	}
	if why := s.Failure(compute.Entry{}); !why.Failure() || why.Code == "" || !strings.HasPrefix(why.Message, "scan: ") {
		t.Errorf("%+v", why)
	}
}

// TestInputsOfSteps: the inputs of an entry name the files of its job.
func TestInputsOfSteps(t *testing.T) {
	t.Parallel()
	files := []domain.FileHash{domain.HashFile("jid", "a"), domain.HashFile("jid", "b")}
	request := entry.Request{Inputs: compute.Step{}.Inputs(files)}
	got, are := compute.Entry{Request: request}.InputFiles()
	if !are || len(got) != 2 || got[0] != files[0] || got[1] != files[1] {
		t.Errorf("%v, %v", got, are)
	}
	for _, in := range []string{"https://data.example.org/a", string(files[0]), "accession:file/a"} {
		if got, are := (compute.Entry{Request: entry.Request{Inputs: []string{in}}}).InputFiles(); are {
			t.Errorf("%s is %v", in, got)
		}
	}
	for range compute.PartFiles - 2 {
		files = append(files, files[0])
	}
	if err := (entry.Request{Inputs: compute.Step{}.Inputs(files)}).Check(); err != nil {
		t.Errorf("a part cannot be requested: %v", err)
	}
}
