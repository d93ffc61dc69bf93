package main

// queues: whose turn it is, and what waits in the deposit queues.
var queues = []Mutant{{
	Name: "the concurrency of a user", Why: "one user's deposits run on all processors",
	At: "domain/fair (*member).full", Do: []Op{Never("running", "limit")},
	Package: "domain/fair", Test: "TestRingIsTheReference",
}, {
	Name: "the size of the head", Why: "a processor gets a deposit that is too large for it",
	At: "domain/fair (*member).full", Do: []Op{DropCase("first", "MaxSize")},
	Package: "domain/fair", Test: "TestRules",
}, {
	Name: "the requirement of a processor", Why: "a processor for some users serves others when those have nothing",
	At: "domain/fair (Processor).requires", Do: []Op{Never("ExcludeUsers")},
	Package: "domain/fair", Test: "TestRules",
}, {
	Name: "the prohibition of preferred users", Why: "a prohibited user is served by a processor that does not require the user",
	At: "domain/fair (*member).barred", Do: []Op{DropCase("Prohibited")},
	Package: "domain/fair", Test: "TestEveryCombination",
}, {
	Name: "the step behind a used allocation", Why: "the first user of the ring is served until nothing of them waits",
	At: "domain/fair (*Ring).inTurn", Do: []Op{Skip("Decision"), Skip("next")},
	Package: "domain/fair", Test: "TestSmallUserBesideALargeOne",
}, {
	Name: "the cursor of a user who leaves", Why: "the next user has less than their allocation, and who joins then is served before them",
	At: "domain/fair (*Ring).removal", Do: []Op{Never("Emptied")},
	Package: "domain/fair", Test: "TestEmptiedUserLeaves",
}, {
	Name: "the news that come late", Why: "a deposit that runs is handed out again",
	At: "domain/fair (*Ring).Put", Do: []Op{Never("running")},
	Package: "domain/fair", Test: "TestDecisionsOfOthers",
}, {
	Name: "the turn of a decision", Why: "a decision is applied twice, or without the one before it",
	At: "domain/fair (*Ring).Apply", Do: []Op{DropCase("Turn")},
	Package: "domain/fair", Test: "TestDecisionsOfOthers",
}, {
	Name: "what another process knew of a user", Why: "a process that has not heard of a deposit takes its user for emptied",
	At: "domain/fair (*Ring).Apply", Do: []Op{Never("Len", "0")},
	Package: "domain/fair", Test: "TestDecisionBeforeTheNews",
}, {
	Name: "the current visit after a lap", Why: "a user alone whose allocation was lowered in a visit gets nothing",
	At: "domain/fair (*Ring).roundRobin", Do: []Op{Element(1, "r.members[:start]", "start", "end")},
	Package: "internal/testkit/model", Test: "TestQueue",
}, {
	Name: "the end of a lap", Why: "users who deposit again whenever they were served keep others from being served",
	At: "domain/fair (*Ring).visit", Do: []Op{First("p.Lap = 0")},
	Package: "domain/fair", Test: "TestLapEnds",
}, {
	Name: "the users of the next lap, when nothing of this one can be served", Why: "a processor gets nothing while a user who joined during the lap waits",
	At: "domain/fair (*Ring).roundRobin", Do: []Op{Element(2, "nil", "start", "end")},
	Package: "domain/fair", Test: "TestRingIsTheReference",
}, {
	Name: "the lap of a position that was kept without one", Why: "who joins behind the cursor is served before those in front of it",
	At: "domain/fair (*Ring).visit", Do: []Op{Never("Lap", "0")},
	Package: "domain/fair", Test: "TestLapOfARestoredRing",
}, {
	Name: "the ring that a grab relies on", Why: "two processes grab in the same turn",
	At: "eventstore/zklive/internal/layout (Root).leave", Do: []Op{Arg("Set", 2, "Any", "Ring")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOperationsOfAGrab",
}, {
	Name: "the batches that wait in no deposit queue", Why: "after an upgrade batches are grabbed before those that waited longer",
	At: "cmd/internal/daemon/queue (*Pending).first", Do: []Op{Drop("before", "wait")},
	Package: "cmd/internal/daemon/queue", Test: "TestWhatWaitsInNoQueueComesFirst",
}, {
	Name: "the settings that a grab relies on", Why: "a batch of a user is grabbed whom an operator has just prohibited",
	At: "eventstore/zklive/internal/layout (Root).ticketBefore", Do: []Op{Drop("QueueConfig", "l")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOperationsOfAGrab",
}, {
	Name: "the number of running batches that a grab relies on", Why: "more batches of a user run than may",
	At: "eventstore/zklive/internal/layout (Root).countUp", Do: []Op{Arg("Set", 2, "Any", "path")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOperationsOfAGrab",
}, {
	Name: "the settings that a synchronous deposit relies on", Why: "a deposit of a user is taken whom an operator has just prohibited",
	At: "eventstore/zklive/internal/layout (Root).ticketBefore", Do: []Op{Drop("QueueConfig", "Pool")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOperationsOfASynchronousDeposit",
}, {
	Name: "the limit of synchronous deposits", Why: "depositors who wait for the answer slow each other down without bound",
	At: "domain/fair (Pool).Why", Do: []Op{DropCase("Running")},
	Package: "eventstore/memory", Test: "TestConformance/claims/synchronous_of_many",
}, {
	Name: "the workers of synchronous deposits", Why: "a synchronous deposit waits until all listing of others is done",
	At: "cmd/internal/daemon/queue (*Pending).Next", Do: []Op{Never("Synchronous")},
	Package: "cmd/internal/daemon/queue", Test: "TestSynchronousIsNotGrabbed",
}, {
	Name: "the end of a user's directory with the last batch", Why: "a user without deposits stays in the ring",
	At: "eventstore/zklive/internal/layout (Root).leave", Do: []Op{Never("Emptied")},
	Package: "eventstore/zklive/internal/layout", Test: "TestTicketsLeadToExpectedNodes",
}, {
	Name: "the claim of a batch that waits in a deposit queue", Why: "a batch is worked on before its turn",
	At: "eventstore/zklive (*claims).claimBatch", Do: []Op{Never("Waits")},
	Package: zklive, Test: "TestConformance/claims/plain/ring,_waiting_not_worked",
}, {
	Name: "the listing of a batch that was not grabbed", Why: "a batch is worked on before its turn",
	At: "domain (batchDecider).list", Do: []Op{DropCase("Waits")},
	Package: "eventstore/memory", Test: "TestConformance/claims/ring,_waiting_not_worked",
}, {
	Name: "the ticket of a batch that is held", Why: "a held batch counts among the running ones of its user for ever",
	At: "domain (Batch).ticketAfter", Do: []Op{DropCase("BatchPending")},
	Package: "eventstore/memory", Test: "TestConformance/claims/ring,_hold_and_release",
}, {
	Name: "the jobs that go on, before a place is freed", Why: "more batches of a user run than may, because those whose jobs go on are not counted",
	At: "eventstore (*Handler).FreeResting", Do: []Op{Never("moving")},
	Package: "eventstore/memory", Test: "TestConformance/claims/ring,_jobs_rest",
}, {
	Name: "the jobs that rest, among those that were open", Why: "the place of a batch whose last job ends while it is looked at comes back before its report",
	At: "eventstore (*Handler).Moving", Do: []Op{Never("resting")},
	Package: "eventstore/memory", Test: "TestConformance/claims/ring,_job_ends",
}, {
	Name: "the refusal to release what is parked", Why: "the release of all held batches lets in what an operator has parked",
	At: "domain (batchDecider).release", Do: []Op{Never("unpark")},
	Package: "eventstore/memory", Test: "TestConformance/claims/ring,_parked",
}, {
	Name: "the users of this lap, before those who joined during it", Why: "the board says that a user is served next who waits for a lap",
	At: "domain/fair (*Ring).inOrder", Do: []Op{Never("i")},
	Package: "domain/fair", Test: "TestStandingsAreWhatIsGrabbed",
}, {
	Name: "the state before an event of a query", Why: "a query is grabbed or answered twice",
	At: "domain/lookup row", Do: []Op{Always("From", "from")},
	Package: "domain/lookup", Test: "TestQueryTable",
}, {
	Name: "a query that is parked, in the table", Why: "a query that an operator has parked is taken for one that has failed",
	At: "domain/lookup Transitions", Do: []Op{Element(2, "asked.Failed", "Q5")},
	Package: "domain/lookup", Test: "TestQueryTable",
}, {
	Name: "a parked query that fails, in the table", Why: "an operator cannot end a query that is parked",
	At: "domain/lookup Transitions", Do: []Op{Element(1, "asked.Answered", "Q8")},
	Package: "domain/lookup", Test: "TestQueryWalks",
}, {
	Name: "the lines of a query's answer", Why: "the answers to half of a list pass for all of them",
	At: "domain/lookup Decide", Do: []Op{Never("n", "Lines")},
	Package: "domain/lookup", Test: "TestQueryTable",
}, {
	Name: "the state of a query that is claimed again", Why: "a query that has ended is answered once more",
	At: "eventstore/zklive/internal/queries (*Directory).Running", Do: []Op{Never("Grabbed")},
	Package: zklive, Test: "TestConformance/claims/plain/query,_claimed_again",
}, {
	Name: "the bound of the workers that die with a query", Why: "a query that kills its workers is tried for ever, and its user has a place less",
	At: "cmd/internal/daemon/answering (*Service).outcome", Do: []Op{Never("maxClaims")},
	Package: "cmd/internal/daemon/answering", Test: "TestClaimsOfAQuery",
}, {
	Name: "the outcome of a query that is kept before its mail", Why: "two mails about a query say different things, or the history another",
	At: "cmd/internal/daemon/answering (*Service).settled", Do: []Op{Never("Recipients")},
	Package: "cmd/internal/daemon/answering", Test: "TestOutcomesAreKept",
}, {
	Name: "the bound of the tries of a query", Why: "a query that can never be answered is tried for ever",
	At: "cmd/internal/daemon/answering (*Service).faultOf", Do: []Op{Always("maxTries")},
	Package: "cmd/internal/daemon/answering", Test: "TestTriesOfAQuery",
}, {
	Name: "trouble of our own beside the tries of a query", Why: "queries fail while PostgreSQL is away",
	At: "cmd/internal/daemon/answering (*Service).faultOf", Do: []Op{Never("ours")},
	Package: "cmd/internal/daemon/answering", Test: "TestTriesOfAQuery",
}, {
	Name: "the count of the claims of a query", Why: "no worker's death is counted",
	At: "eventstore/zklive/internal/layout (Root).ClaimQuery", Do: []Op{Drop("Set")},
	Package: zklive, Test: "TestConformance/claims/plain/query,_claims_counted",
}, {
	Name: "the end of a query before its removal", Why: "a query that waits is lost in ZooKeeper",
	At: "eventstore/zklive/internal/queries (*Directory).RemoveQuery", Do: []Op{Never("Ended")},
	Package: zklive, Test: "TestConformance/claims/plain/query,_removed",
}, {
	Name: "the list that is kept before its query is made", Why: "a query waits whose list is lost",
	At: "cmd/internal/app/queries Submit", Do: []Op{Before("_, _ = handler.ReceiveQuery(ctx, id, lookup.Receive{Request: asked.Request{Submitter: w.Submitter, Lines: l.Lines}}, a.Meta())", "Put")},
	Package: e2e, Test: "TestQueriesWhoseSubmissionDies",
}, {
	Name: "the answers of dead workers", Why: "they stay in the object store for ever",
	At: "cmd/internal/daemon/answering (*Service).discard", Do: []Op{Never("HasSuffix")},
	Package: e2e, Test: "TestQueriesWhoseRemovalDies/zklive_destroy_part_after",
}, {
	Name: "the queries among what is compared", Why: "verify does not miss a query that waits",
	At: "cmd/internal/consistency (*checker).queries", Do: []Op{Never("Ended")},
	Package: e2e, Test: "TestVerifyRepairsEveryQuery",
}, {
	Name: "the entries among what is compared", Why: "verify does not miss an entry of the compute queue that is damaged",
	At: "cmd/internal/consistency (*checker).entries", Do: []Op{Never("Purged")},
	Package: e2e, Test: "TestVerifyRepairsEveryEntry",
}, {
	Name: "the results of entries among what is compared", Why: "verify does not miss the result of an entry that is lost, which no one makes again",
	At: "cmd/internal/audit (*checker).results", Do: []Op{First("return nil")},
	Package: e2e, Test: "TestVerifySeesDamagedRowsOfDatasets",
}, {
	Name: "the log, asked about a result of no entry", Why: "verify has a person remove a result that is right, because the tables lack its entry",
	At: "cmd/internal/audit (*checker).results", Do: []Op{Never("known")},
	Package: e2e, Test: "TestVerifySeesDamagedRowsOfDatasets",
}, {
	Name: "the log, asked about a listed file that is not known", Why: "verify removes what a directory lists, because the tables lack its file",
	At: "cmd/internal/audit (*checker).listing", Do: []Op{Never("known")},
	Package: e2e, Test: "TestVerifySeesDamagedRowsOfDatasets",
}, {
	Name: "the listings of directories among what is compared", Why: "a file that is listed as known and is in no log is never fetched, and verify finds nothing",
	At: "cmd/internal/audit (*checker).listings", Do: []Op{First("return nil")},
	Package: e2e, Test: "TestVerifyRepairsListings",
}, {
	Name: "the whole poll after a repair of a listing", Why: "a server that says that nothing has changed keeps a row as it was made from the log",
	At: "cmd/internal/record (*Records).RestoreListed", Do: []Op{Call("ReadWhole", "nil")},
	Package: e2e, Test: "TestVerifyRepairsListings",
}, {
	Name: "the entries of a lost tree", Why: "work that waits is lost with the tree",
	At: "cmd/internal/consistency FoldAll", Do: []Op{Never("Purged")},
	Package: e2e, Test: "TestRestoreOfComputeQueue",
}, {
	Name: "the number of the next query, in a tree that looks empty", Why: "no process opens a tree that has only queries", Was: true,
	At: "eventstore/zklive/recovery (*Restorer).Untouched", Do: []Op{Element(0, "r.root.Epoch()", "query", "Epoch")},
	Package: zklive, Test: "TestFreshTreeIsAskedFor/a_query",
}, {
	Name: "the number of the next entry, in a tree that looks empty", Why: "no process opens a tree that has only entries of the compute queue", Was: true,
	At: "eventstore/zklive/recovery (*Restorer).Untouched", Do: []Op{Element(1, "r.root.Epoch()", "entry", "Epoch")},
	Package: zklive, Test: "TestFreshTreeIsAskedFor/an_entry",
}, {
	Name: "the end of a ring's patience", Why: "a damaged entry of one user stops the queue for all, and nothing says so", Was: true,
	At: "eventstore/zklive/internal/rings (*queue).write", Do: []Op{Always("maxRefused")},
	Package: zklive, Test: "TestGrabPassesOverWhatCannotLeave",
}, {
	Name: "the ring that is compared with its events", Why: "verify takes a damaged cursor, used or lap of a deposit queue for right, and a turn that was never reached", Was: true,
	At: "cmd/internal/consistency (*checker).ringEvents", Do: []Op{Never("missing")},
	Package: e2e, Test: "TestVerifyRepairsEveryQuery",
}, {
	Name: "the remembered steps of a ring, compared with its events", Why: "a process that missed a few writes follows steps that never were, and verify finds nothing",
	At: "eventstore/zklive/recovery (*Inspector).observeRing", Do: []Op{Always("RecentSound", "met")},
	Package: e2e, Test: "TestRingsOfUnsentEvents",
}, {
	Name: "the outbox among the events of a ring", Why: "verify puts a ring back while no relay runs, and two grabs get the same turn",
	At: "cmd/internal/consistency (*checker).meetNew", Do: []Op{Call("meet", "_ = e", "e")},
	Package: e2e, Test: "TestRingsOfUnsentEvents",
}, {
	Name: "the limit of the tree for queries", Why: "queries fill the tree until ZooKeeper does nothing but collect garbage", Was: true,
	At: "eventstore (*Pressure).Admit", Do: []Op{Never("asked")},
	Package: store, Test: "TestQueuesHaveLimits",
}, {
	Name: "the number of the next query, in verify", Why: "it was lowered and verify finds nothing", Was: true,
	At: "cmd/internal/consistency (highestIDs).below", Do: []Op{Never("query")},
	Package: e2e, Test: "TestLoweredIDs",
}, {
	Name: "the running deposits of a busy ring", Why: "a user whose running deposits are counted wrongly is never served again while others keep the queue busy, and verify finds nothing", Was: true,
	At: "eventstore/zklive/recovery (*Inspector).InspectRing", Do: []Op{Never("counts")},
	Package: zklive, Test: "TestBusyRingIsInspected",
}, {
	Name: "the queries in a tree that is restored", Why: "queries that wait when the tree is lost are never answered",
	At: "eventstore/zklive/recovery (*Restorer).Restore", Do: []Op{First("h.Queries = nil")},
	Package: e2e, Test: "TestRestoreOfDepositQueues",
}, {
	Name: "the attempt of a worker that has lost its entry", Why: "a file stays PROCESSING by a worker that no entry has any more",
	At: "cmd/internal/attempt (*Attempt).settle", Do: []Op{Never("Open")},
	Package: "cmd/internal/compute", Test: "TestFileOfTwoWorkers",
}, {
	Name: "the digest of the copy for a worker", Why: "a damaged file is processed",
	At: "cmd/internal/attempt copied", Do: []Op{Never("EncodeToString")},
	Package: "cmd/internal/compute", Test: "TestFilesThatAreDamaged",
}, {
	Name: "the keys of own steps", Why: "a caller requests work in place of the service, and a job takes what it makes for the step of its profile",
	At: "domain/compute Reserved", Do: []Op{Never("stepPrefix")},
	Package: "domain/compute", Test: "TestKeysOfSteps",
}, {
	Name: "the states left to workers outside", Why: "a daemon does what another service is to do", Hangs: true,
	At: "cmd/internal/daemon (*turn).outcome", Do: []Op{Never("leave")},
	Package: e2e, Test: "TestJobThroughTasks",
}, {
	Name: "the tasks, as what must be asked for", Why: "a worker of the compute queue takes the work of a state of jobs, which it does not know",
	At: "domain/compute (*Queue).Put", Do: []Op{Always("OfState")},
	Package: "domain/compute", Test: "TestStatesAreAskedFor",
}, {
	Name: "the state of a task", Why: "a worker has the work of a job that is in another state by now",
	At: "domain/compute (Step).Waits", Do: []Op{Always("State")},
	Package: "domain/compute", Test: "TestStepsOfStates",
}, {
	Name: "the result of a task, where it arrives", Why: "a worker that sends a result that is none is not told, and the job fails",
	At: "cmd/internal/app/leases Complete", Do: []Op{Never("Check")},
	Package: e2e, Test: "TestJobThroughTasks",
}, {
	Name: "the result of a task, where the job goes on", Why: "a job goes on with a result that is none",
	At: "cmd/internal/daemon/ownstep (Maker).Leave", Do: []Op{Never("Check")},
	Package: "cmd/internal/daemon/ownstep", Test: "TestStatesAreLeft",
}, {
	Name: "the task of a job that was held", Why: "a job that was held while it waited for a worker outside fails when it is released",
	At: "cmd/internal/daemon/ownstep (Maker).request", Do: []Op{Never("CodeJobMoved")},
	Package: "cmd/internal/daemon/ownstep", Test: "TestStatesAreLeft",
}, {
	Name: "the bounds of an estimate", Why: "a job gets a priority under which no process finds it",
	At: "cmd/internal/outside ParseEstimate", Do: []Op{Never("PriorityLast")},
	Package: "cmd/internal/outside", Test: "TestResultsOfStates",
}, {
	Name: "the state in the path of a task", Why: "a worker ends work of another kind by a mistaken path",
	At: "cmd/internal/app/leases (State).has", Do: []Op{Never("StateDataset")},
	Package: e2e, Test: "TestJobThroughTasks",
}, {
	Name: "the own steps of a job", Why: "an object is stored without the steps of its profile", Hangs: true,
	At: "cmd/internal/daemon (*steps).jobProcessing", Do: []Op{Never("ownSteps")},
	Package: e2e, Test: "TestStepsOfJobs",
}, {
	Name: "the wait for an entry before it is read", Why: "a job whose entry ends meanwhile goes on half a minute later",
	At: "cmd/internal/daemon/ownstep (Maker).look", Do: []Op{Drop("WaitFor")},
	Package: "cmd/internal/daemon/ownstep", Test: "TestStepsFollowEachOther",
}, {
	Name: "the end of an entry, as what wakes its job", Why: "a job looks at its entry whenever a worker takes it or gives it back",
	At: "cmd/internal/daemon/order (*Jobs).Notice", Do: []Op{Never("Ended")},
	Package: "cmd/internal/daemon/ownstep", Test: "TestStepsFollowEachOther",
}, {
	Name: "the results of a version that is stored", Why: "a job that died after its last write cannot go on when its steps were made again",
	At: "cmd/internal/daemon/ownstep Described", Do: []Op{Never("stored")},
	Package: "cmd/internal/daemon/ownstep", Test: "TestResultsAreDescribed",
}, {
	Name: "the class of a failed step", Why: "a worker fails a job in a class that no failure has, so that it seems to wait",
	At: "domain/compute (Step).Failure", Do: []Op{Never("Contains")},
	Package: "domain/compute", Test: "TestFailuresOfSteps",
}, {
	Name: "the job that waits for an entry", Why: "the leader ends work for which a job waits",
	At: "cmd/internal/compute (*Leader).strand", Do: []Op{Never("Waits")},
	Package: "cmd/internal/compute", Test: "TestStepsThatNoJobWaitsFor",
}, {
	Name: "the lease that the same claim has taken", Why: "a worker whose claim got no answer takes other work, and the attempt is lost",
	At: "eventstore/zklive/internal/entries (*Entries).LeaseOfCommand", Do: []Op{Never("Command", "command")},
	Package: e2e, Test: "TestClaimsOnce",
}, {
	Name: "the note of an earlier lease of the claim", Why: "two requests of one claim at once take work each",
	At: "eventstore/zklive/internal/layout (Root).command", Do: []Op{Arg("Set", 2, "Any")},
	Package: zklive, Test: "TestConformance/claims/plain/entry,_claimed_by_one_request",
}, {
	Name: "the refusal of a claim that was sent before", Why: "a claim that was sent twice at once is answered with an error, or takes other work",
	At: "cmd/internal/app/leases take", Do: []Op{Never("ErrRepeated")},
	Package: e2e, Test: "TestClaimsOnce",
}, {
	Name: "the end of the notes of claims", Why: "the tree grows with each claim",
	At: "eventstore/zklive/internal/entries (*Entries).EndOverdueLeases", Do: []Op{Never("lasting")},
	Package: zklive, Test: "TestNotesOfClaims",
}, {
	Name: "the request that a token is made of", Why: "another claim under the key gets the lease of the first",
	At: "cmd/internal/app/leases (request).secret", Do: []Op{Drop("said")},
	Package: e2e, Test: "TestClaimsOnce",
}, {
	Name: "the lease of a step that no job waits for", Why: "a worker without a session has work for a job that has failed as long as it likes",
	At: "cmd/internal/compute (*Leader).strand", Do: []Op{Never("SHA256")},
	Package: "cmd/internal/compute", Test: "TestWorkersOfStepsThatNoJobWaitsFor",
}, {
	Name: "the end of a step that no job waits for", Why: "the work for a job that has failed waits for another worker",
	At: "cmd/internal/attempt (*Step).End", Do: []Op{Never("end")},
	Package: "cmd/internal/compute", Test: "TestWorkersOfStepsThatNoJobWaitsFor",
}, {
	Name: "the look of a worker at the job of an entry", Why: "a worker works for a job that has failed",
	At: "cmd/internal/attempt (*Step).Over", Do: []Op{Never("Waits")},
	Package: "cmd/internal/compute", Test: "TestStepsThatNoJobWaitsFor",
}, {
	Name: "the files of a job, as all that a step has", Why: "a worker has the files of another deposit",
	At: "cmd/internal/attempt (*Step).Begin", Do: []Op{Never("JobID")},
	Package: "cmd/internal/compute", Test: "TestStepsOfForeignFiles",
}, {
	Name: "the end of an entry with its result, in the table", Why: "work that was done is tried again",
	At: "domain/compute Transitions", Do: []Op{Element(3, "domain.EventEntryFailed", "E4")},
	Package: "domain/compute", Test: "TestEntryTable",
}, {
	Name: "a failed entry that is tried again, in the table", Why: "an operator cannot try a failed entry again",
	At: "domain/compute Transitions", Do: []Op{Element(1, "entry.Successful", "E7")},
	Package: "domain/compute", Test: "TestEntryWalks",
}, {
	Name: "the result that a dead worker has left", Why: "an entry whose file is PROCESSED fails",
	At: "domain/compute (Entry).EndWith", Do: []Op{DropCase("Output")},
	Package: "cmd/internal/compute", Test: "TestFilesTakenOver",
}, {
	Name: "what a command wrote last, in the reason of its failure", Why: "the queue does not say what was wrong with the work",
	At: "cmd/internal/compute (*Worker).do", Do: []Op{Arg("WithLastLines", 1, `""`)},
	Package: "cmd/internal/compute", Test: "TestWorkerEndsEntries",
}, {
	Name: "the limit of memory, in the reason of a failure", Why: "the queue does not say that a command had too little memory",
	At: "cmd/internal/compute (run).ended", Do: []Op{Never("memory")},
	Package: "cmd/internal/compute", Test: "TestMemoryOfCommands",
}, {
	Name: "the signal that has killed a command", Why: "a command that was killed seems to have ended with exit status -1",
	At: "cmd/internal/compute execute", Do: []Op{Never("Signaled")},
	Package: "cmd/internal/compute", Test: "TestWorkerEndsEntries",
}, {
	Name: "the bound of the last lines", Why: "a command fills the log with what it writes",
	At: "domain/compute WithLastLines", Do: []Op{Arg("ToValidUTF8", 0, "line")},
	Package: "domain/compute", Test: "TestLastLinesInMessages",
}, {
	Name: "what a worker has said of its progress", Why: "the next heartbeat takes away what the worker said last",
	At: "eventstore (*Handler).RenewLease", Do: []Op{Call("Or", "progress")},
	Package: "eventstore/memory", Test: "TestConformance/claims/entry,_leased_and_completed",
}, {
	Name: "the token of a lease", Why: "a worker ends the lease of another one",
	At: "eventstore (*Handler).Leased", Do: []Op{Never("SHA256", "sha256")},
	Package: "eventstore/memory", Test: "TestConformance/claims/entry,_leased_and_completed",
}, {
	Name: "the bound on passing, as the tree has it", Why: "an entry that another process has passed over is passed over again",
	At: "eventstore/zklive/internal/entries (*Entries).take", Do: []Op{Never("Passed", "limit")},
	Package: zklive, Test: "TestConformance/claims/plain/entry,_taken_by_the_rules",
}, {
	Name: "the look at the queue of a worker that waits", Why: "a worker waits although there is work, which it has not heard of",
	At: "eventstore/zklive/internal/entries (*Entries).follow", Do: []Op{First("if !x.listed.IsZero() {\nreturn nil\n}")},
	Package: e2e, Test: "TestWaitsForWork", Hangs: true,
}, {
	Name: "the signature of an input's address", Why: "who knows the id of an entry gets its input without a key",
	At: "cmd/internal/app/leases Signed", Do: []Op{Never("Equal")},
	Package: e2e, Test: "TestWorkersOverHTTP",
}, {
	Name: "the lease of an output that comes slowly", Why: "a worker that has lost its lease is told that its output is kept",
	At: "cmd/internal/app/leases Put", Do: []Op{Arg("Put", 3, "func() error { return nil }")},
	Package: e2e, Test: "TestOutputsOverHTTP",
}, {
	Name: "the outputs of a claim that is closed", Why: "a worker is told that an output is kept which is not part of the result",
	At: "cmd/internal/store (Outputs).put", Do: []Op{Never("over")},
	Package: "cmd/internal/store", Test: "TestOutputsOfAClaim",
}, {
	Name: "the outputs of entries that are to be restored", Why: "the outputs of a lost tree are removed before it is restored",
	At: "cmd/internal/compute (*Leader).Tidy", Do: []Op{Never("Retention")},
	Package: "cmd/internal/compute", Test: "TestOutputsThatNoEntryHas",
}, {
	Name: "the outputs of a result", Why: "the outputs of work that was done are removed as left over",
	At: "cmd/internal/compute wanted", Do: []Op{Never("Open")},
	Package: "cmd/internal/compute", Test: "TestOutputsThatNoEntryHas",
}, {
	Name: "the command of the end of a lease", Why: "a worker whose answer was lost is refused although its result counts",
	At: "cmd/internal/app/leases end", Do: []Op{Never("found")},
	Package: "cmd/accession/e2e", Test: "TestWorkersOverHTTP",
}, {
	Name: "the first result of a claim", Why: "the result of another end is kept than of the one that was accepted",
	At: "cmd/internal/record/internal/pgdb keepComputeResult", Do: []Op{Text("compute_result.claim < excluded.claim", "compute_result.claim <= excluded.claim")},
	Package: "cmd/internal/record", Test: "TestOneResultOfAClaim",
}, {
	Name: "the result that is not kept", Why: "an end is accepted whose result is not there",
	At: "cmd/internal/record (*Records).KeepComputeResult", Do: []Op{Never("kept", "0")},
	Package: "cmd/internal/record", Test: "TestOneResultOfAClaim",
}, {
	Name: "the digest of inputs of a worker in Go", Why: "a worker works on half a file",
	At: "eventstore/work (*checked).Read", Do: []Op{Never("EncodeToString")},
	Package: "eventstore/work", Test: "TestInputsAreChecked",
}, {
	Name: "the key of a worker in Go", Why: "other servers learn the key of an operator",
	At: "eventstore/work (Input).Open", Do: []Op{Arg("send", 1, "true")},
	Package: "eventstore/work", Test: "TestInputsAreChecked",
}, {
	Name: "the end of work whose lease has ended", Why: "a worker in Go works on at what is another's by now", Hangs: true,
	At: "eventstore/work (*lease).heartbeats", Do: []Op{Call("end", "_ = end")},
	Package: "cmd/accession/e2e", Test: "TestWorkersInGo/a_lease_that_ends",
}, {
	Name: "the end of commands with their worker", Why: "what a killed worker has started changes things beside the next worker", Hangs: true,
	At: "cmd/internal/compute execute", Do: []Op{Arg("CommandContext", 3, `strings.Replace($0, "kill -9 0", "true", 1)`)},
	Package: "cmd/accession/e2e", Test: "TestCommandsEndWithTheirWorker",
}, {
	Name: "the memory of a command", Why: "one command takes the memory of all",
	At: "cmd/internal/compute (command).limit", Do: []Op{Always("memory")},
	Package: "cmd/internal/compute", Test: "TestMemoryOfCommands",
}, {
	Name: "the groups in use of a cache", Why: "what a command reads is removed under it",
	At: "cmd/internal/compute (*Cache).trim", Do: []Op{Always("users")},
	Package: "cmd/internal/compute", Test: "TestCacheHasASize",
}}
