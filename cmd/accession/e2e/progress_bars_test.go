package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/cli"
)

// bars checks that replay and report draw how far they are on a terminal and
// what they write goes elsewhere, that they end there, and that a pipe has nothing
// of it.
func (in *installation) bars() {
	in.t.Helper()
	dir := in.t.TempDir()
	for unit, command := range map[string][]string{"events": {"replay"}, "rows": {"report", "throughput"}} {
		for i, c := range []struct{ out, errs, file, bar bool }{
			{},
			{out: true},
			{out: true, errs: true},
			{errs: true, bar: true},
			{out: true, errs: true, file: true, bar: true},
			{file: true},
		} {
			args := append([]string{}, command...)
			if c.file {
				args = append(args, "--out", filepath.Join(dir, fmt.Sprint(unit, i)))
			}
			for key, value := range in.settings {
				args = append(args, "--set", key+"="+value)
			}
			var o, e bytes.Buffer
			code := cli.Main(in.ctx(), args, cli.IO{Out: &o, Err: &e, Terminal: c.out, LogTerminal: c.errs})
			drawn := strings.Contains(e.String(), " "+unit+"  [") && strings.Contains(e.String(), " left\n")
			if code != 0 || drawn != c.bar || !c.bar && e.Len() != 0 || strings.Contains(o.String(), unit+"  [") || (o.Len() == 0) != c.file {
				in.t.Errorf("%s %+v: exit code %d, written %q, told %q", command, c, code, o.String(), e.String())
			}
		}
	}
}
