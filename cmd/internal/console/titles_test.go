package console

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/domain/access"
)

// titles are those of the pages of all commands, by their addresses: of one thing, of none, and of all
// that are chosen.
var titles = map[string]string{
	"batches/bid1/do/release":       "Release batch bid1",
	"batches/bid1/do/update-report": "Update the report of batch bid1",
	"batches/bid1/do/send-report":   "Send the report of batch bid1",
	"batches/bid1/do/free":          "Free the turn of batch bid1",
	"batches/bid1/do/delete":        "Delete batch bid1",
	"batches/bid1/do/cleanup":       "Clean up batch bid1",
	"jobs/jid1/do/hold":             "Hold job jid1",
	"jobs/jid1/do/release":          "Release job jid1",
	"jobs/jid1/do/requeue":          "Requeue job jid1",
	"jobs/jid1/do/priority":         "Change the priority of job jid1",
	"jobs/jid1/do/fail":             "Fail job jid1",
	"jobs/jid1/do/delete":           "Delete job jid1",
	"files/abab/do/requeue":         "Requeue file abab",
	"files/abab/do/skip":            "Skip file abab",
	"files/abab/do/redownload":      "Redownload file abab",
	"files/abab/do/reprocess":       "Reprocess file abab",
	"files/abab/do/abandon":         "Abandon file abab",
	"queues/pending/do/pause":       "Pause the queue pending",
	"queues/pending/do/resume":      "Resume the queue pending",
	"collections/maps/do/hold":      "Hold the collection maps",
	"collections/maps/do/release":   "Release the collection maps",
	"compute/eid1/do/retry":         "Retry entry eid1",
	"deposits/u1/do/retry":          "Retry deposit u1",
	"deposits/u1/do/rm":             "Remove deposit u1",
	"slots/s1/do/open":              "Open slot s1",
	"slots/s1/do/close":             "Close slot s1",
	"directories/d1/do/run":         "Poll directory d1 now",
	"directories/d1/do/pause":       "Pause directory d1",
	"directories/d1/do/resume":      "Resume directory d1",
	"directories/d1/do/rm":          "Poll directory d1 no more",
	"datasets/nights/do/set":        "Change dataset nights",
	"profiles/plain/do/set":         "Change profile plain",
	"profiles/plain/do/rm":          "Remove what was set for profile plain",
	"processors/query-one/do/set":   "Change processor query-one",
	"processors/query-one/do/start": "Start processor query-one",
	"processors/query-one/do/stop":  "Stop processor query-one",
	"processors/query-one/do/rm":    "Remove processor query-one",
	"bulk/b1/do/cancel":             "End bulk action b1 now",
	"queries/qid1/do/fail":          "Fail query qid1",
	"queries/qid1/do/send-report":   "Send the report of query qid1",
	"objects/ark:1/do/withdraw":     "Withdraw object ark:1",
	"objects/ark:1/do/approve":      "Approve the withdrawal of object ark:1",
	"objects/ark:1/do/reject":       "Reject the withdrawal of object ark:1",
	"people/ana/do/set":             "Change the name or mail of ana",
	"people/ana/do/grant":           "Grant a right to ana",
	"people/ana/do/withdraw":        "Withdraw a right from ana",
	"people/ana/do/password":        "Set the password of ana",
	"people/ana/do/key":             "Make an API key for ana",
	"people/ana/do/identity":        "Change the sign-in of ana by OpenID Connect",
	"people/ana/do/disable":         "Disable the user ana",
	"people/ana/do/enable":          "Enable the user ana",
	"keys/abcdefgh/do/revoke":       "Revoke API key abcdefgh",

	"deposit-queues/metadata/do/suspend":      "Suspend the deposit queue metadata",
	"deposit-queues/metadata/do/resume":       "Resume the deposit queue metadata",
	"deposit-queues/metadata/do/prohibit":     "Let only processors that require them serve users of the deposit queue metadata",
	"deposit-queues/metadata/do/allow":        "Let every processor of the deposit queue metadata serve users again",
	"deposit-queues/metadata/do/defaults":     "Set the limits of every user in the deposit queue metadata",
	"deposit-queues/metadata/do/limit":        "Set the limits of a user in the deposit queue metadata",
	"deposit-queues/metadata/do/unlimit":      "Remove the limits of a user in the deposit queue metadata",
	"deposit-queues/metadata/do/park":         "Park deposits in the deposit queue metadata",
	"deposit-queues/metadata/do/unpark":       "Let parked deposits in the deposit queue metadata wait again",
	"deposit-queues/metadata/do/close-intake": "Accept no deposits in the deposit queue metadata",
	"deposit-queues/metadata/do/open-intake":  "Accept deposits in the deposit queue metadata again",

	"new-user":           "Add a user",
	"new/profile":        "New profile",
	"new/dataset":        "New dataset",
	"new/directory":      "Poll a directory",
	"new/slot":           "New slot",
	"new/work":           "Request work",
	"new/processor":      "New processor",
	"new/timeouts":       "Set how long attempts at files may take",
	"new/poison-retry":   "Apply held events",
	"new/transfer-stop":  "Keep deposits in the drop folder",
	"new/transfer-start": "Let deposits become batches",

	"batches/all?verb=release":       "Release all chosen batches",
	"batches/all?verb=update-report": "Update the reports of all chosen batches",
	"batches/all?verb=send-report":   "Send the reports of all chosen batches",
	"batches/all?verb=delete":        "Delete all chosen batches",
	"batches/all?verb=cleanup":       "Clean up all chosen batches",
	"jobs/all?verb=hold":             "Hold all chosen jobs",
	"jobs/all?verb=release":          "Release all chosen jobs",
	"jobs/all?verb=requeue":          "Requeue all chosen jobs",
	"jobs/all?verb=priority":         "Change the priority of all chosen jobs",
	"jobs/all?verb=fail":             "Fail all chosen jobs",
	"jobs/all?verb=delete":           "Delete all chosen jobs",
	"files/all?verb=requeue":         "Requeue all chosen files",
	"files/all?verb=skip":            "Skip all chosen files",
	"files/all?verb=redownload":      "Redownload all chosen files",
	"files/all?verb=reprocess":       "Reprocess all chosen files",
	"files/all?verb=abandon":         "Abandon all chosen files",
	"compute/all?verb=retry":         "Retry all chosen entries",
	"deposits/all?verb=retry":        "Retry all chosen deposits",
	"deposits/all?verb=rm":           "Remove all chosen deposits",
	"slots/all?verb=open":            "Open all chosen slots",
	"slots/all?verb=close":           "Close all chosen slots",
	"directories/all?verb=run":       "Poll all chosen directories now",
	"directories/all?verb=pause":     "Pause all chosen directories",
	"directories/all?verb=resume":    "Resume all chosen directories",
	"directories/all?verb=rm":        "Poll all chosen directories no more",
	"queries/all?verb=fail":          "Fail all chosen queries",
	"queries/all?verb=send-report":   "Send the reports of all chosen queries",
}

// TestTitlesOfCommands: the page of each command has a title that reads as English.
func TestTitlesOfCommands(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		self := people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}, {Role: access.Admin, All: true}}}
		if r.URL.Path != "/v1/self" {
			self = people.Self{}
		}
		_ = json.NewEncoder(w).Encode(self)
	})
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	untitled := map[string]bool{"new-user": true} // routes that have no title yet
	for kind, of := range question.Actions {
		for _, verb := range of.Verbs {
			untitled[strings.TrimPrefix(kind+" "+verb, question.New+" ")] = true
		}
		for _, verb := range of.All {
			untitled["all "+kind+" "+verb] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(titles)) {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(u.Path, "/")
		of := parts[len(parts)-1]
		switch {
		case u.RawQuery != "":
			of = "all " + parts[0] + " " + u.Query().Get("verb")
		case len(parts) == 4:
			of = parts[0] + " " + parts[3]
		}
		if !untitled[of] {
			t.Errorf("%s: there is no such command, or it is here twice", at)
		}
		delete(untitled, of)
		w := visited(mux, http.MethodGet, Path+at, nil)
		_, title, _ := strings.Cut(w.Body.String(), "<title>")
		if title, _, _ = strings.Cut(title, " · "); title != titles[at] {
			t.Errorf("%s: %d, the title is %q, want %q", at, w.Code, title, titles[at])
		}
	}
	for of := range untitled {
		t.Errorf("the title of %s is not looked over", of)
	}
}
