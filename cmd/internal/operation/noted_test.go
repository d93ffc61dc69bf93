package operation

import (
	"errors"
	"reflect"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// TestWhatIsAudited: what was changed, unless it is audited already, every change that failed,
// and every refusal; no dry run that was allowed, nothing that was read, and of what is
// requested often only the refusals.
func TestWhatIsAudited(t *testing.T) {
	t.Parallel()
	reads, writes, audits, often := &Operation{}, &Operation{Write: true}, &Operation{Write: true, Audits: true}, &Operation{Write: true, Often: true}
	for _, c := range []struct {
		op      *Operation
		dry     bool
		kind    app.Kind
		outcome string
		noted   bool
	}{
		{reads, false, "", people.Done, false},
		{writes, false, "", people.Done, true},
		{writes, true, "", people.Done, false},
		{audits, false, "", people.Done, false},
		{reads, false, app.NotFound, people.Refused, true},
		{reads, false, app.Full, people.Refused, true},
		{writes, true, app.Refused, people.Refused, true},
		{audits, false, app.Forbidden, people.Refused, true},
		{writes, false, app.IntakeClosed, people.Refused, true},
		{reads, false, app.Unavailable, people.Failed, false},
		{writes, false, app.Unavailable, people.Failed, true},
		{writes, true, app.Failed, people.Failed, false},
		{audits, false, app.Lost, people.Failed, true},
		{often, false, "", people.Done, false},
		{often, false, app.Refused, people.Refused, true},
		{often, false, app.Unavailable, people.Failed, false},
	} {
		outcome, noted := c.op.Noted(Ending{DryRun: c.dry}, c.kind)
		if outcome != c.outcome || noted != c.noted {
			t.Errorf("%+v: %s %v", c, outcome, noted)
		}
	}
}

// TestWhatWasChosenIsAudited: the audit has what a request has chosen and changed, and no
// entry if there was nothing; an error leaves what the request itself has named.
func TestWhatWasChosenIsAudited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		out   any
		err   error
		on    string
		noted bool
	}{
		{"work", leases.Work{Entry: "eid0000000007"}, nil, "entry/eid0000000007", true},
		{"no work", leases.Work{}, nil, "installation", false},
		{"an error", leases.Work{}, errors.New("broken"), "installation", true},
		{"an output that names nothing", leases.Lease{}, nil, "installation", true},
	} {
		e := Ending{On: "installation", Err: c.err}
		e.choose(c.out)
		if _, noted := (&Operation{Write: true}).Noted(e, ""); e.On != c.on || noted != c.noted {
			t.Errorf("%s: %s %v", c.name, e.On, noted)
		}
	}
}

// TestReasonsAreAudited: every operation that takes a reason has it in the audit.
func TestReasonsAreAudited(t *testing.T) {
	t.Parallel()
	with := 0
	for _, op := range Table() {
		in := reflect.New(op.Input)
		if why := reasonOf(in.Interface()); why != "" {
			t.Errorf("%s: without a reason it is %q", op.Name, why)
		}
		body := in.Elem().FieldByName("Body")
		if body.Kind() == reflect.Pointer {
			body.Set(reflect.New(body.Type().Elem()))
			body = body.Elem()
		}
		if body.Kind() != reflect.Struct || !body.FieldByName("Reason").IsValid() {
			continue
		}
		with++
		body.FieldByName("Reason").SetString(" broken ")
		if why := reasonOf(in.Interface()); why != "broken" {
			t.Errorf("%s: the reason is %q", op.Name, why)
		}
	}
	if with < 30 {
		t.Errorf("only %d operations take a reason", with)
	}
}
