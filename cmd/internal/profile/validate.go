package profile

import (
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
	"github.com/accession-ingest/accession/domain/manifest"
)

var (
	nameForm     = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	naanForm     = regexp.MustCompile(`^[0-9bcdfghjkmnpqrstvwxz]{5,9}$`)
	shoulderForm = regexp.MustCompile(`^[bcdfghjkmnpqrstvwxz]{1,8}[0-9]$`)
	hostForm     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)
)

// Validate checks a profile that was not read from a file. The error is
// [Faults].
func (p Profile) Validate() error {
	d := &document{file: p.File}
	d.validate(&p)
	return d.faults.asError()
}

// validate checks every field, and brings the digest algorithm into its one
// spelling. A field that could not be decoded has its fault already and keeps its
// default, which is valid.
func (d *document) validate(p *Profile) {
	bad := func(field, problem, remedy string) { d.fault(d.line(field), field, problem, remedy) }

	if !nameForm.MatchString(p.Name) {
		bad("name", wrong(p.Name, "is not a name"), "write 1 to 64 of a-z, 0-9, _ and -, a letter or digit first")
	}
	if err := domain.CheckHoldName(domain.HoldCollection, p.Collection); err != nil {
		bad("collection", wrong(p.Collection, "is not a collection"), "write 1 to 128 printable ASCII characters without space, slash and colon")
	}
	if strings.TrimSpace(p.Owner) == "" {
		bad("owner", "it is missing", "say who answers for the collection")
	}
	if p.Identifier.Scheme != "ark" {
		bad("identifier.scheme", wrong(p.Identifier.Scheme, "is not known"), "write ark")
	}
	if !naanForm.MatchString(p.Identifier.NAAN) {
		bad("identifier.naan", wrong(p.Identifier.NAAN, "is not a name-assigning number"), "write 5 to 9 digits or consonants, such as 99999 for tests")
	}
	if !shoulderForm.MatchString(p.Identifier.Shoulder) {
		bad("identifier.shoulder", wrong(p.Identifier.Shoulder, "is not a shoulder"), "write 1 to 8 consonants other than l and y, then a digit, such as fk4")
	}
	if problem := checkStorage(p.Storage); problem != "" {
		bad("storage", problem, "write default, or a bucket URL such as file:///srv/maps")
	}
	d.validatePriority(p.Priority, bad)
	if p.Callback.URL != "" {
		if err := manifest.CheckURL(p.Callback.URL, false); err != nil {
			bad("callback.url", "it is not a URL that can be called", "write http or https, a host and a path, without user name, password and fragment")
		}
	}
	d.validateNotify(p.Notify, bad)
	if a, err := manifest.ParseAlgorithm(string(p.DigestAlgorithm)); err != nil {
		bad("digest_algorithm", wrong(string(p.DigestAlgorithm), "is not known"), "use one of "+join(manifest.Algorithms()))
	} else {
		p.DigestAlgorithm = a
	}
	if w := p.WorkingDir; w != "" && (!filepath.IsAbs(w) || filepath.Clean(w) != w || w == "/") {
		bad("working_dir", quote(w)+" is not an absolute path", "write one without . and .., such as /srv/accession/work, or leave the field out")
	}
	d.validateFetch(p.Fetch, bad)
	for _, l := range []struct {
		field     string
		v, lo, hi int64
	}{
		{"limits.max_files", int64(p.Limits.MaxFiles), 1, 1_000_000},
		{"limits.max_file_bytes", int64(p.Limits.MaxFileBytes), 1, 1 << 60},
		{"limits.max_rows", int64(p.Limits.MaxRows), 1, 1_000_000},
		{"limits.max_manifest_bytes", int64(p.Limits.MaxManifestBytes), 1 << 10, 1 << 30},
		{"fetch.attempts", int64(p.Fetch.Attempts), 1, 20},
		{"fetch.parallel", int64(p.Fetch.Parallel), 1, 64},
	} {
		if l.v < l.lo || l.v > l.hi {
			bad(l.field, fmt.Sprintf("%d is out of bounds", l.v), fmt.Sprintf("write %d to %d", l.lo, l.hi))
		}
	}
	if r := []string{"json", "xml", "html"}; !slices.Contains(r, p.ResponseType) {
		bad("response_type", wrong(p.ResponseType, "is not known"), "use one of "+join(r))
	}
}

type report func(field, problem, remedy string)

func (d *document) validatePriority(p Priority, bad report) {
	in := func(field string, v, least int) {
		if v < least || v > domain.PriorityLast {
			bad(field, fmt.Sprintf("%d is out of bounds", v), fmt.Sprintf("write %d to %d; lower runs first", least, domain.PriorityLast))
		}
	}
	in("priority.default", p.Default, domain.PriorityFirst)
	least := p.Default
	if least < domain.PriorityFirst || least > domain.PriorityLast {
		least = domain.PriorityFirst // one fault is enough
	}
	if p.LargeBatch.Jobs < 0 {
		bad("priority.large_batch.jobs", "it is negative", "write from how many jobs on a batch is large, or 0 for never")
	}
	if p.LargeBatch.Jobs != 0 {
		in("priority.large_batch.priority", p.LargeBatch.Priority, least)
	}
	if p.LargeObject.Bytes != 0 {
		in("priority.large_object.priority", p.LargeObject.Priority, least)
	}
}

func (d *document) validateNotify(n Notify, bad report) {
	for i, on := range n.On {
		field := fmt.Sprintf("notify.on[%d]", i)
		if on != MailQueued && on != MailReport {
			bad(field, wrong(string(on), "is no kind of mail"), "use queued or report")
		} else if slices.Index(n.On, on) < i {
			bad(field, wrong(string(on), "is there twice"), "keep one of them")
		}
	}
	if len(n.On) > 0 && len(n.To) == 0 {
		bad("notify.to", "it is missing", "say who gets the mails that notify.on asks for")
	}
	if len(n.On) > 0 && n.From == "" {
		bad("notify.from", "it is missing", "say from which address the mails come")
	} else if n.From != "" && !address(n.From) {
		bad("notify.from", quote(n.From)+" is not an address", "write user@host without a name")
	}
	for i, to := range n.To {
		if !address(to) {
			bad(fmt.Sprintf("notify.to[%d]", i), quote(to)+" is not an address", "write user@host without a name")
		}
	}
}

func (d *document) validateFetch(f Fetch, bad report) {
	for i, a := range f.Allow {
		if !allowForm(a) {
			bad(fmt.Sprintf("fetch.allow[%d]", i), quote(a)+" is neither an IP prefix nor host:port", "write 10.1.0.0/16, 127.0.0.1/32 or files.example.org:8080")
		}
	}
	if t := time.Duration(f.Timeout); t < time.Second || t > 168*time.Hour {
		bad("fetch.timeout", t.String()+" is out of bounds", "write 1s to 168h")
	}
}

// line finds the line of a field, else that of what it belongs to.
func (d *document) line(field string) int {
	for field != "" {
		if n, ok := d.lines[field]; ok {
			return n
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return 0
}

func checkStorage(s string) string {
	if s == "default" {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme == "" || !strings.Contains(s, "://"):
		return "it is not the URL of a bucket"
	case u.User != nil:
		return "it holds a user name or password; a profile holds no secrets"
	case u.Scheme == "file" && (u.Host != "" || u.RawQuery != "" || filepath.Clean(u.Path) != u.Path):
		return "a directory needs an absolute path, without host and query"
	}
	return ""
}

// address tells whether s is a bare mail address, which no header can hide in.
func address(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s && !strings.ContainsAny(s, " \"\r\n,;<>")
}

func allowForm(s string) bool {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked() == p
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	_, notIP := netip.ParseAddr(host)
	return err == nil && n >= 1 && n <= 65535 && (notIP == nil || hostForm.MatchString(host))
}

// wrong says what is wrong with a value, also with one that is not there.
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
