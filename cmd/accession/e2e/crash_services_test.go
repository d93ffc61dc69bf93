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
	works := server.Works()
	if w := works[job+"/1/"+field]; len(works) != 1 || w.Done != 1 || w.Asked > 2 {
		o.t.Errorf("%s: %+v", point, works)
	}
	if n := o.count("select count(*) from record.object_version where job_id = $1", job); n != 1 {
		o.t.Errorf("%s: %d versions are recorded", point, n)
	}
	if n := o.count("select count(*) from record.effect where key = $1 and begun = 1", job+"/1/store"); n != 1 {
		o.t.Errorf("%s: its bytes were written again", point)
	}
}
