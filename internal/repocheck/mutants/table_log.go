package main

// outbox: from the live state to the log.
var outbox = []Mutant{{
	Name: "the check that a bucket is open", Why: "a node in a closed bucket is passed over: its event is lost",
	File: "eventstore/zklive/multi.go",
	Old:  "&zk.CheckVersionRequest{Path: dir, Version: 0}", New: "&zk.CheckVersionRequest{Path: dir, Version: -1}",
	Package: zklive, Test: "TestClosedBucketTakesNothing",
}, {
	Name: "the mark that never goes back", Why: "a late leader brings the mark back, and what was removed counts as unsent", Was: true,
	File: "eventstore/zklive/outbox_sweep.go",
	Old:  "if !m.upTo.Before(upTo) {", New: "if m.upTo == upTo {",
	Package: zklive, Test: "TestConformance/outbox/plain/mark",
}, {
	Name: "the mark that stays before what is held", Why: "an event that is not in the log counts as sent, and is removed",
	File: "eventstore/relay_shard.go",
	Old:  "open = open || held && e.Version >= from", New: "_, _ = from, held",
	Package: store, Test: "TestRelayHoldsAGapAlone",
}, {
	Name: "a gap in the hints", Why: "the event of another process is skipped",
	File: "eventstore/zklive/hints.go",
	Old:  "		if !there {\n			break\n		}\n		out = append(out, item)", New: "		if at.Seq > after.Seq+100 {\n			break\n		}\n		if there {\n			out = append(out, item)\n		}",
	Package: zklive, Test: "TestHints/one_lost",
}, {
	Name: "the second look before an alarm", Why: "events that overtook each other hold their job for a minute, and wake somebody",
	File: "eventstore/relay_doubt.go",
	Old:  "if s.doubts[a] != nil {\n		s.hold(", New: "if true {\n		s.hold(",
	Package: store, Test: "TestRelayLooksTwiceBeforeAnAlarm",
}, {
	Name: "the relay that leaves no gap", Why: "version 3 follows version 1 in the log",
	File: "eventstore/relay_publish.go",
	Old:  "case e.Version == at.Version+1:", New: "case e.Version > at.Version:",
	Package: store, Test: "TestRelayHoldsAGapAlone",
}, {
	Name: "the relay that looks whose event it is", Why: "another command's event under the same number is taken for sent",
	File: "eventstore/relay_publish.go",
	Old:  "case e.Version == at.Version && e.CommandID != at.CommandID:", New: "case false:",
	Package: store, Test: "TestRelayAlarmsOnAForeignEvent",
}, {
	Name: "the limits of the outbox", Why: "deposits are taken while nothing reaches the log",
	File: "eventstore/pressure.go",
	Old:  "if p.level >= LevelFull {", New: "if false {",
	Package: store, Test: "TestPressureByLevel",
}}

// events: the log.
var events = []Mutant{{
	Name: "the expected last sequence", Why: "a second relay writes an event again",
	File: "eventstore/jslog/append.go",
	Old:  "if _, again := b.ends[e.Event.Aggregate]; !again {", New: "if false {",
	Package: jslog, Test: "TestConformance/expectation",
}, {
	Name: "all or nothing of an append", Why: "half of a batch of events stands in the log",
	File: "eventstore/jslog/append.go",
	Old:  "if last == 0 {", New: "for i := range last {\n		if _, err := l.js.PublishMsg(ctx, b.msgs[i]); err != nil {\n			return nil, err\n		}\n	}\n	if b.msgs = b.msgs[last:]; true {",
	Package: jslog, Test: "TestConformance/atomic",
}, {
	Name: "finding out a lost answer of the log", Why: "an event that was written is refused as somebody else's",
	File: "eventstore/jslog/append.go",
	Old:  "seqs, found := l.settle(ctx, b)", New: "seqs, found := []uint64(nil), eventstore.ErrConflict",
	Package: jslog, Test: "TestLostMessages/answer",
}, {
	Name: "the refusal of a stream that acknowledges before it has written", Why: "acknowledged events are lost with the power",
	File: "eventstore/jslog/settings.go",
	Old:  "differ(\"persist mode\", got.PersistMode, want.PersistMode)", New: "",
	Package: jslog, Test: "TestOpenChecksTheStream",
}, {
	Name: "sync_interval: always", Why: "acknowledged events are lost with the power",
	File: "cmd/internal/stack/nats.go",
	Old:  "SyncAlways:         true,", New: "",
	Package: "cmd/internal/stack", Test: "TestComposeNATSConfiguration",
}, {
	Name: "the place of each event that is read", Why: "a hole in the log is read over",
	File: "eventstore/jslog/read.go",
	Old:  "if r.subject == \"\" && seq != r.next {", New: "if false {",
	Package: jslog, Test: "TestReadNamesAGap",
}, {
	Name: "the time when the stream that is read was created", Why: "a stream that took its place is read on with",
	File: "eventstore/jslog/same.go",
	Old:  "case !r.seen.created.Equal(info.Created):", New: "case false:",
	Package: jslog, Test: "TestReadOfAnotherStream/replaced",
}, {
	Name: "the event that was read last, looked at again", Why: "a log whose end was lost and written anew is followed in silence",
	File: "eventstore/jslog/same.go",
	Old:  "if is != was {", New: "if false {",
	Package: jslog, Test: "TestReadOfAnotherStream/its_end_written_anew",
}, {
	Name: "clean text", Why: "a NUL in a name holds up the tables",
	File: "eventstore/clean.go",
	Old:  "&& dirty(data) {", New: "&& false {",
	Package: store, Test: "TestCleanText",
}, {
	Name: "the look whether a text is plain", Why: "text that JSON must escape breaks its event",
	File: "domain/append.go",
	Old:  "if c := s[i]; c < ' ' || c >= utf8.RuneSelf ||", New: "if c := s[i]; c >= utf8.RuneSelf ||",
	Package: store, Test: "TestCleanText",
}, {
	Name: "the limit of an event's size", Why: "an event that the log refuses holds its job for ever",
	File: "eventstore/clean.go",
	Old:  "if size > MaxEventBytes {", New: "if false {",
	Package: store, Test: "TestEncodeRefuses",
}, {
	Name: "the fence of a file's attempt", Why: "a worker that comes back ends its successor's attempt",
	File: "domain/decide_file_steps.go",
	Old:  "if fence != d.f.Fence {", New: "if false {",
	Package: "domain", Test: "TestLateWorker",
}}

// tables: what is projected from the log.
var tables = []Mutant{{
	Name: "the refusal to write to a log that lost events", Why: "a job writes again what was lost, under another command, and nothing can be put back any more",
	File: "cmd/internal/wire/continues.go",
	Old:  "if errors.As(err, &other) {", New: "if errors.As(err, &other) && false {",
	Package: "cmd/accession/e2e", Test: "TestServiceRefusesALogThatLostEvents/shortened",
}, {
	Name: "the checkpoint in the transaction", Why: "after a crash events are missing in the tables",
	File: "projections/apply.go",
	Old:  "under, err := fence(ctx, q, p.at, to)", New: "under, err := fence(ctx, p.q, p.at, to)",
	Package: "projections", Test: "TestExactlyOnce/cut_off",
}, {
	Name: "the checkpoint that is compared", Why: "two projectors count an event twice",
	File: "projections/internal/pgdb/checkpoint.sql.go",
	Old:  "where checkpoint.name = $6 and checkpoint.seq = $7 and checkpoint.epoch = $8", New: "where checkpoint.name = $6 and $7::bigint >= 0 and $8::bigint >= 0",
	Package: "projections", Test: "TestTwoProjectors",
}, {
	Name: "the lock before the fence", Why: "a projector that waited for a retry brings the counters of before back", Was: true,
	File: "projections/apply.go",
	Old:  `" from accession.checkpoint where name = $1 for no key update", p.at.Name); err`, New: `""); err`,
	Package: "projections", Test: "TestNothingIsRememberedBesideARetry",
}, {
	Name: "the limit of a transaction that stands still", Why: "a projector that was stopped keeps the next one from the tables",
	File: "projections/apply.go",
	Old:  `steer+", set_config('idle_in_transaction_session_timeout', '5s', true)"`, New: `steer+""`,
	Package: "projections", Test: "TestProjectorStoppedInTheMiddle",
}, {
	Name: "the look after a lost commit", Why: "a transaction that was written is written again",
	File: "projections/apply.go",
	Old:  "if err != nil || (now.Seq == to.Seq && now.LastEventID == to.LastEventID) {", New: "if err != nil || now.Seq < 0 {",
	Package: "projections", Test: "TestExactlyOnce/the_answer_to_a_commit_was_lost",
}, {
	Name: "the time when the stream was created", Why: "a new log is taken for the one that was applied",
	File: "projections/checkpoint.go",
	Old:  "case !at.StreamCreated.Equal(s.Created):", New: "case false:",
	Package: "projections", Test: "TestOtherStream/created_again",
}, {
	Name: "the event at the checkpoint", Why: "a log that was restored differently is followed in silence",
	File: "projections/projector.go",
	Old:  "if r.ID() == at.LastEventID && r.CommandID == at.LastCommandID {", New: "if true {",
	Package: "projections", Test: "TestOtherStream/another_command",
}, {
	Name: "the aggregate of a poison event, held", Why: "what follows an event that cannot be applied is applied without it",
	File: "projections/poison.go",
	Old:  "if bad == nil && !waits {", New: "if bad == nil {",
	Package: "projections", Test: "TestPoison",
}, {
	Name: "the deletion that says whether the batch went too", Why: "after a retry rows are not those of a rebuild", Was: true,
	File: "projections/retries.go",
	Old:  "return *d.WithBatch", New: "return batch == domain.BatchDeleted",
	Package: "projections", Test: "TestPoisonLeavesOutcomes",
}, {
	Name: "the version of the rules before a retry", Why: "rows of new rules stand in tables of old ones", Was: true,
	File: "projections/poison_retry.go",
	Old:  "if at.Meaning != Meaning {", New: "if false {",
	Package: "projections", Test: "TestRetryKeepsToTheRules",
}, {
	Name: "the partition behind a rebuild", Why: "behind a rebuild a whole partition's events land in the default one", Was: true,
	File: "projections/rebuild_fill.go",
	Old:  "seq = min(seq+partitionWidth, to.Seq) {", New: "seq += partitionWidth {\n				if seq > to.Seq {\n					break\n				}",
	Package: "projections", Test: "TestRebuildMakesPartitions",
}, {
	Name: "the partitions of other tables", Why: "over a swap events land in the default partition", Was: true,
	File: "projections/apply.go",
	Old:  "if p.under.Generation != 0 && p.under.Generation != under.Generation {", New: "if false {",
	Package: "projections", Test: "TestPartitionsOfOtherTables",
}, {
	Name: "the difference that forbids a swap", Why: "a rebuild that differs takes the place of the tables",
	File: "projections/rebuild.go",
	Old:  "if r.apart == \"\" {\n		if err := r.compare(", New: "if r.apart == \"never\" {\n		if err := r.compare(",
	Package: "projections", Test: "TestRebuildDiffers",
}, {
	Name: "the log that the index is of", Why: "tables of a log that was replaced leave events out of a replay", Was: true,
	File: "projections/places.go",
	Old:  "return x.stream == log.Name && x.created.Equal(log.Created.Truncate(time.Microsecond)) && x.UpTo <= log.Last", New: "return x.UpTo > 0 || log.Created.Truncate(time.Microsecond).IsZero()",
	Package: "cmd/internal/app", Test: "TestIndexOfAnotherLog",
}, {
	Name: "another try after a deadlock", Why: "a migration beside a projector at work fails once in a while", Was: true,
	File: "migrations/migrations.go",
	Old:  "for range deadlocks {", New: "for range 1 {",
	Package: "projections", Test: "TestRightsAreGivenAfterADeadlock",
}, {
	Name: "the one moment that a report tells of", Why: "a report on a batch at work does not add up", Was: true,
	File: "projections/still.go",
	Old:  `"set transaction isolation level repeatable read, read only; `, New: `"set transaction read only; `,
	Package: "cmd/internal/app", Test: "TestReportOfABatchThatMoves",
}, {
	Name: "the look whether a rebuild has swapped the tables", Why: "a report mixes the tables of before with half of the new ones",
	File: "projections/still.go",
	Old:  "case !same:", New: "case !same && false:",
	Package: "projections", Test: "TestTablesReplacedUnderAReader",
}, {
	Name: "the limit of a reader that stands still", Why: "a migration waits for a report that nobody reads",
	File: "projections/still.go",
	Old:  `; set local idle_in_transaction_session_timeout = '"+leftAlone+"'"`, New: `"`,
	Package: "projections", Test: "TestReaderThatStandsStill",
}}
