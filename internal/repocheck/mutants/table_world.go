package main

const (
	fetch     = "cmd/internal/fetch"
	record    = "cmd/internal/record"
	daemon    = "cmd/internal/daemon"
	originals = daemon + "/originals"
	transfer  = daemon + "/transfer"
)

// world: the steps of jobs, records, and what leaves the house.
var world = []Mutant{{
	Name: "fsync before a mail has its name", Why: "after a power cut an empty mail is sent",
	At: "cmd/internal/notify stage", Do: []Op{Arg("Around", 1, "func() error { return nil }", "Sync")},
	Package: "cmd/internal/notify", Test: "TestMailIsDurable",
}, {
	Name: "the collection of an identifier", Why: "a deposit writes a version of another collection's object",
	At: "cmd/internal/record (*Records).UseIdentifier", Do: []Op{Never("kept", "Collection")},
	Package: daemon, Test: "TestForeignIdentifiers",
}, {
	Name: "a report whose profile is away", Why: "its depositor is never told, and only who reads the log learns of it", Was: true,
	At: "cmd/internal/daemon (*steps).mailReport", Do: []Op{Call("Unsent", "(*domain.NoteDelivery)(nil), nil")},
	Package: daemon, Test: "TestReportWithoutItsProfile",
}, {
	Name: "containers of an update that name no object", Why: "each becomes a new object, and what was to be updated stays as it was", Was: true,
	At: "cmd/internal/daemon/naming (*Task).Identify", Do: []Op{Never("ModeUpdate")},
	Package: "cmd/internal/daemon/naming", Test: "TestUpdateNamesItsObject",
}, {
	Name: "the authority of a profile over new identifiers", Why: "a deposit makes an object under a name of another authority", Was: true,
	At: "cmd/internal/daemon/naming (*Task).given", Do: []Op{Call("Owns", "true")},
	Package: daemon, Test: "TestForeignIdentifiers",
}, {
	Name: "the names that jobs are given", Why: "a deposit takes the name of a later job's object",
	At: "cmd/internal/daemon/naming (*Task).given", Do: []Op{Call("Mintable", "false")},
	Package: daemon, Test: "TestForeignIdentifiers",
}, {
	Name: "the order of the jobs of an object", Why: "a later job's version comes before an earlier one's",
	At: "cmd/internal/daemon/order (*Jobs).Before", Do: []Op{Never("stands")},
	Package: daemon, Test: "TestWaitingJobLooksAgain",
}, {
	Name: "the full disk that jobs wait for", Why: "jobs fail while the object store is full",
	At: "cmd/internal/daemon (*steps).errorOutcome", Do: []Op{Never("StorageIll"), Always("OfTheObject")},
	Package: "cmd/accession/e2e", Test: "TestScenarioStoreFull",
}, {
	Name: "the wait after an error of unknown kind", Why: "a fault of our own that the program does not know fails a job after half a minute", Was: true,
	At: "cmd/internal/daemon (*steps).errorOutcome", Do: []Op{Always("OfTheObject")},
	Package: daemon, Test: "TestUnknownErrorUsesNothingUp",
}, {
	Name: "the statement that PostgreSQL refuses for what it lacks", Why: "jobs fail at once while a table or a right is missing", Was: true,
	At: "cmd/internal/record (*Error).Retry", Do: []Op{Never("CodeBroken")},
	Package: record, Test: "TestFault",
}, {
	Name: "the stop of a service that starts", Why: "a service that is stopped while it starts is said to have failed",
	At: "cmd/internal/run (*Service).Run", Do: []Op{Never("Err")},
	Package: "cmd/accession/e2e", Test: "TestStopWhileAServiceStarts",
}, {
	Name: "the older deposit that has not made its jobs", Why: "a deposit whose manifest is read first becomes an earlier version than the one before it",
	At: "cmd/internal/daemon/order (*Jobs).Before", Do: []Op{Call("making", `func() (domain.BatchID, error) { return "", nil }()`)},
	Package: "cmd/accession/e2e", Test: "TestVersionsFollowTheOrderOfDeposits",
}, {
	Name: "the order of the batches of jobs", Why: "a job whose manifest was read later waits for those that wait for it, or comes after them",
	At: "cmd/internal/daemon/order (*Jobs).earlier", Do: []Op{Call("Compare", "0", "BatchID")},
	Package: "cmd/internal/daemon/order", Test: "TestOrderOfDeposits",
}, {
	Name: "the bound of the wait for an older deposit", Why: "jobs wait for ever for a batch that waits for the room they take",
	At: "cmd/internal/daemon/order (*Jobs).making", Do: []Op{Always("Patience")},
	Package: "cmd/internal/daemon/order", Test: "TestOrderOfDeposits",
}, {
	Name: "the settled place of a job with a version", Why: "two jobs of an object wait for each other",
	At: "cmd/internal/daemon/order (*Jobs).unlessReserved", Do: []Op{Never("version")},
	Package: "cmd/internal/daemon/order", Test: "TestWaitsForNone",
}, {
	Name: "the look at the job of an object entry", Why: "an entry that an older program left keeps a job waiting for ever",
	At: "cmd/internal/daemon/order (*Jobs).stands", Do: []Op{Call("SameObject", `at.State.ID != ""`)},
	Package: "cmd/internal/daemon/order", Test: "TestWaitsForNone",
}, {
	Name: "the object entry of a requeued job", Why: "a later job overtakes it",
	At: "eventstore/zklive/internal/layout (Root).objectEntries", Do: []Op{Drop("Create")},
	Package: "eventstore/zklive/internal/layout", Test: "TestObjectEntriesOfEveryRow",
}, {
	Name: "the name that a service has already", Why: "a job whose request was answered with silence fails, or takes the name of another",
	At: "cmd/internal/mint/service (Service).Make", Do: []Op{Never("madeFor")},
	Package: "cmd/internal/mint/service", Test: "TestMadeOnce",
}, {
	Name: "the look at a service that refuses a name", Why: "a job whose name was made, and whose answer got lost, fails",
	At: "cmd/internal/mint/service (Service).Make", Do: []Op{Always("CodeRefused")},
	Package: "cmd/internal/mint/service", Test: "TestMadeOnce",
}, {
	Name: "a name that its service has made", Why: "the service is asked again for each step that starts over",
	At: "cmd/internal/daemon/naming (*Task).register", Do: []Op{Never("Done")},
	Package: "cmd/internal/daemon/naming", Test: "TestRegisteredOnce",
}, {
	Name: "the name that a service is asked for again", Why: "a service makes two identifiers for a job if its answer got lost",
	At: "cmd/internal/daemon/naming (*Task).register", Do: []Op{Field("Request", "Identifier", `map[bool]string{true: reserved.Name + ".2", false: reserved.Name}[t.Job.Reason != nil]`)},
	Package: e2e, Test: "TestMintersKilledAtEachStep/ezid_lost_before",
}, {
	Name: "the name of a job whose row has a bad file name", Why: "the mail and the tables name the same job differently",
	At: "cmd/internal/daemon/report JobName", Do: []Op{Never("RowFault")},
	Package: "cmd/internal/daemon/report", Test: "TestJobName",
}, {
	Name: "a name that its service refuses", Why: "the object is stored under a name that leads nowhere",
	At: "cmd/internal/daemon/naming (*Task).Identify", Do: []Op{Call("register", "error(nil)")},
	Package: "cmd/internal/daemon/naming", Test: "TestRegisteredOnce",
}, {
	Name: "the minted name that a dead worker wrote to the job", Why: "it is never known to exist, and verify finds it missing",
	At: "cmd/internal/daemon/naming (*Task).Identify", Do: []Op{Call("keepMinted", "nil")},
	Package: daemon, Test: "TestMintedNameIsConfirmed/ConfirmIdentifier",
}, {
	Name: "the reservation of a name that an older copy of the records lacks", Why: "the job fails, or its name passes for one of the depositor",
	At: "cmd/internal/daemon/naming (*Task).keepMinted", Do: []Op{Call("reserve", "func() (record.Identifier, error) { return record.Identifier{}, nil }()")},
	Package: daemon, Test: "TestMintedNameIsConfirmed/ConfirmIdentifier_of_an_older_copy",
}, {
	Name: "the minted name that a dead worker bound", Why: "the object passes for one that was there before, and its name is never known to exist",
	At: "cmd/internal/daemon/naming (*Task).Identify", Do: []Op{Always("own", "known")},
	Package: daemon, Test: "TestMintedNameIsConfirmed/BindLocalID",
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
	Name: "the batch that an idempotency key had first", Why: "two requests at the same moment make two batches",
	At: "cmd/internal/record (*Records).KeepCommand", Do: []Op{Before("row.BatchID, row.InputSha256 = string(c.Batch), c.InputSHA256", "wrap")},
	Package: record, Test: "TestKeepCommand",
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
	Package: daemon, Test: "TestTurnLeavesNothing",
}, {
	Name: "the note that a callback was delivered", Why: "a worker that takes over calls back again",
	At: "cmd/internal/daemon/delivery Make", Do: []Op{Never("DeliveryDelivered")},
	Package: daemon, Test: "TestCallbackIsNotRepeated",
}, {
	Name: "a mail that waits for the mail server", Why: "a mail that no server has taken counts as delivered",
	At: "cmd/internal/record/internal/pgdb endDelivery", Do: []Op{Text("when exists (select from kept) then delivery.state when", "when")},
	Package: "cmd/internal/daemon/outgoing", Test: "TestMailsWaitWhileTheServerIsDown",
}, {
	Name: "a mail that is kept already", Why: "a step that is repeated mails those again who have the mail",
	At: "cmd/internal/record/internal/pgdb keepMail", Do: []Op{Text("where outgoing_mail.settled_at is not null and outgoing_mail.taken = '{}'", "")},
	Package: "cmd/internal/daemon/outgoing", Test: "TestAMailIsKeptOnce",
}, {
	Name: "the lead of who sends mails", Why: "several processes send the same mail",
	At: "cmd/internal/record/internal/pgdb tryLead", Do: []Op{Text("pg_try_advisory_lock(hashtextextended($1::text, 3))", "$1::text is not null")},
	Package: "cmd/internal/daemon/outgoing", Test: "TestOneSender",
}, {
	Name: "one lead of a name in a process", Why: "a process sends the same mail twice at once",
	At: "cmd/internal/record (*leads).take", Do: []Op{Never("held")},
	Package: "cmd/internal/record", Test: "TestLeads",
}, {
	Name: "the final no of a mail server", Why: "a mail to an address that does not exist is sent for days, and its sender does not know",
	At: "cmd/internal/notify outcomeOf", Do: []Op{Never("refusesUs")},
	Package: "cmd/internal/notify", Test: "TestSMTPAnswers",
}, {
	Name: "a refused container", Why: "a requeue takes the bad copy again, and not what the depositor has corrected",
	At: "cmd/internal/daemon (*steps).unpack", Do: []Op{Never("bad")},
	Package: "cmd/accession/e2e", Test: "TestContainers", Hangs: true,
}, {
	Name: "the checked copy of metadata", Why: "what is stored is not what was checked",
	At: "cmd/internal/daemon (*steps).createJob", Do: []Op{Never("TypeMetadata")},
	Package: daemon, Test: "TestMetadataIsStoredAsChecked",
}, {
	Name: "the turns of submitters", Why: "all deposits of one submitter come before the first of the next",
	At: "domain/fair (*lap).served", Do: []Op{First("return")},
	Package: "domain/fair", Test: "TestTurns",
}, {
	Name: "the submitter of a batch that is half known", Why: "a batch comes before the older ones of its submitter", Was: true,
	At: "eventstore/zklive (*batchIndex).open", Do: []Op{Call("enter", "ix.add(fair.Item{ID: string($1)})")},
	Package: zklive, Test: "TestConformance/claims/plain/batch_half_known",
}, {
	Name: "the workers that are kept for others", Why: "the servers of one submitter hold all workers of a state",
	At: "domain/fair (Share).May", Do: []Op{Never("holds")},
	Package: "domain/fair", Test: "TestShare",
}, {
	Name: "four workers that are kept", Why: "three or four hanging servers of as many submitters hold every worker of a state", Was: true,
	At: "domain/fair (Share).Reserve", Do: []Op{Call("min", "2")},
	Package: daemon, Test: "TestHostileCrowd/GET_hangs,_4", Hangs: true,
}, {
	Name: "the gate in front of a daemon", Why: "the share of a submitter and of a server is counted, and keeps nothing waiting",
	At: "cmd/internal/daemon (*Runner).admission", Do: []Op{Always("Shared")},
	Package: daemon, Test: "TestHostileCrowd/GET_hangs,_1", Hangs: true,
}, {
	Name: "the deadline of a report", Why: "an object store that hangs holds the workers that make reports for ever",
	At: "cmd/internal/daemon (*steps).batchReporting", Do: []Op{Arg("InTime", 1, "1<<60")},
	Package: daemon, Test: "TestStoreOfReportsThatHangsIsLeft/keep", Hangs: true,
}, {
	Name: "the gate in front of recording", Why: "an object store that tires holds all workers of recording",
	At: "cmd/internal/daemon (*Runner).admission", Do: []Op{First("if d.Job == domain.JobRecording {\n\treturn nil\n}")},
	Package: daemon, Test: "TestHostileCrowd/record_hangs,_1", Hangs: true,
}, {
	Name: "the deadline of recording", Why: "an object store that tires holds a worker for ever",
	At: "cmd/internal/daemon (*steps).jobRecording", Do: []Op{Arg("InTime", 1, "1<<60")},
	Package: daemon, Test: "TestStoreThatHangsIsLeft/tires", Hangs: true,
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
	At: "eventstore/zklive (*claims).Release", Do: []Op{Never("unknown")},
	Package: zklive, Test: "TestDoubtfulCommitLeavesTheLockOfAnother",
}, {
	Name: "a process that leads a shard twice", Why: "two relays of one process publish the same", Was: true,
	At: "eventstore/zklive (*leaders).mutex", Do: []Op{Arg("make", 1, "2")},
	Package: zklive, Test: "TestConformance/outbox/plain/lead",
}, {
	Name: "what an operator alone may end", Why: "a daemon fails a job that waits for its turn",
	At: "domain DecideJob", Do: []Op{Never("RowCancel")},
	Package: "domain", Test: "TestJobPairs",
}, {
	Name: "the end of what has ended", Why: "a completed job fails, and its object counts as lost",
	At: "domain fromManyStates", Do: []Op{Always("SubProcessing")},
	Package: "domain", Test: "TestJobPairs",
}, {
	Name: "the version that an update starts from", Why: "an update drops the files that it does not name",
	At: "cmd/internal/daemon (*steps).writeVersion", Do: []Op{Never("ModeUpdate")},
	Package: daemon, Test: "TestAddAndUpdate",
}, {
	Name: "the version that an interrupted update started from", Why: "a step that starts over stores other files than its first try",
	At: "cmd/internal/daemon (*steps).writeVersion", Do: []Op{Drop("had", "Base")},
	Package: daemon, Test: "TestAddAndUpdate",
}, {
	Name: "the place of work that was released", Why: "work that fails again and again is tried before the work of others each time",
	At: "eventstore/zklive (*index).restore", Do: []Op{Drop("Behind")},
	Package: zklive, Test: "TestReleasedWorkComesBehind",
}, {
	Name: "an attempt that is given back", Why: "a stop of the service uses the attempts at files up",
	At: "domain (*fileDecider).fail", Do: []Op{Drop("giveBack")},
	Package: "domain", Test: "TestUncounted",
}, {
	Name: "a sleeper that ends its successor's attempts", Why: "a worker that wakes up takes the attempts that it sees for those of a dead one", Was: true,
	At: "cmd/internal/daemon (*fileStates).endLost", Do: []Op{Call("Confirm", "error(nil)")},
	Package: daemon, Test: "TestSleeperLeavesTheSuccessorsAttemptsAlone",
}, {
	Name: "files as they are remembered", Why: "a step is given up because of files that another process has long downloaded", Was: true,
	At: "cmd/internal/daemon (*steps).readStates", Do: []Op{Call("FromLog", "$recv.Files($1, $2)")},
	Package: daemon, Test: "TestStepsOfAJobInSeveralProcesses",
}, {
	Name: "the pauses that grow", Why: "an outage of seconds at the other side ends a job until a person comes", Was: true,
	At: "cmd/internal/daemon/limits (Pauses).Least", Do: []Op{Call("max", "p.First", "First")},
	Package: "cmd/internal/daemon/limits", Test: "TestPauses",
}, {
	Name: "a download that a stop cuts off", Why: "each restart of the service uses up an attempt at what it was fetching", Was: true,
	At: "cmd/internal/daemon (*download).giveBack", Do: []Op{Field("FailDownload", "Uncounted", "false")},
	Package: daemon, Test: "TestStop",
}, {
	Name: "the job of a file that is requeued", Why: "the file waits, its job stays failed, and no worker takes it", Was: true,
	At: "cmd/internal/app (*App).RequeueFile", Do: []Op{Value("failed", "false")},
	Package: "cmd/internal/app", Test: "TestRequeuedFileTakesItsJobWithIt",
}, {
	Name: "a killed PostgreSQL that is started too early", Why: "it finds the memory of the one before in use, and ends", Was: true,
	At: "cmd/internal/stack (*member).run", Do: []Op{Call("busy", "($0 && false)")},
	Package: "cmd/internal/stack", Test: "TestKilledPostgresIsWaitedFor",
}, {
	Name: "a mail's key that changes with what is noted of its batch", Why: "a report that is made again is mailed again", Was: true,
	At: "cmd/internal/daemon/delivery messageOf", Do: []Op{Value("key", `fmt.Sprintf("%s/%d", r.Batch, b.Version)`, "string")},
	Package: daemon, Test: "TestOneMailAReport",
}, {
	Name: "the key of a report that is sent again and whose end is unknown", Why: "an operator who asks once more after a crash sends a second mail",
	At: "cmd/internal/daemon/delivery (Resender).Prepare", Do: []Op{Always("DeliveryDelivered")},
	Package: daemon, Test: "TestReportAgain",
}, {
	Name: "a claim that is released and counts as a worker that died", Why: "a job that often waits is stopped", Was: true,
	At: "eventstore/zklive/internal/layout (Root).Release", Do: []Op{Drop("Set", "ClaimCount")},
	Package: zklive, Test: "TestConformance/claims/plain/attempts",
}, {
	Name: "a command's id that is sanitised in its event alone", Why: "the command, sent again, is not known", Was: true,
	At: "eventstore (*Handler).ensureCommandID", Do: []Op{Drop("SanitiseText")},
	Package: store, Test: "TestHandlerSanitisesText",
}, {
	Name: "an epoch whose answer was lost", Why: "a restore ends in the middle", Was: true,
	At: "eventstore/zklive/internal/session (*Conn).Add", Do: []Op{Always("ErrBadVersion")},
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "a worker whose registration's answer was lost", Why: "a process waits for ever for its own worker", Was: true,
	At: "eventstore/zklive/internal/session (*Session).registerWorker", Do: []Op{Always("ErrNodeExists")},
	Package: zklive, Test: "TestLostKinds/first_try", Hangs: true,
}, {
	Name: "a sync that was refused because of its path", Why: "what was written is not seen by who looks for it", Was: true,
	At: "eventstore/zklive/internal/session (*Conn).Sync", Do: []Op{Arg("Or", 0, `$0+"/"`)},
	Package: zklive, Test: "TestLostKinds", Hangs: true,
}, {
	Name: "work that was lost with a session and not offered again", Why: "a process that is alone leaves it until it is restarted", Was: true,
	At: "eventstore/zklive/internal/session (*Session).registerWorker", Do: []Op{Drop("OnBegin")},
	Package: zklive, Test: "TestConformance/claims/plain/expired_alone", Hangs: true,
}, {
	Name: "a promise that ends while free space is looked for", Why: "space that a job is about to fill is promised to another",
	At: "cmd/internal/daemon/space (*Account).offer", Do: []Op{Arg("max", 0, "0*$0")},
	Package: "cmd/internal/daemon/space", Test: "TestSpaceIsLookedForBesideOthers",
}, {
	Name: "forgetting the jobs of a cleaned batch", Why: "a process keeps something of each job there ever was", Was: true,
	At: "eventstore/zklive (*remover).removeJob", Do: []Op{Drop("jobs", "forget")},
	Package: "eventstore/zklive", Test: "TestCleanedJobsAreForgotten",
}, {
	Name: "the end of the working files of failed jobs", Why: "they fill the disk", Was: true,
	At: "cmd/internal/daemon (*Runner).failedLongAgo", Do: []Op{Never("Sub")},
	Package: daemon, Test: "TestFilesOfFailedJobsGo",
}, {
	Name: "the time for which the working files of failed jobs stay", Why: "a job that is requeued finds none",
	At: "cmd/internal/daemon (*Runner).failedLongAgo", Do: []Op{Always("Sub")},
	Package: daemon, Test: "TestFilesOfFailedJobsGo",
}, {
	Name: "the working files of jobs that have not failed", Why: "they go while the job waits for its worker",
	At: "cmd/internal/daemon (*Runner).failedLongAgo", Do: []Op{Always("JobFailed")},
	Package: daemon, Test: "TestFilesOfFailedJobsGo",
}, {
	Name: "a directory of others, refused", Why: "who can write a stack's directory chooses what is started and removed", Was: true,
	At: "cmd/internal/stack trusted", Do: []Op{Never("Perm")},
	Package: "cmd/internal/stack", Test: "TestNothingOfOthersIsTrusted",
}, {
	Name: "a place that a state file names, refused", Why: "a state file lets any directory be removed", Was: true,
	At: "cmd/internal/stack (state).checkPostgres", Do: []Op{Never("apartPrefix", "Geteuid")},
	Package: "cmd/internal/stack", Test: "TestNothingOfOthersIsTrusted",
}, {
	Name: "a setting that is no URL, hidden", Why: "every command shows the password of a setting in another form", Was: true,
	At: "cmd/internal/config redactURL", Do: []Op{Never("ContainsAny", "Host")},
	Package: "cmd/internal/config", Test: "TestNoFaultShowsASecret",
}, {
	Name: "the installation's timeouts", Why: "a sweep from cron in another environment ends attempts that the service lets run", Was: true,
	At: "cmd/internal/wire (*Installation).fileLimits", Do: []Op{Value("mayDownload", "in.cfg.DownloadTimeout")},
	Package: "cmd/internal/wire", Test: "TestTimeoutsOfTheInstallation",
}, {
	Name: "what serves tells its timeouts", Why: "where no timeout is set a sweep from cron ends attempts by a configuration that may be of another environment", Was: true,
	At: "cmd/internal/wire (*Installation).timeouts", Do: []Op{Never("Timeouts")},
	Package: "cmd/internal/wire", Test: "TestTimeoutsOfTheInstallation",
}, {
	Name: "the longest of the timeouts that serve", Why: "one process ends attempts that another lets run",
	At: "domain/setting ChooseTimeout", Do: []Op{Element(0, "served[0]", "SourceService")},
	Package: "domain/setting", Test: "TestChooseTimeout",
}, {
	Name: "damaged timeouts are an error", Why: "a sweep falls back to its own configuration, and ends attempts that others let run",
	At: "eventstore/zklive/internal/layout (Root).ValueOf", Do: []Op{Never("Or")},
	Package: "cmd/internal/wire", Test: "TestTimeoutsOfTheInstallation",
}, {
	Name: "timeouts stop nothing", Why: "each change of a timeout refuses the claims under way",
	At: "eventstore/zklive/internal/layout (Root).touch", Do: []Op{Always("Stops")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOtherOperations",
}, {
	Name: "why a file was given up, before it is called sound", Why: "a file that was given up for another reason is called processed",
	At: "domain (*fileDecider).restoreOutput", Do: []Op{Never("CodeObjectCorrupt")},
	Package: "domain", Test: "TestRestoreOutput",
}, {
	Name: "reading back what was stored", Why: "an object whose bytes changed while it was stored is recorded as stored",
	At: "cmd/internal/daemon (*steps).storeObject", Do: []Op{Never("VerifyVersion")},
	Package: daemon, Test: "TestReadBackDiffers",
}}
