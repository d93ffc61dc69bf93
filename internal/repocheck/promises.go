package repocheck

import (
	"fmt"
	"go/ast"
	"io/fs"
	"slices"
	"strings"
)

// Claim is something that the documentation says, and that tests must show. A test
// shows it by a line of its comment: "Shows: P3 C2".
type Claim struct {
	ID string
	// Says is the promise, or what must happen after a crash.
	Says string
	// Crash and Left are what happened and what is left behind then.
	Crash, Left string
	// Points are crash points at which it is seen too, by the test of all of them.
	Points []string
}

// Promises are what Accession promises.
var Promises = []Claim{
	{ID: "P1", Says: "A deposit that was accepted exists and comes to rest: completed, failed with a reason, held by a named hold, or deleted by a named operator."},
	{ID: "P2", Says: "The state of a batch, a job or a file is a linearizable compare-and-set register, and every event is legal after the one before it."},
	{ID: "P3", Says: "The versions of a batch, a job or a file have no hole, none is there twice, and they stand in order."},
	{ID: "P4", Says: "The tables are the fold of the log, and a rebuild is identical."},
	{ID: "P5", Says: "Nothing of an older claim lands in ZooKeeper, the log or SQL after a newer claim; effects on the world outside may be repeated."},
	{ID: "P6", Says: "Callbacks are made at least once, with a key that stays the same; a report is one mail ([effects.md](effects.md) names the one window that remains)."},
	{ID: "P7", Says: "A minute after faults have ended, and their own work done, all jobs are at rest."},
	{ID: "P8", Says: "Memory, live nodes and working space are bounded; only the log and the history grow, with events alone."},
	{ID: "P9", Says: "No request leaves for an address that the configuration does not allow."},
	{ID: "P10", Says: "A deposit to one collection changes nothing of another's."},
	{ID: "P11", Says: "No submitter and no server of theirs can keep another's work from moving; several together cannot either while they are not more than the workers that a process keeps free, four of eight, and more of them can until the first deadline of their steps."},
	{ID: "P12", Says: "An older or foreign copy of a server is noticed before anything is written; one that lacks less than two seconds of work, by `verify`."},
	{ID: "P13", Says: "What the reports call stored is in the store, byte for byte, or `verify` and the auditor say what is not."},
	{ID: "P14", Says: "A password, and the query of a depositor's URL, is seen nowhere but where it is used: in no answer, log, event, mail, report or table but the one that keeps it."},
	{ID: "P15", Says: "What others write is text when it is kept and shown: nothing that a terminal, a mail header or a path obeys, and nothing that a reader cannot see."},
	{ID: "P16", Says: "An operator can end any job in any state; one that can never fit ends by itself."},
	{ID: "P17", Says: "Jobs of one object become its versions one at a time: in the order of the rows of a manifest, and of the deposits whose jobs are there; of one submitter also whichever manifest is read first, unless the older deposit was held, waits in its queue, or is not read for two hours."},
	{ID: "P18", Says: "Our own trouble, an error of unknown kind among it, and a stop use up no attempt, and an outage of a depositor's server of up to an hour ends no job."},
	{ID: "P19", Says: "A deposit that is sent again under its key is made once."},
	{ID: "P20", Says: "The private servers trust nothing that another user of the machine owns."},
	{ID: "P21", Says: "What differs from the log in the tree, the next ids, the tables or the views is found by `verify`, and mended by it or by a rebuild."},
}

// Crashes are the rows of the crash matrix.
var Crashes = []Claim{
	{ID: "C1", Crash: "before the multi", Left: "nothing", Says: "the command is tried again",
		Points: []string{"zklive/deliver/multi/before"}},
	{ID: "C2", Crash: "during the multi, the answer is lost", Left: "it was applied or not", Says: "found out by the command's id, never applied twice"},
	{ID: "C3", Crash: "after the multi, before the relay", Left: "an outbox node", Says: "any relay publishes it",
		Points: []string{"zklive/deliver/multi/after", "relay/events/append/before"}},
	{ID: "C4", Crash: "a batch of events is half sent", Left: "nothing to be seen", Says: "it is sent again",
		Points: []string{"jslog/append/half"}},
	{ID: "C5", Crash: "it is committed, the answer is lost", Left: "the event there, its node there", Says: "its version is known: it counts as sent"},
	{ID: "C6", Crash: "sent nodes are half deleted", Left: "fewer nodes", Says: "a missing node is no error",
		Points: []string{"zklive/outbox/delete/after"}},
	{ID: "C7", Crash: "an old relay wakes up", Left: "–", Says: "what it publishes is refused"},
	{ID: "C8", Crash: "NATS restarts and has lost its tail", Left: "acknowledged events are missing",
		Says: "they are put back from the outbox and from SQL before anything new; the same id with another command is an alarm"},
	{ID: "C9", Crash: "the stream is lost", Left: "–", Says: "it is seeded from SQL, with a new epoch"},
	{ID: "C10", Crash: "the tree in ZooKeeper is lost", Left: "–", Says: "it is made again from the log; open work is queued again"},
	{ID: "C11", Crash: "the projector dies", Left: "its transaction is rolled back", Says: "the next one goes on at the checkpoint",
		Points: []string{"projections/apply/commit/before", "projections/apply/commit/after"}},
	{ID: "C12", Crash: "two projectors", Left: "the second's checkpoint matches no row", Says: "it stops"},
	{ID: "C13", Crash: "the session of a worker expires while it works", Left: "its locks are gone",
		Says: "its late multi is refused, another worker takes the job"},
}

// Shown is a test that shows a claim.
type Shown struct {
	Package, Test string
}

// showsAll returns which tests show which claims, by their markers.
func showsAll(root fs.FS) (map[string][]Shown, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, c := range slices.Concat(Promises, Crashes) {
		known[c.ID] = true
	}
	shown := map[string][]Shown{}
	for _, s := range all {
		// Markers inside of functions, and before other things, show nothing.
		inPlace := 0
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(strings.ToLower(f.Name.Name), "test") {
				continue
			}
			for _, id := range markers(f.Doc) {
				inPlace++
				if !known[id] {
					return nil, fmt.Errorf("%s: %s shows %s, which is no promise and no row of the crash matrix (see repocheck/promises.go)", s.file, f.Name.Name, id)
				}
				shown[id] = append(shown[id], Shown{s.pkg, f.Name.Name})
			}
		}
		for _, c := range s.syntax.Comments {
			inPlace -= len(markers(c))
		}
		if inPlace != 0 {
			return nil, fmt.Errorf("%s: a line \"Shows: P1\" stands in the comment of a test function and nowhere else", s.file)
		}
	}
	for id, tests := range shown {
		slices.SortFunc(tests, func(a, b Shown) int {
			return strings.Compare(a.Package+" "+a.Test, b.Package+" "+b.Test)
		})
		shown[id] = slices.Compact(tests)
	}
	return shown, nil
}

// markers returns what a comment says that its test shows.
func markers(c *ast.CommentGroup) (ids []string) {
	if c == nil {
		return nil
	}
	for line := range strings.Lines(c.Text()) {
		if list, ok := strings.CutPrefix(line, "Shows: "); ok {
			ids = append(ids, strings.Fields(list)...)
		}
	}
	return ids
}

// inWords names tests, by package.
func inWords(tests []Shown) string {
	var b strings.Builder
	last := ""
	for _, t := range tests {
		switch {
		case t.Package != last && last != "":
			b.WriteString("; " + t.Package + " ")
		case t.Package != last:
			b.WriteString(t.Package + " ")
		default:
			b.WriteString(", ")
		}
		last = t.Package
		b.WriteString("`" + t.Test + "`")
	}
	return b.String()
}
