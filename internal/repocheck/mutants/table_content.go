package main

// content: what depositors send, and what is stored.
var content = []Mutant{{
	Name: "fsync before a claim's file has its name", Why: "after a power cut a file is there and empty",
	At: "cmd/internal/store (*Partial).Commit", Do: []Op{Call("syncFile", "$2.Close()")},
	Package: "cmd/internal/store", Test: "TestDurability/claim",
}, {
	Name: "fsync before an object has its key", Why: "after a power cut an object is there and empty",
	At: "cmd/internal/store (folder).write", Do: []Op{Arg("Around", 1, "func() error { return nil }", "Sync")},
	Package: "cmd/internal/store", Test: "TestDurability/put",
}, {
	Name: "the digest of what is stored of a working file", Why: "a file that was changed in the working directory is stored under the digest of another",
	At: "cmd/internal/store (folder).write", Do: []Op{Call("check", "error(nil)")},
	Package: "cmd/internal/daemon", Test: "TestWorkingFilesGone/changed",
}, {
	Name: "replicas that are required before they are made", Why: "a process that dies in between leaves a version without its copies, and nothing says so",
	At: "cmd/internal/replica (Keeper).Keep", Do: []Op{Call("RequireReplicas", "error(nil)")},
	Package: e2e, Test: "TestReplicas",
}, {
	Name: "a copy that is read back", Why: "a store that keeps other bytes counts as a replica",
	At: "cmd/internal/store (*Store).Copy", Do: []Op{Call("check", "error(nil)")},
	Package: "cmd/internal/store", Test: "TestCopyThatIsKeptWrongly",
}, {
	Name: "what a replica has of a corrupt file", Why: "the file is given up although there is a copy",
	At: "cmd/internal/audit (*checker).fromReplica", Do: []Op{Always("at")},
	Package: e2e, Test: "TestReplicas",
}, {
	Name: "the time that a job waits for its copies", Why: "a replica that hangs holds a worker for ever",
	At: "cmd/internal/replica (Keeper).Keep", Do: []Op{Arg("WithTimeout", 1, "1000*time.Hour")}, Package: "cmd/internal/replica", Test: "TestCopiesHaveABound",
}, {
	Name: "the time for a copy that is pending", Why: "one replica that hangs keeps all others from their copies",
	At: "cmd/internal/replica (*Pending).one", Do: []Op{Arg("WithTimeout", 1, "1000*time.Hour")}, Package: "cmd/internal/replica", Test: "TestCopiesHaveABound", Was: true,
}, {
	Name: "a replica that no profile names any more", Why: "it is pending for ever",
	At: "cmd/internal/replica (*Pending).one", Do: []Op{Never("Contains")},
	Package: e2e, Test: "TestReplicas",
}, {
	Name: "an object that is there stays", Why: "another job's bytes replace those of a stored version",
	At: "cmd/internal/store enter", Do: []Op{Never("absent")},
	Package: "cmd/internal/store", Test: "TestPutIfAbsent",
}, {
	Name: "a directory of the store that was removed", Why: "nothing can be stored below it until the process ends",
	At: "cmd/internal/store (*folders).reach", Do: []Op{Always("ErrNotExist", "name")},
	Package: "cmd/internal/store", Test: "TestRemovedDirectoryIsMadeAgain",
}, {
	Name: "the sync of a directory that has got a directory", Why: "after a power cut a stored version is gone with its directory",
	At: "cmd/internal/store (*folders).reach", Do: []Op{Drop("unsynced", "Dir", "true")},
	Package: "cmd/internal/store", Test: "TestDurability/version",
}, {
	Name: "the pieces in which a file is fetched", Why: "a file takes as much memory as it has bytes",
	At: "cmd/internal/daemon/transfer (Transfer).get", Do: []Op{Call("Copy", "func() (int64, error) { all, err := io.ReadAll($2); if err != nil { return 0, err }; n, err := $1.Write(all); return int64(n), err }()")},
	Package: e2e, Test: "TestMemoryDoesNotGrowWithTheFile",
}, {
	Name: "the entries of a claim's files", Why: "files of a job are gone after a power cut, although its claim was committed",
	At: "cmd/internal/store (*Partial).complete", Do: []Op{Drop("files", "enters")},
	Package: "cmd/internal/store", Test: "TestDurability/claim",
}, {
	Name: "one winner among a job's claims", Why: "the files of two claims are mixed",
	At: "cmd/internal/store (*Claim).Commit", Do: []Op{Call("rename", "errors.Join(c.work.root.RemoveAll(c.job+c.into), $0)")},
	Package: "cmd/internal/store", Test: "TestOneClaimWins",
}, {
	Name: "the content of a local file without a type", Why: "a zip that is named box.bin is stored as it is", Was: true,
	At: "cmd/internal/sniff Type", Do: []Op{Never("Packed")},
	Package: "cmd/internal/sniff", Test: "TestType",
}, {
	Name: "a compressed file in which no tar is", Why: "the deposit of a compressed text is refused",
	At: "cmd/internal/unpack Packed", Do: []Op{Call("BeginsTar", "true")},
	Package: "cmd/internal/unpack", Test: "TestPacked",
}, {
	Name: "documents that are packed like containers", Why: "a text of an office is taken apart",
	At: "cmd/internal/unpack Packed", Do: []Op{Call("isDocument", "false")},
	Package: "cmd/internal/unpack", Test: "TestPacked",
}, {
	Name: "the first bytes of what is behind a URL", Why: "a large file is read to its end while its depositor waits for an answer",
	At: "cmd/internal/fetch (*Client).First", Do: []Op{Call("LimitReader", "$1")},
	Package: fetch, Test: "TestFirst",
}, {
	Name: "the type that was found out, in the tables", Why: "the tables differ from the log, and a rebuild does not help",
	At: "projections/internal/fold BatchOf", Do: []Op{Never("TypeFound")},
	Package: e2e, Test: "TestTypeByContent",
}, {
	Name: "the ending of a URL whose server does not answer", Why: "the deposit of a file cannot be requeued when its server is well again",
	At: "cmd/internal/daemon/payload (*Source).TypeOf", Do: []Op{Call("Telling", "false")},
	Package: e2e, Test: "TestTypeByContent",
}, {
	Name: "the names of a deposit whose type is found out", Why: "a batch gets the identifier of one object",
	At: "cmd/internal/daemon/payload (*Source).TypeOf", Do: []Op{Never("CheckNamed")},
	Package: e2e, Test: "TestTypeByContent",
}, {
	Name: "the size of a file whose server refuses HEAD", Why: "the size of everything behind URLs signed for GET is unknown", Was: true,
	At: "cmd/internal/fetch (*Client).head", Do: []Op{Never("StatusForbidden")},
	Package: fetch, Test: "TestHead",
}, {
	Name: "the size of a file whose server states none to HEAD", Why: "space is promised for nothing, and large objects go before small ones", Was: true,
	At: "cmd/internal/fetch (*Client).Head", Do: []Op{Never("Size")},
	Package: fetch, Test: "TestHead",
}, {
	Name: "one byte that is sent as if it were the whole", Why: "a file counts as one of a byte, and its download is refused",
	At: "cmd/internal/fetch wholeSize", Do: []Op{Never("ContentLength")},
	Package: fetch, Test: "TestHead",
}, {
	Name: "the priority of jobs of unknown size", Why: "a deposit that may be huge goes before small ones", Was: true,
	At: "cmd/internal/daemon (*steps).jobEstimating", Do: []Op{Arg("ForEstimate", 2, "0", "cmd")},
	Package: "cmd/internal/daemon", Test: "TestEstimatingOfUnknownSize",
}, {
	Name: "rows of an update that name no object", Why: "each becomes a new object, and what was to be updated stays as it was", Was: true,
	At: "cmd/internal/daemon/payload FillJob", Do: []Op{Never("ModeUpdate")},
	Package: "cmd/internal/daemon/payload", Test: "TestRowsOfUpdates",
}, {
	Name: "the guard of addresses", Why: "a manifest makes the service ask its own network",
	At: "cmd/internal/fetch (Policy).judge", Do: []Op{Never("SafeAddr", "err")},
	Package: fetch, Test: "TestHostileAddresses",
}, {
	Name: "the guard at the moment of connecting", Why: "a name that is resolved anew leads inside",
	At: "cmd/internal/fetch (*shared).open", Do: []Op{Field("Dialer", "Control", "nil")},
	Package: fetch, Test: "TestRebinding",
}, {
	Name: "the look at a redirect", Why: "a server hands the request on to another protocol, with a password",
	At: "cmd/internal/fetch (*shared).checkRedirect", Do: []Op{Never("vet")},
	Package: fetch, Test: "TestRedirects",
}, {
	Name: "no proxy", Why: "a proxy of the environment connects for us, unchecked",
	At: "cmd/internal/fetch (*shared).open", Do: []Op{Field("Transport", "Proxy", "http.ProxyFromEnvironment")},
	Package: fetch, Test: "TestNoProxy",
}, {
	Name: "the digest of a downloaded file", Why: "what the manifest does not mean is stored",
	At: "cmd/internal/daemon/payload (Measure).Check", Do: []Op{Never("Digest")},
	Package: daemon, Test: "TestGoodFilesAreNotFetchedTwice",
}, {
	Name: "the name rule of manifests", Why: "a file leaves the object's directory",
	At: "domain/manifest CheckName", Do: []Op{Never(`".."`)},
	Package: "domain/manifest", Test: "TestCheckName",
}, {
	Name: "the name rule of containers", Why: "a file of a container leaves the object's directory",
	At: "domain/container checkName", Do: []Op{Never("CheckName")},
	Package: "domain/container", Test: "TestMembersThatAreRefused",
}, {
	Name: "names of a container that differ in case only", Why: "two files become one where the object is restored to",
	At: "domain/container Fold", Do: []Op{Arg("Map", 0, "func(r rune) rune { return r }")},
	Package: "domain/container", Test: "TestMembersThatAreRefused",
}, {
	Name: "links in containers", Why: "a link is taken for the file that it leads to, or for an empty one",
	At: "domain/container (*Checker).Member", Do: []Op{DropCase("Link")},
	Package: "domain/container", Test: "TestMembersThatAreRefused",
}, {
	Name: "the bytes that come of a container", Why: "a small container fills the working space",
	At: "domain/container (*Checker).file", Do: []Op{Never("most")},
	Package: "domain/container", Test: "TestMembersThatAreRefused",
}, {
	Name: "members of a zip that share bytes", Why: "a zip of 40 KB unpacks to gigabytes, each file of it within its limit",
	At: "cmd/internal/unpack (*walker).apart", Do: []Op{Never("to")},
	Package: "cmd/internal/unpack", Test: "TestRefused",
}, {
	Name: "the mark of a tar's end", Why: "a tar that was cut off between two files is taken for the whole",
	At: "cmd/internal/unpack (*walker).tar", Do: []Op{Always("before")},
	Package: "cmd/internal/unpack", Test: "TestRefused",
}, {
	Name: "the digests of a bag", Why: "a bag whose files differ from its manifests is stored",
	At: "domain/bag (*Bag).Check", Do: []Op{Never("got")},
	Package: "domain/bag", Test: "TestBadBags",
}, {
	Name: "the document type of metadata", Why: "a declaration with entities or a file of another server is accepted",
	At: "domain/metadata (*checker).next", Do: []Op{DropCase("Directive")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "processing instructions of metadata", Why: "a style sheet of another server is stored as a deposit that stands for itself",
	At: "domain/metadata (*checker).next", Do: []Op{Never("Target")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "XInclude in metadata", Why: "a deposit names a document that others change",
	At: "domain/metadata (*checker).open", Do: []Op{Never("includeSpace")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "the depth of metadata", Why: "a file of nested elements takes as much memory as it has bytes",
	At: "domain/metadata (*checker).bounded", Do: []Op{Never("MaxDepth")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "the attributes of metadata", Why: "one element takes as much memory as it has bytes",
	At: "domain/metadata (*checker).bounded", Do: []Op{Never("MaxAttributes")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "the texts of metadata", Why: "one text takes as much memory as the file has bytes",
	At: "domain/metadata (*source).ReadByte", Do: []Op{Never("MaxText")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "the records of metadata", Why: "one file fills the report and the store with records",
	At: "domain/metadata (*checker).open", Do: []Op{Never("MaxRecords")},
	Package: "domain/metadata", Test: "TestRefusedFiles",
}, {
	Name: "the identifier of a record", Why: "a record that nothing names counts as deposited",
	At: "domain/metadata (*checker).judge", Do: []Op{Never("id", `""`)},
	Package: "domain/metadata", Test: "TestRecords",
}, {
	Name: "the same identifier in two records", Why: "two records contradict each other under one identifier",
	At: "domain/metadata (*checker).judge", Do: []Op{Never("earlier", "line")},
	Package: "domain/metadata", Test: "TestRecords",
}, {
	Name: "the deadline of an object store", Why: "an object store that hangs holds a worker for ever",
	At: "cmd/internal/daemon/payload (*Source).InTime", Do: []Op{Arg("WithTimeout", 1, "1000*limit")},
	Package: daemon, Test: "TestStoreThatHangsIsLeft/hangs", Hangs: true,
}, {
	Name: "the deadline of the reading for a report", Why: "an object store that hangs holds the workers that make reports for ever",
	At: "cmd/internal/daemon/payload (*Source).Lists", Do: []Op{Arg("InTime", 1, "1<<60")},
	Package: daemon, Test: "TestStoreOfReportsThatHangsIsLeft/list", Hangs: true,
}, {
	Name: "the names that an update replaces", Why: "a version has two files of one name",
	At: "cmd/internal/daemon/version Updated", Do: []Op{Drop("gone", "f")},
	Package: daemon, Test: "TestAddAndUpdate",
}, {
	Name: "the deletion list of an update", Why: "what a depositor took out stays in the object",
	At: "cmd/internal/daemon/version Updated", Do: []Op{Drop("gone", "name")},
	Package: daemon, Test: "TestAddAndUpdate",
}, {
	Name: "the deadline of a request for a manifest", Why: "a server that sends a manifest byte by byte keeps a worker from the deposits of others",
	At: "cmd/internal/daemon/payload (*Source).FetchManifest", Do: []Op{Field("Limits", "Timeout", "0")},
	Package: daemon, Test: "TestManifestHasADeadline",
}, {
	Name: "the bytes beyond the size that a server states", Why: "a server that states ten bytes sends as much as the disk has", Was: true,
	At: "cmd/internal/daemon/payload promiseSlack", Do: []Op{Value("promiseSlack", "1 << 28")},
	Package: daemon, Test: "TestPromisedSizeIsKept",
}, {
	Name: "the modes of stored files", Why: "every user of the machine reads the signed URLs of manifests", Was: true,
	At: "cmd/internal/store privateFile", Do: []Op{Value("privateFile", "0o644")},
	Package: "cmd/internal/store", Test: "TestWhatIsStoredIsPrivate",
}, {
	Name: "the modes of directories of the store", Why: "every user of the machine sees what is stored, and by which names", Was: true,
	At: "cmd/internal/store privateDir", Do: []Op{Value("privateDir", "0o755")},
	Package: "cmd/internal/store", Test: "TestWhatIsStoredIsPrivate",
}, {
	Name: "a download that takes the reserve of the disk", Why: "what a server sends beyond its promise leaves no space for others",
	At: "cmd/internal/store (*reserved).Write", Do: []Op{Never("due")},
	Package: daemon, Test: "TestDownloadStopsAtTheReserve",
}, {
	Name: "manifests without a common budget", Why: "sixteen large manifests at once take 3 GB",
	At: "cmd/internal/daemon/payload (*lease).take", Do: []Op{Never("most")},
	Package: "cmd/internal/daemon/payload", Test: "TestMemoryOfManifests",
}, {
	Name: "a redirect that is no URL, not quoted", Why: "the log has the secret of a signed URL", Was: true,
	At: "cmd/internal/fetch classify", Do: []Op{Never("badLocation")},
	Package: fetch, Test: "TestNoAnswerIsQuoted",
}, {
	Name: "the manifests of earlier deposits", Why: "a manifest that is deposited twice by URL goes unnoticed",
	At: "cmd/internal/daemon/payload (*Source).Repeated", Do: []Op{Always("earlier")},
	Package: e2e, Test: "TestManifestDepositedTwice",
}, {
	Name: "a listing of the store that begins again", Why: "a process cannot start, and verify ends, when another one replaces a mark", Was: true,
	At: "cmd/internal/store (*Store).List", Do: []Op{Never("NotFound")},
	Package: "cmd/internal/store", Test: "TestListWhileObjectsAreDeleted",
}, {
	Name: "the digest of what leaves the store", Why: "a damaged file is exported as good",
	At: "cmd/internal/store (*Checked).Read", Do: []Op{Always("check")},
	Package: "cmd/internal/store", Test: "TestChecked",
}, {
	Name: "the range that is asked for", Why: "a transfer that was cut off begins from the start each time, and a large file never arrives",
	At: "cmd/internal/fetch (GetOptions).conditions", Do: []Op{Never("asks")},
	Package: transfer, Test: "TestOnlyWhatIsMissing",
}, {
	Name: "the content whose rest is asked for", Why: "a file is the beginning of one content and the rest of another",
	At: "cmd/internal/fetch (*Beginning).ask", Do: []Op{Drop("If-Range")},
	Package: fetch, Test: "TestRestOfAFile",
}, {
	Name: "where a range begins", Why: "a server that sends another range than was asked for makes a file of parts that do not fit",
	At: "cmd/internal/fetch (*Beginning).continues", Do: []Op{Never("from")},
	Package: fetch, Test: "TestRestOfAFile",
}, {
	Name: "the range that is sent as the whole", Why: "the rest of a file is stored as all of it, if its server says 200",
	At: "cmd/internal/fetch (*Beginning).meant", Do: []Op{Return("false", "Content-Range")},
	Package: fetch, Test: "TestRestOfAFile",
}, {
	Name: "the tag of a range", Why: "a range of which the server does not say what it is of is taken for the rest",
	At: "cmd/internal/fetch (*Beginning).continues", Do: []Op{Never("HasPrefix")},
	Package: fetch, Test: "TestRestOfAFile",
}, {
	Name: "the length of a range", Why: "a file whose rest ends early counts as complete",
	At: "cmd/internal/fetch (*rest).Read", Do: []Op{Never("EOF", "left")},
	Package: fetch, Test: "TestRestOfAFile",
}, {
	Name: "the age of a date that is asked by", Why: "a content that was changed twice in a second is mixed with the one before",
	At: "cmd/internal/fetch validatorOf", Do: []Op{Never("clockSlack")},
	Package: fetch, Test: "TestStrongValidators",
}, {
	Name: "the digest of what there is of a file", Why: "after a power cut a file goes on from bytes that never reached the disk",
	At: transfer + " (Transfer).beginning", Do: []Op{Always("SHA256")},
	Package: transfer, Test: "TestDamagedBeginning",
}, {
	Name: "the URL of what there is of a file", Why: "a file goes on from the beginning of another one",
	At: transfer + " (Transfer).beginning", Do: []Op{Always("Source")},
	Package: transfer, Test: "TestAnotherURL",
}, {
	Name: "the file that is fetched anew", Why: "a content that changed under its tag fails the job, although all of it could be had",
	At: transfer + " (Transfer).Get", Do: []Op{Call("other", "false")},
	Package: transfer, Test: "TestAnotherContent",
}, {
	Name: "the beginning that cannot help", Why: "bytes that are known to be wrong stay, and fill the disk",
	At: transfer + " (Transfer).Get", Do: []Op{Never("again", "IsRemote")},
	Package: transfer, Test: "TestNotesOfWrongContent",
}, {
	Name: "the notes within a transfer", Why: "the death of a process has all of a large file fetched again",
	At: transfer + " (*notes).Write", Do: []Op{Never("next")},
	Package: transfer, Test: "TestWorkerThatDies",
}, {
	Name: "the end of what there is of a file", Why: "a complete file keeps its beginning, as one that was cut off",
	At: "cmd/internal/store (*Partial).Commit", Do: []Op{Value("_", "error(nil)", "Forget")},
	Package: "cmd/internal/store", Test: "TestBeginnings",
}, {
	Name: "the bandwidth of all transfers together", Why: "downloads take the whole line of the house, whatever is set",
	At: "cmd/internal/fetch newBandwidth", Do: []Op{Always("perSecond")},
	Package: fetch, Test: "TestBandwidth",
}, {
	Name: "the date of a file whose size is not learned", Why: "a file loses its date when its server refuses a request for the first byte",
	At: "cmd/internal/daemon/payload (*Source).Sizes", Do: []Op{Never("Modified")},
	Package: "cmd/internal/daemon/payload", Test: "TestSizes",
}, {
	Name: "sizes that are asked for at once", Why: "a job of many files waits for their servers one after another, and then downloads without knowing its size",
	At: "cmd/internal/daemon/payload (*Source).Sizes", Do: []Op{Arg("SetLimit", 0, "1")},
	Package: "cmd/internal/daemon/payload", Test: "TestSizesInParallel",
}, {
	Name: "what HEAD has said of a file", Why: "a file loses its date when its server refuses a request for the first byte",
	At: "cmd/internal/fetch (*Client).Head", Do: []Op{Arg("firstByte", 2, "Info{}")},
	Package: fetch, Test: "TestHead",
}, {
	Name: "the bandwidth that is set", Why: "downloads take the whole line of the house, whatever is set",
	At: "cmd/internal/wire (*Installation).client", Do: []Op{Field("Config", "Bandwidth", "0")},
	Package: e2e, Test: "TestBandwidthOfAProcess",
}, {
	Name: "the end of a request that waits for the bandwidth", Why: "a transfer that takes too long fails as one whose server is broken",
	At: "cmd/internal/fetch (*limited).Read", Do: []Op{Drop("Done")},
	Package: fetch, Test: "TestBandwidthKeepsTheDeadline",
}, {
	Name: "the proof that a bucket overwrites nothing", Why: "a version is replaced in a bucket whose service ignores the condition",
	At: "cmd/internal/store (*Store).provesConditions", Do: []Op{First("return nil")},
	Package: "cmd/internal/store", Test: "TestBucketThatOverwrites",
}, {
	Name: "the condition of a write into a bucket", Why: "a late worker replaces a version in a bucket",
	At: "cmd/internal/store (*Store).write", Do: []Op{Field("WriterOptions", "IfNotExist", "false")},
	Package: "cmd/internal/store", Test: "TestLargeObjectsOfRclone",
}, {
	Name: "the digest of an upload into a bucket", Why: "an upload whose file changes meanwhile gets the key of other bytes",
	At: "cmd/internal/store (*Store).keep", Do: []Op{Field("putOptions", "want", "nil")},
	Package: "cmd/internal/store", Test: "TestUploadThatChanges",
}, {
	Name: "the directories that a profile opens", Why: "a depositor reads every file that the service may read",
	At: "cmd/internal/fetch (*Client).fileURL", Do: []Op{Never("directory")},
	Package: fetch, Test: "TestFilesOfThisMachine",
}, {
	Name: "the check that a file is an ordinary one", Why: "a pipe in an open directory holds a worker for ever",
	At: "cmd/internal/fetch (files).open", Do: []Op{Never("IsRegular")},
	Package: fetch, Test: "TestFilesOfThisMachine",
}, {
	Name: "the directories of SFTP servers that a profile opens", Why: "a depositor reads what another collection may read",
	At: "cmd/internal/fetch (Policy).login", Do: []Op{Never("Directory")},
	Package: fetch, Test: "TestFilesByServersOfSFTP",
}, {
	Name: "the key of an SFTP server", Why: "a server in between has the files deposited that it chooses",
	At: "cmd/internal/fetch (servers).connect", Do: []Op{Value("HostKeyCallback", "ssh.InsecureIgnoreHostKey()")},
	Package: fetch, Test: "TestServersOfSFTPThatFail",
}, {
	Name: "the length of a file that an SFTP server sends", Why: "a file that was cut off counts as whole",
	At: "cmd/internal/fetch (servers).RoundTrip", Do: []Op{Never("n", "Size")},
	Package: fetch, Test: "TestFileOfAnSFTPServerThatShrinks",
}}
