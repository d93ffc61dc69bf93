package main

// directories: what open directories list, and what becomes of their files.
var directories = []Mutant{{
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
	Name: "the refusal of a listing that is elsewhere", Why: "files become known below a directory that does not have them",
	At: "cmd/internal/discover (*Found).read", Do: []Op{Never("FinalURL")},
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
	Name: "the command that goes on where it was cut off", Why: "a file that is to be processed again stays abandoned, and the command is refused when it is given again",
	At: "cmd/internal/app/again (*request).run", Do: []Op{Value("begun", "false")},
	Package: "cmd/internal/app/again", Test: "TestCutOffCommandGoesOn",
}}
