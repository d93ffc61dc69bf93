//go:build !race

package e2e

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/internal/testkit/stepserver"
)

// TestServiceRecordsOnce: a process dies between the requests to a service and what it keeps of
// their answers, and its successor goes on with what there is.
// Shows: P5
func TestServiceRecordsOnce(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	for _, point := range []string{"stepservice/step/ask/before", "stepservice/step/ask/after", "record/effect/accept/before", "record/effect/accept/after",
		"record/effect/finish/before:2", "record/effect/finish/after:2", "daemon/recording/record/before"} {
		recordsOutside(o, point)
	}
	o.sound()
}

// TestServiceStoresOnce is the same for a service that stores. The bytes were read back before it
// is asked, and are not written again.
// Shows: P5
func TestServiceStoresOnce(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	for _, point := range []string{"record/effect/finish/after", "stepservice/step/ask/after", "record/effect/accept/after", "record/effect/finish/before:2", "record/effect/finish/after:2"} {
		storesOutside(o, point)
	}
	o.sound()
}

// TestServiceTimeoutByOneClock: how long a service has had a step is measured by the clock of the
// records. The clock of the process that entrusts the service with it is two hours slow; to its
// successor, whose clock is right, the service is not late.
// Shows: P5
func TestServiceTimeoutByOneClock(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	server := stepserver.New(t, "archive", "s3cret")
	server.Later(2)
	s := o.depositWith("slow", "service_timeout: 1h\nrecording: "+server.URL)
	const account = "--set=service_credentials=slow:archive:s3cret"
	o.environ = []string{"ACCESSION_CLOCK=-2h"}
	o.dies("record/effect/accept/after", nil, "serve", account)
	o.environ = nil
	next := o.serve(account)
	next.works()
	o.rests(s.Batch)
	o.finish()
	next.stop()
	if w := server.Works()[o.jobOf(s.Batch)+"/1/recording"]; w.Done != 1 || w.Asked != 1 {
		t.Errorf("it was asked %d times, and has done it %d times", w.Asked, w.Done)
	}
	if n := o.count("select count(*) from accession.job where status = 'completed'"); n != 1 {
		t.Errorf("the job has not completed:\n%s", o.run("job", "show", o.jobOf(s.Batch)))
	}
	o.sound()
}

func recordsOutside(o *crashInstallation, point string) {
	worksOutside(o, point, profile.FieldRecording)
}

func storesOutside(o *crashInstallation, point string) { worksOutside(o, point, profile.FieldStorage) }

// worksOutside: a service does its step with a version once, wherever a process dies.
func worksOutside(o *crashInstallation, point, field string) {
	server := stepserver.New(o.t, "archive", "s3cret")
	server.Later(1)
	name := "r" + strings.ReplaceAll(uuid.NewString(), "-", "")
	s := o.depositWith(name, field+": "+server.URL)
	account := "--set=service_credentials=" + name + ":archive:s3cret"
	o.dies(point, nil, "serve", account)
	next := o.serve(account)
	next.works()
	job := o.jobOf(s.Batch)
	waitFor(o.t, job+" to be completed", func() bool {
		return o.count("select count(*) from accession.job where id = $1 and status = 'completed'", job) == 1
	})
	next.stop()
	works, most := server.Works(), 2
	if o.interrupt != nil { // its successor dies there, too
		most = 3
	}
	if w := works[job+"/1/"+field]; len(works) != 1 || w.Done != 1 || w.Asked > most {
		o.t.Errorf("%s: %+v", point, works)
	}
	if n := o.count("select count(*) from record.object_version where job_id = $1", job); n != 1 {
		o.t.Errorf("%s: %d versions are recorded", point, n)
	}
	if n := o.count("select count(*) from record.effect where key = $1 and begun = 1", job+"/1/store"); n != 1 {
		o.t.Errorf("%s: its bytes were written again", point)
	}
}
