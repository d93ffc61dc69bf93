package main

// directories: what open directories list, and what becomes of their files.
var directories = []Mutant{{
	Name: "the claims that can be read, beside one that cannot", Why: "one damaged node keeps all work of lost workers where it is",
	At: "eventstore/zklive/internal/entries (*Entries).endOverdue", Do: []Op{Never("ErrBroken")},
	Package: "eventstore/zklive", Test: "TestUnreadableClaim",
}, {
	Name: "a refusal that was followed by a retry", Why: "a process that dies within a retry leaves the deposit refused, and a bulk action counts it as done", Was: true,
	At: "cmd/internal/drop (*Folder).read", Do: []Op{Compare("<", "Retried", "Version")},
	Package: "cmd/internal/drop", Test: "TestFolder",
}, {
	Name: "the space of files without a job, for jobs", Why: "jobs and files of open directories fill the disk together",
	At: "cmd/internal/daemon/space (*Account).countFiles", Do: []Op{Drop("files", "Bytes")},
	Package: "cmd/internal/daemon/space", Test: "TestSpaceOfFiles",
}, {
	Name: "the space of others, for files without a job", Why: "files of open directories take the space that is promised to jobs",
	At: "cmd/internal/daemon/space (*Files).Promise", Do: []Op{Never("Bytes")},
	Package: "cmd/internal/daemon/space", Test: "TestSpaceOfFiles",
}, {
	Name: "the promise of space before a download", Why: "downloads of open directories count with nothing, and fill the disk beside jobs",
	At: "cmd/internal/daemon/download (*attempt).make", Do: []Op{Call("Promise", "func() {}, error(nil)")},
	Package: "cmd/accession/e2e", Test: "TestSpaceOfADownload",
}, {
	Name: "the server of a job that has asked to be left alone", Why: "jobs ask a server on, which has asked to be left alone",
	At: "cmd/internal/daemon/limits (*permits).take", Do: []Op{Call("has", "false")},
	Package: "cmd/internal/daemon/limits", Test: "TestServerThatRests",
}, {
	Name: "the permit of a server that rests", Why: "jobs ask a server on, whose permit was used a moment ago",
	At: "cmd/internal/daemon/limits (*permits).take", Do: []Op{Always("alone", "lost")},
	Package: "cmd/internal/daemon/limits", Test: "TestServerThatRests",
}, {
	Name: "the look for another server in a link", Why: "a directory has files fetched from servers inside the network",
	At: "cmd/internal/discover/listing (*Listing).add", Do: []Op{Never("Scheme", "Host", "User")},
	Package: "cmd/internal/discover/listing", Test: "TestLinksThatAreLeftOut",
}, {
	Name: "the look for a way out of the directory in a link", Why: "a directory has files fetched that are not its own",
	At: "cmd/internal/discover/listing (*Listing).add", Do: []Op{Never("len", "above", "under", "1")},
	Package: "cmd/internal/discover/listing", Test: "TestLinksThatAreLeftOut",
}, {
	Name: "the look for names in another charset", Why: "a file becomes known under a name that its server does not have",
	At: "cmd/internal/discover/listing unusable", Do: []Op{Never(`"\ufffd"`)},
	Package: "cmd/internal/discover/listing", Test: "TestLinksThatAreLeftOut",
}, {
	Name: "the look for the end of a page", Why: "half a listing is taken for the whole, and files count as gone that are there",
	At: "cmd/internal/discover/listing (*page).end", Do: []Op{Never("ended")},
	Package: "cmd/internal/discover/listing", Test: "TestPagesThatAreNoListing",
}, {
	Name: "the refusal of one page of a listing", Why: "the files of the other pages count as gone",
	At: "cmd/internal/discover/listing (*Listing).add", Do: []Op{Never("anotherPage")},
	Package: "cmd/internal/discover/listing", Test: "TestPagesThatAreNoListing",
}, {
	Name: "the pause after a no of a predicate", Why: "a service is asked about every file that waits in every pass",
	At: "cmd/internal/ready (*pass).askAll", Do: []Op{Never("kept")},
	Package: "cmd/internal/ready", Test: "TestPredicate",
}, {
	Name: "the look at the metadata of a file", Why: "a file is processed whose metadata its dataset does not take",
	At: "domain/eligible excluded", Do: []Op{Never("said", "takes")},
	Package: "domain/eligible", Test: "TestDecide",
}, {
	Name: "the wait for metadata that are not said", Why: "a file is processed although nothing is known of its metadata",
	At: "domain/eligible waits", Do: []Op{Never("said", "Answer")},
	Package: "domain/eligible", Test: "TestDecide",
}, {
	Name: "the check of rules of metadata", Why: "a rule that bounds nothing is taken for one",
	At: "domain/setting (*Rules).Check", Do: []Op{Never("wrong")},
	Package: "domain/setting", Test: "TestMetadataRules",
}, {
	Name: "the look for files that no worker has", Why: "a file whose entry is lost is PROCESSING until its timeout, and verify says that all is well",
	At: "cmd/internal/consistency (*checker).attempts", Do: []Op{Never("FileProcessing")},
	Package: e2e, Test: "TestVerifyEndsAttemptsWithoutEntries",
}, {
	Name: "the worker that has the entry of a file", Why: "verify ends the attempt of a worker that is at it",
	At: "cmd/internal/consistency (*checker).withoutWorker", Do: []Op{Never("Owned")},
	Package: e2e, Test: "TestVerifyEndsAttemptsWithoutEntries",
}, {
	Name: "the index of the work that waits", Why: "each claim lists what waits: with 100,000 entries a worker takes ten in a second",
	At: "eventstore/zklive/internal/entries (*Entries).follow", Do: []Op{Never("every"), Never("explained")},
	Package: "eventstore/zklive", Test: "TestRequestsOfAClaimOfWork",
}, {
	Name: "the groups that a worker over HTTP has", Why: "a worker over HTTP fetches again what it has",
	At: "cmd/internal/app/leases Take", Do: []Op{Never("Dataset", "Group")},
	Package: e2e, Test: "TestWorkersOverHTTPGetWhatTheyHave",
}, {
	Name: "the pause of a predicate that does not answer", Why: "each file that waits holds up the pass for the timeout of its predicate",
	At: "cmd/internal/ready (*pass).ask", Do: []Op{Never("isSilent", "Err")},
	Package: "cmd/internal/ready", Test: "TestPredicate",
}, {
	Name: "the refusal of a listing that is elsewhere", Why: "files become known below a directory that does not have them",
	At: "cmd/internal/discover (*Found).page", Do: []Op{Never("FinalURL")},
	Package: "cmd/internal/discover", Test: "TestNothingIsFoundInPart",
}, {
	Name: "the window of a slot that is not over", Why: "files are skipped while their slot is open",
	At: "domain/slot (*decider).end", Do: []Op{Never("Before", "Closes")},
	Package: "domain/slot", Test: "TestSlotTable",
}, {
	Name: "the window of a slot that has not begun", Why: "files become ready before their time",
	At: "domain/slot (*decider).open", Do: []Op{Never("Before", "Opens")},
	Package: "domain/slot", Test: "TestSlotTable",
}, {
	Name: "the end of a slot with a file, in the table", Why: "a slot in which a file has arrived is missed",
	At: "domain/slot Transitions", Do: []Op{Element(3, "domain.EventSlotMissed", "S3")},
	Package: "domain/slot", Test: "TestSlotTable",
}, {
	Name: "a missed slot that is opened again, in the table", Why: "an operator cannot open a slot that was missed",
	At: "domain/slot Transitions", Do: []Op{Element(1, "domain.SlotPending", "S5", "SlotMissed")},
	Package: "domain/slot", Test: "TestSlotWalks",
}, {
	Name: "the wait for a slot that is made from a name", Why: "a file is processed without a window, although its dataset gives each group one",
	At: "domain/eligible waits", Do: []Op{Never("SlotNone", "Slots")},
	Package: "domain/eligible", Test: "TestDecide",
}, {
	Name: "the name of a group, written again", Why: "two groups have one window, and a name that says no time gives one",
	At: "domain/setting (*SlotRule).Window", Do: []Op{Never("Format")},
	Package: "domain/setting", Test: "TestWindows",
}, {
	Name: "the look for a layout that does not tell the time", Why: "every group of a dataset has the window of another day",
	At: "domain/setting checkLayout", Do: []Op{Never("ContainsFunc")},
	Package: "domain/setting", Test: "TestSlotRules",
}, {
	Name: "the look for a zone in the layout of a group", Why: "a window is hours off",
	At: "domain/setting checkLayout", Do: []Op{Never("local")},
	Package: "domain/setting", Test: "TestSlotRules",
}, {
	Name: "the slots that a poll makes from names", Why: "a group whose files do not arrive is never missed",
	At: "cmd/internal/poll (*Poller).some", Do: []Op{Call("slots", "error(nil)")},
	Package: e2e, Test: "TestSlotsFromNames",
}, {
	Name: "the permit of a poll", Why: "polls and downloads together ask a server for more at once than its permits allow",
	At: "cmd/internal/poll (*Poller).find", Do: []Op{Call("TakePermit", "&eventstore.Permit{}, error(nil)")},
	Package: e2e, Test: "TestPermitsOfPolls",
}, {
	Name: "the pause of a server in its other directories", Why: "a server that asks to be left alone is polled for another directory",
	At: "cmd/internal/poll (*Poller).find", Do: []Op{Never("left", "asked")},
	Package: e2e, Test: "TestPauseOfAServer",
}, {
	Name: "the pause of a server in downloads", Why: "a server that asks to be left alone is asked for files of its directories",
	At: "cmd/internal/daemon/download (*Downloader).resting", Do: []Op{Call("HostPauses", "map[string]time.Duration(nil), error(nil)")},
	Package: e2e, Test: "TestPauseOfAServer",
}, {
	Name: "the pause that a file asks for", Why: "a server that asks to be left alone is polled meanwhile",
	At: "cmd/internal/daemon/download (*Downloader).pause", Do: []Op{Call("PauseHost", "error(nil)")},
	Package: e2e, Test: "TestPauseThatAFileAsksFor", Hangs: true,
}, {
	Name: "the conditions of requests of directories below", Why: "every poll reads all listings of a tree",
	At: "cmd/internal/discover (*Found).page", Do: []Op{Never("there", "was")},
	Package: "cmd/internal/discover", Test: "TestPagesThatAreKnown",
}, {
	Name: "the files of listings that have not changed", Why: "the files of a directory that has not changed count as gone",
	At: "cmd/internal/poll (*Poller).unchanged", Do: []Op{Call("KeepUnchanged", "want, error(nil)")},
	Package: e2e, Test: "TestDirectoriesThatStay",
}, {
	Name: "the count of the files of listings that have not changed", Why: "files that are not kept as listed are never found again",
	At: "cmd/internal/poll (*Poller).unchanged", Do: []Op{Never("want", "n")},
	Package: e2e, Test: "TestDirectoriesThatStay",
}, {
	Name: "the first question to a predicate alone", Why: "a service that does not answer is asked about four files in each pass",
	At: "cmd/internal/ready (*pass).askAll", Do: []Op{Never("first", "heard")},
	Package: "cmd/internal/ready", Test: "TestPredicate",
}, {
	Name: "the bound of questions at once", Why: "a service is asked about all files at once",
	At: "cmd/internal/ready (*pass).askAll", Do: []Op{Arg("SetLimit", 0, "64")},
	Package: "cmd/internal/ready", Test: "TestPredicateIsAskedAtOnce",
}, {
	Name: "the slot that the role ready makes from a name", Why: "files that were known before the rule wait for ever",
	At: "cmd/internal/ready (*pass).slotOf", Do: []Op{Never("SlotNone", "rule")},
	Package: "cmd/internal/ready", Test: "TestSlotByName",
}, {
	Name: "the refusal of a slot whose group no file can have", Why: "an operator waits for a slot that never gets a file",
	At: "domain/slot (*decider).add", Do: []Op{Never("CheckGroup")},
	Package: "domain/slot", Test: "TestSlotRefusals",
}, {
	Name: "the wait for files of a group that are under way", Why: "a group is deposited without files that are being downloaded",
	At: "domain/group partOf", Do: []Op{Never("Moving")},
	Package: "domain/group", Test: "TestDecide",
}, {
	Name: "the wait for a file of a group that was given up", Why: "a group is deposited as complete that lacks a file",
	At: "domain/group Decide", Do: []Op{Skip("lacks")},
	Package: "domain/group", Test: "TestDecide",
}, {
	Name: "the key under which a group is deposited", Why: "a process that died after the batch was made makes another one of the same files",
	At: "cmd/internal/app/groups (*Depositor).deposit", Do: []Op{Call("Key", `""`)},
	Package: e2e, Test: "TestGroupIsDepositedOnce",
}, {
	Name: "the look whether the directories of a group were read as a whole", Why: "a group is deposited while a poll is halfway through its files",
	At: "cmd/internal/app/groups (*pass).page", Do: []Op{Never("whole")},
	Package: e2e, Test: "TestGroupIsDepositedOnce",
}, {
	Name: "a damaged copy that is put away", Why: "a damaged copy is taken again as a valid one",
	At: "cmd/internal/ready (*pass).damaged", Do: []Op{Call("Quarantine", `"", error(nil)`)},
	Package: "cmd/internal/ready", Test: "TestDamagedFile",
}, {
	Name: "the size that a directory lists now", Why: "a file that was changed at its source can never be fetched",
	At: "cmd/internal/daemon/download (*Downloader).attempt", Do: []Op{Skip("listed")},
	Package: e2e, Test: "TestFilesOfADirectoryAreFetchedAnew",
}, {
	Name: "the copy that is not taken again", Why: "a file that is to be fetched anew is not fetched",
	At: "cmd/internal/daemon/download (*attempt).putAway", Do: []Op{Always("CodeRedownload")},
	Package: e2e, Test: "TestFilesOfADirectoryAreFetchedAnew",
}, {
	Name: "the refusal of a job's file that is to be done again", Why: "an object is stored of which a file is fetched anew",
	At: "cmd/internal/app/again (*request).run", Do: []Op{Never("JobID")},
	Package: "cmd/internal/app/again", Test: "TestWhatIsNotDoneAgain",
}, {
	Name: "the refusal of a deposited file that is to be given up", Why: "a file is called abandoned that is in the deposit of its group",
	At: "cmd/internal/app/again Abandon", Do: []Op{Never("deposited")},
	Package: e2e, Test: "TestGroupIsDepositedOnce",
}, {
	Name: "the command that goes on where it was cut off", Why: "a file that is to be processed again stays abandoned, and the command is refused when it is given again",
	At: "cmd/internal/app/again (*request).run", Do: []Op{Value("begun", "false")},
	Package: "cmd/internal/app/again", Test: "TestCutOffCommandGoesOn",
}, {
	Name: "the buckets that a profile opens", Why: "a depositor reads what the key of the installation can",
	At: "cmd/internal/fetch (*Client).object", Do: []Op{Never("opensObject")},
	Package: "cmd/internal/fetch", Test: "TestObjectsOfBuckets",
}, {
	Name: "the name of the bucket in a list", Why: "the list of another bucket is that of the directory, and all its files count as gone",
	At: "cmd/internal/fetch objectsOf", Do: []Op{Never("Name")},
	Package: "cmd/internal/fetch", Test: "TestListsOfBrokenBuckets",
}, {
	Name: "the page on which a list goes on", Why: "a broken server is asked for ever, or half a list counts",
	At: "cmd/internal/fetch (*Client).List", Do: []Op{Never("NextContinuationToken")},
	Package: "cmd/internal/fetch", Test: "TestListsOfBrokenBuckets",
}}
