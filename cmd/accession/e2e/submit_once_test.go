package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestDepositUnderAKeyKilledAtEachStep: a deposit under an idempotency key dies at each
// step of being accepted. The same request finds the batch, or makes it: there is one.
// Shows: P1 P19
func TestDepositUnderAKeyKilledAtEachStep(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 2, timeout: 5s")
	made := map[domain.BatchID]string{}
	for _, point := range []string{
		"zklive/ids/reserve/after", "record/command/keep/before", "record/command/keep/after",
		"zklive/deliver/multi/before", "zklive/deliver/multi/after", // B1
		"record/deposit/keep/before", "record/deposit/keep/after",
	} {
		file := filepath.Join(in.dir, strings.ReplaceAll(point, "/", "-")+".txt")
		in.must(os.WriteFile(file, []byte(point), 0o600))
		in.killedAt(point, "submit", "--profile", "test", "--submitter", "tester", "--idempotency-key", point, file)
		d := app.Deposit{Profile: "test", Submitter: "tester", Payload: file, Key: point}
		s, err := in.app.Submit(in.ctx(), d)
		in.must(err)
		if before := made[s.Batch]; before != "" {
			t.Errorf("%s is the deposit that died at %s and the one that died at %s", s.Batch, before, point)
		}
		made[s.Batch] = point
		if again, err := in.app.Submit(in.ctx(), d); err != nil || again.Batch != s.Batch || !again.Again || again.PayloadURL != s.PayloadURL {
			t.Errorf("died at %s, once more: %+v, %v; want %+v", point, again, err, s)
		}
	}
	all, err := in.live.Batches(in.ctx())
	in.must(err)
	if len(all) != len(made) {
		t.Errorf("%d batches of %d deposits: %v", len(all), len(made), all)
	}
}

// TestDepositUnderAKey: requests under one key make one batch, also at the same moment, and
// also when that has left the live state; another deposit under it is refused, and the
// keys of others do not count.
// Shows: P19
func TestDepositUnderAKey(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 2, timeout: 5s")
	file := filepath.Join(in.dir, "tide.txt")
	in.must(os.WriteFile(file, []byte("4.2 m\n"), 0o600))
	d := app.Deposit{Profile: "test", Submitter: "tester", Payload: file, Title: "Tide", Key: "tide 1923"}
	var requests sync.WaitGroup
	got, errs := make([]app.Submitted, 6), make([]error, 6)
	for i := range got {
		requests.Go(func() { got[i], errs[i] = in.app.Submit(in.ctx(), d) })
	}
	requests.Wait()
	first := 0
	for i, s := range got {
		if errs[i] != nil || s.Batch != got[0].Batch {
			t.Errorf("at the same moment: %+v, %v; want %s", s, errs[i], got[0].Batch)
		}
		if !s.Again {
			first++
		}
	}
	if all, err := in.live.Batches(in.ctx()); err != nil || len(all) != 1 || first != 1 {
		t.Errorf("%d requests have made a batch: %v, %v", first, all, err)
	}
	// The records are an older copy: the key comes back from the outbox, and later the log.
	in.exec("delete from record.command")
	_, err := in.app.Repair(in.ctx(), app.VerifyOptions{Wait: time.Second})
	in.must(err)
	if s, err := in.app.Submit(in.ctx(), d); err != nil || s.Batch != got[0].Batch || !s.Again {
		t.Errorf("when it was made again: %+v, %v; want %s", s, err, got[0].Batch)
	}
	other := d
	other.Title = "Another"
	var refused *app.Error
	if _, err := in.app.Submit(in.ctx(), other); !errors.As(err, &refused) || refused.Kind != app.KeyReused || !strings.Contains(err.Error(), `the key "tide 1923" was used for another deposit, `+string(got[0].Batch)) {
		t.Errorf("another deposit under the key: %v", err)
	}
	other = d
	other.Submitter = "another"
	if s, err := in.app.Submit(in.ctx(), other); err != nil || s.Again || s.Batch == got[0].Batch {
		t.Errorf("the same key of another: %+v, %v", s, err)
	}
	service := in.serve()
	in.reach(domain.EventBatchCompleted, 2)
	service.stop()
	in.run("batch", "cleanup", string(got[0].Batch), "--reason", "space is short", "--yes")
	if _, err := in.live.Batch(in.ctx(), got[0].Batch); err == nil {
		t.Errorf("%s is still in the live state", got[0].Batch)
	}
	// Its events may still wait in the outbox; they are found there, or in the log.
	if s, err := in.app.Submit(in.ctx(), d); err != nil || s.Batch != got[0].Batch || !s.Again || s.Type != domain.TypeFile {
		t.Errorf("when it is gone: %+v, %v", s, err)
	}
	in.says(0, []string{"submit", "--profile", "test", "--submitter", "tester", "--title", "Tide", "--idempotency-key", "tide 1923", file}, string(got[0].Batch)+" accepted as file")
}
