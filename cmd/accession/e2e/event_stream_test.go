package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/httpapi"
	"github.com/accession-ingest/accession/domain"
)

// sentEvent is what the test needs of an event of a stream.
type sentEvent struct {
	Seq  uint64 `json:"seq"`
	Type string `json:"type"`
}

// follow reads a stream of events until took has seen enough, the stream ends or ctx does,
// and returns the id to resume with: that of the last event that came whole.
func (d *door) follow(ctx context.Context, caller, query, last string, took func(sentEvent) (more bool)) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/v1/events"+query, http.NoBody)
	if err != nil {
		return last, err
	}
	r.Header.Set("Authorization", "Bearer "+caller)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return last, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		return last, fmt.Errorf("%d %v", res.StatusCode, res.Header)
	}
	id, data := last, ""
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			data = value
		case "": // the end of an event, or a comment
			if lines.Text() != "" {
				continue
			}
			if last = id; data == "" {
				continue
			}
			var e sentEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return last, err
			}
			if data = ""; !took(e) {
				return last, nil
			}
		}
	}
	return last, lines.Err()
}

// cutOff follows all events from the first one, is cut off after one event, then two, and so
// on to seven and from one again, and resumes, until ctx ends. seen gets every sequence.
func (d *door) cutOff(ctx context.Context, seen chan<- uint64) (cuts int, err error) {
	for last := "0"; ctx.Err() == nil; cuts++ {
		left := cuts%7 + 1
		last, err = d.follow(ctx, "cy reader/*", "", last, func(e sentEvent) bool {
			select {
			case seen <- e.Seq:
			case <-ctx.Done():
			}
			left--
			return left > 0
		})
		if err != nil && ctx.Err() == nil {
			return cuts, err
		}
	}
	return cuts, nil
}

// TestEventsOverHTTP: a reader that is cut off again and again while events are written gets
// each event that it may see once, in order.
// Shows: P3
func TestEventsOverHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.profileOfRocks("")
	stop := in.serveInProcess().stop
	good, d := goodServer(t), in.door()
	type outcome struct {
		cuts int
		err  error
	}
	ctx, cancel := context.WithCancel(in.ctx())
	defer cancel()
	seen, ended := make(chan uint64, 10_000), make(chan outcome, 1) // more than there will be events
	go func() {
		cuts, err := d.cutOff(ctx, seen)
		ended <- outcome{cuts, err}
	}()
	var batches []domain.BatchID
	for range 2 {
		batches = append(batches, in.depositFor("test", "ana", good+"/batch.checkm", domain.TypeBatchManifest),
			in.depositFor("rocks", "bob", good+"/batch.checkm", domain.TypeBatchManifest))
	}
	for _, id := range batches {
		in.rest(id)
	}
	stop()
	end, err := in.app.LogEnd(in.ctx())
	in.must(err)
	var got []uint64
	for len(got) == 0 || got[len(got)-1] < end {
		select {
		case seq := <-seen:
			got = append(got, seq)
		case o := <-ended:
			t.Fatalf("after %v: %+v", got, o)
		}
	}
	cancel()
	o := <-ended
	var all []app.Event
	for e, err := range in.app.Tail(in.ctx(), app.TailOptions{Selection: app.Selection{From: 1, To: end}}) {
		in.must(err)
		all = append(all, e)
	}
	seqs := func(keep func(e app.Event) bool) (list []uint64) {
		for _, e := range all {
			if keep(e) {
				list = append(list, e.Seq)
			}
		}
		return list
	}
	if want := seqs(func(app.Event) bool { return true }); !slices.Equal(got, want) || o.cuts < 5 || o.err != nil {
		t.Errorf("cut off %d times (%v): %v\nwant %v", o.cuts, o.err, got, want)
	}
	rocks := map[domain.BatchID]bool{}
	for _, id := range batches {
		rocks[id] = in.count(`select count(*) from accession.batch where id = $1 and collection = 'rocks'`, string(id)) == 1
	}
	for _, c := range []struct {
		caller, query string
		keep          func(e app.Event) bool
	}{
		{"cy reader/rocks", "", func(e app.Event) bool { return rocks[e.Batch] }},
		{"ana depositor/test", "", func(e app.Event) bool { return e.Batch != "" && !rocks[e.Batch] }},
		{"cy admin/*", "&collection=test", func(e app.Event) bool { return e.Batch != "" && !rocks[e.Batch] }},
		{"cy admin/*", "&kind=file,batch", func(e app.Event) bool {
			return strings.HasPrefix(e.Subject, "file/") || strings.HasPrefix(e.Subject, "batch/")
		}},
		{"cy admin/*", "&type=job.completed", func(e app.Event) bool { return e.Type == domain.EventJobCompleted }},
		{"ana depositor/test", "&batch=" + string(batches[0]), func(e app.Event) bool { return e.Batch == batches[0] }},
		{"cy admin/*", "&batch=" + string(batches[1]), func(e app.Event) bool { return e.Batch == batches[1] }},
	} {
		var seen []uint64
		last, err := d.follow(in.ctx(), c.caller, fmt.Sprintf("?after=0&to=%d%s", end, c.query), "", func(e sentEvent) bool {
			seen = append(seen, e.Seq)
			return true
		})
		in.must(err)
		want := seqs(c.keep)
		if len(want) == 0 || !slices.Equal(seen, want) {
			t.Errorf("%s %s: %v, want %v", c.caller, c.query, seen, want)
		}
		if resume, _ := strconv.ParseUint(last, 10, 64); resume > end {
			t.Errorf("%s %s: resumes behind the end, with %s", c.caller, c.query, last)
		}
	}
	for query, status := range map[string]int{"?after=x": 400, "?after=99999999": 400, "?after=5&to=5": 400, "?kind=colour": 400, "?type=job.painted": 400, "?batch=" + string(batches[0]): 404} {
		if a := d.ask("dan depositor/test", http.MethodGet, "/v1/events"+query, ""); a.status != status {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// TestStreamEndsAtStop: a server that stops ends its streams, and does not wait for them.
func TestStreamEndsAtStop(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	d := &door{in: in}
	l, err := (&httpapi.Server{Open: in.app.Open, People: d, Version: "test", Log: slog.New(slog.NewTextHandler(&d.log, nil))}).Listen(in.ctx(), "127.0.0.1:0")
	in.must(err)
	d.url = "http://" + l.Address()
	ctx, cancel := context.WithCancel(in.ctx())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	r, err := http.NewRequestWithContext(in.ctx(), http.MethodGet, d.url+"/v1/events", http.NoBody)
	in.must(err)
	r.Header.Set("Authorization", "Bearer cy reader/*")
	res, err := http.DefaultClient.Do(r)
	in.must(err)
	defer res.Body.Close()
	begun, err := bufio.NewReader(res.Body).ReadString('\n')
	in.must(err)
	cancel()
	rest, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasPrefix(begun, "retry: ") {
		t.Errorf("%q%q: %v", begun, rest, err)
	}
	in.must(<-ended)
}
