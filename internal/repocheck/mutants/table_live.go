package main

const (
	zklive = "eventstore/zklive"
	store  = "eventstore"
	jslog  = "eventstore/jslog"
	codec  = "eventstore/codec"
	relay  = "eventstore/relay"
	e2e    = "cmd/accession/e2e"
)

// claims: who may work on what.
var claims = []Mutant{{
	Name: "the worker's fence in a write", Why: "a write that outlived its session lands behind a newer claim",
	At: "eventstore/zklive/internal/layout (Root).Changes", Do: []Op{Drop("Check", "Worker")},
	Package: zklive, Test: "TestLateWriteOfALostSession",
}, {
	Name: "the version that a command is for", Why: "a caller who looked at an older version changes the present one",
	At: "eventstore (Meta).Outdated", Do: []Op{Never("IfVersion", "version")},
	Package: "eventstore/memory", Test: "TestConformance/handler/one_version",
}, {
	Name: "the turn of a user whose grab has a lost answer", Why: "a user is passed over for ten seconds because a grab of theirs was cut off",
	At: "eventstore/zklive (*committer).Commit", Do: []Op{Field("Error", "Err", "eventstore.ErrLocked", "ErrConflict")},
	Package: "eventstore/zklive", Test: "TestGrabAfterALostAnswer",
}, {
	Name: "the turn of a user whom slow processes would grab from", Why: "a user is passed over for ten seconds because others were faster ten times",
	At: "eventstore/zklive/internal/rings (*queue).write", Do: []Op{Value("now", "refusal{deposit: l.Decision.Deposit.ID}")},
	Package: "eventstore/zklive", Test: "TestGrabOfASlowProcess",
}, {
	Name: "the settings of a grab that was refused", Why: "a user is passed over for ten seconds because this process has not heard of new settings",
	At: "eventstore/zklive/internal/rings (*Rings).grab", Do: []Op{Never("times")},
	Package: "eventstore/zklive", Test: "TestGrabWithOutdatedSettings",
}, {
	Name: "the end of a write whose caller has gone", Why: "a batch whose claim was given up is locked until the process ends", Was: true,
	At: "eventstore/zklive (*claims).abandon", Do: []Op{Call("Flush", "error(nil)")},
	Package: zklive, Test: "TestLostCallerOfALateWrite",
}, {
	Name: "the end of a request whose caller has gone", Why: "a permit, a lead or a promise that was given up stays taken until the process ends", Was: true,
	At: "eventstore/zklive/internal/session (*Conn).HeldBy", Do: []Op{Call("Flush", "error(nil)")},
	Package: zklive, Test: "TestLostCallersOfLateTakes",
}, {
	Name: "the registry of claims, in a write", Why: "of two goroutines of one session the first writes under the claim of the second",
	At: "eventstore/zklive (*committer).Commit", Do: []Op{Never("valid")},
	Package: zklive, Test: "TestConformance/claims/plain/released_by_the_first",
}, {
	Name: "the registry of claims, in a release", Why: "a claim that has ended frees the lock of the next one",
	At: "eventstore/zklive (*claims).Release", Do: []Op{Never("valid")},
	Package: zklive, Test: "TestConformance/claims/plain/released_by_the_first",
}, {
	Name: "the look at the lock before a release is tried again", Why: "the lock of a worker that took the job meanwhile is deleted",
	At: "eventstore/zklive (*claims).unlock", Do: []Op{Never("again")},
	Package: zklive, Test: "TestLostReleaseLeavesTheLockOfAnother",
}, {
	Name: "the release of a job that was cleaned up under the claim", Why: "it stays locked as long as the process lives, and its batch cannot go", Was: true,
	At: "eventstore/zklive (*claims).unlock", Do: []Op{Element(1, "x.reader.root.Release(c)", "Unlock")},
	Package: zklive, Test: "TestConformance/claims/plain/keep_of_a_cleaned_job",
}, {
	Name: "the registry of claims, in a claim", Why: "two goroutines send a claim, and the one that is refused releases the lock of the other",
	At: "eventstore/zklive (*registry).add", Do: []Op{Never("claimed")},
	Package: zklive, Test: "TestConformance/claims/plain/given",
}, {
	Name: "the version of /locks in a claim", Why: "work begins in a queue that was paused before",
	At: "eventstore/zklive/internal/layout (Root).Claim", Do: []Op{Drop("Check", "Locks")},
	Package: zklive, Test: "TestConformance/claims/plain/pause_unheard_of",
}, {
	Name: "the version of /locks in a hand-over", Why: "a worker goes on in a queue that was paused before",
	At: "eventstore/zklive/internal/layout (Root).handOver", Do: []Op{Drop("Check", "Locks")},
	Package: zklive, Test: "TestConformance/claims/plain/hand-over_pause_unheard_of",
}, {
	Name: "the version of a batch's status in a claim", Why: "a job of a deleted batch is worked on",
	At: "eventstore/zklive/internal/layout (Root).ClaimJob", Do: []Op{Drop("Check", "BatchStatus")},
	Package: zklive, Test: "TestConformance/handler/plain/no_claim_after_deletion",
}, {
	Name: "the status in a claim", Why: "what is claimed is not what was read",
	At: "eventstore/zklive/internal/layout (Root).Claim", Do: []Op{Drop("Check", "status")},
	Package: zklive, Test: "TestConformance/claims/plain/as_it_is_now",
}, {
	Name: "the lock in a confirmation", Why: "a worker whose claim is over believes that it still has it",
	At: "eventstore/zklive/internal/layout (Root).Confirm", Do: []Op{Drop("Check", "Lock")},
	Package: zklive, Test: "TestConformance/claims/plain/confirmed",
}, {
	Name: "the worker's fence in a confirmation", Why: "another's claim confirms the one that was lost",
	At: "eventstore/zklive/internal/layout (Root).Confirm", Do: []Op{Drop("Check", "Worker", "Any")},
	Package: zklive, Test: "TestConformance/claims/plain/confirmed",
}, {
	Name: "the node of a permit", Why: "all processes together use one server as often as they like",
	At: "eventstore/zklive/internal/layout (Root).TakePermit", Do: []Op{Drop("CreateEphemeral")},
	Package: zklive, Test: "TestConformance/claims/plain/permits_in_a_crowd",
}, {
	Name: "the end of steps under a session that may have ended", Was: true, Why: "a process that is cut off uses a server on while others have its permits",
	At: "cmd/internal/daemon (*turn).run", Do: []Op{DropCase("Claim", "Silent")},
	Package: e2e, Test: "TestPermitsOfAProcessThatIsCutOff",
}, {
	Name: "the order of a session's pings", Why: "a late answer to an old ping makes a session seem younger than it is",
	At: "eventstore/zklive/internal/session (*watchedConn).sends", Do: []Op{Value("alone", "true", "pings")},
	Package: "eventstore/zklive/internal/session", Test: "TestWatchedConn",
}, {
	Name: "the wait for watches that are set again", Why: "after a reconnection a watch never fires, because its change is taken for seen",
	At: "eventstore/zklive/internal/session (*watchedConn).settle", Do: []Op{Always("old")},
	Package: "eventstore/zklive/internal/session", Test: "TestWatchesBeforeAnswers",
}, {
	Name: "the forgetting of batches that have gone", Was: true, Why: "a process keeps something of every batch that there ever was",
	At: "eventstore/zklive (*batchIndex).scan", Do: []Op{Drop("forget")},
	Package: zklive, Test: "TestGoneBatchesAreForgotten",
}, {
	Name: "the watch that still waits", Was: true, Why: "a process keeps a goroutine and a watch of each time that its holds were outdated",
	At: "eventstore/zklive/internal/session (*Watched).Get", Do: []Op{Never("watch")},
	Package: zklive, Test: "TestHoldsHaveOneWatch",
}, {
	Name: "the permit at a gate", Why: "a step uses a server beside as many as may use it",
	At: "cmd/internal/daemon/limits (*Admission).Take", Do: []Op{Call("permitAll", `""`)},
	Package: "cmd/internal/daemon/limits", Test: "TestPermits",
}, {
	Name: "the permit for a submitter at a gate", Why: "all processes together work for one submitter without a bound",
	At: "cmd/internal/daemon/limits (*Admission).Take", Do: []Op{Call("permit", `""`)},
	Package: "cmd/internal/daemon/limits", Test: "TestPermitsOfSubmitters",
}, {
	Name: "the permits of a later group of servers", Why: "the files of a server are got beside as many steps as may use it",
	At: "cmd/internal/daemon (*download).inGroups", Do: []Op{Never("alsoAt")},
	Package: "cmd/internal/daemon", Test: "TestServerOfASecondGroupIsBusy",
}, {
	Name: "the server of its manifest that a job waits for", Why: "a job meets a busy server again and again, and others take its turn",
	At: "cmd/internal/daemon (jobGate).Enter", Do: []Op{Never("awaited")},
	Package: "cmd/internal/daemon", Test: "TestTurnsAtAServerOfManifests",
}, {
	Name: "the count of claims", Why: "a job whose workers keep dying is tried for ever",
	At: "eventstore/zklive/internal/layout (Root).ClaimJob", Do: []Op{Field("ClaimCount", "Claims", "($0) - 1")},
	Package: zklive, Test: "TestConformance/claims/plain/attempts",
}, {
	Name: "the time for which an unreadable job is set aside", Why: "one bad job at the head blocks its queue",
	At: "eventstore/zklive (*claimer).next", Do: []Op{Call("setAside", "$recv.add($1)", "brokenDelay")},
	Package: zklive, Test: "TestUnreadableAtTheHead", Hangs: true,
}, {
	Name: "the longer times for which locked work is set aside", Why: "where others hold many jobs and the server is slow, only theirs are tried",
	At: "eventstore/zklive (*index).setLocked", Do: []Op{Arg("setAside", 1, "lockedDelay + time.Duration(n*0)")},
	Package: zklive, Test: "TestLockedWorkIsTriedSeldom",
}, {
	Name: "the check of what is left of a job that lacks a node", Why: "a damaged job counts as one that is gone, without an error",
	At: "eventstore/zklive (*reader).incomplete", Do: []Op{Skip("ErrBroken")},
	Package: zklive, Test: "TestUnreadableAtTheHead",
}}

// commits: what a write proves.
var commits = []Mutant{{
	Name: "compare-and-set of a job's status", Why: "a decision on what a job was overwrites what it has become",
	At: "eventstore/zklive/internal/layout (Root).transition", Do: []Op{Arg("change", 3, "-1", "jobNodes")},
	Package: zklive, Test: "TestConformance/live/plain/stale_token",
}, {
	Name: "compare-and-set of a batch's status", Why: "a decision on what a batch was overwrites what it has become",
	At: "eventstore/zklive/internal/layout (Root).transition", Do: []Op{Arg("change", 3, "-1", "BatchNodes")},
	Package: zklive, Test: "TestConformance/live/plain/stale_token",
}, {
	Name: "the version of /locks in a write", Why: "a job is accepted into a collection that was held before",
	At: "eventstore/zklive/internal/layout (Root).require", Do: []Op{Drop("Check", "Locks")},
	Package: zklive, Test: "TestConformance/live/plain/require_holds",
}, {
	Name: "the term of a lead in a promise", Why: "working space is promised that the next leader has not counted",
	At: "eventstore/zklive/internal/layout (Root).require", Do: []Op{Drop("Check", "Space")},
	Package: zklive, Test: "TestConformance/claims/plain/promised_by_a_loser",
}, {
	Name: "the version of the batch in a write", Why: "a job is sent back to work while its batch is reported",
	At: "eventstore/zklive/internal/layout (Root).require", Do: []Op{Drop("Check", "BatchStatus")},
	Package: zklive, Test: "TestConformance/live/plain/require_batch",
}, {
	Name: "the proof that the lock is free", Why: "an operator deletes what a worker works on",
	At: "eventstore/zklive/internal/layout (Root).require", Do: []Op{Never("Unlocked")},
	Package: zklive, Test: "TestConformance/live/plain/require_unlocked",
}, {
	Name: "the proof that no job of a batch is worked on", Why: "a batch is deleted under its workers",
	At: "eventstore/zklive/internal/layout (Root).requireIdle", Do: []Op{Drop("requireUnlocked")},
	Package: zklive, Test: "TestConformance/handler/plain/deletion_while_locked",
}, {
	Name: "the rule that a batch is not deleted under its workers", Why: "the deletion is decided, and refused without a word of why",
	At: "domain (batchDecider).delete", Do: []Op{Never("Locked")},
	Package: "domain", Test: "TestBatchGuards/delete_while_one_is_worked_on",
}, {
	Name: "the rule that a job is requeued only under a batch that works or has failed", Why: "a job goes back to work behind its batch's report",
	At: "domain (jobDecider).requeue", Do: []Op{Never("BatchProcessing", "BatchFailed")},
	Package: "domain", Test: "TestJobGuards/requeue_in_batch_reporting",
}, {
	Name: "the bad manifest that is found after a requeue", Why: "a job whose payload cannot succeed is requeued for ever",
	At: "domain (Job).faultyPayload", Do: []Op{Never("JobEstimating")},
	Package: "domain", Test: "TestJobGuards/requeue_a_bad_manifest,_found_after_a_requeue",
}, {
	Name: "the proof of emptiness", Why: "a batch is reported while a job of it is under way",
	At: "eventstore/zklive/internal/layout (Root).require", Do: []Op{Drop("requireEmpty")},
	Package: zklive, Test: "TestConformance/live/plain/require_empty",
}, {
	Name: "the next row, compared", Why: "rows of a manifest are left out",
	At: "eventstore/zklive (*commitCall).nextRows", Do: []Op{Never("NextRow", "first", "Count")},
	Package: zklive, Test: "TestConformance/live/plain/progress",
}, {
	Name: "compare-and-set of reserved ids", Why: "two jobs have the same id",
	At: "eventstore/zklive/internal/session (*Conn).Add", Do: []Op{Arg("Set", 4, "0*$0-1")},
	Package: zklive, Test: "TestConformance/live/plain/ids",
}, {
	Name: "the command's id in the status", Why: "a write that was applied, and its answer lost, is taken for another's",
	At: "eventstore/zklive (*commitCall).settle", Do: []Op{Never("CommandID", "Version")},
	Package: zklive, Test: "TestLostAnswerLongAgo",
}, {
	Name: "the command's id in the outbox", Why: "a deletion that was applied, and its answer lost, is taken for another's",
	At: "eventstore/zklive (*commitCall).settle", Do: []Op{Call("find", `"", error(nil)`)},
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "finding out a lost answer", Why: "a write that was applied is sent again and refused as another command's",
	At: "eventstore/zklive (*commitCall).settle", Do: []Op{First("return nil, nil")},
	Package: zklive, Test: "TestLostKinds/first_try",
}, {
	Name: "a command that was done before", Why: "the same command, sent again, moves a job twice",
	At: "eventstore (*Handler).Job", Do: []Op{Never("CommandID")},
	Package: "eventstore/memory", Test: "TestConformance/handler/same_command",
}, {
	Name: "the log's answer about an empty tree", Why: "a tree that was lost is replaced in silence, and deposits get ids that were used", Was: true,
	At: "cmd/internal/wire (*Installation).checkNewTree", Do: []Op{Always("last")},
	Package: e2e, Test: "TestLostTreeIsNotReplaced",
}, {
	Name: "the question before a tree is made", Why: "a tree is made without permission",
	At: "eventstore/zklive (*Store).compose", Do: []Op{Never("fresh")},
	Package: zklive, Test: "TestFreshTreeIsAskedFor",
}, {
	Name: "the second read of an empty tree", Why: "a process that starts during the first deposit believes the tree lost",
	At: "eventstore/zklive (*Store).fresh", Do: []Op{Never("Untouched")},
	Package: zklive, Test: "TestFreshTreeIsAskedFor",
}, {
	Name: "the older copy that is not asked for", Why: "a deposit gets the id of another, and is swallowed", Was: true,
	At: "cmd/internal/wire (*Installation).Handler", Do: []Op{Never("checkCopies")},
	Package: e2e, Test: "TestOlderCopiesAreRefused",
}, {
	Name: "the id in use that is given again", Why: "a batch stays pending for ever, or a deposit is swallowed", Was: true,
	At: "cmd/internal/wire (*LiveState).ReserveBatchID", Do: []Op{Call("checkUnused", "error(nil)")},
	Package: e2e, Test: "TestLoweredIDs",
}, {
	Name: "the hold that cannot be read and stops every claim", Why: "another program's node stops the installation", Was: true,
	At: "eventstore/zklive (*reader).value", Do: []Op{Before(`if kind.Stops() && layout.HoldOf(n.Data, time.Time{}).By == domain.ByUnknown { return v, false, errors.New("the hold cannot be read") }`, "ValueOf")},
	Package: zklive, Test: "TestUnreadableHold",
}, {
	Name: "the ring that says who was faster", Why: "who loses a race for a grab reads all that waits of the user again", Was: true,
	At: "eventstore/zklive/internal/rings (*queue).write", Do: []Op{Never("deposit")},
	Package: zklive, Test: "TestForestalledGrabReadsNoList",
}, {
	Name: "the version of a deposit queue's settings", Why: "a grab goes by settings that were changed since",
	At: "eventstore/zklive/internal/layout (Root).touchQueue", Do: []Op{Drop("Set")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOtherOperations",
}, {
	Name: "processors among the settings of a deposit queue", Why: "a grab goes by criteria that were changed since",
	At: "domain (SettingKind).OfQueue", Do: []Op{Never("SettingProcessor")},
	Package: "eventstore/zklive/internal/layout", Test: "TestOtherOperations",
}, {
	Name: "a setting of a deposit queue that cannot be read", Why: "deposits are grabbed by half a configuration",
	At: "eventstore NewQueueSettings", Do: []Op{Never("unreadable")},
	Package: zklive, Test: "TestUnreadableQueueSetting",
}, {
	Name: "the alarm of a setting that cannot be read", Why: "a read of the holds ends it, and no operator sees it",
	At: "eventstore/zklive (*holds).alarm", Do: []Op{Always("Stops")},
	Package: zklive, Test: "TestUnreadableQueueSetting",
}, {
	Name: "the restore of the log that leaves a lost tree empty", Why: "the tree's own restore refuses it, and its ids begin anew",
	At: "cmd/internal/app (*App).RestoreLog", Do: []Op{Never("Last")},
	Package: e2e, Test: "TestRestoreOfTreeAndLog",
}, {
	Name: "the guard of an interrupted restore of the tree", Why: "a restore of the log lets processes use half a tree", Was: true,
	At: "eventstore/zklive/recovery (*Restorer).Exclude", Do: []Op{Never("restoring")},
	Package: zklive, Test: "TestRestoreEndsNoOther",
}, {
	Name: "the guard of a restore that runs", Why: "a second one that is refused removes its guard", Was: true,
	At: "eventstore/zklive/recovery (*Restorer).Exclude", Do: []Op{Always("made")},
	Package: zklive, Test: "TestRestoreEndsNoOther",
}, {
	Name: "the guard of an interrupted restore of the log", Why: "a tree is made from half a log",
	At: "eventstore/zklive/recovery (*Restorer).clear", Do: []Op{Never("restoringLog")},
	Package: zklive, Test: "TestRestoreEndsNoOther",
}, {
	Name: "the ids of files, in a restore", Why: "a deposit gets the id of a job whose own events were lost, and its files", Was: true,
	At: "cmd/internal/consistency FoldAll", Do: []Op{Arg("max", 1, "0*($0)", "NextJob", "m")},
	Package: e2e, Test: "TestRestoreAboveEveryID",
}, {
	Name: "the ids of the record, in a restore", Why: "a deposit gets the identifier of a job whose events were lost", Was: true,
	At: "cmd/internal/app (*App).raiseNextIDs", Do: []Op{Arg("max", 1, "0*($0)", "NextJob")},
	Package: e2e, Test: "TestRestoreAboveEveryID",
}, {
	Name: "the limit of ZooKeeper's heap for deposits", Why: "ZooKeeper's heap fills with finished jobs until it does nothing but collect garbage", Was: true,
	At: "eventstore (*Pressure).room", Do: []Op{Never("load", "Heap", "most")},
	Package: store, Test: "TestHeapHasALimit",
}, {
	Name: "the limit of ZooKeeper's heap for jobs", Why: "accepted manifests make more jobs than ZooKeeper's heap can hold",
	At: "eventstore/zklive (*committer).roomForRows", Do: []Op{Always("need", "most")},
	Package: zklive, Test: "TestJobsWaitForHeap",
}, {
	Name: "the format of a tree that older programs made", Why: "older programs beside this one take finished jobs for damaged ones",
	At: "eventstore/zklive (*Store).makeFormat", Do: []Op{Never("made")},
	Package: zklive, Test: "TestFinishedJobsAreSmall",
}, {
	Name: "the number of children, instead of their names", Why: "each step of a batch gets the names of all finished jobs",
	At:      "eventstore/zklive/internal/session (*Conn).Count",
	Do:      []Op{First("if all, err := c.Children(ctx, path); err == nil { return len(all.Names), nil }")},
	Package: zklive, Test: "TestFinishedJobsCostNothing",
}, {
	Name: "how a finished job is stored, in its deletion", Why: "a failed batch with a completed job is never removed",
	At: "eventstore/zklive (*commitCall).compactJobs", Do: []Op{Never("compact")},
	Package: zklive, Test: "TestFinishedJobsAreSmall",
}, {
	Name: "the second look at a job that lacks nodes", Why: "a job that leaves its queue while it is read counts as damaged",
	At: "eventstore/zklive (*reader).job", Do: []Op{Always("errChanged")},
	Package: zklive, Test: "TestReadWhileAJobLeavesItsQueue",
}, {
	Name: "the submitter of files that come before their job", Why: "a depositor's list lacks files of its own",
	At: "projections/internal/fold (*Fold).nameSubmitter", Do: []Op{First("return")},
	Package: "projections", Test: "TestAddsUpAlways",
}, {
	Name: "the end of states in memory", Why: "a projector keeps every job that it ever saw, up to a bound of many megabytes", Was: true,
	At: "projections/internal/fold (*states).written", Do: []Op{Never("ended")},
	Package: "projections/internal/fold", Test: "TestEndedStatesAreDropped",
}, {
	Name: "the bound of states in memory", Why: "a projector keeps every job that has not ended",
	At: "projections/internal/fold (*states).written", Do: []Op{Drop("dropOld")},
	Package: "projections/internal/fold", Test: "TestTooManyStatesAreDropped",
}}
