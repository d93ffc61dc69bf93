package main

const (
	fetch  = "cmd/internal/fetch"
	record = "cmd/internal/record"
	daemon = "cmd/internal/daemon"
)

// world: files, records, and what leaves the house.
var world = []Mutant{{
	Name: "fsync before a downloaded file has its name", Why: "after a power cut a file is there and empty",
	File: "cmd/internal/fetch/download.go",
	Old:  "errors.Join(f.Sync(), f.Close()); syncErr", New: "f.Close(); syncErr",
	Package: fetch, Test: "TestDownloadIsDurable",
}, {
	Name: "fsync before a claim's file has its name", Why: "after a power cut a file is there and empty",
	File: "cmd/internal/store/claim.go",
	Old:  "errors.Join(p.file.Sync(), p.file.Close())", New: "p.file.Close()",
	Package: "cmd/internal/store", Test: "TestDurability/claim",
}, {
	Name: "fsync before an object has its key", Why: "after a power cut an object is there and empty",
	File: "cmd/internal/store/put.go",
	Old:  "err = file.Sync()", New: "err = nil",
	Package: "cmd/internal/store", Test: "TestDurability/put",
}, {
	Name: "fsync before a mail has its name", Why: "after a power cut an empty mail is sent",
	File: "cmd/internal/notify/maildrop.go",
	Old:  "errors.Join(err, f.Sync(), f.Close()); err != nil {\n		return \"\", errors.Join(err, root.Remove(draft))", New: "errors.Join(err, f.Close()); err != nil {\n		return \"\", errors.Join(err, root.Remove(draft))",
	Package: "cmd/internal/notify", Test: "TestMailIsDurable",
}, {
	Name: "an object that is there stays", Why: "another job's bytes replace those of a stored version",
	File: "cmd/internal/store/dir.go",
	Old:  "if !absent {", New: "if true {",
	Package: "cmd/internal/store", Test: "TestPutIfAbsent",
}, {
	Name: "one winner among a job's claims", Why: "the files of two claims are mixed",
	File: "cmd/internal/store/claim.go",
	Old:  "err = root.Rename(c.dir+\"/files\", c.job+\"/files\")", New: "_ = root.RemoveAll(c.job + \"/files\")\n		err = root.Rename(c.dir+\"/files\", c.job+\"/files\")",
	Package: "cmd/internal/store", Test: "TestOneClaimWins",
}, {
	Name: "the look into the inventory before an insert", Why: "a step that starts over fails, or records twice",
	File: "cmd/internal/record/inventory.go",
	Old:  "case err == nil && had.PrimaryIdentifier == m.Object", New: "case false && had.PrimaryIdentifier == m.Object",
	Package: record, Test: "TestRecordObject",
}, {
	Name: "the reservation of a version", Why: "a job records a version that another has reserved",
	File: "cmd/internal/record/inventory.go",
	Old:  "kept.PrimaryIdentifier != m.Object || kept.Version != int64(m.Version)", New: "kept.Version < 0",
	Package: record, Test: "TestRecordObject",
}, {
	Name: "the first result of an effect", Why: "a step that starts over replaces what others rely on",
	File: "cmd/internal/record/internal/pgdb/effects.sql.go",
	Old:  "result = coalesce(result, $1::jsonb)", New: "result = $1::jsonb",
	Package: record, Test: "TestEffect",
}, {
	Name: "the idempotency key of a callback", Why: "the receiver cannot tell a repetition from a second job",
	File: "cmd/internal/notify/callback.go",
	Old:  "req.Header.Set(\"Idempotency-Key\", key)", New: "",
	Package: "cmd/internal/notify", Test: "TestCallback",
}, {
	Name: "the promises of other processes", Why: "two processes promise the same working space",
	File: "cmd/internal/daemon/space.go",
	Old:  "s.unread[id] = true\n\t\t}\n\t}\n\tfor id := range gone {", New: "}\n\t}\n\tfor id := range gone {",
	Package: daemon, Test: "TestTwoProcessesShareSpace",
}, {
	Name: "the key of a callback that survives a requeue", Why: "the receiver takes the second try for another callback",
	File: "cmd/internal/daemon/job_notify.go",
	Old:  "record.EffectKey(t.Job.ID, int64(object.Version), \"notify\")", New: "record.EffectKey(t.Job.ID, t.Job.Version, \"notify\")",
	Package: daemon, Test: "TestCallback",
}, {
	Name: "the end of the watch over a claim", Why: "a process keeps a goroutine of each turn until its session ends",
	File:    "cmd/internal/daemon/turn.go",
	Old:     "		case <-ctx.Done():\n		}\n	}()\n	begun := time.Now()\n	out := t.outcome(ctx)\n	cut := ctx.Err() != nil\n	cancel()\n	<-watch\n",
	New:     "		}\n	}()\n	begun := time.Now()\n	out := t.outcome(ctx)\n	cut := ctx.Err() != nil\n	cancel()\n",
	Package: "cmd/accession/e2e", Test: "TestFaultsOfOneServer",
}, {
	Name: "the note that a callback was delivered", Why: "a worker that takes over calls back again",
	File: "cmd/internal/daemon/job_notify.go",
	Old:  "if d.State == record.DeliveryDelivered {", New: "if d.State == \"\" {",
	Package: daemon, Test: "TestCallbackIsNotRepeated",
}, {
	Name: "the guard of addresses", Why: "a manifest makes the service ask its own network",
	File: "cmd/internal/fetch/guard.go",
	Old:  "if err := public.SafeAddr(addr); err != nil {", New: "if err := public.SafeAddr(addr); false {",
	Package: fetch, Test: "TestHostileAddresses",
}, {
	Name: "the guard at the moment of connecting", Why: "a name that is resolved anew leads inside",
	File: "cmd/internal/fetch/client.go",
	Old:  "Control: p.control(false)}", New: "}",
	Package: fetch, Test: "TestRebinding",
}, {
	Name: "the look at a redirect", Why: "a server hands the request on to another protocol, with a password",
	File: "cmd/internal/fetch/client.go",
	Old:  "if bad := vet(next.URL); bad != nil {", New: "if bad := vet(next.URL); false {",
	Package: fetch, Test: "TestRedirects",
}, {
	Name: "no proxy", Why: "a proxy of the environment connects for us, unchecked",
	File: "cmd/internal/fetch/client.go",
	Old:  "Proxy: nil,", New: "Proxy: http.ProxyFromEnvironment,",
	Package: fetch, Test: "TestNoProxy",
}, {
	Name: "the digest of a downloaded file", Why: "what the manifest does not mean is stored",
	File: "cmd/internal/fetch/download.go",
	Old:  "t.Want != (Digest{}) && got != t.Want.Value {", New: "false {",
	Package: fetch, Test: "TestDownloadFailures",
}, {
	Name: "the name rule of manifests", Why: "a file leaves the object's directory",
	File: "domain/manifest/name.go",
	Old:  "case segment == \".\" || segment == \"..\":", New: "case segment == \".\":",
	Package: "domain/manifest", Test: "TestCheckName",
}, {
	Name: "the limit of dying workers", Why: "a job that kills its workers is tried for ever",
	File: "cmd/internal/daemon/turn.go",
	Old:  "if t.claim.Attempts > maxClaims {", New: "if false {",
	Package: daemon, Test: "TestClaimsUsedUp",
}}

// bugs: what the program did wrong once.
var bugs = []Mutant{{
	Name: "a claim that is kept for ever after an outage", Why: "nobody gives the lock back when ZooKeeper was away at that moment", Was: true,
	File: "eventstore/zklive/claim.go",
	Old:  "s.giveBack(c, delay)\n		return err", New: "return err",
	Package: zklive, Test: "TestReleaseOutlastsAnOutage", Hangs: true,
}, {
	Name: "a lock given back that is another's", Why: "what a lost claim does to find out frees the lock of who took the job meanwhile", Was: true,
	File: "eventstore/zklive/claim.go",
	Old:  "if err == nil && ours {", New: "if err == nil && (ours || true) {",
	Package: zklive, Test: "TestLostClaimLeavesTheLockOfAnother",
}, {
	Name: "a lock given back after a commit with an unknown outcome", Why: "the commit has ended the claim, and the lock is another's by now", Was: true,
	File: "eventstore/zklive/claim.go",
	Old:  "	if s.doubts(c) {", New: "	if false {",
	Package: zklive, Test: "TestDoubtfulCommitLeavesTheLockOfAnother",
}, {
	Name: "a process that leads a shard twice", Why: "two relays of one process publish the same", Was: true,
	File: "eventstore/zklive/leader.go",
	Old:  "s.slots[name] = make(chan struct{}, 1)", New: "s.slots[name] = make(chan struct{}, 2)",
	Package: zklive, Test: "TestConformance/outbox/plain/lead",
}, {
	Name: "a sleeper that ends its successor's attempts", Why: "a worker that wakes up takes the attempts that it sees for those of a dead one", Was: true,
	File: "cmd/internal/daemon/lives.go",
	Old:  "if err := l.s.cfg.Claims.Confirm(ctx, l.t.Claim); err != nil {", New: "if err := error(nil); err != nil {",
	Package: daemon, Test: "TestSleeperLeavesTheSuccessorsAttemptsAlone",
}, {
	Name: "files as they are remembered", Why: "a step is given up because of files that another process has long downloaded", Was: true,
	File: "cmd/internal/daemon/lives.go",
	Old:  "s.cfg.Files.Fresh(ctx, doubt)", New: "s.cfg.Files.Files(ctx, doubt)",
	Package: daemon, Test: "TestStepsOfAJobInSeveralProcesses",
}, {
	Name: "a killed PostgreSQL that is started too early", Why: "it finds the memory of the one before in use, and ends", Was: true,
	File: "cmd/internal/stack/member.go",
	Old:  "b.busy(tail(m.logFile))", New: "b.busy(tail(m.logFile)) && false",
	Package: "cmd/internal/stack", Test: "TestKilledPostgresIsWaitedFor",
}, {
	Name: "a mail's key that changes with what is noted of its batch", Why: "a report that is made again is mailed again", Was: true,
	File: "cmd/internal/daemon/mail.go",
	Old:  "about, key := aboutReport, string(r.Batch)+\"/\"+aboutReport", New: "about, key := aboutReport, fmt.Sprintf(\"%s/%d\", r.Batch, t.Batch.Version)",
	Package: daemon, Test: "TestOneMailAReport",
}, {
	Name: "the key of a report that is sent again and whose end nobody knows", Why: "who asks once more after a death sends a second mail",
	File: "cmd/internal/daemon/report_again.go",
	Old:  " && d.State == record.DeliveryDelivered {\n\t\t\tn++", New: " {\n\t\t\tn++",
	Package: daemon, Test: "TestReportAgain",
}, {
	Name: "a claim that is handed back and counts as a worker that died", Why: "a job that often waits is stopped", Was: true,
	File: "eventstore/zklive/claim.go",
	Old:  "p.set(s.paths.claims(domain.JobID(c.Aggregate.ID)), encode(claimCount{}), -1, nil)", New: "_ = claimCount{}",
	Package: zklive, Test: "TestConformance/claims/plain/attempts",
}, {
	Name: "a command's id that is cleaned in its event alone", Why: "the command, sent again, is not known", Was: true,
	File: "eventstore/handler.go",
	Old:  "o.CommandID = clean(o.CommandID)", New: "",
	Package: store, Test: "TestHandlerCleansText",
}, {
	Name: "an epoch whose answer was lost", Why: "a restore ends in the middle", Was: true,
	File: "eventstore/zklive/restore.go",
	Old:  "if errors.Is(err, zk.ErrBadVersion) {", New: "if false {",
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "a worker whose registration's answer was lost", Why: "a process waits for ever for its own worker", Was: true,
	File: "eventstore/zklive/session.go",
	Old:  "if err != nil && !errors.Is(err, zk.ErrNodeExists) {", New: "if err != nil {",
	Package: zklive, Test: "TestLostKinds/first_try", Hangs: true,
}, {
	Name: "what others have built on the tables", Why: "a rebuild drops their views with the old tables", Was: true,
	File: "projections/dependents.go",
	Old:  "if err == nil && len(list) > 0 {\n		err = &DependentsError{Objects: list}", New: "if false {\n		err = &DependentsError{Objects: list}",
	Package: "projections", Test: "TestDependents",
}, {
	Name: "a sync that was refused because of its path", Why: "what was written is not seen by who looks for it", Was: true,
	File: "eventstore/zklive/commit.go",
	Old:  "s.conn.Sync(cmp.Or(string(s.paths), \"/\"))", New: "s.conn.Sync(cmp.Or(string(s.paths)+\"/\", \"/\"))",
	Package: zklive, Test: "TestLostKinds/first_try", Hangs: true,
}, {
	Name: "work that was lost with a session and not offered again", Why: "a process that is alone leaves it until it is restarted", Was: true,
	File: "eventstore/zklive/session.go",
	Old:  "s.done.Go(func() { s.adopt(orphans) })", New: "_ = orphans",
	Package: zklive, Test: "TestConformance/claims/plain/expired_alone", Hangs: true,
}, {
	Name: "a promise that ends while free space is looked for", Why: "space that a job is about to fill is promised to another",
	File: "cmd/internal/daemon/space_ask.go",
	Old:  "max(before, s.sums[dir])", New: "max(0*before, s.sums[dir])",
	Package: "cmd/internal/daemon", Test: "TestSpaceIsLookedForBesideOthers",
}, {
	Name: "forgetting the jobs of a cleaned batch", Why: "a process keeps something of each job there ever was", Was: true,
	File: "eventstore/zklive/commit.go",
	Old:  "0, false)\n	s.queues.forget(id)\n", New: "0, false)\n",
	Package: "eventstore/zklive", Test: "TestCleanedJobsAreForgotten",
}, {
	Name: "a repair before all events are in the log", Why: "it loses those that wait in the outbox, and the log is offered two events of one version", Was: true,
	File: "cmd/internal/consistency/live.go",
	Old:  "if unsent == 0 || len(found) == 0 {", New: "if true {",
	Package: "cmd/accession/e2e", Test: "TestNothingIsRepairedBeforeItsEventsAreInTheLog",
}, {
	Name: "a job of a cleaned batch that cannot be read", Why: "its batch is never removed, and each round of the janitor fails", Was: true,
	File: "eventstore/deletion.go",
	Old:  "if d.cleaned && errors.Is(err, ErrBroken) {", New: "if false {",
	Package: zklive, Test: "TestCleanUpOfUnreadableJobs",
}, {
	Name: "what stops the removal of a batch", Why: "a deleted batch stays for ever, and verify finds nothing", Was: true,
	File: "cmd/internal/consistency/live.go",
	Old:  "		return f.Code != NodeWrong && f.Code != StatusWrong && (f", New: "		return true || (f",
	Package: "cmd/accession/e2e", Test: "TestVerifyTellsWhatStopsARemoval",
}, {
	Name: "strays, children before parents", Why: "a node that belongs to nothing stays as long as others are below it",
	File: "cmd/internal/consistency/repair.go",
	Old:  "return strings.Count(b.Where, \"/\") - strings.Count(a.Where, \"/\")", New: "return strings.Count(a.Where, \"/\") - strings.Count(b.Where, \"/\")",
	Package: "cmd/accession/e2e", Test: "TestVerifyFindsAndRepairsEveryDamage",
}}
