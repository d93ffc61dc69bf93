package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// testFileCommandID: the same command again is answered with what it wrote, also
// by another process and after others have gone on.
func testFileCommandID(k fileKit) {
	hash := FileSpec(1).Hash()
	other := fileKit{k.logKit, NewFileHandler(k.log)}
	o := fileOrder()
	o.CommandID = "discover"
	start := fileOrder()
	start.CommandID = "start"
	for n, h := range []*files.Handler{k.h, k.h, other.h} {
		r, err := h.File(k.Context(), hash, domain.DiscoverFile{Spec: FileSpec(1)}, o)
		if err != nil || r.Duplicate || len(r.Events) != 1 || r.Events[0].Version != 1 {
			k.Fatalf("discovery %d: %+v, %v", n+1, r, err)
		}
		if n == 0 {
			k.do(hash, domain.FileAlreadyThere{Size: 1, SHA256: digest})
			k.do(hash, domain.FailValidation{Reason: Broken(), Limits: thrice})
		}
		if r, err = h.File(k.Context(), hash, domain.StartDownload{Worker: "w", Limits: thrice}, start); err != nil || len(r.Events) != 1 || r.Events[0].Version != 4 {
			k.Fatalf("start %d: %+v, %v", n+1, r, err)
		}
	}
	if f := k.load(hash); f.Version != 4 || f.DownloadAttempts != 1 {
		k.Errorf("%d events, %d attempts", f.Version, f.DownloadAttempts)
	}
	if k.h.Duplicates()+other.h.Duplicates() != 0 {
		k.Error("a retry counts as a duplicate")
	}
}

// testFileLost: a lost question or answer is found out by the command's id, and
// nothing is written twice or forgotten, also when others go on meanwhile.
func testFileLost(k fileKit) {
	n := 0
	for _, c := range []struct{ question, overtake bool }{{true, false}, {true, true}, {false, false}, {false, true}} {
		n += 10
		lost := false
		d := &Doubtful{Log: k.log, Lose: func() (bool, bool) {
			first := !lost
			lost = true
			return first && c.question, first && !c.question
		}}
		h := NewFileHandler(d)
		name := fmt.Sprintf("%+v", c)
		files := []domain.DiscoverFile{{Spec: FileSpec(n)}, {Spec: FileSpec(n + 1)}, {Spec: FileSpec(n + 2)}}
		if c.overtake && c.question {
			d.Meanwhile = func() { k.do(files[1].Spec.Hash(), files[1]) }
		} else if c.overtake {
			d.Meanwhile = func() {
				k.do(files[1].Spec.Hash(), domain.StartDownload{Worker: "fast", Limits: thrice})
			}
		}
		want, duplicates := 3, int64(0)
		if c.overtake && c.question {
			want, duplicates = 2, 1
		}
		if fresh, err := h.DiscoverAll(k.Context(), files, fileOrder()); err != nil || fresh != want || h.Duplicates() != duplicates {
			k.Fatalf("%s: %d fresh, %d duplicates, %v", name, fresh, h.Duplicates(), err)
		}

		hash, start := files[0].Spec.Hash(), domain.StartDownload{Worker: "w", Limits: thrice}
		lost, d.Meanwhile = false, nil
		r, err := h.File(k.Context(), hash, start, fileOrder())
		if err != nil || len(r.Events) != 1 || r.File.Fence != 2 {
			k.Fatalf("%s: start gives %+v, %v", name, r, err)
		}
		lost = false
		if c.overtake {
			// Another takes the same attempt away: only one of both may be written.
			d.Meanwhile = func() {
				_, err := k.h.File(k.Context(), hash, domain.FailDownload{Fence: 2, Reason: Broken(), Limits: thrice}, fileOrder())
				if !c.question {
					k.refused(err, domain.CodeIllegal)
				} else if err != nil {
					k.Error(err)
				}
			}
		}
		r, err = h.File(k.Context(), hash, domain.FinishDownload{Fence: 2, Size: 20, SHA256: digest}, fileOrder())
		switch {
		case c.overtake && c.question:
			k.refused(err, domain.CodeIllegal)
		case err != nil || r.File.State != domain.FileDownloaded:
			k.Fatalf("%s: finish gives %s, %v", name, r.File.State, err)
		}
		if f := k.load(hash); f.Version != 3 {
			k.Errorf("%s: %d events, want 3", name, f.Version)
		}
	}
	k.histories()
}

// testFileRace: of a thousand that discover one file, one does.
// Shows: P2
func testFileRace(k fileKit) {
	const racers, handlers = 1000, 4
	var all [handlers]*files.Handler
	for i := range all {
		all[i] = NewFileHandler(k.log)
	}
	var racing sync.WaitGroup
	fresh := make(chan files.Result, racers)
	begin := make(chan struct{})
	for i := range racers {
		racing.Go(func() {
			<-begin
			r, err := all[i%handlers].File(k.Context(), FileSpec(1).Hash(), domain.DiscoverFile{Spec: FileSpec(1)}, fileOrder())
			if err != nil {
				k.Error(err)
			}
			if !r.Duplicate {
				fresh <- r
			}
		})
	}
	close(begin)
	racing.Wait()
	duplicates := int64(0)
	for _, h := range all {
		duplicates += h.Duplicates()
	}
	if events := k.read(eventstore.ReadOptions{}); len(events) != 1 || len(fresh) != 1 || duplicates != racers-1 {
		k.Errorf("%d events, %d were first, %d duplicates", len(events), len(fresh), duplicates)
	}
}

// testFileSweepers: two sweepers and the worker that finishes race for each of a
// thousand overdue files; each has one outcome and a legal history.
func testFileSweepers(k fileKit) {
	const n, lanes = 1000, 8
	hashes := k.discover(n)
	asks := make([]files.Request, n)
	for i, h := range hashes {
		asks[i] = files.Request{Hash: h, Command: domain.StartDownload{Worker: "w", Limits: once}}
	}
	started, err := k.h.All(k.Context(), asks, fileOrder())
	if err != nil {
		k.Fatal(err)
	}
	sweepers := [2]*files.Handler{NewFileHandler(k.log), NewFileHandler(k.log)}
	now := k.after(2 * time.Millisecond)
	race := func(i int) (won []string) {
		var mu sync.Mutex
		var racing sync.WaitGroup
		attempt := func(h *files.Handler, cmd domain.FileCommand) {
			racing.Go(func() {
				r, err := h.File(k.Context(), hashes[i], cmd, fileOrder())
				var refused *domain.Refused
				switch {
				case err == nil:
					mu.Lock()
					won = append(won, fmt.Sprint(r.Rows))
					mu.Unlock()
				case !errors.As(err, &refused) || refused.Code != domain.CodeIllegal:
					k.Error(err)
				}
			})
		}
		attempt(k.h, domain.FinishDownload{Fence: started[i].File.Fence, Size: 20, SHA256: digest})
		for _, s := range sweepers {
			attempt(s, domain.RecoverFile{Now: now, Limits: both(once)})
		}
		racing.Wait()
		return won
	}
	outcomes := make([][]string, n)
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			for i := lane; i < n; i += lanes {
				outcomes[i] = race(i)
			}
		})
	}
	all.Wait()
	histories := k.histories()
	for i, won := range outcomes {
		end := histories[hashes[i]][2:]
		var rows []string
		for _, e := range end {
			m, _ := domain.MoveOfFile(e.Data)
			row, _ := domain.FileRow(m.From, m.To)
			rows = append(rows, row.Row)
		}
		if got := fmt.Sprint(rows); len(won) != 1 || got != won[0] || got != "[F4]" && got != "[F5 F7]" {
			k.Errorf("file %d: %v won, the history ends %s", i, won, got)
		}
	}
}
