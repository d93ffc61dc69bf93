package views

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/domain"
)

// What became of each mail about a batch is one line; that none tells of its report
// is one, too.
func TestBatchShowsItsMails(t *testing.T) {
	t.Parallel()
	now := time.Now()
	queued := app.Message{About: "queued", Channel: "mail", Recipients: 2, Attempts: 1, LastAttemptAt: domain.At(now)}
	failed := app.Message{About: "report", Channel: "mail", Attempts: 3, Error: "the drop\x1b[2J is full", By: "daemon/x", Reason: "twice"}
	again := app.Message{About: "report", Again: true, Channel: "mail", By: "user/maria", Reason: "they lost it"}
	queued.State, failed.State, again.State = "delivered", "failed", "delivered"
	reported := app.BatchView{Projected: true}
	reported.ReportedAt = &now
	for _, c := range []struct {
		view  app.BatchView
		mails []app.Message
		want  []string
	}{
		{app.BatchView{Projected: true}, nil, nil},
		{app.BatchView{}, []app.Message{queued}, []string{"queued mail: delivered " + render.Time(now) + ", 2 address(es), attempts: 1"}},
		{reported, nil, []string{"report mail: none was sent"}},
		{reported, []app.Message{queued}, []string{"report mail: none was sent", "queued mail: delivered"}},
		{reported, []app.Message{failed, again}, []string{"report mail: failed , 0 address(es), attempts: 3, by daemon/x: the drop", "report again mail: delivered , 0 address(es), attempts: 0, by user/maria (they lost it)"}},
	} {
		c.view.Messages = c.mails
		lines := mailLines(c.view)
		if len(lines) != len(c.want) {
			t.Fatalf("%v, want %q", lines, c.want)
		}
		for i, l := range lines {
			if text := fmt.Sprintf("%s: %s", l[0], l[1]); !strings.HasPrefix(text, c.want[i]) || strings.Contains(text, "\x1b") || strings.Contains(text, "twice") {
				t.Errorf("%q, want %q", text, c.want[i])
			}
		}
	}
}
