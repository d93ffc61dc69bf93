package naming_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/daemon/naming"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
)

// TestCited: a citation completes what the deposit says and never replaces it.
func TestCited(t *testing.T) {
	t.Parallel()
	const a, b = "ark:/99999/fk4a", "ark:/99999/fk4b"
	many := make([]string, 1001)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	job := func(primary, who string, local ...string) domain.Job {
		return domain.Job{Identifiers: domain.Identifiers{Primary: primary, LocalID: local}, Metadata: domain.Metadata{ErcWho: who, ErcWhere: "there"}}
	}
	for name, c := range map[string]struct {
		deposit domain.Job
		cited   *container.ERC
		want    domain.Job
		code    domain.Code
	}{
		"none":               {job(a, "Ana", "l"), nil, job(a, "Ana", "l"), ""},
		"empty":              {job("", "", "l"), &container.ERC{}, job("", "", "l"), ""},
		"all":                {job("", ""), &container.ERC{Who: "Ben", Primary: "ARK:/99999/fk4-a", LocalIDs: []string{"l"}}, job(a, "Ben", "l"), ""},
		"besides":            {job(a, "Ana", "l", "m"), &container.ERC{Who: "Ben", Primary: a, LocalIDs: []string{"n", "m"}}, job(a, "Ana", "l", "m", "n"), ""},
		"another":            {job(a, ""), &container.ERC{Primary: b}, domain.Job{}, reason.CodeIdentifierMismatch},
		"no identifier":      {job("", ""), &container.ERC{Primary: "chart 7"}, domain.Job{}, container.CodeERC},
		"a long local id":    {job("", ""), &container.ERC{LocalIDs: []string{strings.Repeat("x", 1025)}}, domain.Job{}, container.CodeERC},
		"too many":           {job("", ""), &container.ERC{LocalIDs: many}, domain.Job{}, container.CodeERC},
		"those of a row":     {job("", "", many...), &container.ERC{LocalIDs: []string{"x"}}, job("", "", many...), ""},
		"a broken deposit's": {job("chart 7", ""), &container.ERC{Primary: a}, job("chart 7", ""), ""},
	} {
		before := cmp.Diff(domain.Job{}, c.deposit)
		got, err := naming.Cited(c.deposit, c.cited)
		var why *reason.Problem
		switch errors.As(err, &why); {
		case c.code == "" && (err != nil || !cmp.Equal(got, c.want)):
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(c.want, got))
		case c.code != "" && (why == nil || why.Code != c.code || why.Class != domain.ClassContent || !strings.Contains(why.Message, "mrt-erc.txt in the container")):
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if after := cmp.Diff(domain.Job{}, c.deposit); after != before {
			t.Errorf("%s: the deposit was changed: %s", name, after)
		}
	}
}

// TestUpdateNamesItsObject: an update that names no object, nor does the citation in its
// container, gets no identifier.
func TestUpdateNamesItsObject(t *testing.T) {
	t.Parallel()
	unnamed := newBench(t, service.EZID)
	unnamed.Job, unnamed.Citation = domain.Job{ID: "jid0000000042"}, &container.ERC{What: "Tides"}
	unnamed.Job.Configuration.SubmissionMode = payload.ModeUpdate
	var why *reason.Problem
	if err := unnamed.Identify(t.Context()); !errors.As(err, &why) || why.Code != reason.CodeIdentifierMissing || why.Class != domain.ClassContent ||
		!strings.HasSuffix(why.Message, "or in mrt-erc.txt in the container") {
		t.Errorf("%v", err)
	}
}
