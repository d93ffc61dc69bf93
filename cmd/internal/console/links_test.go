package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/accession-ingest/accession/domain/access"
)

// linksOf returns where the links of a page lead, in its order.
func linksOf(t *testing.T, text string) (all []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "a" {
			all = append(all, attribute(n, "href"))
		}
	}
	return all
}

// TestOrdersLeadToFiles: the head of each column leads to the list in its order, and that to its
// file; what only a page has is no column of the file, and no order.
func TestOrdersLeadToFiles(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/failures"].(map[string]any)["total"] = 2
	for _, of := range a.answers {
		if of, is := of.(map[string]any); is {
			delete(of, "next") // the lists end
			if of["total"] == 1234567 {
				of["total"] = 1
			}
		}
	}
	h := opened(t, a, access.Admin)
	read := func(path string) string {
		w := visited(h, http.MethodGet, path, nil)
		if w.Code != http.StatusOK {
			t.Errorf("a link leads to %s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	lists := []string{"batches", "jobs", "files", "failures"}
	for _, f := range (&Console{}).further() {
		lists = append(lists, f.name)
	}
	for _, name := range lists {
		list, orders := Path+name, 0
		for _, to := range linksOf(t, read(list)) {
			if !strings.HasPrefix(to, list+"?sort=") {
				continue
			}
			orders++
			files := 0
			for _, file := range linksOf(t, read(to)) {
				if strings.HasPrefix(file, list+".csv") {
					files++
					head, _, _ := strings.Cut(read(file), "\n")
					for only := range strings.SplitSeq("approve reject revoke requeue sum", " ") {
						if strings.Contains(","+strings.TrimSpace(head)+",", ","+only+",") {
							t.Errorf("%s has the column %s", file, only)
						}
					}
				}
			}
			if files != 1 {
				t.Errorf("%s leads to %d files", to, files)
			}
		}
		if orders == 0 {
			t.Errorf("%s has no column to sort by", list)
		}
	}
	for _, none := range []string{"withdrawals?sort=approve", "keys?sort=-revoke", "failures?sort=requeue", "slots?sort=-"} {
		if w := visited(h, http.MethodGet, Path+none, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", none, w.Code)
		}
	}
}

// TestPageOfAClientThatHasGone: a page that cannot be shown because its client did not wait is no
// error in the log.
func TestPageOfAClientThatHasGone(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		var log strings.Builder
		c := &Console{Log: slog.New(slog.NewTextHandler(&log, nil)), RequestID: func(*http.Request) string { return "id" }}
		ctx, leave := context.WithCancel(t.Context())
		if gone {
			leave()
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, Path+"jobs", http.NoBody)
		if p := c.failed(r, fmt.Errorf("read: %w", context.Canceled)); p.Status != http.StatusInternalServerError || strings.Contains(log.String(), "ERROR") == gone {
			t.Errorf("the client has gone: %t: %d %s", gone, p.Status, log.String())
		}
		leave()
	}
}
