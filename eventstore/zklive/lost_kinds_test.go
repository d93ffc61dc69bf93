//go:build !race

package zklive_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kinds are the places in the code that write, or that plan a write, and how one of
// the writes looks that must have been lost for each.
var kinds = map[string]string{
	"zklive/claim/before-release":       `^check /workers/W, delete /jobs/JID/lock, set /jobs/JID/claims$`,
	"zklive/deliver/before-multi":       `create /outbox/NN/b/e`,
	"zklive/destroy/before-part":        `^delete /batches/BID/states/[^,]*, .*delete /batches/BID/states$`,
	"zklive/ids/before-reserve":         `^set /ids/jid$`,
	"zklive/lead/before-resign":         `^check /workers/W, delete /leaders/relay-NN$`,
	"zklive/lead/before-take":           `^check /workers/W, create /leaders/relay-NN$`,
	"zklive/outbox/before-delete":       `^(many: )?delete /outbox/NN/b/e$`,
	"zklive/outbox/before-drop-bucket":  `^delete /outbox/NN/b$`,
	"zklive/outbox/before-mark":         `^set /outbox/NN/mark$`,
	"zklive/outbox/before-rotate":       `^set /outbox/NN/b, create /outbox/NN/b, set /outbox/NN$`,
	"zklive/remove/before-batch":        `^delete /batches/BID/submission, delete /batches/BID/status, delete /batches/BID$`,
	"zklive/remove/before-job":          `^delete /batches/BID/states/batch-completed/JID, .*delete /jobs/JID$`,
	"zklive/repair/before-seize-lock":   `^set /jobs/JID/lock$`,
	"zklive/restore/before-end":         `^delete /config/restoring$`,
	"zklive/restore/before-epoch":       `^set /config/epoch$`,
	"zklive/restore/before-number":      `^set /ids/bid$`,
	"zklive/restore/before-part":        `^(many: )?create /batches/BID, .*create /jobs/JID/`,
	"zklive/session/before-register":    `^create /workers/W$`,
	"zklive/space/before-lead":          `^check /workers/W, set /space$`,
	"zklive/tree/before-make-node":      `^create /jobs/states/held$`,
	"sends: Confirm":                    `^check /workers/W, check /jobs/JID/lock$`,
	"sends: commit":                     `^check /workers/W, delete /jobs/states/estimating/JID, set /jobs/JID/status, .*delete /jobs/JID/lock, `,
	"sends: lock":                       `^check /workers/W, check /jobs/JID/status, check /locks, create /jobs/JID/lock, check /batches/BID/status, set /jobs/JID/claims$`,
	"plans: planHandOver":               `check /jobs/JID/lock, set /jobs/JID/claims, `,
	"plans: planIdle":                   `create /jobs/JID/lock, delete /jobs/JID/lock, delete /batches/BID/states/batch-processing/JID, delete /batches/BID/states/batch-processing, create /batches/BID/states/batch-processing, `,
	"plans: planImage":                  `set /batches/BID/status, create /batches/BID/progress, `,
	"plans: planMove":                   `^check /locks, delete /jobs/states/pending/JID, set /jobs/JID/status, create /jobs/states/estimating/JID, `,
	"plans: planPromise":                `^delete /jobs/states/provisioning/JID, set /jobs/JID/status, create /jobs/states/downloading/JID, create /space/JID, `,
	"plans: planRedraw":                 `set /jobs/JID/status, create /jobs/JID/priority, `,
	"plans: planRequire":                `delete /batches/BID/states/batch-processing, create /batches/BID/states/batch-processing, set /batches/BID/status, `,
	"plans: planRows":                   `^many: check /workers/W, set /batches/BID/progress, create /batches/BID/states, `,
	"plans: planSetting":                `^set /config/versions/[^,]*, delete /locks/collections/[^,]*, set /locks, `,
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
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name.Name(), nil, 0)
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

func writesOf(fn *ast.FuncDecl, there map[string]bool) {
	if name := fn.Name.Name; strings.HasPrefix(name, "plan") && name != "plan" && fn.Recv != nil {
		there["plans: "+name] = true
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := sel.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "send" && of.Sel.Name == "groups" {
			there["sends: "+fn.Name.Name] = true
		}
		if sel.Sel.Name == "Point" && len(call.Args) == 1 {
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && strings.Contains(lit.Value, "/before-") {
				there[strings.Trim(lit.Value, `"`)] = true
			}
		}
		return true
	})
}
