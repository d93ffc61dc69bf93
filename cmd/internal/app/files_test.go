package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// fakeFiles has files and nothing else.
type fakeFiles struct {
	LiveState
	EventLog
	Tables
	Effects
	files *files.Handler
}

func (fakeFiles) Handler(context.Context) (*eventstore.Handler, error) {
	return nil, errors.New("away")
}

func (w fakeFiles) FileHandler(context.Context) (*files.Handler, error) {
	return w.files, nil
}

func TestOperatorsRequeueAndSkipFiles(t *testing.T) {
	t.Parallel()
	ctx, log := t.Context(), memory.NewLog(nil)
	a := &App{Open: resources(fakeFiles{files: storetest.NewFileHandler(log)}), Actor: "user/maria"}
	spec := storetest.FileSpec(1)
	hash, once := spec.Hash(), domain.Limits{Max: 1}
	is := func(err error, kind Kind, says string) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(err.Error(), says) {
			t.Fatalf("%v, want %s: %s", err, kind, says)
		}
	}
	_, err := a.RequeueFile(ctx, hash, "")
	is(err, NotFound, "requeue "+string(hash))

	fence := int64(0)
	for _, cmd := range []func() domain.FileCommand{
		func() domain.FileCommand { return domain.DiscoverFile{Spec: spec} },
		func() domain.FileCommand { return domain.StartDownload{Worker: "w", Limits: once} },
		func() domain.FileCommand {
			return domain.FailDownload{Fence: fence, Limits: once, Reason: domain.WorkerLost("w")}
		},
	} {
		r, err := a.Open.Tables.(fakeFiles).files.File(ctx, hash, cmd(), eventstore.Meta{Actor: "daemon/test"})
		if err != nil {
			t.Fatal(err)
		}
		fence = r.File.Fence
	}
	_, err = a.SkipFile(ctx, hash, "not wanted")
	is(err, Refused, "is IGNORE: skip is not possible (possible from here: DISCOVERED)")

	want := Changed{Target: target.Target{ID: string(hash), Subject: "file/" + string(hash)}, Version: 5, From: "IGNORE", State: "DISCOVERED", Row: "O1"}
	for _, dry := range []bool{true, false} {
		a.DryRun, want.DryRun = dry, dry
		got, err := a.RequeueFile(ctx, hash, "the server is back")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("dry %v: %v %s", dry, err, diff)
		}
	}
	if _, err := a.Open.Tables.(fakeFiles).files.File(ctx, hash,
		domain.FileAlreadyThere{Size: 1, SHA256: strings.Repeat("0", 64)}, a.Meta()); err != nil {
		t.Fatal(err)
	}
	_, err = a.SkipFile(ctx, hash, "  ")
	is(err, Invalid, "needs a reason")
	for _, dry := range []bool{true, false} { // the version that the caller knows is another one
		a.DryRun, a.Command = dry, &Command{ID: "outdated", IfVersion: 5}
		_, err = a.SkipFile(ctx, hash, "not wanted")
		is(err, Outdated, "it has version 6, not 5")
	}
	a.Command = &Command{ID: "skip", IfVersion: 6}
	if got, err := a.SkipFile(ctx, hash, "not wanted"); err != nil || got.State != "SKIPPED" || got.Row != "F9" {
		t.Fatalf("%+v, %v", got, err)
	}

	at := hash.Aggregate()
	why := map[int64]string{}
	for r, err := range log.Read(ctx, eventstore.ReadOptions{Aggregate: &at}) {
		if err != nil {
			t.Fatal(err)
		}
		if m, _ := domain.MoveOfFile(r.Data); m.Reason != nil && r.Actor == "user/maria" {
			why[r.Version] = string(m.Reason.Code) + ": " + m.Reason.Message
		}
	}
	if why[5] != "requested: the server is back" || why[7] != "skipped_by_operator: not wanted" {
		t.Errorf("the history tells %v", why)
	}
}
