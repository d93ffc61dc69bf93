package main

const (
	zklive = "eventstore/zklive"
	store  = "eventstore"
	jslog  = "eventstore/jslog"
)

// claims: who may work on what.
var claims = []Mutant{{
	Name: "the worker's fence in a write", Why: "a write that outlived its session lands behind a newer claim",
	File: "eventstore/zklive/plan.go",
	Old:  "p.check(s.paths.worker(c.Claim.Worker), -1, eventstore.ErrFenced)", New: "p.check(s.paths.locks(), -1, eventstore.ErrFenced)",
	Package: zklive, Test: "TestLateWriteOfALostSession",
}, {
	Name: "the registry of claims, in a write", Why: "of two goroutines of one session the first writes under the claim of the second",
	File: "eventstore/zklive/commit.go",
	Old:  "if c.Claim != nil && !s.holding(c.Claim) {", New: "if false {",
	Package: zklive, Test: "TestConformance/claims/plain/released_by_the_first",
}, {
	Name: "the registry of claims, when one is given back", Why: "a claim that has ended frees the lock of the next one",
	File: "eventstore/zklive/claim.go",
	Old:  "	if !s.holding(c) {\n		return nil\n	}\n	if s.doubts(c) {", New: "	if s.doubts(c) {",
	Package: zklive, Test: "TestConformance/claims/plain/released_by_the_first",
}, {
	Name: "the registry of claims, in a claim", Why: "two goroutines send a claim, and the one that is refused gives back the lock of the other",
	File: "eventstore/zklive/claim.go",
	Old:  "if s.claimed[a] != nil || s.worker != w {", New: "if s.worker != w {",
	Package: zklive, Test: "TestConformance/claims/plain/given",
}, {
	Name: "the version of /locks in a claim", Why: "work begins in a queue that was paused before",
	File: "eventstore/zklive/claim.go",
	Old:  "p.check(s.paths.locks(), int32(h.Version), errHolds)", New: "",
	Package: zklive, Test: "TestConformance/claims/plain/pause_unheard_of",
}, {
	Name: "the version of /locks in a hand-over", Why: "a worker goes on in a queue that was paused before",
	File: "eventstore/zklive/handover.go",
	Old:  "p.check(s.paths.locks(), int32(h.holds), errHandOver)", New: "",
	Package: zklive, Test: "TestConformance/claims/plain/hand-over_pause_unheard_of",
}, {
	Name: "the version of a batch's status in a claim", Why: "a job of a deleted batch is worked on",
	File: "eventstore/zklive/claim.go",
	Old:  "p.check(s.paths.batchStatus(batch), int32(of.token), errBatch)", New: "_ = of",
	Package: zklive, Test: "TestConformance/handler/plain/no_claim_after_deletion",
}, {
	Name: "the status in a claim", Why: "what is claimed is not what was read",
	File: "eventstore/zklive/claim.go",
	Old:  "p.check(status, int32(token), eventstore.ErrConflict)", New: "",
	Package: zklive, Test: "TestConformance/claims/plain/as_it_is_now",
}, {
	Name: "the lock in a confirmation", Why: "a worker whose claim is over believes that it still has it",
	File: "eventstore/zklive/claim.go",
	Old:  "p.check(s.paths.lock(c.Aggregate), -1, eventstore.ErrFenced)\n		v :=", New: "v :=",
	Package: zklive, Test: "TestConformance/claims/plain/confirmed",
}, {
	Name: "the worker's fence in a confirmation", Why: "another's claim confirms the one that was lost",
	File: "eventstore/zklive/claim.go",
	Old:  "p.check(s.paths.worker(c.Worker), -1, eventstore.ErrFenced)\n		p.check(s.paths.lock", New: "p.check(s.paths.lock",
	Package: zklive, Test: "TestConformance/claims/plain/confirmed",
}, {
	Name: "the count of claims", Why: "a job whose workers keep dying is tried for ever",
	File: "eventstore/zklive/claim.go",
	Old:  "claimCount{Version: version, Claims: claims + 1}", New: "claimCount{Version: version, Claims: claims}",
	Package: zklive, Test: "TestConformance/claims/plain/attempts",
}, {
	Name: "the time for which an unreadable job is set aside", Why: "one bad job at the head blocks its queue",
	File: "eventstore/zklive/queues.go",
	Old:  "jq.later(e, brokenDelay)", New: "jq.add(e)",
	Package: zklive, Test: "TestUnreadableAtTheHead", Hangs: true,
}, {
	Name: "the look at what is left of a job that lacks a node", Why: "a damaged job counts as one that is gone, and nobody hears of it",
	File: "eventstore/zklive/load.go",
	Old:  "} else if stat != nil {\n			return &eventstore.Error{Op: \"load\"", New: "} else if stat == nil {\n			return &eventstore.Error{Op: \"load\"",
	Package: zklive, Test: "TestUnreadableAtTheHead",
}}

// commits: what a write proves.
var commits = []Mutant{{
	Name: "compare-and-set of a job's status", Why: "a decision on what a job was overwrites what it has become",
	File: "eventstore/zklive/plan.go",
	Old:  "p.set(dir+\"/status\", jobStatusOf(*after).encode(), int32(c.Token),", New: "p.set(dir+\"/status\", jobStatusOf(*after).encode(), -1,",
	Package: zklive, Test: "TestConformance/live/plain/stale_token",
}, {
	Name: "compare-and-set of a batch's status", Why: "a decision on what a batch was overwrites what it has become",
	File: "eventstore/zklive/plan.go",
	Old:  "token = p.set(path, after[path], int32(c.Token), eventstore.ErrConflict)", New: "token = p.set(path, after[path], -1, eventstore.ErrConflict)",
	Package: zklive, Test: "TestConformance/live/plain/stale_token",
}, {
	Name: "the version of /locks in a write", Why: "a job is accepted into a collection that was held before",
	File: "eventstore/zklive/plan.go",
	Old:  "p.check(s.paths.locks(), int32(c.HoldsVersion), errHolds)", New: "",
	Package: zklive, Test: "TestConformance/live/plain/require_holds",
}, {
	Name: "the term of a lead in a promise", Why: "working space is promised that the next leader has not counted",
	File: "eventstore/zklive/plan.go",
	Old:  "p.check(s.paths.space(), int32(*c.SpaceTerm), eventstore.ErrFenced)", New: "",
	Package: zklive, Test: "TestConformance/claims/plain/promised_by_a_loser",
}, {
	Name: "the version of the batch in a write", Why: "a job is sent back to work while its batch is reported",
	File: "eventstore/zklive/plan.go",
	Old:  "p.check(s.paths.batchStatus(c.Job.After.Configuration.BatchID), int32(c.BatchToken), eventstore.ErrConflict)", New: "",
	Package: zklive, Test: "TestConformance/live/plain/require_batch",
}, {
	Name: "the proof that nobody holds the lock", Why: "an operator deletes what a worker works on",
	File: "eventstore/zklive/plan.go",
	Old:  "if c.Require.Unlocked && (c.Claim == nil || c.Claim.Aggregate != c.Aggregate()) {", New: "if false {",
	Package: zklive, Test: "TestConformance/live/plain/require_unlocked",
}, {
	Name: "the proof that no job of a batch is worked on", Why: "a batch is deleted under its workers",
	File: "eventstore/zklive/plan.go",
	Old:  "p.create(lock, nil, zk.FlagEphemeral, eventstore.ErrConflict)\n		p.delete(lock, -1, eventstore.ErrConflict)\n", New: "_ = lock\n",
	Package: zklive, Test: "TestConformance/handler/plain/deletion_while_locked",
}, {
	Name: "the rule that a batch is not deleted under its workers", Why: "the deletion is decided, and refused without a word of why",
	File: "domain/decide_batch.go",
	Old:  "case len(f.Locked) > 0:", New: "case false:",
	Package: "domain", Test: "TestBatchGuards/delete_while_one_is_worked_on",
}, {
	Name: "the rule that a job is requeued only under a batch that works or has failed", Why: "a job goes back to work behind its batch's report",
	File:    "domain/decide_job.go",
	Old:     "if f.Batch != BatchProcessing && f.Batch != BatchFailed {\n		return d.refuse(\"batch_state\", \"its batch is \"+string(f.Batch)+\"; a job is requeued",
	New:     "if false {\n		return d.refuse(\"batch_state\", \"its batch is \"+string(f.Batch)+\"; a job is requeued",
	Package: "domain", Test: "TestJobGuards/requeue_in_batch_reporting",
}, {
	Name: "the proof of emptiness", Why: "a batch is reported while a job of it is under way",
	File: "eventstore/zklive/plan.go",
	Old:  "		p.delete(dir, -1, eventstore.ErrConflict)\n		p.create(dir, nil, 0, eventstore.ErrConflict)\n	}\n}", New: "		_ = dir\n	}\n}",
	Package: zklive, Test: "TestConformance/live/plain/require_empty",
}, {
	Name: "the next row, compared", Why: "rows of a manifest are left out",
	File: "eventstore/zklive/plan.go",
	Old:  "prog.NextRow != first || first+rows > prog.Rows", New: "first+rows > prog.Rows",
	Package: zklive, Test: "TestConformance/live/plain/progress",
}, {
	Name: "compare-and-set of reserved ids", Why: "two jobs have the same id",
	File: "eventstore/zklive/tree.go",
	Old:  "encode(next+int64(n)), cur.stat.Version)", New: "encode(next+int64(n)), -1)",
	Package: zklive, Test: "TestConformance/live/plain/ids",
}, {
	Name: "the command's id in the status", Why: "a write that was applied, and its answer lost, is taken for another's",
	File: "eventstore/zklive/commit.go",
	Old:  "case command == event.CommandID && version == event.Version:", New: "case command == event.CommandID && false:",
	Package: zklive, Test: "TestLostAnswerLongAgo",
}, {
	Name: "the command's id in the outbox", Why: "a deletion that was applied, and its answer lost, is taken for another's",
	File: "eventstore/zklive/commit.go",
	Old:  "found, err := s.outbox.find(ctx, shardOf(c, s.outbox.shards), event.ID())", New: "found, err := \"\", error(nil)",
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "finding out a lost answer", Why: "a write that was applied is sent again and refused as somebody else's",
	File:    "eventstore/zklive/commit.go",
	Old:     "done, derr := s.written(ctx, changes)\n			if derr != nil || done != nil {\n				return s.found(ctx, hand, done, derr)\n			}\n		}\n		select {",
	New:     "unknown = false\n		}\n		select {",
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "a command that was done before", Why: "the same command, sent again, moves a job twice",
	File: "eventstore/handler.go",
	Old:  "		if at.State.CommandID == o.CommandID {\n			return Result[domain.Job]{At: at}, nil\n		}\n", New: "",
	Package: "eventstore/memory", Test: "TestConformance/handler/same_command",
}, {
	Name: "the log's word on an empty tree", Why: "a tree that was lost is replaced in silence, and deposits get ids that were used", Was: true,
	File: "cmd/internal/wire/fresh.go",
	Old:  "if last == 0 {", New: "if true {",
	Package: "cmd/accession/e2e", Test: "TestLostTreeIsNotReplaced",
}, {
	Name: "the look before a tree is made", Why: "a tree is made that nobody allowed",
	File: "eventstore/zklive/tree.go",
	Old:  "if err := s.fresh(ctx); err != nil {", New: "if err := s.fresh(ctx); false {",
	Package: zklive, Test: "TestFreshTreeIsAskedFor",
}, {
	Name: "the second look at an empty tree", Why: "who comes while the first deposit is made believes the tree lost",
	File: "eventstore/zklive/fresh.go",
	Old:  "if untouched, err = s.Untouched(ctx); err == nil && !untouched {", New: "if false {",
	Package: zklive, Test: "TestFreshTreeIsAskedFor",
}, {
	Name: "the restore of the log that leaves a lost tree empty", Why: "the tree's own restore refuses it, and its ids begin anew",
	File: "cmd/internal/app/restore_log.go",
	Old:  "!done.Aligned, lost && info.Last > 0", New: "!done.Aligned, false",
	Package: "cmd/accession/e2e", Test: "TestRestoreOfTreeAndLog",
}, {
	Name: "the guard of an interrupted restore of the tree", Why: "a restore of the log lets everybody use half a tree", Was: true,
	File: "eventstore/zklive/restore.go",
	Old:  "if begun != nil {", New: "if begun == nil && false {",
	Package: zklive, Test: "TestRestoreEndsNoOther",
}, {
	Name: "the guard of a restore that runs", Why: "who is refused beside it takes away its guard", Was: true,
	File: "eventstore/zklive/restore.go",
	Old:  "err != nil && made {", New: "err != nil && (made || true) {",
	Package: zklive, Test: "TestRestoreEndsNoOther",
}, {
	Name: "the guard of an interrupted restore of the log", Why: "a tree is made from half a log",
	File: "eventstore/zklive/restore.go",
	Old:  "if half != nil {", New: "if half == nil && false {",
	Package: zklive, Test: "TestRestoreEndsNoOther",
}, {
	Name: "the ids of files, in a restore", Why: "a deposit gets the id of a job whose own events were lost, and its files", Was: true,
	File: "cmd/internal/consistency/fold_all.go",
	Old:  "max(h.NextJob, m.JobID.Number()+1)", New: "max(h.NextJob, 0*m.JobID.Number())",
	Package: "cmd/accession/e2e", Test: "TestRestoreAboveEveryID",
}, {
	Name: "the ids of the record, in a restore", Why: "a deposit gets the identifier of a job whose events were lost", Was: true,
	File: "cmd/internal/app/restore_zookeeper.go",
	Old:  "max(h.NextJob, job.Number()+1)", New: "max(h.NextJob, 0*job.Number())",
	Package: "cmd/accession/e2e", Test: "TestRestoreAboveEveryID",
}}
