package follow_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who follows the events gets a NATS client and our rules, nothing else: no
// ZooKeeper, no PostgreSQL, no server, nothing that only this program needs.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(within(t), "go", "list", "-deps", "-f", "{{if not .Standard}}{{if .Module.Main}}{{.ImportPath}}{{else}}{{.Module.Path}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	const own = "github.com/accession-ingest/accession/"
	want := []string{
		own + "domain", own + "domain/asked", own + "domain/entry", own + "domain/fair", own + "domain/instant", own + "domain/setting", own + "domain/text", own + "eventstore/codec", own + "eventstore/follow", own + "eventstore/internal/recent",
		"github.com/klauspost/compress", "github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/nats-io/nuid", // the client and what it needs
		"golang.org/x/crypto", "golang.org/x/sys",
	}
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("a program that follows the events depends on (-want +got):\n%s", diff)
	}
}
