package e2e

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
)

// guarded is a route that is no operation, with what it may name: each is tried with every
// caller.
type guarded struct {
	name string // as in docs/api.md
	// may are the callers that have the right, of each thing; for another one the answer is
	// refused. name=STATUS is a caller with another answer.
	may     map[string]string
	done    int
	refused int
	send    func(key, thing string) answer
}

// asks returns the status that a caller is answered with.
func (g guarded) asks(caller, thing string) int {
	for _, word := range strings.Fields(g.may[thing]) {
		name, status, other := strings.Cut(word, "=")
		switch n, _ := strconv.Atoi(status); {
		case name != caller:
		case other:
			return n
		default:
			return g.done
		}
	}
	if caller == "none" || caller == "wrong" {
		return http.StatusUnauthorized
	}
	return g.refused
}

// TestRightsOfFormsAndPieces is [TestRightsOverHTTP] of the routes that are no operations:
// every form, and every request of uploads in pieces × no key, a wrong one, roles with and
// without the right × what is the caller's own, another's, and not there.
func TestRightsOfFormsAndPieces(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "queue_synchronous=1000")
	in.editProfile("fetch:", takesArticles+"fetch:")
	in.profileOfRocks(strings.TrimSpace(takesArticles))
	keys := map[string]string{
		"none": "",
		"ana":  in.keyOf("ana", "depositor", "--collection", "test"),
		"bob":  in.keyOf("bob", "depositor", "--collection", "rocks"),
		"cy":   in.keyOf("cy", "reader", "--all"),
		"olga": in.keyOf("olga", "operator", "--all"),
		"root": in.keyOf("root", "admin", "--all"),
		"dan":  in.keyOf("dan", "depositor", "--collection", "test"), // who loses that right
	}
	keys["wrong"] = keys["ana"][:len(keys["ana"])-1] + "0" // which no key has
	d := in.doorOf(in.serveInProcess(run.RoleHTTP))

	// begins begins an upload, and returns where it is.
	begins := func(key, profile string) answer {
		return d.begins(key, 8, tusMetadata("profile="+profile, "filename=letter.txt"))
	}
	uploads := map[string]string{"nowhere": resumables + "/0199ab00-0000-7000-8000-000000000000"}
	for user, profile := range map[string]string{"ana": "test", "bob": "rocks", "dan": "test"} {
		if uploads[user] = begins(keys[user], profile).header.Get("Location"); uploads[user] == "" {
			t.Fatalf("%s began no upload", user)
		}
	}
	in.says(0, words("user withdraw dan depositor --collection test"))

	file := field{"fname", "<doc_batch/>", "a.xml"}
	form := func(path string, fields ...field) func(key, profile string) answer {
		return func(key, profile string) answer {
			return d.post(key, path, append([]field{{name: "profile", value: profile}}, fields...)...)
		}
	}
	for user, profile := range map[string]string{"ana": "test", "bob": "rocks"} {
		if a := d.post(keys[user], "/servlet/deposit", field{name: "profile", value: profile}, field{"fname", "<doc_batch/>", user + ".xml"}); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", user, a.status, a.body)
		}
	}
	merritt := []field{{name: "type", value: "file"}, {name: "localIdentifier", value: "letter"}, {"file", "a letter", "letter.txt"}}
	deposits := map[string]string{"test": "ana root", "rocks": "bob root", "sand": "root=404"}
	own := map[string]string{"ana": "ana", "bob": "bob", "dan": "dan", "nowhere": ""}
	sent := map[string]string{"ana": "ana", "bob": "bob", "nowhere": ""}
	told := func(a answer) answer {
		if a.status == http.StatusOK && strings.Contains(a.body, "unknown_submission") {
			a.status = http.StatusNotFound // as its clients are told
		}
		return a
	}
	const everyone = "none wrong ana bob cy olga root dan"
	rows := []guarded{
		{"form.deposit", deposits, 200, 403, form("/servlet/deposit", file)},
		{"form.deposit", map[string]string{"test": "ana bob cy olga root dan", "sand": "ana bob cy olga root dan"}, 200, 403, // a list, of which is found what they may see
			form("/servlet/deposit", field{name: "operation", value: "doQueryUpload"}, field{"fname", "10.5555/a\n", "list.txt"})},
		{"form.deposit-synchronous", deposits, 202, 403, func(key, profile string) answer {
			r, err := http.NewRequestWithContext(in.ctx(), http.MethodPost, d.url+"/v2/deposits", strings.NewReader(
				"--b\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\n"+profile+"\r\n--b\r\nContent-Disposition: form-data; name=\"mdFile\"; filename=\"a.xml\"\r\n\r\n<doc_batch/>\r\n--b--\r\n"))
			in.must(err)
			return d.do(r, key, "Content-Type: multipart/form-data; boundary=b", "Prefer: wait=1")
		}},
		{"form.status", sent, 200, 404, func(key, user string) answer {
			return told(d.ask(key, http.MethodGet, "/servlet/submissionDownload?"+url.Values{"file_name": {user + ".xml"}}.Encode(), ""))
		}},
		{"form.status-posted", sent, 200, 404, func(key, user string) answer {
			return told(d.ask(key, http.MethodPost, "/servlet/submissionDownload", url.Values{"file_name": {user + ".xml"}}.Encode(), "Content-Type: application/x-www-form-urlencoded"))
		}},
		{"form.object-ingest", deposits, 200, 403, form("/object/ingest", merritt...)},
		{"form.object-update", deposits, 200, 403, form("/object/update", merritt...)},
		{"form.poster-submit", deposits, 200, 403, form("/poster/submit", merritt...)},
		{"form.poster-update", deposits, 200, 403, form("/poster/update", merritt...)},
		{"resumable.options", map[string]string{"": everyone}, 200, 0, func(key, _ string) answer { return d.tus(key, http.MethodOptions, resumables, "") }},
		{"resumable.begin", deposits, 201, 403, begins},
		{"resumable.show", own, 200, 404, func(key, user string) answer { return d.tus(key, http.MethodHead, uploads[user], "") }},
		{"resumable.append", map[string]string{"ana": "ana", "bob": "bob", "dan": "dan=403", "nowhere": ""}, 204, 404,
			func(key, user string) answer { return d.piece(key, uploads[user], 0, "") }},
		{"resumable.cancel", own, 204, 404, func(key, user string) answer { return d.tus(key, http.MethodDelete, uploads[user], "") }},
	}
	kept := len(in.kept())
	for _, g := range rows {
		for _, thing := range slices.Sorted(maps.Keys(g.may)) {
			callers := slices.Sorted(maps.Keys(keys))
			slices.SortStableFunc(callers, func(a, b string) int { // those who may last: what is cancelled is there for no one
				return g.asks(b, thing) - g.asks(a, thing)
			})
			for _, caller := range callers {
				want, a := g.asks(caller, thing), g.send(keys[caller], thing)
				if a.status != want {
					t.Errorf("%s by %s of %q: %d, want %d: %s", g.name, caller, thing, a.status, want, a.body)
				}
				if want == http.StatusOK && strings.HasPrefix(a.header.Get("Location"), "/v1/uploads/") {
					kept++
				}
			}
		}
	}
	if n := len(in.kept()); n != kept || kept < 20 {
		t.Errorf("%d deposits, want %d", n, kept)
	}
	if n, want := in.uploading(), 4; n != want { // those that were begun, without those that were cancelled
		t.Errorf("%d uploads, want %d", n, want)
	}

	page, err := os.ReadFile("../../../docs/api.md")
	in.must(err)
	for _, row := range regexp.MustCompile(`(?m)^\| ((?:form|resumable)\.[a-z-]+) \|`).FindAllStringSubmatch(string(page), -1) {
		if !slices.ContainsFunc(rows, func(g guarded) bool { return g.name == row[1] }) {
			t.Errorf("%s is not tried", row[1])
		}
	}
}
