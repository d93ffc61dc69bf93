package repocheck

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCrumbs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg, body string
		more      bool // another importer
		want      string
	}{
		{"eventstore/internal/x", "const A = 1", false, "has 2 lines of code and one importer: join it into eventstore/relay"},
		{"eventstore/internal/x", strings.Repeat("// A comment.\n\n", crumb), false, "one importer"},
		{"eventstore/internal/x", strings.Repeat("var _ = 0\n", crumb), false, ""},
		{"eventstore/internal/x", "const A = 1", true, ""},
		{"docs", "const A = 1", false, ""}, // its row has a reason
		{"docs", "const A = 1", true, "is no crumb"},
	} {
		root := tree(c.pkg+"/a.go", "", c.body)
		importer := &fstest.MapFile{Data: []byte("package p\n" + "import _ \"" + Module + "/" + c.pkg + "\"\n")}
		root["eventstore/relay/b.go"], root["eventstore/relay/b_test.go"], root["eventstore/b_test.go"] = importer, importer, importer
		if c.more {
			root["eventstore/b.go"] = importer
		}
		one(t, CheckCrumbs, root, c.want)
	}
}
