//go:build soak && linux && !race

package e2e

import "testing"

// TestSoakKilledAtEachStep takes all steps, and all kinds, of the tests of which make test takes a third.
func TestSoakKilledAtEachStep(t *testing.T) {
	for name, each := range map[string]func(*testing.T){
		"bucket": TestBucketKilledAtEachStep, "creation": TestCreationKilledAtEachStep, "damage": TestVerifyFindsAndRepairsEveryDamage,
		"damage-entries": TestVerifyRepairsEveryEntry, "damage-queries": TestVerifyRepairsEveryQuery, "damage-rings": TestVerifyRepairsEveryRing,
		"form": TestFormKilledAtEachStep, "intake": TestIntakeKilledAtEachStep,
		"inventory": TestRepairOfTheInventoryKilled, "log": TestNATSAwayUntilTheOutboxIsFull, "outputs": TestOutputsAlthoughKilled, "queue": TestDepositQueueKilledAtEachStep,
		"release": TestReleaseOfACollectionKilledAtEachStep, "resumable": TestResumableKilledAtEachStep, "rows": TestBatchOfTenThousandRows, "submission": TestSubmissionKilledAtEachStep,
		"synchronous": TestSynchronousKilled, "synchronous-report": TestSynchronousReportKilled, "upload": TestUploadKilledAtEachStep,
	} {
		t.Run(name, each)
	}
}
