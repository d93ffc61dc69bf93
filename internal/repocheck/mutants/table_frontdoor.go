package main

// frontDoor: who may do what, and what is asked for, at each door alike.
var frontDoor = []Mutant{{
	Name: "the right to the addresses of a profile", Why: "a reader of a batch is told to whom its reports are mailed",
	At: "cmd/internal/operation (*ReportShow).mail", Do: []Op{Never("Administer")},
	Package: "cmd/accession/e2e", Test: "TestRightsOverHTTP",
}, {
	Name: "the digest of an exported file", Why: "a damaged file is exported as good",
	At: "cmd/internal/store (*Export).write", Do: []Op{Call("is", "error(nil)")},
	Package: "cmd/internal/store", Test: "TestExport",
}, {
	Name: "the limit of a stream of events to what its caller may see", Why: "a user follows what happens in other collections",
	At: "cmd/internal/operation/internal/following (*Follower).Holds", Do: []Op{Never("Selects")},
	Package: "cmd/internal/operation/internal/following", Test: "TestStreamWithinRights",
}, {
	Name: "the key of an upload that is begun", Why: "a client that gets no answer begins another upload, and the first one takes its place for a day",
	At: "cmd/internal/app/drops (*Receiver).Begin", Do: []Op{Skip("begun")},
	Package: e2e, Test: "TestResumableBegunOnce",
}, {
	Name: "the id of a deposit that is begun under a key", Why: "a client that asks again after its upload is forgotten deposits its file twice",
	At: "cmd/internal/drop (*Folder).named", Do: []Op{Value("ID", `""`, "Becomes")},
	Package: e2e, Test: "TestResumableBegunOnce",
}, {
	Name: "the audit of leases without their tokens", Why: "who reads the audit can end the work of others",
	At: "cmd/internal/app/leases (*Token).Subject", Do: []Op{Return(`$0 + t.Token`, "Aggregate")},
	Package: e2e, Test: "TestTokensOfWorkersAreSeenNowhere",
}, {
	Name: "a fault of accounts without their line", Why: "the password of an account stands in the log and on the terminal of who has mistyped its line",
	At: "cmd/internal/config parseAccounts", Do: []Op{Call("Errorf", `fmt.Errorf("line %d: %s", n, line)`, "colon")},
	Package: e2e, Test: "TestSecretSettingsAreSeenNowhere",
}, {
	Name: "the version of a query that may be changed", Why: "a query that another operator has changed meanwhile is changed as if it had not been",
	At: "eventstore (*Handler).query", Do: []Op{Call("Outdated", "error(nil)")},
	Package: e2e, Test: "TestVersionsThatMayBeChanged",
}, {
	Name: "the next try after a conflict in a bulk action", Why: "a thing that another process changed at the same moment counts as refused, and is not changed",
	At: "cmd/internal/app/bulk (*running).one", Do: []Op{Never("conflicts")},
	Package: "cmd/internal/app/bulk", Test: "TestConflictsAreTriedAgain",
}, {
	Name: "the end of a wait for a password to be hashed", Why: "of a crowd that tries passwords the requests that were given up keep their places",
	At: "cmd/internal/app/people (*People).hash", Do: []Op{DropCase("Done")},
	Package: "cmd/internal/app/people", Test: "TestPasswordsHashedAtOnce", Hangs: true,
}, {
	Name: "the version of a user that may be changed", Why: "an administrator undoes unseen what another one has changed meanwhile of a user",
	At: "cmd/internal/app/people lock", Do: []Op{Call("outdated", "error(nil)")},
	Package: e2e, Test: "TestVersionsThatMayBeChanged",
}, {
	Name: "the version of a key that may be revoked", Why: "a key is revoked for a caller who has read it before another one did so",
	At: "cmd/internal/app/people (*People).RevokeKey", Do: []Op{Call("outdated", "error(nil)")},
	Package: e2e, Test: "TestVersionsThatMayBeChanged",
}, {
	Name: "the version of a user that rises with its rights", Why: "a right is withdrawn for a caller who has not seen that another one was given",
	At: "cmd/internal/record (*PeopleTx).each", Do: []Op{Call("RaiseUser", "error(nil)")},
	Package: e2e, Test: "TestVersionsThatMayBeChanged",
}, {
	Name: "the version of a file in the drop folder that may be changed", Why: "a deposit that was refused again meanwhile is removed by an operator who has not seen why",
	At: "cmd/internal/app/drops change", Do: []Op{Call("Outdated", "error(nil)")},
	Package: e2e, Test: "TestVersionsThatMayBeChanged",
}, {
	Name: "the version of an entry that may be changed", Why: "work that another operator has changed meanwhile is changed as if it had not been",
	At: "eventstore (*Handler).Entry", Do: []Op{Call("Outdated", "error(nil)")},
	Package: e2e, Test: "TestVersionsThatMayBeChanged",
}, {
	Name: "the version of all profiles in the write of one", Why: "two profiles that are set at once come to be, and both have one collection",
	At: "eventstore/zklive/internal/layout (Root).touch", Do: []Op{Never("ProfilesVersion")},
	Package: zklive, Test: "TestConformance/live/plain/profiles",
}, {
	Name: "the profiles that a change was compared with", Why: "two profiles of one collection are set at once",
	At: "eventstore (*Handler).Profile", Do: []Op{Never("among")},
	Package: e2e, Test: "TestProfilesSetAtOnce",
}, {
	Name: "the profiles as they are now", Why: "a profile is compared with those of a second ago, and has the collection of another one",
	At: "cmd/internal/wire (*setProfiles).fresh", Do: []Op{Never("open")},
	Package: e2e, Test: "TestProfilesSetAtOnce",
}, {
	Name: "the file that counts again when a profile is removed", Why: "a profile goes back to a file with another collection, and what was deposited is in none",
	At: "cmd/internal/app/profiles Rm", Do: []Op{Call("Fits", "error(nil)")},
	Package: e2e, Test: "TestProfilesAreSet",
}, {
	Name: "the reason of a profile that is set", Why: "a profile is changed and its history does not say why",
	At: "cmd/internal/app/profiles reasoned", Do: []Op{Never("TrimSpace")},
	Package: e2e, Test: "TestProfilesAreSet",
}, {
	Name: "the check of a right that is used", Why: "an admin of one collection, which cannot be given, may change users and rights",
	At: "domain/access (Right).allows", Do: []Op{Always("Check")},
	Package: "domain/access", Test: "TestMay",
}, {
	Name: "the right of a caller to change a thing", Why: "a depositor changes what others deposited in the collection",
	At: "cmd/internal/operation (*Call).allowThing", Do: []Op{Never("May")},
	Package: e2e, Test: "TestRightsOverHTTP",
}, {
	Name: "what a caller may see", Why: "a user reads what is of other collections",
	At: "cmd/internal/operation/internal/sight (Of).Sees", Do: []Op{Never("Selects")},
	Package: e2e, Test: "TestRightsOverHTTP",
}, {
	Name: "the check of texts in requests", Why: "what is no text reaches PostgreSQL, and is kept for ever in reasons", Was: true,
	At: "cmd/internal/operation (*Operation).prepare", Do: []Op{Call("checkTexts", "error(nil)")},
	Package: "cmd/internal/httpapi", Test: "TestTextOverHTTP",
}, {
	Name: "the submitter that a depositor asks for, which is another one", Why: "a depositor who lists what another one has deposited sees it",
	At: "projections/query (Filter).narrowed", Do: []Op{Always("f", "s", "Submitter")},
	Package: "projections", Test: "TestFilters",
}, {
	Name: "the limit of a list to what its caller may see", Why: "a list has the batches, jobs and files of other collections",
	At: "domain/access (*Filter).Limits", Do: []Op{Always("All")},
	Package: "projections", Test: "TestFilters",
}, {
	Name: "the closed intake, over HTTP", Why: "files are taken while administrators let none in",
	At: "cmd/internal/app/drops (*Receiver).room", Do: []Op{Call("Admit", "error(nil)")},
	Package: "cmd/internal/app/drops", Test: "TestClosedRoom",
}, {
	Name: "the key of a deposit before its room", Why: "a deposit that was accepted is refused when it is requested again while the intake is closed",
	At: "cmd/internal/app/drops (*Receiver).Room", Do: []Op{Never("key", `""`)},
	Package: e2e, Test: "TestIntakeClosed",
}, {
	Name: "the key of a query before its room", Why: "a query that was accepted is refused when it is requested again while the intake is closed",
	At: "cmd/internal/app/drops (*Receiver).RoomForQuery", Do: []Op{Never("key", `""`)},
	Package: e2e, Test: "TestIntakeClosed",
}, {
	Name: "the key of an upload before its room", Why: "an upload that was accepted is refused when it is sent again while the intake is closed",
	At: "cmd/internal/app/drops (*Receiver).Accepted", Do: []Op{Always("Key")},
	Package: e2e, Test: "TestIntakeClosed",
}, {
	Name: "the fields of a newer program in a setting", Why: "a program that runs beside a newer one suspends a deposit queue, because its setting has more fields",
	At: "eventstore/zklive/internal/layout (Root).ValueOf", Do: []Op{Always("normal", "v", "newer")},
	Package: "eventstore/zklive/internal/layout", Test: "TestValuesOfNewerPrograms",
}, {
	Name: "the fields of a newer program when a setting is changed", Why: "a change by an older program takes away what a newer one has set, such as a closed intake",
	At: "eventstore (*Handler).changeSetting", Do: []Op{Never("Newer")},
	Package: e2e, Test: "TestIntakeClosed",
}, {
	Name: "the fields of a newer program when a setting is repaired", Why: "a repair by an older program takes away what a newer one has set, such as a closed intake",
	At: "eventstore/zklive/recovery (*Inspector).ExpectedSetting", Do: []Op{Never("DeepEqual")},
	Package: e2e, Test: "TestIntakeClosed",
}, {
	Name: "the closed intake, where a batch is made", Why: "the command line deposits while administrators let nothing in",
	At: "cmd/internal/app (*App).Submit", Do: []Op{Call("Admit", "error(nil)")},
	Package: e2e, Test: "TestIntakeClosed",
}, {
	Name: "the closed intake, of the drop folder", Why: "what was accepted before the intake was closed is refused",
	At: "cmd/internal/app/intake Admit", Do: []Op{Never("accepted")},
	Package: "cmd/internal/app/intake", Test: "TestAdmit",
}, {
	Name: "the secrets of URLs inside a job", Why: "an operator reads the tokens of a depositor's URLs",
	At: "cmd/internal/app/look text", Do: []Op{Call("Redact", "u")},
	Package: "cmd/internal/app/look", Test: "TestHidden",
}, {
	Name: "the place of the working directory", Why: "the API tells where files are on a machine of the service",
	At: "cmd/internal/app/look hidden", Do: []Op{Return("s", "ReplaceAll")},
	Package: "cmd/internal/app/look", Test: "TestHidden",
}, {
	Name: "the place of a job's working directory", Why: "the API tells where files are on a machine of the service",
	At: "cmd/internal/operation unplaced", Do: []Op{Call("WorkingDir", "j.WorkingDir")},
	Package: e2e, Test: "TestLookIntoAJob",
}, {
	Name: "what a caller learns from a filter", Why: "a user finds out which collections of others there are",
	At: "cmd/internal/operation/internal/sight (Of).In", Do: []Op{Return("true")},
	Package: e2e, Test: "TestUnknownInAFilter",
}, {
	Name: "an unknown name in a filter", Why: "a name that is misspelt looks as if there were nothing of it",
	At: "cmd/internal/operation orUnknown", Do: []Op{Never("Items")},
	Package: e2e, Test: "TestUnknownInAFilter",
}, {
	Name: "the key of a query", Why: "a query whose answer was lost is made twice",
	At: "cmd/internal/app/queries (*once).made", Do: []Op{Always("requested")},
	Package: e2e, Test: "TestQueryUnderAKey",
}, {
	Name: "the hash for a name that is not known", Why: "how long a refusal takes tells a stranger which names there are",
	At: "cmd/internal/app/people (*People).matches", Do: []Op{Before("if !found {\nreturn false, nil\n}", "got", "hash")},
	Package: "cmd/internal/app/people", Test: "TestOneHashForEveryName",
}, {
	Name: "the password", Why: "any password signs in",
	At: "cmd/internal/app/people (*People).matches", Do: []Op{Never("ConstantTimeCompare")},
	Package: "cmd/internal/app/people", Test: "TestPasswords",
}, {
	Name: "expiry and revocation of a key", Why: "a key is taken for ever",
	At: "cmd/internal/app/people (*People).byKey", Do: []Op{Never("RevokedAt")},
	Package: "cmd/internal/app/people", Test: "TestKeys",
}, {
	Name: "the scope of a key", Why: "a key has all rights of its user",
	At: "cmd/internal/app/people limited", Do: []Op{Never("Collections")},
	Package: "cmd/internal/app/people", Test: "TestKeys",
}, {
	Name: "the limit of attempts to sign in", Why: "passwords are tried as fast as the machine can",
	At: "cmd/internal/app/people next", Do: []Op{Never("over", "0")},
	Package: "cmd/internal/app/people", Test: "TestAttemptsAreLimited",
}, {
	Name: "a disabled user", Why: "one who has left goes on",
	At: "cmd/internal/app/people (*People).Caller", Do: []Op{Never("DisabledAt")},
	Package: "cmd/internal/app/people", Test: "TestPasswords",
}, {
	Name: "the key of an upload", Why: "a file that is sent again is deposited twice",
	At: "cmd/internal/app/drops (*Receiver).Accept", Do: []Op{Never("Key")},
	Package: e2e, Test: "TestUploadsAtOnce",
}, {
	Name: "the digest of an upload", Why: "a file that arrived damaged is accepted",
	At: "cmd/internal/app/drops (*checked).compare", Do: []Op{Never("got", "want")},
	Package: e2e, Test: "TestFrontDoor",
}, {
	Name: "the uploads in pieces among those that wait", Why: "one user begins any number of uploads",
	At: "cmd/internal/app/drops came", Do: []Op{Before("coming = 0", "n", "coming")},
	Package: e2e, Test: "TestResumableRefused",
}, {
	Name: "the digest of a file in pieces", Why: "a file that arrived damaged is accepted",
	At: "cmd/internal/app/drops Finish", Do: []Op{Never("sum", "SHA256")},
	Package: e2e, Test: "TestResumableRefused",
}, {
	Name: "the lock of an upload", Why: "an upload is removed while it is written to",
	At: "cmd/internal/drop (*Folder).LockResumable", Do: []Op{Arg("lock", 1, "strings.TrimSuffix($0, lockIn)+uploadIn")},
	Package: "cmd/internal/drop", Test: "TestExpired",
}, {
	Name: "the limit of waiting deposits", Why: "one user fills the queue over HTTP",
	At: "cmd/internal/app/drops (*Receiver).room", Do: []Op{Call("len", "len(waiting)*0")},
	Package: e2e, Test: "TestFrontDoor",
}, {
	Name: "the reconnection after a refused password", Why: "a service whose password NATS has refused twice stays without the log until it is restarted", Was: true,
	At: "cmd/internal/wire (*Installation).openLog", Do: []Op{DropArg("Connect", 5)},
	Package: e2e, Test: "TestLogAfterARefusedPassword",
}, {
	Name: "the check of a right in lists", Why: "a right of no known role shows every collection in lists",
	At: "domain/access (Caller).Filter", Do: []Op{DropCase("Check")},
	Package: "domain/access", Test: "TestNothingIsGrantedByDefault",
}, {
	Name: "the look for the batch of an idempotency key", Why: "a deposit whose answer was lost is refused when it is repeated",
	At: "cmd/internal/app (*once).accepted", Do: []Op{Always("requested")},
	Package: e2e, Test: "TestDepositUnderAKeyKilledAtEachStep",
}, {
	Name: "the look for the batch of an idempotency key in the log", Why: "a deposit is made again when its batch was cleaned up",
	At: "cmd/internal/app (*once).fromHistory", Do: []Op{Always("ok")},
	Package: e2e, Test: "TestDepositUnderAKey",
}, {
	Name: "what was deposited under an idempotency key", Why: "another deposit under the key is swallowed",
	At: "cmd/internal/app (*once).reserve", Do: []Op{Skip("KeyReused")},
	Package: e2e, Test: "TestDepositUnderAKey",
}, {
	Name: "the digest of the list of records", Why: "a list that was altered is reported as that of the batch",
	At: "cmd/internal/app/report eachKept", Do: []Op{Never("want")},
	Package: e2e, Test: "TestMetadataDeposit",
}, {
	Name: "the hint on a batch that stays failed", Why: "all jobs of a failed batch have completed, and nothing says that it needs a second report", Was: true,
	At: "cmd/internal/app/hint Batch", Do: []Op{Never("completed")},
	Package: "cmd/internal/app/hint", Test: "TestBatch",
}, {
	Name: "the last part of an answer with a file", Why: "a client takes a damaged file, or a range of one, as good",
	At: "cmd/internal/operation/internal/sending sendChecked", Do: []Op{Never("Discard")},
	Package: e2e, Test: "TestContentOfObjects",
}, {
	Name: "whose versions a depositor sees", Why: "a depositor gets the files of others",
	At: "cmd/internal/app/objects (Of).of", Do: []Op{Always("Selects")},
	Package: e2e, Test: "TestContentOfObjects",
}, {
	Name: "whose key is given as a password", Why: "a key signs in another user by a form",
	At: "cmd/internal/app/people (*People).Authenticate", Do: []Op{Never("caller", "Name", "c")},
	Package: e2e, Test: "TestFormsThatAreRefused",
}, {
	Name: "the right to deposit by a form", Why: "every user deposits in every collection by a form",
	At: "cmd/internal/operation (*About).Allowed", Do: []Op{Never("May")},
	Package: e2e, Test: "TestFormsThatAreRefused",
}, {
	Name: "the right to send a piece of an upload", Why: "a user who has lost the right to deposit goes on with a file that comes in pieces",
	At: "cmd/internal/operation MayResume", Do: []Op{Call("Allowed", "a, error(nil)")},
	Package: e2e, Test: "TestRightsOfFormsAndPieces",
}, {
	Name: "the crowd of passwords that are checked at once", Why: "wrong passwords from many addresses keep everyone's sign-in waiting, and hold connections to the database",
	At: "cmd/internal/app/people (*People).attempt", Do: []Op{Never("crowd")},
	Package: e2e, Test: "TestCrowdOfPasswords",
}, {
	Name: "the version that a bulk action may change", Why: "a job that failed again is requeued twice, because the process that requeued it died",
	At: "cmd/internal/app/bulk (*running).command", Do: []Op{Never("KindFile")},
	Package: e2e, Test: "TestJobsThatFailAgainUnderABulkAction",
}, {
	Name: "the look for what an earlier try has changed", Why: "a bulk action says of what it has changed that it was refused",
	At: "cmd/internal/app/bulk (*running).given", Do: []Op{Always("len")},
	Package: e2e, Test: "TestJobsThatFailAgainUnderABulkAction",
}, {
	Name: "where a user may act when its bulk action is carried out", Why: "a user acts whose right was withdrawn",
	At: "cmd/internal/app/bulk (*running).next", Do: []Op{Never("closed")},
	Package: e2e, Test: "TestBulkActionsOverHTTP",
}, {
	Name: "the right to begin a bulk action about entries and queries", Why: "an operator of one collection ends the queries of all users",
	At: "cmd/internal/app/bulk (Request).Permit", Do: []Op{Never("closed")},
	Package: e2e, Test: "TestBulkActionsInAllCollections",
}, {
	Name: "the right in all collections of a bulk action about entries and queries", Why: "a user who has lost it acts on the queries of all users",
	At: "cmd/internal/app/bulk (selection).closed", Do: []Op{Never("everywhere")},
	Package: e2e, Test: "TestBulkActionsInAllCollections",
}, {
	Name: "the datasets of the collection that a bulk action selects", Why: "the work of all collections is retried in place of that of one",
	At: "cmd/internal/app/bulk (*selection).resolve", Do: []Op{Always("ofDatasets")},
	Package: e2e, Test: "TestBulkActionsInAllCollections",
}, {
	Name: "the collections whose slots and directories a bulk action selects", Why: "an operator of one collection ends the slots of all, and pauses their directories",
	At: "cmd/internal/app/bulk (*selection).resolve", Do: []Op{Never("Selects")},
	Package: e2e, Test: "TestBulkActionsInCollections",
}, {
	Name: "the directories that were added after a bulk action was requested", Why: "a directory is paused or removed that was not there when its operator looked",
	At: "cmd/internal/app/bulk (selection).directories", Do: []Op{Never("IsZero")},
	Package: e2e, Test: "TestBulkActionsOfSlots",
}, {
	Name: "the refusal of conditions that a kind does not have", Why: "a bulk action about the queries of a collection ends those of all",
	At: "cmd/internal/app/bulk (Filter).check", Do: []Op{Never("value")},
	Package: "cmd/internal/app/bulk", Test: "TestConditionsOfKinds",
}, {
	Name: "the look for a deposit that an earlier try has let in", Why: "a bulk action says of what it has let in again, or removed, that it was refused",
	At: "cmd/internal/app/bulk (*running).givenTo", Do: []Op{Call("Given", "false, false, error(nil)")},
	Package: e2e, Test: "TestBulkActionsOfDrops",
}, {
	Name: "the profiles of the collection whose deposits a bulk action selects", Why: "the deposits of all collections are removed in place of those of one",
	At: "cmd/internal/app/bulk (selection).has", Do: []Op{Never("profiles", "Contains")},
	Package: e2e, Test: "TestBulkActionsOfDrops",
}, {
	Name: "the tables that a bulk action waits for", Why: "while the tables are behind, a bulk action says of what it has changed that it was refused",
	At: "cmd/internal/app/bulk (*running).given", Do: []Op{Never("maxTries")},
	Package: "cmd/internal/app/bulk", Test: "TestTablesThatAreBehind",
}, {
	Name: "the requeue of a file that was cut off", Why: "a job stays failed when the command that requeued its file was killed, and is refused when it is given again",
	At: "cmd/internal/app (*App).RequeueFile", Do: []Op{Never("FileDiscovered")},
	Package: "cmd/internal/app", Test: "TestRequeuedFileTakesItsJobWithIt",
}, {
	Name: "the id of a part of a command", Why: "a job that was failed to be deleted stays failed when the command is requested again",
	At: "cmd/internal/app (*App).after", Do: []Op{Always("last")},
	Package: "cmd/internal/app", Test: "TestDeletionRequestedAgain",
}, {
	Name: "the audit of a command of the machine", Why: "the audit does not say what operators did at the machine",
	At: "cmd/internal/operation (*Operation).Noted", Do: []Op{Never("DryRun", "Audits")},
	Package: "cmd/internal/operation", Test: "TestWhatIsAudited",
}, {
	Name: "the audit of what workers take and end over HTTP", Why: "the audit does not say who has changed the compute queue",
	At: "cmd/internal/operation leased", Do: []Op{First("op.Audits = true")},
	Package: "cmd/accession/e2e", Test: "TestLeasesAreAudited",
}, {
	Name: "the heartbeats that are not audited", Why: "each worker fills the audit with a row every few seconds",
	At: "cmd/internal/operation (*Operation).Noted", Do: []Op{First("op = &Operation{Write: op.Write, Audits: op.Audits}")},
	Package: "cmd/internal/operation", Test: "TestWhatIsAudited",
}, {
	Name: "the claims that have found no work", Why: "each idle worker fills the audit with claims of nothing",
	At: "cmd/internal/operation (*Ending).choose", Do: []Op{Value("None", "false")},
	Package: "cmd/internal/operation", Test: "TestWhatWasChosenIsAudited",
}, {
	Name: "the bound of what is sorted", Why: "each page of a list of a million in the order of their titles sorts them all",
	At: "cmd/internal/app (sortable).page", Do: []Op{Never("Total")},
	Package: "cmd/accession/e2e", Test: "TestSortedListsOfTheService",
}, {
	Name: "texts in the cursor of a sorted list", Why: "a cursor that is forged makes the database fail",
	At: "cmd/internal/app (sortable).after", Do: []Op{Always("Valid")},
	Package: "cmd/accession/e2e", Test: "TestSortedListsOfTheService",
}, {
	Name: "what others deposited in the counts of a moment", Why: "the overview of a moment counts for a depositor what others have deposited",
	At: "projections/query (*Past).counts", Do: []Op{Always("Selects")},
	Package: "cmd/internal/app", Test: "TestReportsOfThePastCountWhatIsSeen",
}, {
	Name: "reports over all collections for who sees some", Why: "a report as of a moment counts for an operator of one collection what lies in the others",
	At: "cmd/internal/app (ReportOptions).limited", Do: []Op{Always("SeenThen")},
	Package: "cmd/internal/app", Test: "TestReportsOfThePastCountWhatIsSeen",
}, {
	Name: "what is only tried of users and keys", Why: "the preview of a command disables the user",
	At: "cmd/internal/app/people (*People).changeNow", Do: []Op{Never("DryRun")},
	Package: "cmd/internal/app/people", Test: "TestTriedChanges",
}, {
	Name: "the secret of a key that is only tried", Why: "a preview shows a key that is none",
	At: "cmd/internal/app/people (*People).AddKey", Do: []Op{Never("Secret", "DryRun")},
	Package: "cmd/internal/app/people", Test: "TestTriedChanges",
}, {
	Name: "dry runs of requests about users and keys", Why: "a request that asks what would change changes it",
	At: "cmd/internal/operation once", Do: []Op{Drop("DryRun", "App")},
	Package: "cmd/accession/e2e", Test: "TestConsoleAdministersPeople",
}, {
	Name: "what is only tried of requests of work", Why: "the preview of a request makes it",
	At: "eventstore (*Handler).RequestEntry", Do: []Op{Never("DryRun")},
	Package: "eventstore/memory", Test: "TestConformance/claims/entry,_request_only_tried",
}, {
	Name: "what is only tried of held events", Why: "the preview of a retry applies what is held",
	At: "projections retryPoison", Do: []Op{Never("keep")},
	Package: "projections", Test: "TestPoison",
}, {
	Name: "the content that another one of a profile replaces", Why: "a new profile of a name that there is overwrites the profile",
	At: "cmd/internal/app/profiles Set", Do: []Op{Never("from", "From")},
	Package: "cmd/accession/e2e", Test: "TestConsoleChangesProfiles",
}, {
	Name: "dry runs of the end of a bulk action", Why: "who asks what would be ended ends it",
	At: "cmd/internal/app/bulk Cancel", Do: []Op{Never("DryRun")},
	Package: "cmd/accession/e2e", Test: "TestBulkActionsOverHTTP",
}}
