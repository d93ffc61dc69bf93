package daily_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/cmd/internal/daemon/daily"
	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/projections/projtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is a mailer with its clock, and what it has sent.
type office struct {
	daily.Mailer
	t       *testing.T
	records *record.Records

	mu   sync.Mutex
	now  time.Time
	day  daily.Day
	down error
	sent []delivery.Mail
}

func open(t *testing.T, now string) *office {
	t.Helper()
	o := &office{t: t, records: record.New(projtest.DB(t))}
	o.Mailer = daily.Mailer{Records: o.records, Mail: o, Instance: "archive", From: "ingest@example.org", To: []string{"ops@example.org"}, At: 6 * time.Hour,
		Look: func(context.Context) daily.Day { return o.day }, Clock: func() time.Time { return o.now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	o.at(now)
	return o
}

func (o *office) at(now string) {
	o.t.Helper()
	var err error
	if o.now, err = time.Parse("2006-01-02 15:04", now); err != nil {
		o.t.Fatal(err)
	}
}

// Send implements delivery.Mailer.
func (o *office) Send(_ context.Context, m delivery.Mail) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down == nil {
		o.sent = append(o.sent, m)
	}
	return o.down
}

// once lets the mailer look, and returns how many mails were sent so far.
func (o *office) once() int {
	o.t.Helper()
	if err := o.Once(o.t.Context()); !errors.Is(err, o.down) {
		o.t.Error(err)
	}
	return len(o.sent)
}

// TestOneMailADay: a mail is sent when it is due, once, also when it is due while no process
// runs, and again only on the next day; what could not be sent is tried again.
// Shows: P6
func TestOneMailADay(t *testing.T) {
	t.Parallel()
	o := open(t, "2026-03-02 05:59")
	for _, step := range []struct {
		at   string
		down error
		want int
	}{
		{"2026-03-02 05:59", nil, 1}, // that of the day before, in which no process ran
		{"2026-03-02 05:59", nil, 1},
		{"2026-03-02 06:00", nil, 2},
		{"2026-03-02 23:59", nil, 2},
		{"2026-03-03 05:59", nil, 2},
		{"2026-03-03 06:01", errors.New("the disk is full"), 2},
		{"2026-03-03 06:02", nil, 3},
		{"2026-03-09 12:00", nil, 4}, // not those of the days between
	} {
		o.down = step.down
		if o.at(step.at); o.once() != step.want {
			t.Errorf("at %s %d mails were sent, want %d", step.at, len(o.sent), step.want)
		}
	}
	seen := map[string]bool{}
	for _, m := range o.sent {
		if seen[m.Key] || m.From != "ingest@example.org" || len(m.To) != 1 || m.To[0] != "ops@example.org" {
			t.Errorf("%+v", m)
		}
		seen[m.Key] = true
	}
}

// TestOneOfManySendsIt: many processes look at the same moment, and one sends the mail.
func TestOneOfManySendsIt(t *testing.T) {
	t.Parallel()
	o := open(t, "2026-03-02 06:00")
	for range 5 {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := o.Once(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		o.now = o.now.AddDate(0, 0, 1)
	}
	if len(o.sent) != 5 {
		t.Errorf("%d mails were sent on five days", len(o.sent))
	}
}

// TestText: the mail says what needs a person, or that nothing does; what others wrote stays on
// its line.
func TestText(t *testing.T) {
	t.Parallel()
	o := open(t, "2026-03-02 06:00")
	o.day.Done = daily.Done{Day: o.now.AddDate(0, 0, -1).Truncate(24 * time.Hour), Batches: 3, Completed: 20, Failed: 2, Files: 40, Bytes: 1 << 20}
	o.once()
	o.day.Unknown = []string{"nats does not answer: connection refused"}
	o.day.Lines = []daily.Line{{"queue downloading is paused", "accession queue resume downloading"}}
	o.day.Failures = []daily.Failure{{Kind: "job", In: "downloading", Code: "timeout", Class: "remote", Unresolved: 7, Last: "no answer\nBcc: " + strings.Repeat("x", 400)}}
	o.at("2026-03-03 06:00")
	o.once()
	for i, want := range [][]string{
		{"archive: nothing needs a person", "\nNothing is inconsistent or late, and nothing waits for a person.\n",
			"\nOn 2026-03-01: 3 batches deposited, 20 jobs completed, 2 failed, 40 files with 1048576 bytes downloaded.\n"},
		{"archive: 3 things need a person", "\nCould not be looked at:\n- nats does not answer: connection refused\n",
			"\nInconsistent, late or waiting:\n- queue downloading is paused\n  accession queue resume downloading\n",
			"\nFailed and not resolved, of the last 30 days:\n- 7 × job in downloading: timeout (remote). The last: no answer Bcc: xxx", "xxx…\n  accession report failures\n"},
	} {
		if o.sent[i].Subject != want[0] {
			t.Errorf("%q, want %q", o.sent[i].Subject, want[0])
		}
		for _, part := range want[1:] {
			if !strings.Contains(o.sent[i].Text, part) {
				t.Errorf("want %q in\n%s", part, o.sent[i].Text)
			}
		}
	}
}
