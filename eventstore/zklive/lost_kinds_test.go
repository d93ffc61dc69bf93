//go:build !race

package zklive_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kinds are the places in the code that write, or that plan a write, and how one of
// the writes looks that must have been lost for each.
var kinds = map[string]string{
	"zklive/claim/release":              `^check /workers/W, delete /jobs/JID/lock, set /jobs/JID/claims$`,
	"zklive/deliver/multi":              `create /outbox/NN/b/e`,
	"zklive/destroy/part":               `^delete /batches/BID/states/[^,]*, .*delete /batches/BID/states$`,
	"zklive/entry/clock":                `^set /compute/claims$`,
	"zklive/entry/forget":               `^delete /compute/commands/[^,]*$`,
	"zklive/entry/overdue":              `^delete /compute/claims/[^,]*$`,
	"zklive/entry/renew":                `^set /compute/claims/[^,]*$`,
	"zklive/entry/run":                  `^check /workers/W, check /compute/claims/[^,]*, check /compute/entries/[^,]*, set /owned/[^,]*$`,
	"zklive/high-water/raise":           `^set /config/high-water$`,
	"zklive/ids/raise":                  `^set /ids/bid$`,
	"zklive/ids/reserve":                `^set /ids/jid$`,
	"zklive/lead/resign":                `^check /workers/W, delete /leaders/relay-NN$`,
	"zklive/lead/take":                  `^check /workers/W, create /leaders/relay-NN$`,
	"zklive/outbox/delete":              `^(many: )?delete /outbox/NN/b/e$`,
	"zklive/outbox/drop-bucket":         `^delete /outbox/NN/b$`,
	"zklive/outbox/mark":                `^set /outbox/NN/mark$`,
	"zklive/outbox/rotate":              `^set /outbox/NN/b, create /outbox/NN/b, set /outbox/NN$`,
	"zklive/remove/batch":               `^delete /batches/BID/submission, delete /batches/BID/status, delete /batches/BID$`,
	"zklive/remove/job":                 `^delete /batches/BID/states/batch-completed/JID, .*delete /jobs/JID$`,
	"zklive/repair/entry":               `create /compute/keys/[^,]*`,
	"zklive/repair/query":               `create /queries/[^,]*/request`,
	"zklive/repair/ring":                `^set /queues/metadata/ring$`,
	"zklive/repair/ring-extra":          `^delete /queues/metadata/names/[^,]*$`,
	"zklive/repair/ring-node":           `^set /queues/metadata/running/[^,]*$`,
	"zklive/repair/seize-lock":          `^set /jobs/JID/lock$`,
	"zklive/restore/end":                `^restoring: delete /config/restoring$`,
	"zklive/restore/epoch":              `^set /config/epoch$`,
	"zklive/restore/mark":               `^restoring: set /outbox/NN/mark$`,
	"zklive/restore/number":             `^restoring: set /ids/bid$`,
	"zklive/restore/part":               `^restoring: (many: )?create /batches/BID, .*create /jobs/JID/`,
	"zklive/restore/ring":               `^restoring: set /queues/metadata/ring$`,
	"zklive/session/register":           `^create /workers/W$`,
	"zklive/permit/return":              `^check /workers/W, delete /hosts/[^,]*$`,
	"zklive/space/file":                 `^check /workers/W, create /space/file[^,]*$`,
	"zklive/space/file-end":             `^check /workers/W, delete /space/file[^,]*$`,
	"zklive/permit/take":                `^check /workers/W, create /hosts/[^,]*$`,
	"zklive/space/lead":                 `^check /workers/W, set /space$`,
	"zklive/tree/make-node":             `^create /jobs/states/held$`,
	"zklive/tree/make-objects":          `create /objects/[^,]*, create /objects/`,
	"sends: Confirm":                    `^check /workers/W, check /jobs/JID/lock$`,
	"sends: lock":                       `^check /workers/W, check /jobs/JID/status, check /locks, create /jobs/JID/lock, check /batches/BID/status, set /jobs/JID/claims$`,
	"sends: sendOnce":                   `^check /workers/W, delete /jobs/states/estimating/JID, set /jobs/JID/status, .*delete /jobs/JID/lock, `,
	"changes: command":                  `create /compute/claims/[^,]*, create /compute/commands/`,
	"changes: countUp":                  `^check /locks, check /queues/metadata/config, create /queues/metadata/pools/synchronous, create /batches/BID, `,
	"changes: entry":                    `^check /workers/W, check /locks, delete /unowned/[^,]*, set /compute/entries/[^,]*, create /owned/[^,]*, create /compute/claims/[^,]*, set /compute/entries/`,
	"changes: handOver":                 `check /jobs/JID/lock, set /jobs/JID/claims, `,
	"changes: leave":                    `create /queues/metadata/running/[^,]*, delete /queues/metadata/users/[^,]*, delete /queues/metadata/names/[^,]*, set /queues/metadata/ring, `,
	"changes: objectEntries":            `set /jobs/JID/identifiers, set /jobs/JID/status, create /objects/`,
	"changes: promise":                  `^delete /jobs/states/provisioning/JID, set /jobs/JID/status, create /jobs/states/downloading/JID, create /space/JID, `,
	"changes: repair":                   `set /jobs/JID/status, create /jobs/JID/priority, `,
	"changes: require":                  `^check /locks, delete /jobs/states/pending/JID, set /jobs/JID/status, create /jobs/states/estimating/JID, `,
	"changes: requireEmpty":             `delete /batches/BID/states/batch-processing, create /batches/BID/states/batch-processing, set /batches/BID/status, `,
	"changes: requireIdle":              `create /jobs/JID/lock, delete /jobs/JID/lock, delete /batches/BID/states/batch-processing/JID, delete /batches/BID/states/batch-processing, create /batches/BID/states/batch-processing, `,
	"changes: requireUnlocked":          `create /jobs/JID/lock, delete /jobs/JID/lock, `,
	"changes: nextRows":                 `^many: check /workers/W, set /batches/BID/progress, create /batches/BID/states, `,
	"changes: setting":                  `^delete /locks/collections/[^,]*, set /config/versions/[^,]*, set /locks, `,
	"changes: ticketAfter":              `^delete /queues/metadata/running/[^,]*, set /batches/BID/status, create /batches/BID/status-report, delete /queues/metadata/running/`,
	"changes: ticketBefore":             `^check /workers/W, check /locks, check /queues/metadata/config, create /queues/metadata/running/`,
	"changes: touch":                    `set /config/versions/[^,]*, create /locks/collections/[^,]*, set /locks, `,
	"changes: touchQueue":               `create /queues/query/config/users/[^,]*, set /queues/query/config, `,
	"changes: transition":               `set /batches/BID/status, create /batches/BID/progress, `,
	"groups: several moves in a multi":  `^many: check /locks, delete /jobs/states/pending/JID, set /jobs/JID/status, create /jobs/states/estimating/JID, `,
	"groups: several claims in a multi": `^many: check /workers/W, check /jobs/JID/status, check /locks, create /jobs/JID/lock, `,
}

// TestLostKinds walks through everything that a store does, and of each kind of
// write loses the first answer; in a second walk the first request, and then the
// answer to the next. Nobody hears of an error, and what is there in the end is what
// a walk leaves that nothing befell.
// Shows: P1 P2 C2
func TestLostKinds(t *testing.T) {
	t.Parallel()
	want := walk(t)
	for name, fates := range map[string][]fate{"first try": {losesAnswer}, "retry": {losesRequest, losesAnswer}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := walk(t, fates...)
			if diff := cmp.Diff(want.tree, got.tree); diff != "" {
				t.Errorf("the tree (-without losses +with):\n%s", diff)
			}
			if diff := cmp.Diff(want.events, got.events); diff != "" {
				t.Errorf("the outbox (-without losses +with):\n%s", diff)
			}
			missed := false
			for kind, like := range kinds {
				if !slices.ContainsFunc(got.lost, regexp.MustCompile(like).MatchString) {
					t.Errorf("no write of %s was lost: none is like %s", kind, like)
					missed = true
				}
			}
			if missed {
				t.Logf("the kinds that were lost:\n%s", strings.Join(got.lost, "\n"))
			}
		})
	}
}

// TestKindsOfWrites: a place in the code that writes has a row in the table of
// kinds.
func TestKindsOfWrites(t *testing.T) {
	t.Parallel()
	there := map[string]bool{"groups: several moves in a multi": true, "groups: several claims in a multi": true}
	names, err := filepath.Glob("*.go")
	for _, below := range []string{"internal/*/*.go", "recovery/*.go"} {
		more, bad := filepath.Glob(below)
		names, err = append(names, more...), errors.Join(err, bad)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				writesOf(fn, there)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(kinds))); diff != "" {
		t.Errorf("the kinds of writes (-code +table): give each a row that says how it looks, and let walk do it:\n%s", diff)
	}
}

// writesOf adds what a function writes: the operations around which it puts crash
// points, the requests that it sends, and what it adds to the operations of changes.
func writesOf(fn *ast.FuncDecl, there map[string]bool) {
	if params := fn.Type.Params.List; fn.Recv != nil && len(params) > 0 {
		if star, ok := params[0].Type.(*ast.StarExpr); ok {
			if of, ok := star.X.(*ast.Ident); ok && of.Name == "Ops" {
				there["changes: "+fn.Name.Name] = true
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Send" && fn.Name.Name != "Send" {
			there["sends: "+fn.Name.Name] = true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"zklive/`) && !strings.Contains(lit.Value, "/after-") {
				there[strings.Trim(lit.Value, `"`)] = true
			}
		}
		return true
	})
}
