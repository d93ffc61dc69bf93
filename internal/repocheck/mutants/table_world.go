package main

const (
	fetch  = "cmd/internal/fetch"
	record = "cmd/internal/record"
	daemon = "cmd/internal/daemon"
)

// world: files, records, and what leaves the house.
var world = []Mutant{{
	Name: "fsync before a claim's file has its name", Why: "after a power cut a file is there and empty",
	At: "cmd/internal/store (*Partial).Commit", Do: []Op{Call("syncFile", "$2.Close()")},
	Package: "cmd/internal/store", Test: "TestDurability/claim",
}, {
	Name: "fsync before an object has its key", Why: "after a power cut an object is there and empty",
	At: "cmd/internal/store (*Store).write", Do: []Op{Expr("file.Sync", "func() error { return nil }")},
	Package: "cmd/internal/store", Test: "TestDurability/put",
}, {
	Name: "fsync before a mail has its name", Why: "after a power cut an empty mail is sent",
	At: "cmd/internal/notify stage", Do: []Op{Expr("f.Sync", "func() error { return nil }")},
	Package: "cmd/internal/notify", Test: "TestMailIsDurable",
}, {
	Name: "an object that is there stays", Why: "another job's bytes replace those of a stored version",
	At: "cmd/internal/store (*dir).place", Do: []Op{Never("absent")},
	Package: "cmd/internal/store", Test: "TestPutIfAbsent",
}, {
	Name: "one winner among a job's claims", Why: "the files of two claims are mixed",
	At: "cmd/internal/store (*Claim).Win", Do: []Op{Call("rename", "errors.Join($recv.RemoveAll($3), $0)")},
	Package: "cmd/internal/store", Test: "TestOneClaimWins",
}, {
	Name: "the look into the inventory before an insert", Why: "a step that starts over fails, or records twice",
	At: "cmd/internal/record (*Records).RecordObject", Do: []Op{Never("ManifestSha256")},
	Package: record, Test: "TestRecordObject",
}, {
	Name: "the reservation of a version", Why: "a job records a version that another has reserved",
	At: "cmd/internal/record (*Records).RecordObject", Do: []Op{Never("ErrNoRows", "PrimaryIdentifier")},
	Package: record, Test: "TestRecordObject",
}, {
	Name: "the first result of an effect", Why: "a step that starts over replaces what others rely on",
	At: "cmd/internal/record/internal/pgdb finishEffect", Do: []Op{Text("coalesce(result, $1::jsonb)", "$1::jsonb")},
	Package: record, Test: "TestEffect",
}, {
	Name: "the idempotency key of a callback", Why: "the receiver cannot tell a repetition from a second job",
	At: "cmd/internal/notify request", Do: []Op{Drop("Idempotency-Key")},
	Package: "cmd/internal/notify", Test: "TestCallback",
}, {
	Name: "the promises of other processes", Why: "two processes promise the same working space",
	At: "cmd/internal/daemon/space (*Account).count", Do: []Op{Drop("unread")},
	Package: daemon, Test: "TestTwoProcessesShareSpace",
}, {
	Name: "the key of a callback that survives a requeue", Why: "the receiver takes the second try for another callback",
	At: "cmd/internal/daemon (*steps).jobNotify", Do: []Op{Arg("EffectKey", 1, "t.Job.Version")},
	Package: daemon, Test: "TestCallback",
}, {
	Name: "the end of the watch over a claim", Why: "a process keeps a goroutine of each turn until its session ends",
	At: "cmd/internal/daemon (*turn).run", Do: []Op{DropCase("ctx", "Done"), Drop("<-", "watch")},
	Package: e2e, Test: "TestFaultsOfOneServer",
}, {
	Name: "the note that a callback was delivered", Why: "a worker that takes over calls back again",
	At: "cmd/internal/daemon deliver", Do: []Op{Never("DeliveryDelivered")},
	Package: daemon, Test: "TestCallbackIsNotRepeated",
}, {
	Name: "the guard of addresses", Why: "a manifest makes the service ask its own network",
	At: "cmd/internal/fetch (Policy).judge", Do: []Op{Never("SafeAddr", "err")},
	Package: fetch, Test: "TestHostileAddresses",
}, {
	Name: "the guard at the moment of connecting", Why: "a name that is resolved anew leads inside",
	At: "cmd/internal/fetch (*shared).open", Do: []Op{Field("Dialer", "Control", "nil")},
	Package: fetch, Test: "TestRebinding",
}, {
	Name: "the look at a redirect", Why: "a server hands the request on to another protocol, with a password",
	At: "cmd/internal/fetch (*shared).checkRedirect", Do: []Op{Never("vet")},
	Package: fetch, Test: "TestRedirects",
}, {
	Name: "no proxy", Why: "a proxy of the environment connects for us, unchecked",
	At: "cmd/internal/fetch (*shared).open", Do: []Op{Field("Transport", "Proxy", "http.ProxyFromEnvironment")},
	Package: fetch, Test: "TestNoProxy",
}, {
	Name: "the digest of a downloaded file", Why: "what the manifest does not mean is stored",
	At: "cmd/internal/daemon/payload (Measure).Check", Do: []Op{Never("Digest")},
	Package: daemon, Test: "TestGoodFilesAreNotFetchedTwice",
}, {
	Name: "the name rule of manifests", Why: "a file leaves the object's directory",
	At: "domain/manifest CheckName", Do: []Op{Never(`".."`)},
	Package: "domain/manifest", Test: "TestCheckName",
}, {
	Name: "the limit of dying workers", Why: "a job that kills its workers is tried for ever",
	At: "cmd/internal/daemon (*turn).outcome", Do: []Op{Never("maxClaims")},
	Package: daemon, Test: "TestClaimsUsedUp",
}}

// bugs: what the program did wrong once.
var bugs = []Mutant{{
	Name: "a claim that is kept for ever after an outage", Why: "the lock is never released when ZooKeeper was away at that moment", Was: true,
	At: "eventstore/zklive (*claims).Release", Do: []Op{Drop("release")},
	Package: zklive, Test: "TestReleaseOutlastsAnOutage", Hangs: true,
}, {
	Name: "a lock given back that is another's", Why: "what a lost claim does to find out frees the lock of who took the job meanwhile", Was: true,
	At: "eventstore/zklive (*claims).abandon", Do: []Op{Always("ours")},
	Package: zklive, Test: "TestLostClaimLeavesTheLockOfAnother",
}, {
	Name: "a lock given back after a commit with an unknown outcome", Why: "the commit has ended the claim, and the lock is another's by now", Was: true,
	At: "eventstore/zklive (*claims).Release", Do: []Op{Never("doubted")},
	Package: zklive, Test: "TestDoubtfulCommitLeavesTheLockOfAnother",
}, {
	Name: "a process that leads a shard twice", Why: "two relays of one process publish the same", Was: true,
	At: "eventstore/zklive (*leaders).slot", Do: []Op{Arg("make", 1, "2")},
	Package: zklive, Test: "TestConformance/outbox/plain/lead",
}, {
	Name: "a sleeper that ends its successor's attempts", Why: "a worker that wakes up takes the attempts that it sees for those of a dead one", Was: true,
	At: "cmd/internal/daemon (*fileStates).endLost", Do: []Op{Call("Confirm", "error(nil)")},
	Package: daemon, Test: "TestSleeperLeavesTheSuccessorsAttemptsAlone",
}, {
	Name: "files as they are remembered", Why: "a step is given up because of files that another process has long downloaded", Was: true,
	At: "cmd/internal/daemon (*steps).fileStates", Do: []Op{Call("Fresh", "$recv.Files($1, $2)")},
	Package: daemon, Test: "TestStepsOfAJobInSeveralProcesses",
}, {
	Name: "a killed PostgreSQL that is started too early", Why: "it finds the memory of the one before in use, and ends", Was: true,
	At: "cmd/internal/stack (*member).run", Do: []Op{Call("busy", "($0 && false)")},
	Package: "cmd/internal/stack", Test: "TestKilledPostgresIsWaitedFor",
}, {
	Name: "a mail's key that changes with what is noted of its batch", Why: "a report that is made again is mailed again", Was: true,
	At: "cmd/internal/daemon (*steps).mailReport", Do: []Op{Expr(`string(r.Batch)+"/"+aboutReport`, `fmt.Sprintf("%s/%d", r.Batch, t.Batch.Version)`)},
	Package: daemon, Test: "TestOneMailAReport",
}, {
	Name: "the key of a report that is sent again and whose end is unknown", Why: "an operator who asks once more after a crash sends a second mail",
	At: "cmd/internal/daemon (Again).Prepare", Do: []Op{Always("DeliveryDelivered")},
	Package: daemon, Test: "TestReportAgain",
}, {
	Name: "a claim that is handed back and counts as a worker that died", Why: "a job that often waits is stopped", Was: true,
	At: "eventstore/zklive/internal/layout (Root).Release", Do: []Op{Drop("Set", "ClaimCount")},
	Package: zklive, Test: "TestConformance/claims/plain/attempts",
}, {
	Name: "a command's id that is cleaned in its event alone", Why: "the command, sent again, is not known", Was: true,
	At: "eventstore (*Handler).complete", Do: []Op{Drop("CleanText")},
	Package: store, Test: "TestHandlerCleansText",
}, {
	Name: "an epoch whose answer was lost", Why: "a restore ends in the middle", Was: true,
	At: "eventstore/zklive/internal/session (*Conn).Add", Do: []Op{Always("ErrBadVersion")},
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "a worker whose registration's answer was lost", Why: "a process waits for ever for its own worker", Was: true,
	At: "eventstore/zklive/internal/session (*Session).arrive", Do: []Op{Always("ErrNodeExists")},
	Package: zklive, Test: "TestLostKinds/first_try", Hangs: true,
}, {
	Name: "what others have built on the tables", Why: "a rebuild drops their views with the old tables", Was: true,
	At: "projections/rebuild (*rebuild).depended", Do: []Op{Skip("DependentsError")},
	Package: "projections", Test: "TestDependents",
}, {
	Name: "a sync that was refused because of its path", Why: "what was written is not seen by who looks for it", Was: true,
	At: "eventstore/zklive/internal/session (*Conn).Sync", Do: []Op{Arg("Or", 0, `$0+"/"`)},
	Package: zklive, Test: "TestLostKinds/first_try", Hangs: true,
}, {
	Name: "work that was lost with a session and not offered again", Why: "a process that is alone leaves it until it is restarted", Was: true,
	At: "eventstore/zklive/internal/session (*Session).arrive", Do: []Op{Drop("Began")},
	Package: zklive, Test: "TestConformance/claims/plain/expired_alone", Hangs: true,
}, {
	Name: "a promise that ends while free space is looked for", Why: "space that a job is about to fill is promised to another",
	At: "cmd/internal/daemon/space (*Account).offer", Do: []Op{Arg("max", 0, "0*$0")},
	Package: "cmd/internal/daemon/space", Test: "TestSpaceIsLookedForBesideOthers",
}, {
	Name: "forgetting the jobs of a cleaned batch", Why: "a process keeps something of each job there ever was", Was: true,
	At: "eventstore/zklive (*remover).job", Do: []Op{Drop("jobs", "forget")},
	Package: "eventstore/zklive", Test: "TestCleanedJobsAreForgotten",
}, {
	Name: "a repair before all events are in the log", Why: "it loses those that wait in the outbox, and the log is offered two events of one version", Was: true,
	At: "cmd/internal/consistency tooEarly", Do: []Op{Always("unsent")},
	Package: e2e, Test: "TestNothingIsRepairedBeforeItsEventsAreInTheLog",
}, {
	Name: "a job of a cleaned batch that cannot be read", Why: "its batch is never removed, and each round of the janitor fails", Was: true,
	At: "eventstore (deletion).job", Do: []Op{Never("ErrBroken")},
	Package: zklive, Test: "TestCleanUpOfUnreadableJobs",
}, {
	Name: "what stops the removal of a batch", Why: "a deleted batch stays for ever, and verify finds nothing", Was: true,
	At: "cmd/internal/consistency (*checker).removal", Do: []Op{Always("NodeWrong", "StatusWrong", "NodeMissing")},
	Package: e2e, Test: "TestVerifyTellsWhatStopsARemoval",
}, {
	Name: "strays, children before parents", Why: "a node that belongs to nothing stays as long as others are below it",
	At: "cmd/internal/consistency Repair", Do: []Op{Return("-($0)", "Count")},
	Package: e2e, Test: "TestVerifyFindsAndRepairsEveryDamage",
}}
