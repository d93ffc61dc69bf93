package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// TestFollowResumes: of a stream that breaks off anywhere each event is yielded once, in order.
func TestFollowResumes(t *testing.T) {
	t.Parallel()
	const last = 9
	var asked []string
	cut := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.Header.Get("Last-Event-ID")
		asked = append(asked, from)
		after, _ := strconv.Atoi(from) // "" = 0
		var b bytes.Buffer
		fmt.Fprintf(&b, "retry: 2000\n: here\nid: %d\n\n", after)
		for seq := after + 1; seq <= last; seq++ {
			data, err := json.Marshal(event.Of(domain.Recorded{Seq: uint64(seq), Event: domain.Event{Type: domain.EventSettingChanged, Aggregate: domain.Aggregate{Kind: domain.KindSetting, ID: "pause.job-pending"}, Version: int64(seq), Data: &domain.SettingChanged{}}}))
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(&b, "id: %d\nevent: setting.changed\ndata: %s\n\n", seq, data)
		}
		text := b.Bytes()
		if cut++; cut < 4 {
			_, _ = w.Write(text[:len(text)*cut/5]) // in the middle of an event
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(append(text, ": end\n\n"...))
	}))
	t.Cleanup(s.Close)
	there, err := Open(s.URL, Credential{Token: "k"})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for e, err := range there.Follow(t.Context(), operation.EventStream{After: "0", To: last}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
	}
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("yielded %v, requests resumed behind %q", got, asked)
	}
	if len(asked) != 4 {
		t.Errorf("%d requests, behind %q", len(asked), asked)
	}
}

func kindOf(e *app.Error) app.Kind {
	if e == nil {
		return ""
	}
	return e.Kind
}

// TestFetch: an answer that is cut off, or is not what its digest says, is an error.
func TestFetch(t *testing.T) {
	t.Parallel()
	const good = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:" // of hello
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, try int)
		out    string
		kind   app.Kind
		tries  int
	}{
		"whole": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Repr-Digest", good)
			_, _ = w.Write([]byte("hello"))
		}, "hello", "", 1},
		"no digest": {func(w http.ResponseWriter, _ int) { _, _ = w.Write([]byte("hello")) }, "hello", "", 1},
		"another": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Repr-Digest", good)
			_, _ = w.Write([]byte("hallo"))
		}, "hallo", app.Lost, 1},
		"cut off": {func(w http.ResponseWriter, _ int) {
			w.Header().Set("Content-Length", "5")
			_, _ = w.Write([]byte("he"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "he", app.Lost, 1},
		"cut off before": {func(w http.ResponseWriter, try int) {
			if try == 1 {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write([]byte("hello"))
		}, "hello", "", 2},
		"a problem": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"code":"not_found","detail":"get: no such file","exit":4}`))
		}, "", app.NotFound, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { tries++; c.answer(w, tries) }))
			t.Cleanup(s.Close)
			there, err := Open(s.URL, Credential{Token: "k"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = there.Fetch(t.Context(), "object.get", &operation.ObjectFile{ObjectVersion: operation.ObjectVersion{ObjectID: operation.ObjectID{ID: "ark:/99999/x"}}, FileName: operation.FileName{Name: "a/b.txt"}}, nil, &out)
			known, _ := errors.AsType[*app.Error](err)
			if kind := kindOf(known); kind != c.kind || out.String() != c.out || tries != c.tries {
				t.Errorf("%v, %q after %d tries; want %q, %q, %d", err, &out, tries, c.kind, c.out, c.tries)
			}
		})
	}
}
