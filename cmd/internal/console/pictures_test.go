package console

import (
	"os"
	"strings"
	"testing"
)

// pictureOf is the name of the picture in docs/console.md of each route that shows a page, and for
// those that TestPagesInABrowser takes the address; cmd/accession/e2e takes the others.
var pictureOf = map[string]struct{ name, address string }{
	"audit":                                  {"audit", "audit"},
	"batches/{id}/callbacks":                 {"callbacks", "batches/bid0000000001/callbacks"},
	"compute":                                {"compute", "compute"},
	"compute/{id}":                           {"entry", "compute/eid0000000001"},
	"datasets":                               {"datasets", "datasets"},
	"datasets/{id}":                          {"dataset", "datasets/d1"},
	"datasets/{id}/do/{verb}":                {"dataset-set", "datasets/d1/do/set"},
	"deposit-queues/{id}/do/{verb}":          {"deposit-queue-limit", "deposit-queues/metadata/do/limit"},
	"deposits":                               {"deposits", "deposits"},
	"deposits/{id}":                          {"deposit", "deposits/u1"},
	"directories":                            {"directories", "directories"},
	"directories/{id}":                       {"directory", "directories/d1"},
	"files":                                  {"files", "files"},
	"jobs/{id}/do/{verb}":                    {"act", "jobs/jid0000000001/do/requeue"},
	"keys":                                   {"keys", "keys"},
	"more":                                   {"more", "more"},
	"new-user":                               {"new-user", "new-user"},
	"new/{verb}":                             {"new-profile", "new/profile"},
	"objects":                                {"objects", "objects"},
	"objects/{id}":                           {"object", "objects/ark:%2F1%2Fx"},
	"objects/{id}/versions/{n}":              {"version", "objects/ark:%2F1%2Fx/versions/2"},
	"people":                                 {"people", "people"},
	"people/{id}":                            {"user", "people/ana"},
	"people/{id}/do/{verb}":                  {"user-grant", "people/ana/do/grant"},
	"poison":                                 {"poison", "poison"},
	"processors":                             {"processors", "processors"},
	"processors/{id}/do/{verb}":              {"processor-set", "processors/metadata-films/do/set"},
	"profiles":                               {"profiles", "profiles"},
	"profiles/{id}":                          {"profile", "profiles/test"},
	"profiles/{id}/do/{verb}":                {"profile-set", "profiles/plain/do/set"},
	"queries":                                {"queries", "queries"},
	"queries/{id}":                           {"query", "queries/qid0000000001"},
	"reports":                                {"reports", "reports"},
	"sign-in":                                {"sign-in", "sign-in"},
	"slots":                                  {"slots", "slots"},
	"slots/{id}":                             {"slot", "slots/s1"},
	"withdrawals":                            {"withdrawals", "withdrawals"},
	"workers":                                {"workers", "workers"},
	"batches":                                {"batches", ""},
	"directories/all":                        {"many", ""},
	"slots/all":                              {"many", ""},
	"batches/all":                            {"many", ""},
	"batches/{id}":                           {"batch", ""},
	"batches/{id}/do/{verb}":                 {"act", ""},
	"bulk":                                   {"bulk", ""},
	"bulk/{id}":                              {"bulk", ""},
	"bulk/{id}/do/{verb}":                    {"act", ""},
	"collections/{id}/do/{verb}":             {"act", ""},
	"compute/all":                            {"many", ""},
	"compute/{id}/do/{verb}":                 {"act", ""},
	"deposits/all":                           {"many", ""},
	"deposits/{id}/do/{verb}":                {"act", ""},
	"directories/{id}/do/{verb}":             {"act", ""},
	"events":                                 {"events", ""},
	"failures":                               {"failures", ""},
	"files/all":                              {"many", ""},
	"files/{id}":                             {"file", ""},
	"files/{id}/do/{verb}":                   {"act", ""},
	"jobs":                                   {"jobs", ""},
	"jobs/all":                               {"many", ""},
	"jobs/{id}":                              {"job", ""},
	"keys/{id}/do/{verb}":                    {"act", ""},
	"new":                                    {"new", ""},
	"objects/{id}/do/{verb}":                 {"act", ""},
	"queries/all":                            {"many", ""},
	"queries/{id}/do/{verb}":                 {"act", ""},
	"queues":                                 {"queues", ""},
	"queues/{id}/do/{verb}":                  {"act", ""},
	"reports/{name}":                         {"report-batch", ""},
	"servers":                                {"servers", ""},
	"slots/{id}/do/{verb}":                   {"act", ""},
	"{$}":                                    {"overview", ""},
	"compute/{id}/outputs/{name}":            {}, // no page
	"objects/{id}/versions/{n}/files/{name}": {}, // no page
	"objects/{id}/versions/{n}/manifest":     {}, // no page
	"queries/{id}/report":                    {}, // no page
	"sign-in/openid":                         {}, // no page
	"sign-in/openid/done":                    {}, // no page
	"static/{digest}/{name}":                 {}, // no page
	"stream":                                 {}, // no page
}

// TestEachPageHasItsPicture: each route that shows a page has a picture, which docs/console.md shows.
func TestEachPageHasItsPicture(t *testing.T) {
	t.Parallel()
	const docs = "../../../docs/"
	text, err := os.ReadFile(docs + "console.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range (&Console{}).Routes() {
		route, shows := strings.CutPrefix(r.Pattern, "GET "+Path)
		if !shows || strings.HasSuffix(route, ".csv") {
			continue
		}
		is, known := pictureOf[route]
		switch {
		case !known:
			t.Errorf("the page %s has no picture", route)
		case is.name == "": // no page
		case !strings.Contains(string(text), "](console/"+is.name+".png)"):
			t.Errorf("docs/console.md does not show %s.png, the picture of the page %s", is.name, route)
		default:
			if _, err := os.Stat(docs + "console/" + is.name + ".png"); err != nil {
				t.Errorf("the picture of the page %s: %v: `make documents` takes it", route, err)
			}
		}
	}
}
