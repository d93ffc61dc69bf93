package operation

import (
	"reflect"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// TestWhatIsAudited: what was changed, unless it is audited already, every change that failed,
// and every refusal; no dry run that was allowed, and nothing that was read.
func TestWhatIsAudited(t *testing.T) {
	t.Parallel()
	reads, writes, audits := &Operation{}, &Operation{Write: true}, &Operation{Write: true, Audits: true}
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
	} {
		outcome, noted := c.op.Noted(Ending{DryRun: c.dry}, c.kind)
		if outcome != c.outcome || noted != c.noted {
			t.Errorf("%+v: %s %v", c, outcome, noted)
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
