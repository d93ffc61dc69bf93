package e2e

import (
	"fmt"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
)

// TestWorkersOverHTTPGetWhatTheyHave: a worker that names the groups whose data it has gets their work
// first among that of the highest priority, but passes over each older entry once only; an urgent
// entry comes before all of that.
func TestWorkersOverHTTPGetWhatTheyHave(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	d := in.door()
	const olga = "olga operator/*"
	requests := func(name, group string, priority int) string {
		t.Helper()
		var e entries.Work
		d.ask(olga, "POST", "/v1/compute/entries", fmt.Sprintf(`{"dataset":"nights","group":%q,"priority":%d,"key":%q,"inputs":["https://data.example.org/a.nc"]}`, group, priority, name)).into(d, &e)
		return string(e.ID)
	}
	gets := func(what, cached, want string) {
		t.Helper()
		var w leases.Work
		d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","datasets":["nights"],"cached":[`+cached+`],"wait":60,"lease":3600}`).into(d, &w)
		if w.Entry != want {
			t.Errorf("%s: took %s (%s), want %s", what, w.Entry, w.Group, want)
		}
	}
	older, second := requests("older", "a", 100), requests("second", "b", 100)
	first, again, last := requests("first", "c", 100), requests("again", "c", 100), requests("last", "c", 100)
	urgent := requests("urgent", "d", 200)

	const has, others = `{"dataset":"nights","group":"c"}`, `{"dataset":"nights","group":"x"},{"dataset":"days","group":"c"}`
	gets("an urgent entry", has, urgent)
	gets("what the worker has", has, first)
	gets("an entry that was passed over once", has, older)
	gets("another that was passed over once", has, second)
	gets("what the worker has is next by its age too", has, again)
	gets("a worker that has something else", others, last)
}
