package repocheck

import (
	"fmt"
	"go/ast"
	"io/fs"
	"slices"
	"strings"
)

// Fault is something that was found by trying the program, attacking it, breaking its
// servers or putting old copies back, and the tests that are red without its mend.
type Fault struct {
	ID    string
	Says  string
	Tests []Shown
}

// Faults are the faults that were found and mended: T of what nothing checked, A of attacks,
// S of secrets and text, W of the workflow, C of cost.
var Faults = []Fault{
	{"T1", "an older copy of ZooKeeper answers a deposit with the id of another", tests(
		"cmd/accession/e2e TestOlderCopiesAreRefused TestOlderCopiesUnderLoad TestRestoreOverAnOlderTreeKilled", "cmd/internal/consistency TestHighWaterFindsOlderCopies")},
	{"T2", "inventory and stored objects are compared with nothing, and not made again", tests(
		"cmd/accession/e2e TestVerifyFindsAndRepairsTheInventory TestVerifyFindsDamagedObjects TestVerifyRepairsAnOlderDump TestAuditorGivesUpCorruptFiles TestAuditorRestoresTheInventory")},
	{"T4", "next ids that were lowered are not seen", tests("cmd/accession/e2e TestLoweredIDs")},
	{"T5", "views that were dropped are not seen, and not made again", tests("cmd/accession/e2e TestDroppedReports", "projections TestDefinitions")},
	{"T6", "a pause that cannot be read stops every claim, and nothing says so", tests("cmd/accession/e2e TestUnreadableHolds")},
	{"T7", "foreign nodes in the tree are not reported", tests("cmd/accession/e2e TestVerifyReportsForeignNodes")},
	{"T8", "a tree that is emptied under a service is not noticed", tests("cmd/accession/e2e TestZooKeeperIsEmptiedUnderAService")},
	{"T9", "who asks for the result of an effect counts as one more beginning of it", tests("cmd/internal/record TestEffect")},
	{"A1", "a deposit writes versions of another collection's object, or takes a name that a job will get", tests(
		"cmd/internal/daemon TestForeignIdentifiers", "cmd/internal/mint TestMintable", "cmd/internal/record TestUseIdentifier")},
	{"A2", "a few slow servers hold all workers of a state", tests(
		"cmd/accession/e2e TestHostileCrowdOfProcesses TestPermitsOfTwoProcesses TestPermitsOfASubmitterInTwoProcesses", "cmd/internal/daemon TestHostileCrowd TestManifestHasADeadline TestNoServerKeepsOthersFromMoving",
		"cmd/internal/daemon/limits TestGates", "domain/fair TestShare")},
	{"A3", "a server sends more than it stated, until the working space is full", tests("cmd/internal/daemon TestPromisedSizeIsKept TestDownloadStopsAtTheReserve")},
	{"A4", "a job that can never fit waits for ever, and no operator can end it", tests(
		"cmd/internal/app TestOperatorsEndJobs", "cmd/internal/daemon TestWhatNeverFits TestFailedJobStopsItsStep")},
	{"A5", "objects of 100,000 files never end, and large manifests together fill the memory", tests(
		"cmd/internal/daemon TestDeadlinesOfManyFiles TestManifestsShareMemory TestTimeToStoreManyFiles", "cmd/internal/daemon/payload TestMemoryOfManifests")},
	{"A7", "the private servers trust what another user has put there", tests("cmd/internal/stack TestNothingOfOthersIsTrusted TestPasswordsAreAsked")},
	{"S1", "a setting that is no URL is printed with its password", tests("cmd/accession/e2e TestCredentialsAreSeenNowhere", "cmd/internal/config TestNoFaultShowsASecret TestSecretsAreNotShown")},
	{"S2", "a redirect to something that is no URL is quoted in the log", tests("cmd/internal/fetch TestNoAnswerIsQuoted")},
	{"S3", "stored manifests and uploads are readable for all, and kept for ever", tests(
		"cmd/internal/daemon/originals TestOriginalsAreRemoved", "cmd/internal/store TestWhatIsStoredIsPrivate")},
	{"S4", "characters that a terminal obeys, or that no reader sees, reach those who read", tests(
		"cmd/internal/cli TestFlagsAreText TestOutputIsText", "cmd/internal/export TestLibrariesLogNoQuotes", "domain/text TestHostileTextIsRefusedAndShownHarmless")},
	{"S5", "bad text ends in an error of SQL, a bad identifier becomes another, our places are told to depositors", tests(
		"cmd/internal/cli TestFlagsAreText", "cmd/internal/config TestNATSParametersAreRefused", "cmd/internal/daemon/reason TestNoPlaceIsTold",
		"cmd/internal/fetch TestFailingNameService", "cmd/internal/mint TestParse")},
	{"S6", "a media type is kept as whatever the depositor wrote", tests("domain/manifest TestTakenWithAWarning", "domain/text TestMediaTypes")},
	{"W1", "versions of one object come in the order of who is faster", tests(
		"cmd/accession/e2e TestVersionsFollowTheOrderOfDeposits", "cmd/internal/daemon TestVersionsFollowTheDeposits", "cmd/internal/daemon/order TestNoJobOvertakesAndOneCanAlwaysGo TestOrderOfDeposits")},
	{"W2", "a local id that is there twice stays so", tests("cmd/internal/app TestLocalIDsAreDistinct", "domain/text TestDistinct")},
	{"W3", "manifests are refused as a whole that the original takes", tests("cmd/internal/daemon TestWarningsAreReported", "domain/manifest TestTakenWithAWarning")},
	{"W4", "a single file, container or object has no identifier of its own and no update", tests("cmd/accession/e2e TestDepositNamesItsVersion", "cmd/internal/daemon TestAddAndUpdate")},
	{"W5", "our own trouble fails jobs and uses attempts up", tests(
		"cmd/accession/e2e TestScenarioStoreFull TestScenarioDiskFull", "cmd/internal/daemon TestTroubleWaits TestUnknownErrorUsesNothingUp TestOurNetworkUsesNothingUp TestStoreThatHangsIsLeft", "cmd/internal/record TestFault")},
	{"W6", "an outage of seconds at the depositor's server ends a job", tests("cmd/internal/daemon TestDownloadIsTriedAgain TestLostManifestIsFetchedAgain", "cmd/internal/daemon/limits TestPauses")},
	{"W7", "a stop counts an attempt, and what was requeued or released alone is not worked on", tests(
		"cmd/accession/e2e TestTheOrderOfAStop TestReleaseOfAllThatIsHeld", "cmd/internal/app TestRequeuedFileTakesItsJobWithIt", "cmd/internal/daemon TestStop")},
	{"W8", "failed jobs keep their files for ever, and take the room of deposits", tests(
		"cmd/internal/daemon TestFilesOfFailedJobsGo TestRetentionOfFailedBatches", "eventstore TestEndedJobsFillNoQueue")},
	{"W9", "who is cut off while depositing cannot know whether the deposit was made", tests(
		"cmd/accession/e2e TestDepositUnderAKey TestDepositUnderAKeyKilledAtEachStep", "cmd/internal/record TestKeepCommand")},
	{"C2", "finished jobs fill the heap of ZooKeeper until everything stands still", tests(
		"cmd/accession/e2e TestDepositsWaitForHeap TestStatusComparesTheHeap", "eventstore TestHeapHasALimit", "eventstore/zklive TestJobsWaitForHeap")},
}

// tests makes a list of tests of lines that name a package and then its tests.
func tests(lines ...string) (all []Shown) {
	for _, line := range lines {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			all = append(all, Shown{words[0], name})
		}
	}
	return all
}

// NoTests returns the tests that faults name and that there are not, with the faults that
// name none.
func NoTests(root fs.FS, faults []Fault) (missing []string, err error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	is := map[Shown]bool{}
	for _, s := range all {
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				is[Shown{s.pkg, f.Name.Name}] = true
			}
		}
	}
	for _, f := range faults {
		if len(f.Tests) == 0 {
			missing = append(missing, f.ID+" names no test")
		}
		for _, t := range f.Tests {
			if !is[t] {
				missing = append(missing, f.ID+": there is no "+t.Test+" in "+t.Package)
			}
		}
	}
	return missing, nil
}

func faultsTable() string {
	var b strings.Builder
	b.WriteString(`## Faults that were found

What was found by trying the program, attacking it, breaking its servers and putting old
copies back, and the tests that fail without its mend. Many of the
[mutants](#mutants) put such a fault back.

| | fault | tests |
|---|---|---|
`)
	for _, f := range Faults {
		sorted := slices.Clone(f.Tests)
		slices.SortFunc(sorted, func(a, b Shown) int { return strings.Compare(a.Package+" "+a.Test, b.Package+" "+b.Test) })
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.ID, f.Says, inWords(sorted))
	}
	return b.String()
}
