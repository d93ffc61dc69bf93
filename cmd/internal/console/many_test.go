package console

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// TestCommandsToAll: each command that may be given to all that a filter selects is on the list of
// such things, once a condition is chosen, for those who may give it; its preview asks for just that.
func TestCommandsToAll(t *testing.T) {
	t.Parallel()
	for _, verb := range bulk.Verbs {
		list, name, value := Path+listOfKind[verb.Kind], "submitter", "ana"
		if verb.Kind == domain.KindSlot || verb.Kind == bulk.KindDiscover { // which none has submitted
			name, value = "dataset", "nights"
		}
		condition := name + "=" + value
		option := fmt.Sprintf(`<option value=%q>`, verb.Name)
		for everywhere, page := range map[bool]string{true: list + "?" + condition, false: list} {
			h := opened(t, &told{answers: some("a name")}, access.Operator)
			if text := visited(h, http.MethodGet, page, nil).Body.String(); strings.Contains(text, option) != everywhere {
				t.Errorf("%s: %s is offered: %v, want %v", page, verb.Name, !everywhere, everywhere)
			}
		}
		limited := &told{answers: some("a name")}
		limited.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, Collections: []string{"test"}}}}
		text := visited(opened(t, limited, access.Operator), http.MethodGet, list+"?"+condition, nil).Body.String()
		if may := rightOn[listOfKind[verb.Kind]] == ""; strings.Contains(text, option) != may {
			t.Errorf("%s: %s is offered to an operator of one collection: %v, want %v", list, verb.Name, !may, may)
		}
		if verb.Priority {
			continue // it is asked for first, see TestPriorities
		}
		var asked string
		a := &told{answers: some("a name")}
		a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}}}
		c := &Console{API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				asked = r.URL.RequestURI() + " " + string(body)
			}
			a.ServeHTTP(w, r)
		}), RequestID: func(*http.Request) string { return "id" }}
		mux := http.NewServeMux()
		for _, r := range c.Routes() {
			mux.Handle(r.Pattern, r.Handler)
		}
		shown := visited(mux, http.MethodGet, list+"/all?verb="+verb.Name+"&"+condition, nil).Body.String()
		want := fmt.Sprintf(`/v1/bulk-actions?dry_run=true {"kind":%q,"verb":%q,"filter":{%q:%q}`, verb.Kind, verb.Name, name, value)
		if !strings.HasPrefix(asked, want) || !strings.Contains(shown, "200 "+bulk.Plural(verb.Kind)+" are chosen now") {
			t.Errorf("%s %s: asked %s", verb.Kind, verb.Name, asked)
		}
	}
}

// TestEmptyLists: a list without items says what makes one, or that there is nothing to do.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	for _, name := range listsOfAll() {
		a := &told{answers: some("a name")}
		maps.Copy(a.answers, nothing())
		text := visited(opened(t, a, access.Admin), http.MethodGet, Path+name, nil).Body.String()
		_, says, _ := strings.Cut(text, `<p class="empty">`)
		says, _, _ = strings.Cut(says, "</p>")
		if _, remedy, _ := strings.Cut(says, ": "); remedy == "" {
			t.Errorf("%s says only %q", name, says)
		}
	}
}
