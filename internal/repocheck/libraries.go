package repocheck

import "strings"

// Library says where code that is not ours may be imported. A library without a
// row is an error: it gets its row here and its record in DECISIONS.md first.
type Library struct {
	Path      string   // import path, or its beginning up to a slash
	Users     []string // packages that may import it
	TestUsers []string // packages whose tests may import it besides
}

var (
	edgesAndAdapters = join(adapters, edges, []string{"cmd/internal/wire/..."})

	serverTests = []string{"eventstore/...", "projections/...", "cmd/...", "internal/testkit/..."}
)

// Libraries is the whole table. Driver libraries stay with their adapter, so that
// replacing a server is the change of one package.
var Libraries = []Library{
	// The three servers.
	{"github.com/go-zookeeper/zk", []string{"eventstore/zklive/...", "cmd/internal/stack/...", "cmd/internal/wire/..."}, serverTests},
	{"github.com/nats-io/nats.go", []string{"eventstore/jslog/...", "eventstore/follow/...", "cmd/internal/stack/...", "cmd/internal/wire/..."}, serverTests},
	{"github.com/synadia-io/orbit.go/jetstreamext", []string{"eventstore/jslog/..."}, nil},
	{"github.com/nats-io/nats-server/v2", []string{"cmd/internal/stack/..."}, serverTests},
	{"github.com/jackc/pgx/v5", []string{"projections/...", "cmd/internal/record/...", "cmd/internal/stack/...", "cmd/internal/wire/..."}, serverTests},
	{"github.com/pressly/goose/v3", []string{"migrations"}, serverTests},

	// The world outside.
	{"gocloud.dev", []string{"cmd/internal/store/..."}, nil},
	{"code.dny.dev/ssrf", []string{"cmd/internal/fetch/..."}, nil},
	{"github.com/wneessen/go-mail", []string{"cmd/internal/notify/..."}, nil},

	{"github.com/prometheus/client_golang", []string{"cmd/internal/ops/..."}, nil},

	// The command line and its settings.
	{"github.com/spf13/cobra", []string{"cmd/internal/cli/..."}, nil},
	{"github.com/knadh/koanf", []string{"cmd/internal/config/..."}, nil},
	{"github.com/jedib0t/go-pretty/v6", []string{"cmd/internal/cli/..."}, nil},
	{"github.com/vbauerster/mpb/v8", []string{"cmd/internal/cli/..."}, nil},
	{"github.com/parquet-go/parquet-go", []string{"cmd/internal/export"}, nil},
	{"gonum.org/v1/plot", []string{"cmd/internal/export"}, nil},
	{"go.yaml.in/yaml/v3", []string{"cmd/internal/config/...", "cmd/internal/profile/..."}, everything},

	// Small tools.
	{"golang.org/x/text/unicode/norm", []string{"domain/..."}, nil},
	{"github.com/google/uuid", edgesAndAdapters, serverTests},
	{"github.com/cenkalti/backoff/v5", edgesAndAdapters, nil},
	{"golang.org/x/sync", join(edgesAndAdapters, []string{"eventstore", "cmd/internal/consistency"}), serverTests},
	{"golang.org/x/term", []string{"cmd/internal/cli/...", "cmd/internal/stack/..."}, nil},
	{"golang.org/x/sys", []string{"cmd/internal/stack/..."}, nil},

	// Tests and generators.
	{"golang.org/x/net/html", nil, everything},
	{"github.com/google/go-cmp", nil, everything},
	{"github.com/hanwen/go-fuse/v2", []string{"internal/testkit/powercut"}, nil},
	{"pgregory.net/rapid", nil, everything},
	{"github.com/anishathalye/porcupine", []string{"internal/testkit/history"}, nil},
	{"go.uber.org/goleak", nil, everything},
	{"github.com/santhosh-tekuri/jsonschema/v6", nil, everything},
	{"github.com/invopop/jsonschema", nil, everything},
}

// libraryOf finds the row of an import path.
func libraryOf(path string) (Library, bool) {
	for _, library := range Libraries {
		if library.has(path) {
			return library, true
		}
	}
	return Library{}, false
}

func (l Library) has(path string) bool {
	return path == l.Path || strings.HasPrefix(path, l.Path+"/")
}
