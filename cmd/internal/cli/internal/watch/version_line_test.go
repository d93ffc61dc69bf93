package watch

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/progress"
	"github.com/accession-ingest/accession/domain"
)

// TestAddedVersionIsTold: a deposit that adds a version to an object says so, while it is
// followed and at its end.
func TestAddedVersionIsTold(t *testing.T) {
	t.Parallel()
	const object = "ark:/99999/fk4x"
	processed := func(version int) app.Event {
		return app.Event{Type: domain.EventJobProcessed, Subject: "job/jid0000000007", Data: &domain.JobProcessed{Object: domain.StoredObject{Primary: object, Version: version}}}
	}
	if got := versionLine(processed(1)); got != "" {
		t.Errorf("a new object: %q", got)
	}
	if got := versionLine(processed(4)); !strings.Contains(got, "jid0000000007: version 4 of "+object) {
		t.Errorf("%q", got)
	}
	end := app.Progress{Batch: "bid0000000001", State: domain.BatchCompleted, Listed: 1, Completed: 1}
	if got := Summary(end); strings.Contains(got, "version") {
		t.Errorf("a new object: %q", got)
	}
	end.Added, end.Versions = 1, []progress.Version{{Job: "jid0000000007", Primary: object, Version: 4}}
	for listed, want := range map[int]string{1: "; it is version 4 of " + object, 3: "; one is version 4 of " + object} {
		if end.Listed = listed; !strings.Contains(Summary(end), want) {
			t.Errorf("%q, want %q", Summary(end), want)
		}
	}
	if end.Added = 2; !strings.Contains(Summary(end), "; 2 added a version to an object") {
		t.Errorf("%q", Summary(end))
	}
}
