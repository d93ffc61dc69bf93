package main

// seen: what was mended because users, attackers or broken servers had shown it, beside
// the rows of the other tables.
var seen = []Mutant{{
	Name: "the schema of the views, which may have been dropped", Why: "no rebuild makes the reports again", Was: true,
	At: "projections/rebuild (*rebuild).trySwap", Do: []Op{Text("create schema if not exists report", "select 1")},
	Package: e2e, Test: "TestDroppedReports",
}, {
	Name: "views that verify misses", Why: "it finds no difference while every report fails", Was: true,
	At: "cmd/internal/consistency (*checker).projected", Do: []Op{Call("MissingDefinitions", "func() ([]query.Missing, error) { return nil, nil }()")},
	Package: e2e, Test: "TestDroppedReports",
}, {
	Name: "the end of what can never fit", Why: "a job waits in provisioning for ever", Was: true,
	At: "cmd/internal/daemon (*turn).fail", Do: []Op{DropCase("CodeSpaceNever")},
	Package: daemon, Test: "TestWhatNeverFits",
}, {
	Name: "the end of a job that is worked on, before its deletion", Why: "an operator cannot be rid of a job that is neither held nor failed", Was: true,
	At: "cmd/internal/app (*App).DeleteJob", Do: []Op{Never("from", "JobHeld")},
	Package: "cmd/internal/app", Test: "TestOperatorsEndJobs",
}, {
	Name: "the end of a step whose job was failed", Why: "a worker goes on with a job that an operator has ended",
	At: "cmd/internal/daemon/limits (*Running).Notice", Do: []Op{Always("EventJobFailed")},
	Package: daemon, Test: "TestFailedJobStopsItsStep", Hangs: true,
}, {
	Name: "a deadline for each part of an object's files", Why: "an object of 100,000 files is never discovered", Was: true,
	At: "cmd/internal/daemon (*steps).discover", Do: []Op{Arg("Chunk", 1, "len(found)")},
	Package: daemon, Test: "TestDeadlinesOfManyFiles",
}, {
	Name: "the memory that manifests share", Why: "sixteen large manifests at once take gigabytes", Was: true,
	At: "cmd/internal/daemon/payload (*lease).take", Do: []Op{Never("most")},
	Package: "cmd/internal/daemon/payload", Test: "TestMemoryOfManifests",
}, {
	Name: "the tries at a manifest whose copy is lost", Why: "an outage of its server of a second fails a job in processing", Was: true,
	At: "cmd/internal/daemon (*steps).notListed", Do: []Op{Never("IsRemote")},
	Package: daemon, Test: "TestLostManifestIsFetchedAgain",
}, {
	Name: "what this machine could not ask", Why: "without free descriptors, or a name service, downloads use their attempts up", Was: true,
	At: "cmd/internal/daemon/payload IsRemote", Do: []Op{Always("Ours")},
	Package: daemon, Test: "TestOurNetworkUsesNothingUp",
}, {
	Name: "the pause of all processes before a server is asked again", Why: "each of several processes makes its own attempts, and together they use them up before the hour is over", Was: true,
	At: "cmd/internal/daemon uncounted", Do: []Op{Always("Host")},
	Package: daemon, Test: "TestOurNetworkUsesNothingUp",
}, {
	Name: "callbacks that this machine could not make", Why: "a lack of our own fails a job in notify", Was: true,
	At: "cmd/internal/daemon (*JobTask).theirs", Do: []Op{Never("Ours")},
	Package: daemon, Test: "TestOurNetworkUsesNothingUp",
}, {
	Name: "the answers of a host's name service", Why: "what another's name service answers is taken for our own trouble, which waits without limit",
	At: "cmd/internal/fetch unasked", Do: []Op{Return("$0 || true", "HasPrefix")},
	Package: fetch, Test: "TestMachineLacksSomething",
}, {
	Name: "an unknown line of a manifest", Why: "a manifest is refused as a whole that other programs take", Was: true,
	At: "domain/manifest (*parser).header", Do: []Op{Call("warn", `$recv.fail(LineIgnored, "it is not known")`, "LineIgnored")},
	Package: "domain/manifest", Test: "TestTakenWithAWarning",
}, {
	Name: "a line of a manifest that is there twice", Why: "a manifest is refused as a whole for a repeated line", Was: true,
	At: "domain/manifest (*parser).header", Do: []Op{Never("before", "value")},
	Package: "domain/manifest", Test: "TestTakenWithAWarning",
}, {
	Name: "lines that end in CR alone", Why: "a manifest of an old editor is refused as a whole", Was: true,
	At: "domain/manifest (*parser).cut", Do: []Op{Text(`\r\n`, `\n`)},
	Package: "domain/manifest", Test: "TestTakenWithAWarning",
}, {
	Name: "the attempts that a profile gives to files of open directories", Why: "a damaged file is given up that its profile lets be fetched again", Was: true,
	At: "cmd/internal/ready (*pass).damaged", Do: []Op{Arg("limits", 0, `""`, "Profile")},
	Package: "cmd/internal/ready", Test: "TestDamagedFileIsFetchedAgain",
}, {
	Name: "characters that turn or hide a text", Why: "a name reads otherwise on a terminal, a page or in a mail than it is", Was: true,
	At: "domain/text KindOf", Do: []Op{Return("Plain", "Bidirectional")},
	Package: "domain/text", Test: "TestHostileTextIsRefusedAndShownHarmless",
}, {
	Name: "the look at what flags hold", Why: "a reason keeps escapes and line breaks, and a filter that is not UTF-8 is answered with an error of SQL", Was: true,
	At: "cmd/internal/cli checkTexts", Do: []Op{Never("fault")},
	Package: "cmd/internal/cli", Test: "TestFlagsAreText",
}, {
	Name: "what the lines of libraries quote", Why: "a depositor's bytes are in the log", Was: true,
	At: "cmd/internal/export (libraryLines).Write", Do: []Op{Call("Cut", `strings.TrimSpace(string(line)), "", false`)},
	Package: "cmd/internal/export", Test: "TestLibrariesLogNoQuotes",
}, {
	Name: "a citation that names another object", Why: "a file in a container decides of what object it is a version",
	At: "cmd/internal/daemon/naming Cited", Do: []Op{Never("given")},
	Package: "cmd/internal/daemon/naming", Test: "TestCited",
}, {
	Name: "parts of an identifier that name nothing", Why: "ark:/99999/../../x becomes another name", Was: true,
	At: "cmd/internal/mint badParts", Do: []Op{Never("part", "..")},
	Package: "cmd/internal/mint", Test: "TestParse",
}, {
	Name: "parameters of the address of NATS", Why: "what an operator wrote there is ignored without a word", Was: true,
	At: "cmd/internal/config forms", Do: []Op{Always("RawQuery")},
	Package: "cmd/internal/config", Test: "TestNATSParametersAreRefused",
}, {
	Name: "our places in what depositors read", Why: "a reason shows where our directories are", Was: true,
	At: "cmd/internal/daemon/reason Of", Do: []Op{Call("public", "$1")},
	Package: "cmd/internal/daemon/reason", Test: "TestNoPlaceIsTold",
}, {
	Name: "the name service of a depositor's host", Why: "its failure is taken for our own", Was: true,
	At: "cmd/internal/fetch classify", Do: []Op{DropCase("nameServerFailed")},
	Package: fetch, Test: "TestFailingNameService",
}, {
	Name: "the right to administer people", Why: "those who may see the installation make users and give themselves rights",
	At: "cmd/internal/operation administer", Do: []Op{Field("Operation", "Need", "access.See")},
	Package: "cmd/internal/operation", Test: "TestNeedsOfOperations",
}, {
	Name: "the right to see the callbacks about a batch", Why: "who may not see a batch lists what is said about its jobs, and to whom",
	At: "cmd/internal/operation batches", Do: []Op{Arg("get", 3, "OnSeen", "batch.callbacks")},
	Package: "cmd/internal/operation", Test: "TestNeedsOfOperations",
}, {
	Name: "the right to see the failed attempts of a batch", Why: "who may not see a batch lists what failed in it, and why",
	At: "cmd/internal/operation batches", Do: []Op{Arg("get", 3, "OnSeen", "batch.retries")},
	Package: "cmd/internal/operation", Test: "TestNeedsOfOperations",
}}
