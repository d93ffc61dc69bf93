package entrust_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/entrust"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/stepserver"
)

const (
	key      = "jid0000000042/1/recording"
	manifest = `{"object_id": "ark:/99999/fk4", "version": 1, "files": []}`
)

// kept is what the records have. The operation that is named by lost does its work, once, and
// answers with an error.
type kept struct {
	record.Effect
	lost string
	now  *time.Time // by the clock of the records
}

var errLost = errors.New("the answer is lost")

func (k *kept) answer(op string) (record.Effect, error) {
	if k.lost == op {
		k.lost = ""
		return record.Effect{}, errLost
	}
	return k.Effect, nil
}

func (k *kept) BeginEffect(_ context.Context, key, kind string) (record.Effect, error) {
	if kind != record.EffectRecord {
		return record.Effect{}, errors.New("another kind")
	}
	k.Key = key
	e, err := k.answer("begin")
	e.Now = *k.now
	return e, err
}

func (k *kept) AcceptEffect(_ context.Context, _ string, accepted any) (record.Effect, error) {
	k.Accepted = nil
	if accepted != nil {
		k.Accepted, _ = json.Marshal(accepted)
	}
	return k.answer("accept")
}

func (k *kept) FinishEffect(_ context.Context, _ string, result any) (record.Effect, error) {
	k.Done = true
	k.Result, _ = json.Marshal(result)
	return k.answer("finish")
}

// scene is a step with its service.
type scene struct {
	*testing.T
	server  *stepserver.Server
	records *kept
	step    entrust.Step
	now     time.Time
}

func newScene(t *testing.T) *scene {
	s := &scene{T: t, server: stepserver.New(t, "", ""), now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	s.records = &kept{now: &s.now}
	s.step = entrust.Step{Records: s.records, Client: http.DefaultClient, Kind: record.EffectRecord, Within: time.Hour, Pause: time.Second,
		Service: stepservice.Service{Field: "recording", URL: s.server.URL}}
	return s
}

func (s *scene) make() (entrust.Standing, error) {
	return s.step.Make(s.Context(), key, func() (stepservice.Request, error) {
		return stepservice.Request{Object: "ark:/99999/fk4", Version: 1, Manifest: []byte(manifest)}, nil
	})
}

// is asks how the step stands, and what was done for it until then.
func (s *scene) is(done bool, delay time.Duration, asked, looked int) {
	s.Helper()
	at, err := s.make()
	if err != nil || at.Done != done || at.Delay != delay {
		s.Fatalf("%+v, %v", at, err)
	}
	s.did(asked, looked)
}

func (s *scene) did(asked, looked int) {
	s.Helper()
	if w := s.server.Works()[key]; w.Asked != asked || w.Looked != looked || w.Done > 1 {
		s.Fatalf("%+v", w)
	}
}

// TestRecordedOnce: a service that has done a step is not asked for it again, and does it once,
// whichever answer is lost.
// Shows: P5
func TestRecordedOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.server.Fail(stepserver.Fault{Lose: true}, stepserver.Fault{Status: 503})
	for range 2 {
		if _, err := s.make(); reason.Of(err, "").Code != stepservice.CodeUnavailable {
			t.Fatal(err)
		}
	}
	for _, s.records.lost = range []string{"begin", "finish"} {
		if _, err := s.make(); !errors.Is(err, errLost) {
			t.Fatal(err)
		}
	}
	s.is(true, 0, 2, 0)
	s.is(true, 0, 2, 0)
	if n := len(s.server.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	want := `"service":"` + s.server.URL + `"`
	if got := string(s.records.Result); !strings.Contains(got, want) || !strings.Contains(got, `"id":"record of jid0000000042"`) {
		t.Errorf("%s", got)
	}
}

// TestLookedAt: what a service has taken is only looked at, after pauses that grow, whichever
// answer is lost.
// Shows: P5
func TestLookedAt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.server.Later(4)
	s.is(false, time.Second, 1, 0)
	s.now = s.now.Add(7 * time.Second)
	s.is(false, 7*time.Second, 1, 1)
	s.now = s.now.Add(10 * time.Minute)
	s.is(false, time.Minute, 1, 2)
	s.server.Fail(stepserver.Fault{Status: 202, Header: map[string]string{"Retry-After": "1200"}}, stepserver.Fault{Status: 500})
	s.is(false, 20*time.Minute, 1, 2)
	if _, err := s.make(); reason.Of(err, "").Code != stepservice.CodeUnavailable || s.records.Accepted == nil {
		t.Fatal(err, "it is forgotten")
	}
	s.now = s.now.Add(49*time.Minute + 43*time.Second)
	at, err := s.make()
	if err != nil || at.Delay != 10*time.Second || at.Why.Code != entrust.CodeWaits || !strings.Contains(at.Why.Message, "has it since 2026-11-29T12:00:00.000Z") {
		t.Fatalf("%+v %v", at, err)
	}
	s.is(true, 0, 1, 4)
}

// TestOtherService: a service is not asked about what another has taken, but for the step.
func TestOtherService(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.server.Later(1)
	s.is(false, time.Second, 1, 0)
	first := s.server
	s.server = stepserver.New(t, "", "")
	s.step.Service.URL = s.server.URL
	s.is(true, 0, 1, 0)
	if n := len(first.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestFailedStepIsAskedForAnew: a service that fails what it has taken, or is late, fails the
// job; when that is requeued, it is asked for the step again, under the same key.
func TestFailedStepIsAskedForAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  stepserver.Fault
		passes time.Duration
		code   domain.Code
		class  domain.Class
		says   string
	}{
		"fails": {stepserver.Fault{Status: 422, Body: `{"detail":"no title"}`}, 0, stepservice.CodeRefused, domain.ClassContent, "no title"},
		"gone":  {stepserver.Fault{Status: 404}, 0, stepservice.CodeRefused, domain.ClassSystem, "404"},
		"lies":  {stepserver.Fault{Status: 200, Body: "{}"}, 0, stepservice.CodeAnswer, domain.ClassSystem, "object_id"},
		"late":  {stepserver.Fault{Status: 202}, time.Hour, entrust.CodeLate, domain.ClassTimeout, "has had " + key + " for longer than 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.server.Later(1)
			s.is(false, time.Second, 1, 0)
			s.now = s.now.Add(c.passes)
			s.server.Fail(c.fault)
			at, err := s.make()
			if err == nil {
				t.Fatalf("%+v", at)
			}
			if r := reason.Of(err, ""); r.Code != c.code || r.Class != c.class || !strings.Contains(r.Message, c.says) {
				t.Fatalf("%+v", r)
			}
			if _, _, again, _ := reason.Fault(err); again || s.records.Accepted != nil {
				t.Fatalf("%v, %s", again, s.records.Accepted)
			}
			s.is(false, time.Second, 2, 0)
			s.is(true, 0, 2, 1)
		})
	}
}

// TestNothingIsAskedFor: without its manifest a step is not asked for.
func TestNothingIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	gone := fmt.Errorf("it is gone")
	if _, err := s.step.Make(t.Context(), key, func() (r stepservice.Request, err error) { return r, gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
	s.records.Accepted = json.RawMessage(`[]`)
	if _, err := s.make(); reason.Of(err, "").Code != reason.CodeInternal {
		t.Error(err)
	}
	if r := s.server.Requests(); len(r) > 0 {
		t.Error(r)
	}
}

// TestAnotherService: a service that the profile names since the step was asked for is asked for
// it, also on the same server; the one before is left alone.
func TestAnotherService(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.server.Later(2)
	s.is(false, time.Second, 1, 0)
	s.step.Service.URL += "?tape"
	s.is(false, time.Second, 2, 0)
	s.is(false, time.Second, 2, 1)
	s.is(true, 0, 2, 2)
}
