package main

// outbox: from the live state to the log.
var outbox = []Mutant{{
	Name: "the check that a bucket is open", Why: "a node in a closed bucket is passed over: its event is lost",
	At: "eventstore/zklive/internal/session (*Direct).write", Do: []Op{Field("Op", "Version", "-1")}, Package: zklive, Test: "TestClosedBucketTakesNothing",
}, {
	Name: "the mark that never goes back", Why: "a late leader brings the mark back, and what was removed counts as unsent", Was: true,
	At: "eventstore/zklive (*outbox).MoveMark", Do: []Op{Call("Before", "($recv != $1)")}, Package: zklive, Test: "TestConformance/outbox/plain/mark",
}, {
	Name: "the mark that stays before what is held", Why: "an event that is not in the log counts as sent, and is removed",
	At: "eventstore/relay (*shard).advance", Do: []Op{Drop("Version")}, Package: relay, Test: "TestRelayHoldsAGapAlone",
}, {
	Name: "what a dead leader had sent", Why: "the last events before a leader died stay in the tree until there are others", Was: true,
	At: "eventstore/relay (*shard).prepare", Do: []Op{Call("MoveMark", "error(nil)")}, Package: relay, Test: "TestRelayTellsOfTheMarkItFinds",
}, {
	Name: "a gap in the relay hints", Why: "the event of another process is skipped",
	At: "eventstore/zklive (*relayHints).next", Do: []Op{Never("there"), Before("if at.Seq > after.Seq+100 {\n\tbreak\n}\nif !there {\n\tcontinue\n}", "append")},
	Package: zklive, Test: "TestRelayHints/one_lost",
}, {
	Name: "the second read before an alarm", Why: "events that overtook each other hold their job for a minute, and raise an alarm",
	At: "eventstore/relay (*shard).suspectGap", Do: []Op{Always("gaps")}, Package: relay, Test: "TestRelayLooksTwiceBeforeAnAlarm",
}, {
	Name: "the relay that leaves no gap", Why: "version 3 follows version 1 in the log",
	At: "eventstore/relay (*shard).toAppend", Do: []Op{Compare(">=", "Version", "1")}, Package: relay, Test: "TestRelayHoldsAGapAlone",
}, {
	Name: "the relay that compares commands", Why: "another command's event under the same number is taken for sent",
	At: "eventstore/relay (*shard).toAppend", Do: []Op{Never("CommandID")}, Package: relay, Test: "TestRelayAlarmsOnAForeignEvent",
}, {
	Name: "the bound of what was sent in the outbox", Why: "ZooKeeper's heap fills with events that are in the log",
	At: "eventstore/zklive (*outbox).purgeShard", Do: []Op{Always("keepSent")}, Package: zklive, Test: "TestSentEntriesStay", Hangs: true,
}, {
	Name: "the time for which sent events stay in the outbox", Why: "what the log and the tables have both lost is nowhere",
	At: "eventstore/zklive (*outbox).purgeShard", Do: []Op{Never("After", "due")}, Package: zklive, Test: "TestSentEntriesStay",
}, {
	Name: "the limits of the outbox", Why: "deposits are taken while nothing reaches the log",
	At: "eventstore (*Pressure).room", Do: []Op{Never("LevelFull")}, Package: store, Test: "TestPressureByLevel",
}, {
	Name: "the batches that have ended, against queue_limit", Why: "completed and failed batches keep deposits out until they are deleted", Was: true,
	At: "eventstore/zklive/internal/statuses (*Unended).Count", Do: []Op{Call("len", "0")}, Package: zklive, Test: "TestEndedBatchesFillNothing",
}}

// events: the log.
var events = []Mutant{{
	Name: "the format of tree and log", Why: "an old program serves what a newer one has changed",
	At: "eventstore (Format).Check", Do: []Op{Never("FormatNow")}, Package: "cmd/accession/e2e", Test: "TestNewerFormat",
}, {
	Name: "the copy that each copy by type expects before it", Why: "two processes copy an event twice",
	At: "eventstore/jslog (*Log).copyBatch", Do: []Op{Call("WithExpectLastSequence", "jetstream.WithExpectStream(c.Stream)")}, Package: jslog, Test: "TestCopyByType",
}, {
	Name: "the object in job.completed", Why: "an indexer needs the events before it",
	At: "domain DecideJob", Do: []Op{Field("JobDone", "Object", "nil")}, Package: "cmd/internal/daemon", Test: "TestEventsStandAlone",
}, {
	Name: "the expected last sequence", Why: "a second relay writes an event again",
	At: "eventstore/jslog (*Log).encode", Do: []Op{Never("ends")}, Package: jslog, Test: "TestConformance/expectation",
}, {
	Name: "all or nothing of an append", Why: "half of a batch of events stands in the log",
	At: "eventstore/jslog (*Log).publish", Do: []Op{First("for ; len(b.msgs) > 1; b.msgs = b.msgs[1:] {\n\tif _, err := l.js.PublishMsg(ctx, b.msgs[0]); err != nil {\n\t\treturn nil, err\n\t}\n}")},
	Package: jslog, Test: "TestConformance/atomic",
}, {
	Name: "finding out a lost answer of the log", Why: "an event that was written is refused as another command's",
	At: "eventstore/jslog (*Log).Append", Do: []Op{Call("settle", "[]uint64(nil), eventstore.ErrConflict")}, Package: jslog, Test: "TestLostMessages/answer",
}, {
	Name: "the refusal of a stream that acknowledges before it has written", Why: "acknowledged events are lost with the power",
	At: "eventstore/jslog compare", Do: []Op{Element(1, "want.PersistMode", "persist mode")}, Package: jslog, Test: "TestOpenChecksTheStream",
}, {
	Name: "sync_interval: always", Why: "acknowledged events are lost with the power",
	At: "cmd/internal/stack natsOptions", Do: []Op{Field("Options", "SyncAlways", "false")}, Package: "cmd/internal/stack", Test: "TestComposeNATSConfiguration",
}, {
	Name: "the sequence of each event that is read", Why: "a hole in the log is read over",
	At: "eventstore/jslog (*reader).take", Do: []Op{Never("subject", "next")}, Package: jslog, Test: "TestReadNamesAGap",
}, {
	Name: "the time when the stream that is read was created", Why: "reading goes on in a stream that replaced it",
	At: "eventstore/jslog (*reader).same", Do: []Op{Never("created", "Created")}, Package: jslog, Test: "TestReadOfAnotherStream/replaced",
}, {
	Name: "the event that was read last, read again", Why: "a log whose end was lost and written anew is followed in silence",
	At: "eventstore/jslog (*reader).same", Do: []Op{Never("is", "was")}, Package: jslog, Test: "TestReadOfAnotherStream/its_end_written_anew",
}, {
	Name: "sanitised text", Why: "a NUL in a name holds up the tables",
	At: "eventstore/codec Sanitise", Do: []Op{Never("dirty")}, Package: codec, Test: "TestSanitiseText",
}, {
	Name: "the check that a text is plain", Why: "text that JSON must escape breaks its event",
	At: "eventstore/codec plainByte", Do: []Op{Always("' '")}, Package: codec, Test: "TestSanitiseText",
}, {
	Name: "NUL in the attributes of an event", Why: "a text that PostgreSQL refuses holds up the tables",
	At: "eventstore/codec fromBody", Do: []Op{Never("validText")}, Package: codec, Test: "TestDecodeRefusesBodies/NUL",
}, {
	Name: "the content type of a message", Why: "an event of an older log cannot be read",
	At: "eventstore/codec attributesOf", Do: []Op{Always("structuredMode")}, Package: codec, Test: "TestIdentify",
}, {
	Name: "the number in an event's id", Why: "an event is counted under another's id",
	At: "eventstore/codec (attributes).envelope", Do: []Op{Never("ID", "r")}, Package: codec, Test: "TestDecodeRefusesBodies/subject",
}, {
	Name: "the limit of an event's size", Why: "an event that the log refuses holds its job for ever",
	At: "eventstore/codec Sanitise", Do: []Op{Never("MaxEventBytes")}, Package: codec, Test: "TestEncodeRefuses",
}, {
	Name: "the fence of a file's attempt", Why: "a worker that comes back ends its successor's attempt",
	At: "domain (*fileDecider).checkFence", Do: []Op{Never("Fence")}, Package: "domain", Test: "TestLateWorker",
}}

// tables: what is projected from the log.
var tables = []Mutant{{
	Name: "the refusal to write to a log that lost events", Why: "a job writes again what was lost, under another command, and nothing can be put back any more",
	At: "cmd/internal/wire (*Installation).checkContinuity", Do: []Op{Never("As")}, Package: e2e, Test: "TestServiceRefusesALogThatLostEvents/shortened",
}, {
	Name: "the checkpoint in the transaction", Why: "after a crash events are missing in the tables",
	At: "projections (*Projector).apply", Do: []Op{Arg("Move", 1, "p.q")}, Package: "projections", Test: "TestExactlyOnce/cut_off",
}, {
	Name: "the checkpoint that is compared", Why: "two projectors count an event twice",
	At: "projections/internal/pgdb moveCheckpoint", Do: []Op{Text("checkpoint.seq = $7 and checkpoint.epoch = $8", "$7::bigint >= 0 and $8::bigint >= 0")},
	Package: "projections", Test: "TestTwoProjectors",
}, {
	Name: "the lock before the fence", Why: "a projector that waited for a retry brings the counters of before back", Was: true,
	At: "projections/internal/pgdb beginProjection", Do: []Op{Text("from accession.checkpoint where name = $1 for no key update", "where $1::text <> ''")},
	Package: "projections", Test: "TestNothingIsRememberedBesideARetry",
}, {
	Name: "the limit of an idle transaction", Why: "a projector that was stopped keeps the next one from the tables",
	At: "projections/internal/pgdb beginProjection", Do: []Op{Text("'idle_in_transaction_session_timeout', '5s'", "'idle_in_transaction_session_timeout', '0'")},
	Package: "projections", Test: "TestProjectorStoppedInTheMiddle",
}, {
	Name: "the check after a lost commit", Why: "a transaction that was written is written again",
	At: "projections (*Projector).project", Do: []Op{Never("Seq", "LastEventID")}, Package: "projections", Test: "TestExactlyOnce/the_answer_to_a_commit_was_lost",
}, {
	Name: "the time when the stream was created", Why: "a new log is taken for the one that was applied",
	At: "projections fits", Do: []Op{Never("StreamCreated")}, Package: "projections", Test: "TestOtherStream/created_again",
}, {
	Name: "the event at the checkpoint", Why: "a log that was restored differently is followed in silence",
	At: "projections (*Projector).read", Do: []Op{Always("LastEventID", "LastCommandID")}, Package: "projections", Test: "TestOtherStream/another_command",
}, {
	Name: "the aggregate of a poison event, held", Why: "what follows an event that cannot be applied is applied without it",
	At: "projections (*Projector).splitHeld", Do: []Op{Always("bad", "isHeld")}, Package: "projections", Test: "TestPoison",
}, {
	Name: "the deletion that says whether the batch went too", Why: "after a retry rows are not those of a rebuild", Was: true,
	At: "projections/internal/fold withBatch", Do: []Op{Return("batch == domain.BatchDeleted", "WithBatch")}, Package: "projections", Test: "TestPoisonLeavesOutcomes",
}, {
	Name: "the version of the rules before a retry", Why: "rows of new rules stand in tables of old ones", Was: true,
	At: "projections retryPoison", Do: []Op{Never("Meaning")}, Package: "projections", Test: "TestRetryKeepsToTheRules",
}, {
	Name: "the partition behind a rebuild", Why: "behind a rebuild a whole partition's events land in the default one", Was: true,
	At: "projections/rebuild (*rebuild).write", Do: []Op{Call("min", "$1"), Before("if seq > to.Seq {\n\tbreak\n}", "MakeEventPartitions")},
	Package: "projections", Test: "TestRebuildMakesPartitions",
}, {
	Name: "the partitions of other tables", Why: "over a swap events land in the default partition", Was: true,
	At: "projections (*Projector).apply", Do: []Op{Never("Generation", "0")}, Package: "projections", Test: "TestPartitionsOfOtherTables",
}, {
	Name: "the difference that forbids a swap", Why: "a rebuild that differs replaces the tables",
	At: "projections/rebuild (*rebuild).run", Do: []Op{Never("incomparable")}, Package: "projections", Test: "TestRebuildDiffers",
}, {
	Name: "the log that the index is of", Why: "tables of a log that was replaced leave events out of a replay", Was: true,
	At: "projections/query (Index).Of", Do: []Op{Always("stream", "created", "UpTo")}, Package: "cmd/internal/app", Test: "TestIndexOfAnotherLog",
}, {
	Name: "another try after a deadlock", Why: "a migration beside a projector at work fails once in a while", Was: true,
	At: "migrations deadlocks", Do: []Op{Value("deadlocks", "1")}, Package: "projections", Test: "TestRightsAreGivenAfterADeadlock",
}, {
	Name: "the lock that a projector shares with migrations", Why: "a migration beside a projector at work ends in a deadlock", Was: true,
	At: "projections (*Projector).apply", Do: []Op{Arg("BeginTx", 1, "pgx.TxOptions{}")}, Package: "projections", Test: "TestMigrationMeetsProjector",
}, {
	Name: "the snapshot of a report", Why: "a report on a batch at work does not add up", Was: true,
	At: "projections/query OpenSnapshot", Do: []Op{Arg("BeginTx", 1, "pgx.TxOptions{}")}, Package: "cmd/internal/app", Test: "TestReportOfABatchThatMoves",
}, {
	Name: "the check whether a rebuild has swapped the tables", Why: "a report mixes the tables of before with half of the new ones",
	At: "projections/query (*Snapshot).Unchanged", Do: []Op{Never("same")}, Package: "projections", Test: "TestTablesReplacedUnderAReader",
}, {
	Name: "the limit of a reader that is idle", Why: "a migration waits for a report whose reader is gone",
	At: "projections/query OpenSnapshot", Do: []Op{Arg("Exec", 1, `"select"`)}, Package: "projections", Test: "TestReaderThatStandsStill",
}, {
	Name: "the times of rows, which are never later", Why: "an event that is put back from its row is a millisecond later",
	At: "projections/internal/fold stored", Do: []Op{Call("Truncate", "at.Round(time.Microsecond)")}, Package: "projections/internal/fold", Test: "TestStoredTimeIsNeverLater",
}, {
	Name: "the key of a deposit in the drop folder", Why: "a transfer that was cut off makes a second batch",
	At: "cmd/internal/app/drops (*Transfer).transfer", Do: []Op{Call("keyOf", `""`)}, Package: e2e, Test: "TestDropFolder",
}, {
	Name: "the lock of a deposit in the drop folder", Why: "a deposit is said to be removed while a batch is made of it",
	At: "cmd/internal/drop lock", Do: []Op{Arg("Flock", 1, "syscall.LOCK_UN", "LOCK_NB")}, Package: "cmd/internal/drop", Test: "TestLock",
}, {
	Name: "the end of a deposit's lock", Why: "a deposit stays locked while another program is started",
	At: "cmd/internal/drop lock", Do: []Op{Drop("_", "LOCK_UN")}, Package: "cmd/internal/drop", Test: "TestLockAndCopies",
}, {
	Name: "the end of the lock of an export", Why: "the next export is refused while another program is started",
	At: "cmd/internal/store (*Export).close", Do: []Op{Drop("syscall", "Flock")}, Package: "cmd/internal/store", Test: "TestExport",
}, {
	Name: "the moment at which a child began", Why: "a process of a killed server is left, with the server's memory",
	At: "cmd/internal/stack (orphan).alive", Do: []Op{Never("begun")}, Package: "cmd/internal/stack", Test: "TestKillEndsChildrenWithAnotherName",
}}
