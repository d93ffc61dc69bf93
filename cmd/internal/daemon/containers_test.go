package daemon

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
)

// zipOf returns a container of files, given as names and texts.
func zipOf(texts ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	var errs []error
	for i := 0; i < len(texts); i += 2 {
		f, err := z.Create(texts[i])
		if err == nil {
			_, err = f.Write([]byte(texts[i+1]))
		}
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, z.Close())...); err != nil {
		panic(err) // nothing here can fail
	}
	return b.String()
}

// Each file of a container has a life of its own, and the container another one, alone and in
// a batch. The job needs working space for all of them.
func TestFilesOfContainers(t *testing.T) {
	t.Parallel()
	for _, kind := range []domain.SubmissionType{domain.TypeContainer, domain.TypeContainerBatchManifest} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			box := zipOf("a.txt", "a", "data/b.txt", "bb", "empty", "")
			w.web.serve("/box.zip", box)
			w.web.serve("/c.checkm", manifestOf("mrt-container-batch-manifest", w.web.URL+"/box.zip"))
			path := map[domain.SubmissionType]string{domain.TypeContainer: "/box.zip", domain.TypeContainerBatchManifest: "/c.checkm"}[kind]
			id := w.jobIn(domain.JobProcessing, kind, path)
			if got, want := w.job(id).SpaceNeeded, int64(len(box)+3); got != want {
				t.Errorf("it needs %d bytes of working space, want %d", got, want)
			}
			w.turn(domain.DaemonJobProcessing)
			w.wantJob(id, domain.JobRecording, "")
			const member = "F1 F3 F10 F11 F12"
			for name, l := range w.wantRows(id, map[string]string{"box.zip": "F1 F2 F4 F9", "a.txt": member, "data/b.txt": member, "empty": member}) {
				if name == "box.zip" {
					if l.Reason == nil || l.Reason.Code != codeUnpacked {
						t.Errorf("the container is %+v", l.File)
					}
					continue
				}
				if l.Spec.Source != string(id) || l.Output == nil || l.Output.SHA256 != l.SHA256 || l.Output.Size != l.Size || l.DownloadAttempts != 0 || l.ProcessingAttempts != 1 {
					t.Errorf("%s is %+v with %+v", name, l.File, l.Output)
				}
			}
		})
	}
}

// TestCitationOfAContainer: the citation in a container names its object: local ids lead to it,
// an ARK is the identifier, and one that contradicts the deposit fails the job. It describes
// what the deposit does not describe.
func TestCitationOfAContainer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	n := 0
	deposit := func(citation string, last domain.JobState, change ...func(*domain.Submission)) domain.Job {
		n++
		path := fmt.Sprintf("/%d.zip", n)
		w.web.serve(path, zipOf("a.txt", path, "mrt-erc.txt", citation))
		id := w.jobIn(domain.JobProcessing, domain.TypeContainer, path, change...)
		w.turn(domain.DaemonJobProcessing)
		if j := w.job(id); j.State != last {
			t.Fatalf("%s is %s with %+v, not %s\n%s", path, j.State, j.Reason, last, w.log)
		}
		if last == domain.JobRecording {
			w.walk(domain.DaemonJobRecording, domain.DaemonJobNotify)
			if n := count(w.events(id.Aggregate()), domain.EventJobIdentified); n > 1 {
				t.Errorf("%s was identified %d times", path, n)
			}
		}
		return w.job(id)
	}
	first := deposit("erc:\nwho: Ibu\nwhat: A chart\nwhen: 2026\nwhere: (:unas)\nwhere-local: chart-1; sheet-1\n", domain.JobRecording, func(s *domain.Submission) { s.ErcWho, s.ErcWhat, s.ErcWhen = "", "", "" })
	ark := first.Identifiers.Primary
	if ids := first.Identifiers; !slices.Equal(ids.LocalID, []string{"chart-1", "sheet-1"}) || len(ids.ObjectKeys) != 3 {
		t.Errorf("identifiers %+v", ids)
	}
	m, err := w.cfg.Objects.VerifyVersion(t.Context(), ark, 1)
	if d := m.Deposit; err != nil || d == nil || d.ErcWho != "Ibu" || d.ErcWhat != "A chart" || d.ErcWhen != "2026" || !slices.Equal(m.LocalIDs, []string{"chart-1", "sheet-1"}) {
		t.Errorf("stored as %+v, %v", m, err)
	}
	if again := deposit("where-local: sheet-1\n", domain.JobRecording).Identifiers.Primary; again != ark {
		t.Errorf("its local id led to %s, not %s", again, ark)
	}
	given := deposit("where: "+ark+"\nwhat: not this\nwhere: chart-2\n", domain.JobRecording)
	if ids := given.Identifiers; ids.Primary != ark || !slices.Equal(ids.LocalID, []string{"chart-2"}) {
		t.Errorf("its ARK led to %+v, not %s", ids, ark)
	}
	if m, err := w.cfg.Objects.VerifyVersion(t.Context(), ark, 3); err != nil || m.Deposit.ErcWhat != "Tide tables" {
		t.Errorf("the third version: %+v, %v", m.Deposit, err)
	}
	deposit("where: ark:/99999/fk4other\n", domain.JobRecording)
	for citation, code := range map[string]domain.Code{
		"where: ark:/99999/fk4other\nwhere-local: chart-1\n": reason.CodeIdentifierMismatch,
		"where: ark:/nonsense\n":                             container.CodeERC,
	} {
		if j := deposit(citation, domain.JobFailed); j.Reason.Code != code || j.Reason.Class != domain.ClassContent {
			t.Errorf("%q: %+v", citation, j.Reason)
		}
	}
}
