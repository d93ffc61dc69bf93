package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestUpgradeToRings: an installation of the format before deposit queues is upgraded
// while it works and while batches wait in it. Its processes are exchanged one after the
// other, then its format is raised, then they are exchanged again. Nothing is lost or done
// twice; what waited before is begun first, and what came then is
// served in turn.
// Shows: P1 P11
func TestUpgradeToRings(t *testing.T) {
	t.Parallel()
	const first, second, many, few = 12, 8, 14, 3
	in := prepare(t, "attempts: 20, timeout: 60s", append(slices.Clone(forProcesses), "zookeeper_session_timeout=2s", "listen_ops=127.0.0.1:0",
		"stop_grace=30s", "workers=batch-pending=1")...).beforeRings()
	in.open()
	f, files := newFiles(t, 1, -1), 0
	deposit := func(by *installation, user string, n int) (ids []domain.BatchID) {
		for range n {
			ids = append(ids, by.depositBy(user, f.URL+fmt.Sprintf("/file/%d", files), domain.TypeFile))
			files++
		}
		return ids
	}
	running := []*service{in.serve(), in.serve(), in.serve()}
	for _, s := range running {
		s.until(200, "ok")
	}
	exchange := func() {
		for i, s := range running {
			next := in.serve()
			next.until(200, "ok")
			s.stop()
			running[i] = next
		}
	}
	deposit(in, "mal", first)
	in.reach(domain.EventBatchListed, 1)
	exchange() // while it works
	in.says(0, words("queue pause ingest --reason upgrade"))
	old := append(deposit(in, "mal", second-2), deposit(in, "ana", 2)...)
	in.raiseFormat()
	exchange() // while they wait
	user, upgraded := map[domain.BatchID]string{}, in.with()
	for _, id := range deposit(upgraded, "mal", many) {
		user[id] = "mal"
	}
	for _, id := range deposit(upgraded, "ana", few) {
		user[id] = "ana"
	}
	in.says(0, words("queue resume ingest --reason upgrade"))
	in.reach(domain.EventBatchCompleted, files)
	for _, s := range running {
		s.stop()
	}
	in.proven()
	in.whole(files)
	in.grabbedInTurn(user)
	in.begunFirst(old, user, len(running)-1)
	in.says(0, words("verify"))
}

// raiseFormat makes the tree one of the newest format, as operators do.
func (in *installation) raiseFormat() {
	in.t.Helper()
	_, err := in.zookeeper().Set(in.cfg.ZooKeeperRoot+"/config/format", []byte(`{"reads":3,"writes":3}`), -1)
	in.must(err)
}

// begunFirst checks that batches without a ticket were begun before those that were
// grabbed, but for as many as other workers had in hand.
func (in *installation) begunFirst(old []domain.BatchID, grabbed map[domain.BatchID]string, inHand int) {
	in.t.Helper()
	all := in.history()
	slices.SortStableFunc(all, func(a, b domain.Recorded) int { return cmp.Compare(a.Zxid, b.Zxid) })
	left, grabs := slices.Clone(old), 0
	for _, r := range all {
		id := domain.BatchID(r.Aggregate.ID)
		if _, is := r.Data.(*domain.BatchGrabbed); is {
			grabs++
			if slices.Contains(old, id) || grabbed[id] == "" {
				in.t.Errorf("%s was grabbed, and had no ticket", id)
			}
		}
		if r.Type != domain.EventBatchListed {
			continue
		}
		i := slices.Index(left, id)
		if i < 0 && grabbed[id] != "" && len(left) > inHand {
			in.t.Errorf("%s is begun while %v wait", id, left)
		}
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	if len(left) > 0 || grabs != len(grabbed) {
		in.t.Errorf("%v were not begun; %d grabs", left, grabs)
	}
}
