package codec_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
)

// anyText draws text with everything that has ever broken a header or a
// database, bytes that are no UTF-8 included.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("\x00\"%\\\r\n\t :.*>\u00e4\u2028\ufffd\U0001f5fau0000"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

func anyEvent(t *rapid.T) domain.Recorded {
	text := func(label string) string { return anyText().Draw(t, label) }
	return domain.Recorded{
		Event: domain.Event{Type: domain.EventJobCreated, Aggregate: domain.NewJobID(rapid.Int64Range(1, domain.MaxID).Draw(t, "jid")).Aggregate(),
			Version: rapid.Int64Range(1, 1<<62).Draw(t, "version"),
			Data: &domain.JobCreated{JobMove: domain.JobMove{To: domain.JobPending, Priority: rapid.IntRange(0, 99).Draw(t, "priority"),
				Reason: &domain.Reason{Message: text("message")}},
				Configuration: domain.Configuration{PayloadURL: text("url"), FileName: text("file")},
				Identifiers:   domain.Identifiers{LocalID: rapid.SliceOf(anyText()).Draw(t, "local")}}},
		Time:    domain.At(time.UnixMilli(rapid.Int64Range(1, 1<<42).Draw(t, "time"))),
		BatchID: domain.BatchID(text("batch")), Actor: domain.Actor(text("actor")), CommandID: text("command"),
		CausationID: text("cause"), TraceParent: text("trace"),
		Zxid: rapid.Int64Min(0).Draw(t, "zxid"), Epoch: rapid.Int64Min(0).Draw(t, "epoch"),
	}
}

// All forms, older ones too, give back exactly the sanitised event, whatever stands in its texts.
func TestEventsSurviveTheirBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := anyEvent(t)
		want, _, err := codec.Sanitise(r)
		if err != nil {
			t.Fatal(err)
		}
		instance := rapid.String().Draw(t, "instance")
		m, err := codec.Encode(r, instance)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Header) != 1 || !json.Valid(m.Data) || !utf8.Valid(m.Data) {
			t.Fatalf("%v, %s", m.Header, m.Data)
		}
		if strings.Contains(string(m.Data), `\u0000`) && !strings.Contains(string(m.Data), `\\u0000`) {
			t.Fatalf("NUL in %s", m.Data)
		}
		got, err := codec.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		sent := want
		sent.Source = "/accession/" + url.PathEscape(instance)
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Fatalf("message (-want +got):\n%s", diff)
		}
		old, err := binarymode.Encode(r, instance)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := codec.Decode(old); err != nil || !cmp.Equal(sent, read) {
			t.Fatalf("in binary mode: %v (-want +got):\n%s", err, cmp.Diff(sent, read))
		}
		if again, err := codec.Encode(got, "another"); err != nil || !cmp.Equal(m, again) {
			t.Fatalf("sent on, it is another message: %v\n%s", err, cmp.Diff(m, again))
		}
		data, err := codec.MarshalOutbox([]domain.Recorded{r, r})
		if err != nil {
			t.Fatal(err)
		}
		events, err := codec.UnmarshalOutbox(data)
		if err != nil {
			t.Fatal(err)
		}
		want.Zxid, want.Epoch = 0, 0
		if diff := cmp.Diff([]domain.Recorded{want, want}, events); diff != "" {
			t.Fatalf("outbox (-want +got):\n%s", diff)
		}
		again, _, err := codec.Sanitise(want)
		if diff := cmp.Diff(want, again); err != nil || diff != "" {
			t.Fatalf("sanitise twice: %v (-once +twice):\n%s", err, diff)
		}
	})
}

func TestSanitiseText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":          "plain",
		"a\x00b":         "a\ufffdb",
		"\xffx":          "\ufffdx",
		`back\u0000`:     `back\u0000`, // six characters, no NUL
		"\\\x00":         "\\\ufffd",
		"\ufffd":         "\ufffd",
		"<a href='?&'>ä": "<a href='?&'>ä",
		"\x1b[2J\x7f":    "\ufffd[2J\ufffd",
		"a\r\n\tb\b\f":   "a\ufffd\n\tb\ufffd\ufffd",
		"\u009b2J":       "\ufffd2J",
		"a\u202eb\u200b": "a\ufffdb\ufffd",
		"\u2028":         "\ufffd",
		"\U000e0041":     "\ufffd",
		`\\u001b`:        `\\u001b`,
	} {
		r := samples()[1]
		r.Actor = domain.Actor(in)
		r.Data = &domain.BatchMoved{BatchMove: domain.BatchMove{Reason: &domain.Reason{Message: in}}}
		got, _, err := codec.Sanitise(r)
		if err != nil {
			t.Fatal(err)
		}
		if m := got.Data.(*domain.BatchMoved).Reason.Message; m != want || string(got.Actor) != want {
			t.Errorf("%q becomes %q and %q, want %q", in, m, got.Actor, want)
		}
		if r.Data.(*domain.BatchMoved).Reason.Message != in {
			t.Errorf("%q: the argument was changed", in)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*domain.Recorded)
		want  string
	}{
		"unknown type": {func(r *domain.Recorded) { r.Type = "job.danced" }, "unknown"},
		"other kind":   {func(r *domain.Recorded) { r.Aggregate = domain.NewJobID(1).Aggregate() }, "belongs to a batch"},
		"number 0":     {func(r *domain.Recorded) { r.Version = 0 }, "number 0"},
		"no data":      {func(r *domain.Recorded) { r.Data = nil }, "data of"},
		"other data":   {func(r *domain.Recorded) { r.Data = &domain.JobMoved{} }, "data of"},
		"no id":        {func(r *domain.Recorded) { r.Aggregate.ID = "" }, "aggregate"},
		"id with NUL":  {func(r *domain.Recorded) { r.Aggregate.ID = "a\x00" }, "not valid text"},
		"too much data": {func(r *domain.Recorded) {
			r.Data.(*domain.BatchSubmitted).Submission.ErcWhat = strings.Repeat("x", 32<<10)
		}, "batch/bid0000000007/1"},
		"long actor": {func(r *domain.Recorded) { r.Actor = domain.Actor(strings.Repeat("x", 32<<10)) }, "object store"},
	} {
		r := samples()[0]
		tc.spoil(&r)
		if _, err := codec.Encode(r, "i"); !errors.Is(err, codec.ErrBroken) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: message: got %v, want %q", name, err, tc.want)
		}
		if name == "no id" {
			continue // the outbox may hold it; no log takes it
		}
		if _, err := codec.MarshalOutbox([]domain.Recorded{r}); !errors.Is(err, codec.ErrBroken) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: outbox: got %v, want %q", name, err, tc.want)
		}
	}
}

var safeSubject = regexp.MustCompile(`^test\.v1\.(batch|job|file|setting|query|slot|entry)\.[a-z0-9_-]+$`)

// The subject of an aggregate is safe, and leads back to it.
func TestSubjectsAreReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]domain.Kind{domain.KindBatch, domain.KindJob, domain.KindFile, domain.KindSetting, domain.KindQuery, domain.KindSlot, domain.KindEntry}).Draw(t, "kind")
		a := domain.Aggregate{Kind: kind, ID: anyText().Filter(func(s string) bool { return s != "" }).Draw(t, "id")}
		s, err := codec.Subject("test.v1", a)
		if err != nil || !safeSubject.MatchString(s) {
			t.Fatalf("subject %q, %v", s, err)
		}
		if back, err := codec.ParseSubject("test.v1", s); err != nil || back != a {
			t.Fatalf("%q leads to %v (%v), not to %v", s, back, err, a)
		}
	})
}

// Two spellings of one subject would be two histories of one aggregate.
func TestParseSubjectRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "p", "p.job", "p.job.", "p.cat.a", "q.job.a", "p.job.A", "p.job.a.b", "p.job._", "p.job._6", "p.job._61", "p.job._3A", "p.job._zz", "p.job.*"} {
		if a, err := codec.ParseSubject("p", s); err == nil {
			t.Errorf("%q leads to %v", s, a)
		}
	}
}

func FuzzParseSubject(f *testing.F) {
	for _, s := range []string{"p.job.jid0000000001", "p.setting.collection_3amaps", "p.job._", "p.file.__"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := codec.ParseSubject("p", s)
		if err != nil {
			return
		}
		if again, err := codec.Subject("p", a); err != nil || again != s {
			t.Errorf("%q leads to %v and back to %q (%v)", s, a, again, err)
		}
	})
}

func FuzzUnmarshalOutbox(f *testing.F) {
	for _, r := range samples()[:3] {
		data, err := codec.MarshalOutbox([]domain.Recorded{r})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := codec.UnmarshalOutbox(data)
		if err != nil && !errors.Is(err, codec.ErrBroken) {
			t.Fatalf("%v is not broken", err)
		}
		for _, r := range events {
			if _, _, err := codec.Sanitise(r); err != nil && !errors.Is(err, codec.ErrBroken) {
				t.Fatal(err)
			}
		}
	})
}
