package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/history"
)

const (
	theLock = "/jobs/jid0000000001/lock"
	first   = 0x100
	second  = 0x200
)

func locks() history.Op {
	return history.Op{Kind: history.Create, Path: theLock, Ephemeral: true, Data: []byte(`{"holder":"w"}`)}
}

func registers() history.Op {
	return history.Op{Kind: history.Create, Path: "/workers/w", Ephemeral: true}
}
func unlocks() history.Op { return history.Op{Kind: history.Delete, Path: theLock} }
func counts() history.Op {
	return history.Op{Kind: history.SetData, Path: "/jobs/jid0000000001/claims"}
}
func ends() history.Op { return history.Op{Kind: history.CloseSession} }

// writes is a job's event in the outbox.
func writes(version int, trace string) history.Op {
	return history.Op{Kind: history.Create, Path: "/outbox/00/b0000000001/e-0000000001", Data: fmt.Appendf(nil,
		`[{"t":"job.estimated","a":"job/jid0000000001","v":%d,"b":"bid0000000001","by":"daemon/job-estimating","tp":%q}]`, version, trace)}
}

// step is what one session does in one write.
type step struct {
	session int64
	ops     []history.Op
}

func by(session int64, ops ...history.Op) step { return step{session, ops} }

func TestClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		story []step
		fault string // "" = nothing is wrong
	}{
		"one after the other": {story: []step{
			by(first, locks()), by(first, unlocks(), writes(1, "a")),
			by(second, locks()), by(second, unlocks(), writes(2, "b"))}},
		"handed over in one write": {story: []step{
			by(first, locks(), counts()), by(first, counts(), writes(1, "a")), by(first, writes(2, "b")), by(first, unlocks(), writes(3, "b"))}},
		"a session ends, another goes on": {story: []step{
			by(first, locks()), by(first, ends()), by(second, locks()), by(second, writes(1, "b"))}},
		"the proof that the lock is free":    {story: []step{by(first, locks(), unlocks())}},
		"a lock without a holder is removed": {story: []step{by(first, locks()), by(second, unlocks())}},
		"an operator needs no lock": {story: []step{by(first, history.Op{Kind: history.Create, Path: "/outbox/00/b1/e-1",
			Data: []byte(`[{"t":"job.held","a":"job/jid0000000001","v":1,"by":"user/ana"}]`)})}},

		"two locks": {[]step{by(first, locks()), by(second, locks())}, "two claims overlap"},
		"another's lock is removed": {[]step{by(first, registers()), by(first, locks()), by(second, unlocks())},
			"is session 0x100's"},
		"a late write": {[]step{by(first, locks()), by(first, ends()), by(second, locks()), by(first, writes(1, "a"))},
			"does not hold"},
		"a write after the end": {[]step{by(first, locks()), by(first, unlocks()), by(first, writes(1, "a"))},
			"does not hold"},
		"two workers of one session": {[]step{by(first, locks()), by(first, writes(1, "a")), by(first, unlocks(), writes(2, "b"))},
			"two claims overlap"},
		"an older claim of the same session": {[]step{by(first, locks()), by(first, unlocks(), writes(1, "a")),
			by(first, locks()), by(first, writes(2, "a"))}, "a late write"},
		"an older claim of a job that was handed over": {[]step{by(first, locks()), by(first, counts(), writes(1, "a")),
			by(first, writes(2, "a"))}, "a late write"},
		"a hole":          {[]step{by(first, locks()), by(first, writes(2, "a"))}, "number 2 (job.estimated) follows number 0"},
		"a lost update":   {[]step{by(first, locks()), by(first, writes(1, "a")), by(first, writes(1, "a"))}, "follows number 1"},
		"without a trace": {[]step{by(first, locks()), by(first, writes(1, ""))}, "has no trace"},
		"a lasting lock":  {[]step{by(first, history.Op{Kind: history.Create, Path: theLock})}, "outlives its session"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claims := history.NewClaims()
			for i, s := range c.story {
				claims.Write(history.Write{Zxid: int64(i + 1), Session: s.session, Ops: s.ops})
			}
			got := strings.Join(claims.Faults(), "\n")
			if (got == "") != (c.fault == "") || !strings.Contains(got, c.fault) {
				t.Errorf("found %q, want %q", got, c.fault)
			}
		})
	}
}
