package profile

import (
	"cmp"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/metadata"
)

var (
	nameForm      = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	naanForm      = regexp.MustCompile(`^[0-9bcdfghjkmnpqrstvwxz]{5,9}$`)
	prefixForm    = regexp.MustCompile(`^10\.[0-9]{4,6}$`)
	shoulderForm  = regexp.MustCompile(`^[bcdfghjkmnpqrstvwxz]{1,8}[0-9]$`)
	directoryForm = regexp.MustCompile(`^file://(/[^/%?#]+)+/$`)
	loginForm     = regexp.MustCompile(`^sftp://[^/@:%?#]+@[A-Za-z0-9.:\[\]-]+/([^/%?#]+/)*$`)
	bucketForm    = regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,62}/`)
	hostForm      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
)

// Validate checks a profile that was not read from a file. The error is
// [Faults].
func (p Profile) Validate() error {
	d := &document{file: p.File}
	d.validate(&p)
	return d.faults.asError()
}

// check is one rule for a field.
type check struct {
	ok                     bool
	field, problem, remedy string
}

// validate checks every field, and brings the digest algorithm into its one
// spelling. A field that could not be decoded has its fault already and keeps its
// default, which is valid.
func (d *document) validate(p *Profile) {
	algorithm, algorithmErr := manifest.ParseAlgorithm(string(p.DigestAlgorithm))
	storage := storageProblem(p.Storage)
	forms := []string{"json", "xml", "html"}
	timeout := time.Duration(p.Fetch.Timeout)
	checks := []check{
		{nameForm.MatchString(p.Name), "name", wrong(p.Name, "is not a name"), "write 1 to 64 of a-z, 0-9, _ and -, a letter or digit first"},
		{domain.CheckHoldName(domain.HoldCollection, p.Collection) == nil, "collection", wrong(p.Collection, "is not a collection"),
			"write 1 to 128 printable ASCII characters without space, slash and colon"},
		{strings.TrimSpace(p.Owner) != "", "owner", "it is missing", "say who answers for the collection"},
		{storage == "", "storage", storage, "write default, " + bucketURLs + ", or the URL of a service"},
		{p.Layout == "" || p.Layout == LayoutOCFL || p.Layout == layoutOwn, "layout", wrong(p.Layout, "is not known"), "write accession or ocfl"},
		{p.Callback.URL == "" || webURL(p.Callback.URL), "callback.url", "it is not a URL that can be called",
			"write http or https, a host and a path, without user name, password and fragment"},
		{algorithmErr == nil, "digest_algorithm", wrong(string(p.DigestAlgorithm), "is not known"), "use one of " + join(manifest.Algorithms())},
		{p.WorkingDir == "" || filepath.IsAbs(p.WorkingDir) && filepath.Clean(p.WorkingDir) == p.WorkingDir && p.WorkingDir != "/", "working_dir",
			quote(p.WorkingDir) + " is not an absolute path", "write one without . and .., such as /srv/accession/work, or leave the field out"},
		{timeout >= time.Second && timeout <= 168*time.Hour, "fetch.timeout", timeout.String() + " is out of bounds", "write 1s to 168h"},
		{slices.Contains(forms, p.ResponseType), "response_type", wrong(p.ResponseType, "is not known"), "use one of " + join(forms)},
		{p.Priority.LargeBatch.Jobs >= 0, "priority.large_batch.jobs", "it is negative", "write from how many jobs on a batch is large, or 0 for never"},
		{len(p.Notify.On) == 0 || len(p.Notify.To) > 0, "notify.to", "it is missing", "say who gets the mails that notify.on asks for"},
		{len(p.Notify.On) == 0 || p.Notify.From != "", "notify.from", "it is missing", "say from which address the mails come"},
		{p.Notify.From == "" || Address(p.Notify.From), "notify.from", quote(p.Notify.From) + " is not an address", "write user@host without a name"},
	}
	checks = slices.Concat(checks, p.identifierChecks(), p.priorityChecks(), p.boundChecks(), p.listChecks(), p.metadataChecks(), p.stepChecks(), p.outsideChecks(), p.replicaChecks(), p.serviceChecks())
	for _, c := range checks {
		if !c.ok {
			d.fault(d.line(c.field), c.field, c.problem, c.remedy)
		}
	}
	if algorithmErr == nil {
		p.DigestAlgorithm = algorithm
	}
	if p.Identifier.Minter == minterLocal {
		p.Identifier.Minter = ""
	}
	if p.Layout == layoutOwn {
		p.Layout = ""
	}
}

// layoutOwn is how a file may say that objects have Accession's own layout.
const layoutOwn = "accession"

// minterLocal is how a file may say that no service makes the identifiers known.
const minterLocal = "local"

// identifierChecks check how objects are named.
func (p *Profile) identifierChecks() []check {
	id := p.Identifier
	doi := id.Scheme == schemeDOI
	known, service := id.Scheme == schemeARK || doi, id.Minter == MinterEZID || id.Minter == MinterDataCite
	minterKnown := service || id.Minter == "" || id.Minter == minterLocal
	checks := []check{
		{known, "identifier.scheme", wrong(id.Scheme, "is not known"), "write ark or doi"},
		{minterKnown, "identifier.minter", quote(id.Minter) + " is not known", "write local, ezid or datacite"},
		{!known || !minterKnown || doi == (id.Minter == MinterDataCite), "identifier.minter", "DOIs are made known by datacite, and ARKs by ezid or local", "write minter: datacite with scheme: doi, and another one with scheme: ark"},
		{shoulderForm.MatchString(id.Shoulder), "identifier.shoulder", wrong(id.Shoulder, "is not a shoulder"), "write 1 to 8 consonants other than l and y, then a digit, such as fk4"},
		{service || id.URL == "", "identifier.url", "there is no service at it", "name the minter, or leave it out"},
		{service || id.Target == "", "identifier.target", "there is no service that lets identifiers lead to it", "name the minter, or leave it out"},
	}
	if doi {
		checks = append(checks, check{prefixForm.MatchString(id.Prefix), "identifier.prefix", wrong(id.Prefix, "is not a prefix"), "write 10. and 4 to 6 digits, such as 10.5072 for tests"},
			check{id.NAAN == "", "identifier.naan", "DOIs have none", "leave it out"})
	} else {
		checks = append(checks, check{naanForm.MatchString(id.NAAN), "identifier.naan", wrong(id.NAAN, "is not a name-assigning number"), "write 5 to 9 digits or consonants, such as 99999 for tests"},
			check{id.Prefix == "", "identifier.prefix", "ARKs have none", "leave it out, or write scheme: doi"})
	}
	if service {
		target := strings.ReplaceAll(id.Target, targetID, "id")
		checks = append(checks, check{serviceURL(id.URL), "identifier.url", wrong(id.URL, "is not the URL of a service to which a password can be sent"),
			"write https, a host and a path, without user name, password and query; http is for this machine's own addresses"},
			check{id.Target == "" || target != id.Target && webURL(target), "identifier.target", wrong(id.Target, "is not a URL with {id}"),
				"write http or https, a host and a path with {id} in it, such as https://repository.example.org/objects/{id}"})
	}
	return checks
}

// webURL reports whether a URL is one of http or https.
func webURL(s string) bool {
	return isWeb(s) && manifest.CheckURL(s, false) == nil
}

// isWeb reports whether a text begins as a URL of http or https does.
func isWeb(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// serviceURL reports whether a password can be sent to a URL: by https, or within this machine.
func serviceURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || manifest.CheckURL(s, false) != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// serviceChecks check the services that do steps of jobs.
func (p *Profile) serviceChecks() []check {
	return []check{
		{p.StorageService() == "" || serviceURL(p.Storage), "storage", quote(p.Storage) + " is not the URL of a service to which a password can be sent",
			"write https, a host and a path, without user name, password and query; http is for this machine's own addresses"},
		{p.Recording == "" || serviceURL(p.Recording), "recording", quote(p.Recording) + " is not the URL of a service to which a password can be sent",
			"write https, a host and a path, without user name, password and query; http is for this machine's own addresses"},
		{p.Recording != "" || p.StorageService() != "" || p.ServiceTimeout == 0, "service_timeout", "there is no service", "name one with storage or recording, or leave it out"},
		timeoutCheck("service_", time.Duration(p.ServiceTimeout)),
	}
}

// priorityChecks bound the priorities. Those that are not used may be anything.
func (p *Profile) priorityChecks() []check {
	within := func(field string, v, least int, used bool) check {
		return check{!used || v >= least && v <= domain.PriorityLast, field, fmt.Sprintf("%d is out of bounds", v),
			fmt.Sprintf("write %d to %d; lower runs first", least, domain.PriorityLast)}
	}
	least := p.Priority.Default
	if least < domain.PriorityFirst || least > domain.PriorityLast {
		least = domain.PriorityFirst // one fault is enough
	}
	unknown := p.Priority.Default
	if p.Priority.UnknownSize != nil {
		unknown = *p.Priority.UnknownSize
	}
	return []check{
		within("priority.default", p.Priority.Default, domain.PriorityFirst, true),
		within("priority.large_batch.priority", p.Priority.LargeBatch.Priority, least, p.Priority.LargeBatch.Jobs != 0),
		within("priority.large_object.priority", p.Priority.LargeObject.Priority, least, p.Priority.LargeObject.Bytes != 0),
		within("priority.unknown_size", unknown, least, p.Priority.UnknownSize != nil),
	}
}

// maxReplicas is how many replicas a profile names: each job writes to all of them.
const maxReplicas = 4

// replicaChecks check the stores of copies.
func (p *Profile) replicaChecks() []check {
	checks := []check{{len(p.Replicas) <= maxReplicas, "replicas", fmt.Sprintf("%d are too many", len(p.Replicas)), fmt.Sprintf("write up to %d", maxReplicas)}}
	for i, r := range p.Replicas[:min(len(p.Replicas), maxReplicas)] {
		field, problem := fmt.Sprintf("replicas[%d]", i), storageProblem(r)
		if r == DefaultBucket || isWeb(r) {
			problem = "it is not the URL of a bucket"
		}
		checks = append(checks, check{problem == "", field, problem, "write " + bucketURLs},
			check{r != p.Storage && slices.Index(p.Replicas, r) == i, field, "it is the storage of the profile, or there twice", "write another bucket"})
	}
	return checks
}

// maxMetadata is how many kinds of metadata files a profile has.
const maxMetadata = 16

// metadataChecks check the kinds of metadata files.
func (p *Profile) metadataChecks() []check {
	checks := []check{{len(p.Metadata) <= maxMetadata, "metadata", fmt.Sprintf("%d kinds of files are too many", len(p.Metadata)), fmt.Sprintf("write up to %d", maxMetadata)}}
	roots := make(map[metadata.Name]bool)
	for i, m := range p.Metadata[:min(len(p.Metadata), maxMetadata)] {
		field := fmt.Sprintf("metadata[%d]", i)
		f, err := metadata.ParseFormat(m.Root, m.Record, m.Identifier, m.Title)
		checks = append(checks, check{err == nil, field, fmt.Sprint(err), "name root, record and identifier as {namespace}name, and paths with / between names"},
			check{err != nil || !roots[f.Root], field, quote(m.Root) + " is the root of another kind", "write one kind for each root"})
		roots[f.Root] = true
	}
	return checks
}

// Bounds of the steps of a profile. The files of an object are divided among entries of the
// compute queue, and a job waits for all of them.
const (
	maxSteps     = 8
	maxStepFiles = 10_000
)

// stepChecks check the steps.
func (p *Profile) stepChecks() []check {
	checks := []check{{len(p.Steps) <= maxSteps, "steps", fmt.Sprintf("%d steps are too many", len(p.Steps)), fmt.Sprintf("write up to %d", maxSteps)},
		{len(p.Steps) == 0 || p.Limits.MaxFiles <= maxStepFiles, "limits.max_files", fmt.Sprintf("%d are too many for a profile with steps", p.Limits.MaxFiles), fmt.Sprintf("write 1 to %d", maxStepFiles)}}
	names := make(map[string]bool)
	for i, s := range p.Steps[:min(len(p.Steps), maxSteps)] {
		field, timeout := fmt.Sprintf("steps[%d].", i), time.Duration(s.Timeout)
		datasetErr := entry.Work{Dataset: cmp.Or(s.Dataset, compute.StateDataset(domain.JobProcessing)), Key: s.Name}.Check()
		checks = append(checks, check{nameForm.MatchString(s.Name), field + "name", wrong(s.Name, "is not a name"), "write 1 to 64 of a-z, 0-9, _ and -, a letter or digit first"},
			check{!names[s.Name], field + "name", wrong(s.Name, "is the name of another step"), "write another one"},
			check{datasetErr == nil || s.Name == "", field + "dataset", fmt.Sprint(datasetErr), fmt.Sprintf("write a text of up to %d bytes", entry.MaxName)},
			check{!compute.OfState(s.Dataset), field + "dataset", quote(s.Dataset) + " is one of those of states", "leave it out, or write another one"},
			priorityCheck(field, s.Priority), timeoutCheck(field, timeout))
		names[s.Name] = true
	}
	return checks
}

func priorityCheck(field string, n int) check {
	return check{n >= 0 && n <= int(entry.MaxPriority), field + "priority", fmt.Sprintf("%d is out of bounds", n), fmt.Sprintf("write 1 to %d, or leave it out", entry.MaxPriority)}
}

func timeoutCheck(field string, d time.Duration) check {
	return check{d == 0 || d >= time.Second && d <= 168*time.Hour, field + "timeout", d.String() + " is out of bounds", "write 1s to 168h, or leave it out"}
}

// outsideChecks check the states that are left to workers outside.
func (p *Profile) outsideChecks() (checks []check) {
	for i, o := range p.Outside {
		field := fmt.Sprintf("outside[%d].", i)
		known := slices.Contains(compute.OutsideStates, o.State)
		first := slices.IndexFunc(p.Outside, func(other Outside) bool { return other.State == o.State }) == i
		checks = append(checks, check{known, field + "state", wrong(string(o.State), "is no state that may be left to workers outside"),
			"write pending, estimating, provisioning, recording or notify; what is done in processing is a step"},
			check{!known || first, field + "state", wrong(string(o.State), "is there twice"), "keep one of them"},
			priorityCheck(field, o.Priority), timeoutCheck(field, time.Duration(o.Timeout)))
	}
	return checks
}

// boundChecks bound the numbers.
func (p *Profile) boundChecks() []check {
	within := func(field string, v, least, most int64) check {
		return check{v >= least && v <= most, field, fmt.Sprintf("%d is out of bounds", v), fmt.Sprintf("write %d to %d", least, most)}
	}
	return []check{
		within("limits.max_files", int64(p.Limits.MaxFiles), 1, 1_000_000),
		within("limits.max_file_bytes", int64(p.Limits.MaxFileBytes), 1, 1<<60),
		within("limits.max_rows", int64(p.Limits.MaxRows), 1, 1_000_000),
		within("limits.max_manifest_bytes", int64(p.Limits.MaxManifestBytes), 1<<10, 1<<30),
		within("limits.max_unpacked_bytes", int64(p.Limits.MaxUnpackedBytes), 1, 1<<60),
		within("limits.max_ratio", int64(p.Limits.MaxRatio), 1, 100_000),
		within("limits.max_depth", int64(p.Limits.MaxDepth), 1, 1_000),
		within("fetch.attempts", int64(p.Fetch.Attempts), 1, 100),
		within("fetch.parallel", int64(p.Fetch.Parallel), 1, 64),
	}
}

// listChecks check the entries of lists.
func (p *Profile) listChecks() (checks []check) {
	for i, on := range p.Notify.On {
		field := fmt.Sprintf("notify.on[%d]", i)
		known := on == MailQueued || on == MailReport
		checks = append(checks, check{known, field, wrong(string(on), "is no kind of mail"), "use queued or report"},
			check{!known || slices.Index(p.Notify.On, on) == i, field, wrong(string(on), "is there twice"), "keep one of them"})
	}
	for i, to := range p.Notify.To {
		checks = append(checks, check{Address(to), fmt.Sprintf("notify.to[%d]", i), quote(to) + " is not an address", "write user@host without a name"})
	}
	for i, a := range p.Fetch.Allow {
		checks = append(checks, check{allowForm(a), fmt.Sprintf("fetch.allow[%d]", i), quote(a) + " is neither an IP prefix nor host:port nor a bucket nor a directory",
			"write 10.1.0.0/16, 127.0.0.1/32, files.example.org:8080, s3://BUCKET/, file:///DIRECTORY/ or sftp://USER@HOST/DIRECTORY/"})
	}
	return checks
}

// line returns the line of a field, else that of the field around it.
func (d *document) line(field string) int {
	for field != "" {
		if n, ok := d.lines[field]; ok {
			return n
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return 0
}

// bucketURLs are the forms of the buckets that are known.
const bucketURLs = "file:///DIRECTORY or s3://BUCKET/PREFIX"

// storageProblem returns what is wrong with the URL of a bucket, "" = nothing. There are drivers
// for directories and for S3 alone.
func storageProblem(s string) string {
	if s == DefaultBucket || isWeb(s) { // a service is checked as such
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme == "" || !strings.Contains(s, "://"):
		return "it is not the URL of a bucket"
	case u.User != nil:
		return "it holds a user name or password; a profile holds no secrets"
	case u.Scheme != "file" && u.Scheme != "s3":
		return "there are no buckets of " + u.Scheme + " here"
	case u.Scheme == "s3" && (u.Host == "" || u.Fragment != ""):
		return "it does not name a bucket of S3"
	case u.Scheme == "file" && (u.Host != "" || u.RawQuery != "" || filepath.Clean(u.Path) != u.Path):
		return "a directory needs an absolute path, without host and query"
	}
	return ""
}

// Address reports whether s is a bare mail address, which no header can hide in.
func Address(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s && !strings.ContainsAny(s, " \"\r\n,;<>")
}

func allowForm(s string) bool {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked() == p
	}
	if bucketForm.MatchString(s) || directoryForm.MatchString(s) || loginForm.MatchString(s) {
		return true
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	_, notIP := netip.ParseAddr(host)
	return err == nil && n >= 1 && n <= 65535 && (notIP == nil || hostForm.MatchString(host))
}

// wrong returns a problem with a value, or that it is missing.
func wrong(v, problem string) string {
	if v == "" {
		return "it is missing"
	}
	return quote(v) + " " + problem
}

func join[S ~string](list []S) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
