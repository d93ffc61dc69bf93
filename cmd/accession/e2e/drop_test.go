package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// dropped accepts a file of this content into the drop folder.
func (in *installation) dropped(name, content, profile string) drop.Deposit {
	in.t.Helper()
	return in.droppedBy("ana", name, content, profile)
}

func (in *installation) droppedBy(user, name, content, profile string) drop.Deposit {
	in.t.Helper()
	path := filepath.Join(in.t.TempDir(), name)
	in.must(os.WriteFile(path, []byte(content), 0o600))
	d, err := drops.Accept(in.ctx(), in.app, app.Deposit{Profile: profile, Submitter: user, Payload: path})
	in.must(err)
	return d
}

// transferred waits until deposits have left the drop folder, and returns their batches.
func (in *installation) transferred(deposits ...drop.Deposit) (batches []domain.BatchID) {
	in.t.Helper()
	for _, d := range deposits {
		waitFor(in.t, d.FileName+" to be transferred", func() bool {
			s, err := drops.Show(in.ctx(), in.app, d.ID, d.Submitter)
			in.must(err)
			if s.Batch != "" {
				batches = append(batches, s.Batch)
			}
			return s.Batch != ""
		})
	}
	return batches
}

// Files are accepted while no server answers. The service makes a batch of each in the
// order of reception, unless the transfer is stopped; what no batch can be made of stays,
// with the reason, until that is mended or it is removed.
// Shows: P1
func TestDropFolder(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=50ms", "zookeeper=127.0.0.1:1", "nats=nats://127.0.0.1:1", "postgres=postgres://127.0.0.1:1/none")
	away := in.dropped("away.txt", "accepted without servers", "test")
	in.set("zookeeper="+address(t, "ACCESSION_TEST_ZOOKEEPER"), "nats="+address(t, "ACCESSION_TEST_NATS"), "postgres="+in.databaseURL())
	aside := filepath.Join(t.TempDir(), "aside")
	ana := filepath.Join(in.cfg.DropDir, "user-ana")
	in.must(os.CopyFS(aside, os.DirFS(ana)))
	in.serveInProcess()
	first := in.transferred(away)[0]
	// As if a process had died before it took the deposit away.
	in.must(os.CopyFS(ana, os.DirFS(aside)))
	if again := in.transferred(away)[0]; again != first {
		t.Errorf("%s became %s and %s", away.FileName, first, again)
	}
	in.says(0, words("drop stop --reason maintenance"), "set")
	kept, other := in.dropped("kept.txt", "kept", "test"), in.dropped("other.txt", "other", "test")
	in.rest(in.deposit(1)) // the folder was looked at meanwhile
	in.says(0, words("drop ls --submitter ana"), kept.ID, other.ID, "waiting")
	in.says(0, words("queue show metadata"), "transfer stopped", "maintenance")
	in.says(0, words("status"), "drop folder 2 deposits wait or were refused, the oldest since 20")
	// As if a process had died when it had reserved a batch's id for the deposit.
	records, err := in.wired.Records(in.ctx())
	in.must(err)
	live, err := in.wired.LiveState(in.ctx())
	in.must(err)
	reserved, err := live.ReserveBatchID(in.ctx())
	in.must(err)
	_, err = records.KeepCommand(in.ctx(), record.Command{Submitter: "ana", Key: "drop:" + other.ID, InputSHA256: strings.Repeat("0", 64), Batch: reserved})
	in.must(err)
	in.says(0, words("drop rm --yes --reason mistaken "+other.ID), "removed")
	in.says(0, words("drop show "+other.ID), other.ID+" of ana (other.txt, 5 bytes) was removed at ", ": mistaken")
	in.says(0, words("drop show -o json "+other.ID), `"state": "removed"`, `"reason": "mistaken"`)
	in.must(os.CopyFS(ana, os.DirFS(aside)))
	in.says(3, words("drop rm --yes --reason mistaken "+away.ID), "it became the batch "+string(first))
	in.says(0, words("drop start --reason done"))
	second := in.transferred(kept, away)[0]
	for id, want := range map[domain.BatchID]drop.Deposit{first: away, second: kept} {
		v := in.rest(id)
		if v.JobsCompleted != 1 || v.Submitter != "ana" {
			t.Errorf("%s of %s: %+v", id, want.FileName, v.BatchSummary)
		}
		live, err := in.app.Open.Live(in.ctx())
		in.must(err)
		at, err := live.Batch(in.ctx(), id)
		if in.must(err); at.State.Submission.Received != domain.At(want.Received) || at.State.Submission.FileName != want.FileName {
			t.Errorf("%s was received at %v, want %v", id, at.State.Submission.Received, want.Received)
		}
		if s := at.State.Submission; s.SubmissionID != want.ID || s.Queue != fair.QueueMetadata || s.User == "" || s.User != in.app.Actor.User() {
			t.Errorf("%s is of the deposit %q, queue %q and user %q", id, s.SubmissionID, s.Queue, s.User)
		}
		in.shown()
		list := filepath.Join(t.TempDir(), "list.txt")
		in.must(os.WriteFile(list, []byte("submission:"+want.ID), 0o600))
		in.says(0, words("query answer --format csv "+list), ",submission,found,batch,completed,"+string(id))
	}
	in.agree()
}

// What no batch can be made of stays in the drop folder until its cause is mended.
// Shows: P1
func TestRefusedDrop(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=50ms")
	d := in.dropped("chart.txt", "a chart", "test")
	text, err := os.ReadFile(in.profileFile())
	in.must(err)
	in.must(os.WriteFile(in.profileFile(), []byte(strings.Replace(string(text), "name: test", "name: other", 1)), 0o600))
	in.configure()
	s := in.serveInProcess()
	waitFor(t, "the deposit to be refused", func() bool {
		s, err := drops.Show(in.ctx(), in.app, d.ID, "ana")
		in.must(err)
		return s.State == drops.Refused
	})
	in.says(0, words("drop ls"), "refused", "profile")
	s.stop()
	in.must(os.WriteFile(in.profileFile(), text, 0o600))
	in.configure()
	in.serveInProcess()
	in.says(0, words("drop stop --reason x"))
	in.says(0, words("drop retry --reason mended "+d.ID))
	in.says(0, words("drop show "+d.ID), "waits in the drop folder", "tried again at ", ": mended")
	in.says(0, words("drop start --reason x"))
	if v := in.rest(in.transferred(d)[0]); v.JobsCompleted != 1 {
		t.Errorf("%+v", v.BatchSummary)
	}
}

// TestDropPages: the drop folder is listed in pages, as other lists are, each deposit once.
func TestDropPages(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=1h")
	var want, got []string
	for n := range 5 {
		want = append(want, in.dropped(fmt.Sprintf("%d.txt", n), "a file", "test").ID)
	}
	for cursor := ""; ; {
		args := append(words("drop ls --limit 2 -o json"), "--cursor", cursor)
		var page app.Page[drops.Shown]
		in.must(json.Unmarshal([]byte(in.says(0, args)), &page))
		if *page.Total != 5 || len(page.Items) > 2 {
			t.Errorf("%d of %d on a page", len(page.Items), *page.Total)
		}
		for _, d := range page.Items {
			got = append(got, d.ID)
		}
		if cursor = string(page.Next); cursor == "" || len(got) > 5 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	in.says(0, words("drop ls --limit 2"), "2 of 5 deposits; --limit or --cursor ")
	in.says(2, words("drop ls --cursor bm90aGluZw"), "no cursor of a list of this kind")
	d := in.door()
	d.ask("ana depositor/test", "GET", "/v1/uploads?limit=1&cursor=x", "").is(d, 400, app.Invalid)
}

// TestDropLocked: one process at a time transfers or changes a deposit, and a file that cannot
// be read keeps no other from being transferred.
func TestDropLocked(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=50ms")
	bad, held, free := in.dropped("bad.txt", "bad", "test"), in.dropped("held.txt", "held", "test"), in.dropped("free.txt", "free", "test")
	folder, err := in.app.Open.Drop(false)
	in.must(err)
	in.must(os.Remove(folder.Path(bad)))
	in.must(os.Symlink("/proc/self/mem", folder.Path(bad))) // its first byte is an error of input and output
	release, err := folder.Lock(held)
	in.must(err)
	in.says(3, words("drop rm --yes "+held.ID), "at this moment", "try again")
	in.says(3, words("drop retry "+held.ID), "at this moment")
	in.serveInProcess()
	in.rest(in.transferred(free)[0])
	in.says(0, words("drop ls"), held.ID, "waiting", bad.ID, "refused", "input/output error")
	release()
	in.rest(in.transferred(held)[0])
	in.says(0, words("drop rm --yes --reason mistaken "+bad.ID), "removed")
	in.says(0, words("drop ls --removed"), bad.ID, "removed")
	in.agree()
}
