package repocheck

import "slices"

// Layer says what a group of packages may import from this repository. All paths
// are below Module. internal/crash may be imported everywhere but in the domain,
// internal/testkit and internal/repocheck by every test.
type Layer struct {
	Packages []string // patterns; the first layer that matches a package counts
	May      []string // what its files may import
	TestMay  []string // what its test files may import besides
	Why      string   // why it is a package although it is a crumb, see CheckCrumbs
}

var (
	domain    = []string{"domain/..."}
	adapters  = []string{"eventstore/zklive/...", "eventstore/jslog/...", "eventstore/memory/...", "eventstore/follow/..."}
	effects   = []string{"cmd/internal/fetch/...", "cmd/internal/store/...", "cmd/internal/mint/...", "cmd/internal/notify/...", "cmd/internal/openid", "cmd/internal/page", "cmd/internal/profile/...", "cmd/internal/record", "cmd/internal/drop", "cmd/internal/validate", "cmd/internal/unpack", "cmd/internal/sniff", "cmd/internal/replica", "cmd/internal/outside", "cmd/internal/stepservice"}
	codec     = []string{"eventstore/codec"}
	recent    = []string{"eventstore/internal/recent"}
	writePath = []string{"eventstore/relay", "eventstore/files"}
	core      = join(domain, codec, writePath, []string{"eventstore", "projections", "projections/query", "projections/rebuild", "migrations"})
	useCases  = []string{"cmd/internal/app/...", "cmd/internal/daemon/...", "cmd/internal/sweep/...", "cmd/internal/compute/..."}
	// Open directories: listings as web servers make them.
	discovery = []string{"cmd/internal/discover/..."}
	edges     = join(useCases, effects, []string{"cmd/internal/config/...", "cmd/internal/cli/...", "cmd/internal/run/...", "cmd/internal/stack/...", "cmd/internal/ops/..."})

	everything = []string{"..."}
)

// Layers is the whole import table. A package that no row matches is an error: a
// new one gets its row first.
var Layers = []Layer{
	{
		// The rules of the workflow. Pure; see purity.go for the rest.
		Packages: domain,
		May:      domain,
	}, {
		// Shared by the parts of the write path.
		Packages: recent,
	}, {
		// Events as bytes: a leaf, so that all who write or read them can use it.
		Packages: codec,
		May:      domain,
		TestMay:  []string{"eventstore/storetest/..."},
	}, {
		// The write path declares its ports and knows none of their drivers. Its
		// suite runs from the external test package against each of them.
		Packages: []string{"eventstore"},
		May:      join(domain, codec),
		TestMay:  join(adapters, []string{"eventstore/storetest/..."}),
	}, {
		Packages: writePath,
		May:      join(domain, codec, recent, []string{"eventstore"}),
		TestMay:  join(adapters, []string{"eventstore/storetest/..."}),
	}, {
		Packages: []string{"eventstore/storetest/..."},
		May:      join(domain, writePath, []string{"eventstore"}),
		TestMay:  adapters,
	}, {
		// Drivers, one server each, none aware of another.
		Packages: adapters,
		May:      join(domain, codec, recent, []string{"eventstore"}),
		TestMay:  join(writePath, []string{"eventstore/storetest/..."}),
	}, {
		// The projector takes an iterator that it declares itself, so that a
		// rebuild needs no event store. Its tests read through the other parts.
		Packages: []string{"projections"},
		May:      join(domain, []string{"migrations", "projections/internal/..."}),
		TestMay:  []string{"projections/projtest", "projections/query", "projections/rebuild"},
	}, {
		// Events to rows, and what all parts share.
		Packages: []string{"projections/internal/fold", "projections/internal/tables"},
		May:      join(domain, []string{"migrations", "projections/internal/..."}),
	}, {
		// What views, reports and pages read.
		Packages: []string{"projections/query"},
		May:      join(domain, []string{"projections/internal/..."}),
	}, {
		// The tables anew beside the live ones.
		Packages: []string{"projections/rebuild"},
		May:      join(domain, []string{"migrations", "projections", "projections/internal/..."}),
	}, {
		Packages: []string{"projections/projtest"},
		May:      join(domain, []string{"migrations", "projections", "projections/query"}),
	}, {
		// Generated code, migrations and crash points stand alone.
		Packages: []string{"projections/internal/pgdb", "cmd/internal/record/internal/pgdb", "internal/crash/..."},
	}, {
		Packages: []string{"migrations"},
		TestMay:  []string{"projections/projtest"},
	}, {
		Packages: []string{"cmd/internal/record"},
		May:      join(domain, []string{"migrations", "cmd/internal/record/internal/pgdb"}),
		TestMay:  []string{"projections/projtest"},
	}, {
		// What the daemons need of the world: none knows another or its users.
		Packages: []string{"cmd/internal/drop"},
		May:      join(domain, []string{"cmd/internal/store"}),
	}, {
		// The marks by which older copies of servers are noticed.
		Packages: []string{"cmd/internal/store/marks"},
		May:      join(domain, []string{"cmd/internal/store"}),
	}, {
		// Copies stored versions to other stores, as profiles say.
		Packages: []string{"cmd/internal/replica"},
		May:      join(domain, []string{"cmd/internal/profile/...", "cmd/internal/record", "cmd/internal/store/..."}),
	}, {
		// What a payload is by its content, such as a container.
		Packages: []string{"cmd/internal/sniff"},
		May:      join(domain, []string{"cmd/internal/unpack"}),
	}, {
		Packages: effects,
		May:      domain,
	}, {
		// Finds the files of open directories.
		Packages: discovery,
		May:      join(domain, []string{"cmd/internal/fetch"}),
	}, {
		// Compares what the three servers hold, and repairs it.
		Packages: []string{"cmd/internal/consistency"},
		May:      core,
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		// Compares what is stored with the records and the log.
		Packages: []string{"cmd/internal/audit"},
		May:      join(core, effects, []string{"cmd/internal/consistency"}),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		// Looks up what is known of identifiers, in the tables and the records.
		Packages: []string{"cmd/internal/answer"},
		May:      join(core, effects),
		TestMay:  []string{"projections/projtest"},
	}, {
		// The use cases see ports, read models and effects, never a driver.
		Packages: []string{"cmd/internal/app/..."},
		May:      join(core, effects, discovery, []string{"cmd/internal/answer", "cmd/internal/attempt", "cmd/internal/audit", "cmd/internal/consistency"}),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		// What the daemons are made of; none of them knows the daemons.
		Packages: []string{"cmd/internal/daemon"},
		May:      join(core, effects, []string{"cmd/internal/daemon/..."}),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		Packages: []string{"cmd/internal/daemon/answering"},
		May:      join(core, effects, []string{"cmd/internal/answer", "cmd/internal/daemon/delivery", "cmd/internal/daemon/limits", "cmd/internal/daemon/reason"}),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/..."},
	}, {
		Packages: []string{"cmd/internal/daemon/daily"},
		May:      join(core, effects, []string{"cmd/internal/daemon/delivery"}),
		TestMay:  []string{"projections/projtest"},
	}, {
		Packages: []string{"cmd/internal/daemon/delivery"},
		May:      join(core, effects, []string{"cmd/internal/daemon/reason", "cmd/internal/daemon/report"}),
	}, {
		Packages: []string{"cmd/internal/daemon/report"},
		May:      join(core, effects, []string{"cmd/internal/daemon/history", "cmd/internal/daemon/payload", "cmd/internal/daemon/reason"}),
	}, {
		Packages: []string{"cmd/internal/daemon/members"},
		May:      join(core, effects, []string{"cmd/internal/daemon/payload", "cmd/internal/daemon/reason"}),
	}, {
		Packages: []string{"cmd/internal/daemon/version"},
		May:      join(core, effects, []string{"cmd/internal/daemon/payload", "cmd/internal/daemon/reason"}),
	}, {
		Packages: []string{"cmd/internal/daemon/download"},
		May:      join(core, effects, []string{"cmd/internal/daemon/payload", "cmd/internal/daemon/reason", "cmd/internal/daemon/space", "cmd/internal/daemon/transfer"}),
	}, {
		Packages: []string{"cmd/internal/daemon/entrust"},
		May:      join(core, effects, []string{"cmd/internal/daemon/reason"}),
	}, {
		Packages: []string{"cmd/internal/daemon/transfer"},
		May:      join(core, effects, []string{"cmd/internal/daemon/payload", "cmd/internal/daemon/reason"}),
	}, {
		Packages: []string{"cmd/internal/daemon/payload"},
		May:      join(core, effects, []string{"cmd/internal/daemon/reason"}),
	}, {
		// Polls open directories.
		Packages: []string{"cmd/internal/poll"},
		May:      join(core, effects, discovery),
	}, {
		// Decides what becomes of downloaded files without a job.
		Packages: []string{"cmd/internal/ready"},
		May:      join(core, effects),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		// Attempts at files by workers of the compute queue.
		Packages: []string{"cmd/internal/attempt"},
		May:      join(core, effects),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/..."},
	}, {
		Packages: []string{"cmd/internal/compute/..."},
		May:      join(core, effects, []string{"cmd/internal/attempt"}),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		Packages: useCases,
		May:      join(core, effects),
		TestMay:  []string{"eventstore/memory", "eventstore/storetest/...", "projections/projtest"},
	}, {
		// What may be requested over HTTP, and who may request it.
		Packages: []string{"cmd/internal/operation"},
		May:      join(core, []string{"cmd/internal/app/...", "cmd/internal/export", "cmd/internal/operation/internal/..."}),
	}, {
		// Streams of events.
		Packages: []string{"cmd/internal/operation/internal/following"},
		May:      join(core, []string{"cmd/internal/app/...", "cmd/internal/operation/internal/sending"}),
	}, {
		// What is there for a caller.
		Packages: []string{"cmd/internal/operation/internal/sight"},
		May:      join(core, []string{"cmd/internal/app/..."}),
	}, {
		// Bodies of answers that are files, compared before they are whole.
		Packages: []string{"cmd/internal/operation/internal/sending"},
		May:      join(domain, []string{"cmd/internal/app/..."}),
	}, {
		// Forms of other services, whose clients deposit by them.
		Packages: []string{"cmd/internal/forms"},
		May:      join(domain, []string{"cmd/internal/app/...", "cmd/internal/operation"}),
		TestMay:  join(effects, []string{"eventstore"}),
	}, {
		// The other end of HTTP: a command line that has no servers of its own.
		Packages: []string{"cmd/internal/remote"},
		May:      join(domain, []string{"cmd/internal/app/...", "cmd/internal/operation"}),
	}, {
		// Large files in pieces.
		Packages: []string{"cmd/internal/httpapi/internal/tus"},
		May:      []string{"cmd/internal/app/...", "cmd/internal/operation"},
	}, {
		// Pages for people: over operations, as any program has them.
		Packages: []string{"cmd/internal/console"},
		May:      join(domain, []string{"cmd/internal/app/...", "cmd/internal/console/internal/...", "cmd/internal/export", "cmd/internal/operation", "cmd/internal/page"}),
	}, {
		// Fields of forms.
		Packages: []string{"cmd/internal/console/internal/form"},
	}, {
		// Requests of pages to the API.
		Packages: []string{"cmd/internal/console/internal/ask"},
		May:      []string{"cmd/internal/app", "cmd/internal/app/people", "cmd/internal/app/problem", "cmd/internal/operation"},
	}, {
		// What actions ask for.
		Packages: []string{"cmd/internal/console/internal/question"},
		May:      join(domain, []string{"cmd/internal/app/...", "cmd/internal/console/internal/ask", "cmd/internal/console/internal/form", "cmd/internal/operation"}),
	}, {
		// Lists and tables, and the files that have all of them.
		Packages: []string{"cmd/internal/console/internal/table"},
		May:      []string{"cmd/internal/app", "cmd/internal/app/problem", "cmd/internal/console/internal/ask", "cmd/internal/console/internal/cell", "cmd/internal/console/internal/form", "cmd/internal/export"},
	}, {
		// Values as pages show them.
		Packages: []string{"cmd/internal/console/internal/cell"},
		May:      join(domain, []string{"cmd/internal/page"}),
	}, {
		Packages: []string{"cmd/internal/httpapi"},
		May:      join(domain, []string{"cmd/internal/app/...", "cmd/internal/console", "cmd/internal/forms", "cmd/internal/httpapi/internal/tus", "cmd/internal/operation"}),
	}, {
		Packages: []string{"cmd/internal/config/..."},
		May:      domain,
	}, {
		// Rows in the formats of others, a mail's among them.
		Packages: []string{"cmd/internal/export"},
		May:      join(domain, []string{"cmd/internal/app", "cmd/internal/notify", "cmd/internal/page"}),
	}, {
		Packages: []string{"cmd/internal/cli/..."},
		May:      join(domain, []string{"cmd/internal/export", "cmd/internal/app/...", "cmd/internal/operation", "cmd/internal/remote", "cmd/internal/config/...", "cmd/internal/run/...", "cmd/internal/stack/...", "deploy/samples", "deploy/profiles", "docs"}),
		TestMay:  []string{"projections/projtest", "cmd/internal/drop", "cmd/internal/profile", "cmd/internal/sweep"},
	}, {
		// What operators see of a process: it counts, and asks what it is handed.
		Packages: []string{"cmd/internal/ops/..."},
		May:      core,
	}, {
		// Opens the three servers: the only importer of the drivers.
		Packages: []string{"cmd/internal/wire/..."},
		May:      everything,
	}, {
		// Start and stop, and private servers; they see drivers through wire only,
		// but their tests break servers and so may hold any part in their hands.
		Packages: []string{"cmd/internal/run/...", "cmd/internal/stack/..."},
		May:      join(core, edges, []string{"cmd/internal/wire/..."}),
		TestMay:  everything,
	}, {
		// The program itself.
		Packages: []string{"cmd/accession"},
		May:      []string{"cmd/internal/cli/...", "cmd/internal/stack"},
		TestMay:  everything,
	}, {
		// Tests of the whole program; no production code.
		Packages: []string{"cmd/accession/e2e/..."},
		TestMay:  everything,
	}, {
		// What the demonstration deposits, and under which profile.
		Packages: []string{"deploy/profiles"},
	}, {
		// Schemas that the program shows.
		Packages: []string{"docs"},
		Why:      "A file can be embedded only from its own folder, and people read these.",
	}, {
		Packages: []string{"deploy/samples"},
		May:      domain,
	}, {
		// Programs of other houses import it: it speaks HTTP, and imports nothing of ours.
		Packages: []string{"eventstore/work"},
	}, {
		// Examples of programs of other houses: they need package follow only.
		Packages: []string{"deploy/examples/..."},
		May:      []string{"eventstore/follow"},
	}, {
		// Machinery that tests share.
		Packages: []string{"internal/testkit/..."},
		May:      everything,
	}, {
		// Checks of the repository and of its test runs.
		Packages: []string{"internal/repocheck/..."},
		May:      everything,
	},
}

// layerOf finds the row of a package.
func layerOf(path string) (Layer, bool) {
	i := slices.IndexFunc(Layers, func(l Layer) bool { return matchesAny(l.Packages, path) })
	if i < 0 {
		return Layer{}, false
	}
	return Layers[i], true
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }
