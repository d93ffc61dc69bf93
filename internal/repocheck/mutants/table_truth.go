package main

// truth: what is compared, found, mended and removed.
var truth = []Mutant{{
	Name: "the connections to PostgreSQL that are held for long, beside the others", Why: "with few connections the projector, the auditor and who polls wait for each other for ever", Was: true,
	At: "cmd/internal/wire (*Installation).Pool", Do: []Op{Value("MaxConns", "int32(in.cfg.PostgresConns)")},
	Package: "cmd/internal/wire", Test: "TestHeldConnectionsLeaveOthers",
}, {
	Name: "the comparison of the servers before the auditor repairs", Why: "an older copy of a server is made the truth at night",
	At: "cmd/internal/wire (*Installation).restoreRows", Do: []Op{Call("compareCopies", "error(nil)")},
	Package: e2e, Test: "TestAuditorRestoresTheInventory",
}, {
	Name: "rows that the inventory lacks", Why: "what is stored is not found until a person repairs",
	At: "cmd/internal/audit (*Auditor).restore", Do: []Op{Always("missing", "0")},
	Package: e2e, Test: "TestAuditorRestoresTheInventory",
}, {
	Name: "the collection of an event that says that a job was repaired", Why: "who reads the events of one collection does not learn of it",
	At: "eventstore (*Handler).RepairJob", Do: []Op{Call("Collection", `""`)},
	Package: e2e, Test: "TestHistoryOfEverything",
}, {
	Name: "what others have built on the tables", Why: "a rebuild drops their views with the old tables", Was: true,
	At: "projections/rebuild (*rebuild).checkDependents", Do: []Op{Skip("DependentsError")},
	Package: "projections", Test: "TestDependents",
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
	Name: "the definitions of the schemas, compared", Why: "a view that was dropped is found by the first who reads it",
	At: "projections/query MissingDefinitions", Do: []Op{Always("have", "want")},
	Package: "projections", Test: "TestDefinitions",
}, {
	Name: "the end of what depositors sent", Why: "manifests with signed URLs are kept for ever", Was: true,
	At: "cmd/internal/daemon/originals (*Remover).remove", Do: []Op{Always("o", "Modified")},
	Package: originals, Test: "TestOriginalsAreRemoved",
}, {
	Name: "the oldest batch, asked before originals are removed", Why: "a batch that was held finds no manifest",
	At: "cmd/internal/daemon/originals (*Remover).before", Do: []Op{Never("made", "Before")},
	Package: originals, Test: "TestOriginalsAreRemoved",
}, {
	Name: "an older live state, asked before originals are removed", Why: "batches that are restored find no manifest",
	At: "cmd/internal/daemon/originals (*Remover).before", Do: []Op{Never("Sound")},
	Package: originals, Test: "TestOriginalsStay",
}, {
	Name: "strays, children before parents", Why: "a node that belongs to nothing stays as long as others are below it",
	At: "cmd/internal/consistency Repair", Do: []Op{Return("-($0)", "Count")},
	Package: e2e, Test: "TestVerifyFindsAndRepairsEveryDamage",
}, {
	Name: "nodes beside those of the tree", Why: "what another program left among the workers stops every restore, and no check finds it", Was: true,
	At: "eventstore/zklive/recovery (*surveyor).foreign", Do: []Op{Never("is")},
	Package: e2e, Test: "TestVerifyReportsForeignNodes",
}, {
	Name: "the events of a history that wait in the outbox", Why: "what no relay has sent yet is called lost, and a restore of the log is advised", Was: true,
	At: "cmd/internal/consistency (*checker).withUnsent", Do: []Op{Never("Version", "len")},
	Package: e2e, Test: "TestVerifySeesDamagedTables",
}, {
	Name: "the digest of a stored file", Why: "bytes that have changed in the store are called stored",
	At: "cmd/internal/audit CheckFile", Do: []Op{Never("SHA256", "read")},
	Package: e2e, Test: "TestVerifyFindsDamagedObjects",
}, {
	Name: "the manifest's own digest", Why: "the inventory is made again from a manifest that was altered",
	At: "cmd/internal/audit readManifest", Do: []Op{Never("digest")},
	Package: e2e, Test: "TestVerifyFindsDamagedObjects",
}, {
	Name: "the reservation of a version that is stored", Why: "with an older dump of the records two jobs get one version",
	At: "cmd/internal/audit (*checker).kept", Do: []Op{Never("Reserved")},
	Package: e2e, Test: "TestVerifyFindsAndRepairsTheInventory",
}, {
	Name: "the idempotency keys that the records have forgotten", Why: "with an older dump of the records a repeated deposit makes a second batch",
	At: "cmd/internal/audit (*checker).key", Do: []Op{Always("submitter", "KeyDigest")},
	Package: e2e, Test: "TestVerifyRepairsAnOlderDump",
}, {
	Name: "the idempotency keys of queries that the records have forgotten", Why: "with an older dump of the records a repeated query is made again",
	At: "cmd/internal/audit (*checker).keys", Do: []Op{Return("nil", "keysOfQueries")},
	Package: e2e, Test: "TestQueryUnderAKey",
}, {
	Name: "the idempotency keys in the outbox", Why: "a deposit that was accepted a moment ago is made again when it is repeated",
	At: "cmd/internal/audit Verify", Do: []Op{Drop("late")},
	Package: e2e, Test: "TestDepositUnderAKey",
}, {
	Name: "older records and stores, not asked for", Why: "jobs get versions that are in use, and what is stored since the copy is not missed",
	At: "cmd/internal/consistency (Opening).Check", Do: []Op{Never("all")},
	Package: e2e, Test: "TestOlderCopiesAreRefused",
}, {
	Name: "the word on a tree that is gone", Why: "ZooKeeper is wiped under a service, and its log says nothing", Was: true,
	At: "eventstore/zklive/internal/session (*silence).found", Do: []Op{Drop("Warn")},
	Package: "eventstore/zklive/internal/session", Test: "TestSilence",
}, {
	Name: "the count of how often an effect was begun", Why: "each effect of a run without faults counts as one that may have happened twice", Was: true,
	At: "cmd/internal/record/internal/pgdb beginEffect", Do: []Op{Text("case when effect.state = 'done' then 0 else 1 end", "1")},
	Package: record, Test: "TestEffect",
}, {
	Name: "the retention of failed batches", Why: "failed batches and their jobs stay in ZooKeeper until each is deleted by hand", Was: true,
	At: "cmd/internal/daemon (*Runner).pass", Do: []Op{DropCase("BatchFailed")},
	Package: daemon, Test: "TestRetentionOfFailedBatches",
}, {
	Name: "a failed batch with a job that works again, at its clean-up", Why: "it is removed under the worker of a job that was requeued",
	At: "domain (batchDecider).clean", Do: []Op{DropCase("Processing")},
	Package: "domain", Test: "TestCleanUpOfFailedBatches",
}, {
	Name: "the comparison before a new mark", Why: "the marks of a running service hide that a server was put back under it",
	At: "cmd/internal/consistency (waterRead).check", Do: []Op{Never("all")},
	Package: "cmd/internal/consistency", Test: "TestHighWaterFindsOlderCopies",
}, {
	Name: "a version of an object in OCFL that its root does not name yet", Why: "after a crash the next version takes its place, and it is lost",
	At: "cmd/internal/store (*Store).ocflObject", Do: []Op{Always("has", "nil")},
	Package: "cmd/internal/store", Test: "TestOCFLSettles",
}, {
	Name: "the sidecar of the inventory of an object in OCFL", Why: "a damaged inventory is taken for the object's, and written over sound ones",
	At: "cmd/internal/store (*Store).ocflObject", Do: []Op{Always("Equal", "SidecarOf", "Sidecar")},
	Package: "cmd/internal/store", Test: "TestOCFLSettles",
}, {
	Name: "the version in the inventory of its object", Why: "verify takes an object for sound of which other programs do not see a version",
	At: "cmd/internal/store (*Store).OCFLFaults", Do: []Op{Never("Contains", "Manifest")},
	Package: "cmd/internal/store", Test: "TestOCFLSettles",
}, {
	Name: "what an attempt that died has staged", Why: "each death leaves a copy of the object in the store for ever",
	At: "cmd/internal/store (*ocflWrite).stage", Do: []Op{Always("HasPrefix")},
	Package: "cmd/internal/store", Test: "TestOCFLWriterThatIsKilled",
}, {
	Name: "what other attempts have left beside the files of a version", Why: "other programs take the object for invalid",
	At: "cmd/internal/store (*ocflWrite).commit", Do: []Op{Never("has", "name")},
	Package: "cmd/internal/store", Test: "TestOCFLVersionsAtOnce",
}, {
	Name: "bytes that an object in OCFL has", Why: "an update stores each file of the object again",
	At: "cmd/internal/store (*ocflWrite).files", Do: []Op{Never("ok")},
	Package: "cmd/internal/store", Test: "TestOCFLVersions",
}, {
	Name: "what describes an object in OCFL, compared by verify", Why: "other programs take the object for damaged, and nothing says so",
	At: "cmd/internal/audit (*checker).inventories", Do: []Op{Always("faults", "0")},
	Package: e2e, Test: "TestOCFL",
}}
