//go:build !race

// The processes that die here are built without the race detector in any case, and
// what looks at the rest is tried with it by other tests.

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/repocheck"
)

// unreached are points at which no process of a small installation comes by, with
// the reason.
var unreached = map[string]string{
	"zklive/restore/epoch/*": "the log is restored when its stream is lost; TestRestoreLogThatIsLost does so",
	"store/ocfl/unstage/*":   "a version is not written for another reason than a death; TestOCFLWriteOfOtherBytes does so",
}

// A pointScene brings a process to a point. What is not in the table is on the way of
// every deposit.
type pointScene struct {
	points string // pattern
	play   func(o *crashInstallation, point string)
}

var scenes = []pointScene{
	{"zklive/lead/resign/...", stops},
	{"zklive/claim/release/...", stopsWhileItWorks},
	{"daemon/files/give-back/...", stopsWhileItWorks},
	{"app/ending/...", failsWhatRuns},
	{"app/release/...", releases},
	{"app/park/...", parks},
	{"app/bulk/...", actsInBulk},
	{"record/bulk/...", actsInBulk},
	{"eventstore/deletion/delete-job/...", deletes},
	{"eventstore/deletion/...", cleansUp},
	{"zklive/remove/...", cleansUp},
	{"zklive/destroy/...", cleansUp},
	{"zklive/repair/ring...", repairsRings},
	{"zklive/repair/query...", repairsQueries},
	{"zklive/repair/entry...", repairsEntries},
	{"zklive/repair/...", repairs},
	{"zklive/restore/...", restores},
	{"zklive/ids/raise/...", raisesIDs},
	{"record/deposit/...", depositsAFile},
	{"drop/spool/...", sendsAForm},
	{"record/form/...", sendsAForm},
	{"drop/resume...", resumes},
	{"drop/...", dropsAFile},
	{"record/command/...", depositsOnce},
	{"record/query-command/...", asksOnce},
	{"record/upload/...", uploads},
	{"record/profile/...", setsAProfile},
	{"store/left/...", takesOver},
	{"store/begun/...", goesOn},
	{"store/discard/...", findsDamage},
	{"store/export/...", exports},
	{"daemon/downloading/discard/...", findsDamage},
	{"daemon/downloading/keep-members/...", unpacks},
	{"daemon/downloading/clear-members/...", unpacks},
	{"daemon/downloading/unpack/...", unpacks},
	{"daemon/downloading/win-members/...", unpacks},
	{"daemon/downloading/discard-container/...", unpacks},
	{"daemon/processing/skip-container/...", unpacks},
	{"daemon/again/...", sendsAgain},
	{"daemon/daily/...", mailsDaily},
	{"daemon/query/send-again/...", sendsAnswersAgain},
	{"daemon/query/...", mailsAnswers},
	{"record/delivery/expect/...", mailsAnswers},
	{"record/outgoing/...", mailsByServer},
	{"notify/smtp/...", mailsByServer},
	{"mint/service/...", registers},
	{"daemon/processing/register/...", registers},
	{"stepservice/...", recordsOutside},
	{"record/effect/accept/...", storesOutside},
	{"store/delete/...", triesAgain},
	{"store/bucket/put/...", storesInABucket},
	{"store/ocfl/commit/...", storesInABucket},
	{"store/ocfl/...", storesInOCFL},
	{"store/put/rename/...", leavesOut},
	{"migrations/...", migrates},
	{"projections/rebuild/...", rebuilds},
	{"projections/poison/...", retriesPoison},
	{"jslog/republish/...", republishes},
	{"jslog/types/...", copies},
	{"poll/slots/...", slotsFromNames},
	{"ready/slot/...", slotsFromNames},
	{"groups/...", depositsAGroup},
	{"record/group/...", depositsAGroup},
	{"record/poll/...", polls},
	{"record/listing/...", polls},
	{"download/...", polls},
	{"zklive/space/file...", polls},
	{"store/local/...", polls},
	{"store/outputs/...", putsOutputs},
	{"zklive/entry/renew/...", leased},
	{"zklive/entry/clock/...", leased},
	{"zklive/entry/overdue/...", leased},
	{"zklive/entry/forget/...", leased},
	{"zklive/entry/...", computes},
	{"record/compute-result/...", computes},
	{"attempt/...", processes},
	{"compute/file/...", processes},
	{"compute/entry/strand/...", makesSteps},
	{"ownstep/entry/again/...", leavesStates},
	{"ownstep/...", makesSteps},
	{"replica/...", replicates},
	{"record/replica/...", replicates},
	{"withdrawal/...", withdrawsAnObject},
	{"record/withdrawal/...", withdrawsAnObject},
	{"record/audit/...", audits},
	{"record/corrupt/...", audits},
}

// first are points of the very first process: with an installation of its own each.
var first = []string{"zklive/tree/...", "jslog/stream/...", "store/marker/...", "store/path/...", "store/directory/make/..."}

// matched understands the patterns of path.Match, and "a/..." for all points below a.
func matched(pattern, point string) bool {
	if above, all := strings.CutSuffix(pattern, "..."); all {
		return strings.HasPrefix(point, above)
	}
	ok, err := path.Match(pattern, point)
	return ok && err == nil
}

func play(o *crashInstallation, point string) {
	o.target = point
	for _, s := range scenes {
		if matched(s.points, point) {
			s.play(o, point)
			return
		}
	}
	deposits(o, point)
}

// crashShare is how many runs of TestDeathAtOperations play all operations between them, when
// their seeds draw each share once.
const crashShare = 8

// TestDeathAtOperations lets a process die once at operations of the code: right after one,
// before the process knows. A process that dies right before it leaves what one leaves that
// dies after the one before. It plays the points of the crash matrix, and of the others the
// share that the seed of the run draws; TestSoakCrashPoints plays all, before and after.
// Processes that come after it finish what it had begun, and die at the next operation; in the
// end all must be as if no process had died.
// Shows: P1 P2 P3 P4 P5 P6
func TestDeathAtOperations(t *testing.T) {
	t.Parallel()
	points, err := repocheck.Points(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	share, n := seed(t).IntN(crashShare), 0
	there, asked := map[string]bool{}, map[string]bool{}
	for _, p := range points {
		there[p.Name] = true
	}
	for _, name := range slices.Collect(maps.Keys(there)) {
		if operation, before := strings.CutSuffix(name, "/before"); before && there[operation+"/after"] {
			delete(there, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		asked[name] = n%crashShare == share
		n++
	}
	for _, c := range repocheck.Crashes {
		for _, name := range c.Points {
			asked[name] = true
		}
	}
	everyPoint(t, func(*crashInstallation) {}, func(point string) bool { return asked[point] })
}

// everyPoint leads processes to all points that are asked for; begin prepares each
// crashInstallation.
func everyPoint(t *testing.T, begin func(*crashInstallation), asked func(point string) bool) {
	points, err := repocheck.Points(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	var names, fresh []string
	for _, p := range points {
		switch {
		case anyOf(unreached, p.Name):
		case someOf(first, p.Name):
			fresh = append(fresh, p.Name)
		default:
			names = append(names, p.Name)
		}
	}
	if len(names) < 200 || len(fresh) < 10 {
		t.Fatalf("only %d and %d points", len(names), len(fresh))
	}
	unasked := func(point string) bool { return !asked(point) }
	names, fresh = slices.DeleteFunc(names, unasked), slices.DeleteFunc(fresh, unasked)
	t.Logf("a process dies at %d points", len(names)+len(fresh))
	prepare := func(o *crashInstallation) {
		o.environ = []string{"ACCESSION_BUCKET=5"} // so that buckets of the outbox begin and go
		begin(o)
	}
	const lanes = 8 // they mostly wait for the sessions of those that were killed
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				o := newCrashInstallation(t, prepare)
				o.finish(o.deposit("again"))
				for i := lane; i < len(names); i += lanes {
					begun := time.Now()
					play(o, names[i])
					t.Logf("%5.1f s %s", time.Since(begun).Seconds(), names[i])
				}
				o.finish()
				o.sound()
				for i := lane; i < len(fresh); i += lanes {
					t.Run(strings.ReplaceAll(fresh[i], "/", " "), func(t *testing.T) {
						o := newCrashInstallation(t, func(o *crashInstallation) {
							prepare(o)
							o.target = fresh[i]
							o.dies(fresh[i], nil, "serve")
						})
						o.finish(o.deposit("again"), o.deposit("mixed"))
						o.sound()
					})
				}
			})
		})
	}
	all.Wait()
}

func anyOf(patterns map[string]string, point string) bool {
	for p := range patterns {
		if matched(p, point) {
			return true
		}
	}
	return false
}

func someOf(patterns []string, point string) bool {
	for _, p := range patterns {
		if matched(p, point) {
			return true
		}
	}
	return false
}
