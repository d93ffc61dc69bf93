package console

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/domain/access"
)

// commanded are pages whose commands are kept, as method, address, key, version and body.
type commanded struct {
	http.Handler
	sent []string
}

func newCommanded(t *testing.T, answers map[string]any) *commanded {
	t.Helper()
	c, mux := &commanded{}, http.NewServeMux()
	a := &told{answers: answers}
	answers["/v1/self"] = people.Self{Name: "ada", Rights: []people.Right{{Role: access.Admin, All: true}}}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"3"`)
		if r.Method == http.MethodPost {
			text, _ := io.ReadAll(r.Body)
			c.sent = append(c.sent, strings.Join([]string{r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), r.Header.Get("If-Match"), string(text)}, " "))
		}
		a.ServeHTTP(w, r)
	})
	for _, r := range (&Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}).Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	c.Handler = mux
	return c
}

// TestPeopleForms: a command about a user or a key asks for what it needs, then says what would
// change, and carries out just that: once, on the version that was shown, for a reason; what was
// written is in no address.
func TestPeopleForms(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		path, asks string
		fields     url.Values
		request    string // its address
		body       string // without reason
	}{
		"add":      {"new-user", `name="display_name"`, url.Values{"name": {" ben "}, "display_name": {"Ben"}}, "/v1/users", `"name":"ben","display_name":"Ben"`},
		"set":      {"people/ana/do/set", `value="Ana Li"`, url.Values{"display_name": {"Ana"}, "mail": {""}}, "/v1/users/ana/set", `"display_name":"Ana","mail":""`},
		"identity": {"people/ana/do/identity", `value="248289761001"`, url.Values{"issuer": {"https://login.example.org"}, "subject": {"7"}}, "/v1/users/ana/set", `"openid":{"issuer":"https://login.example.org","subject":"7"}`},
		"grant":    {"people/ana/do/grant", `name="role"`, url.Values{"role": {"depositor"}, "collections": {"maps\r\n\r\n texts "}}, "/v1/users/ana/grant", `"role":"depositor","collections":["maps","texts"]`},
		"withdraw": {"people/ana/do/withdraw?role=reader&all=true", `value="true" checked`, url.Values{"role": {"reader"}, "all": {"true"}}, "/v1/users/ana/withdraw", `"role":"reader","all":true`},
		"key": {"people/ana/do/key", `name="expires"`, url.Values{"label": {"scanner"}, "roles": {"reader", "depositor"}, "collections": {"maps"}, "expires": {"2027-01-31"}}, "/v1/keys",
			`"user":"ana","label":"scanner","roles":["reader","depositor"],"collections":["maps"],"expires_at":"2027-01-31T00:00:00Z"`},
		"disable": {"people/ana/do/disable", "", nil, "/v1/users/ana/disable", ""},
		"revoke":  {"keys/abcdefgh/do/revoke", "", nil, "/v1/keys/abcdefgh/revoke", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := map[string]any{"id": "ana", "display_name": "Ana Li", "mail": "ana@example.org", "openid": map[string]any{"issuer": "https://login.example.org", "subject": "248289761001"},
				"rights": []any{map[string]any{"role": "operator", "collections": []string{"films"}}}, "effects": []string{"so it is"}}
			c := newCommanded(t, map[string]any{"/v1/users/ana": answer, f.request: answer})
			address, match := Path+f.path, `"3"`
			if name == "add" || name == "revoke" {
				match = ""
			}
			body := func(reason string) string {
				return "{" + strings.Join(slices.DeleteFunc([]string{f.body, `"reason":"` + reason + `"`}, func(s string) bool { return s == "" }), ",") + "}"
			}
			text := visited(c, http.MethodGet, address, nil).Body.String()
			if f.asks != "" {
				form := url.Values{"step": {"preview"}}
				if !strings.Contains(text, f.asks) || !strings.Contains(text, `method="post"`) || len(c.sent) > 0 {
					t.Errorf("asked: %v %s", c.sent, text)
				}
				for field, values := range f.fields {
					form[field] = values
				}
				text = visited(c, http.MethodPost, address, form).Body.String()
			}
			if want := f.request + "?dry_run=true   " + body("preview"); len(c.sent) != 1 || c.sent[0] != want {
				t.Fatalf("%q, want %s", c.sent, want)
			}
			for _, want := range []string{"It would be done", "so it is", "operator in films", `name="reason"`} {
				if !strings.Contains(text, want) {
					t.Errorf("the preview lacks %s: %s", want, text)
				}
			}
			form := url.Values{"reason": {" new here "}, "key": {valueOf(text, "key")}, "match": {match}}
			if match != "" && !strings.Contains(text, `name="match" value="&#34;3&#34;"`) {
				t.Errorf("the preview has no version: %s", text)
			}
			for field, values := range f.fields {
				if valueOf(text, field) == "" && values[0] != "" {
					t.Errorf("the preview does not send %s on: %s", field, text)
				}
				form[field] = values
			}
			w := visited(c, http.MethodPost, address, form)
			if want := f.request + "? " + form.Get("key") + " " + match + " " + body("new here"); len(c.sent) != 2 || c.sent[1] != want || len(form.Get("key")) < 20 {
				t.Errorf("%q, want %s", c.sent, want)
			}
			if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, "Done.") || strings.Contains(text, "It would") {
				t.Errorf("%d %s", w.Code, text)
			}
		})
	}
}

// valueOf returns the value of a hidden field.
func valueOf(text, name string) string {
	_, value, _ := strings.Cut(text, `type="hidden" name="`+name+`" value="`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// TestSecretsOfForms: a password is sent with its form alone, also where it is refused, and a preview
// is of another one; a key is on the page that makes it, and on no other.
func TestSecretsOfForms(t *testing.T) {
	t.Parallel()
	const password, key = "correct horse battery", "acc_abcdefgh_secret"
	user := map[string]any{"id": "ana", "effects": []string{"sessions of the user end"}}
	c := newCommanded(t, map[string]any{"/v1/users/ana": user, "/v1/users/ana/password": user, "/v1/keys": map[string]any{"id": "abcdefgh", "user": "ana", "secret": key}})
	address := Path + "people/ana/do/password"
	text := visited(c, http.MethodGet, address, nil).Body.String()
	if len(c.sent) != 1 || !strings.Contains(c.sent[0], `/v1/users/ana/password?dry_run=true   {"password":"`) || strings.Contains(text, `type="hidden" name="password"`) || strings.Count(text, `type="password"`) != 2 || strings.Contains(c.sent[0], password) {
		t.Fatalf("%v %s", c.sent, text)
	}
	form := url.Values{"password": {password}, "again": {password + "!"}, "reason": {"forgotten"}, "match": {`"3"`}}
	w := visited(c, http.MethodPost, address, form)
	if w.Code != http.StatusBadRequest || len(c.sent) != 1 || !strings.Contains(w.Body.String(), "the two passwords are not the same") {
		t.Errorf("%d %v %s", w.Code, c.sent, w.Body)
	}
	shown := w.Body.String()
	form.Set("again", password)
	c.sent = nil
	if w = visited(c, http.MethodPost, address, form); w.Code != http.StatusOK || !slices.Equal(c.sent, []string{`/v1/users/ana/password?  "3" {"password":"` + password + `","reason":"forgotten"}`}) {
		t.Errorf("%d %q", w.Code, c.sent)
	}
	shown += w.Body.String()
	form.Set("step", "preview") // as no page sends it
	shown += visited(c, http.MethodPost, address, form).Body.String()
	refusing := newCommanded(t, map[string]any{"/v1/users/ana": user, "/v1/users/ana/password": problem.Of(app.Invalid, "a password has more characters", "")})
	form.Del("step")
	if w = visited(refusing, http.MethodPost, address, form); w.Code != http.StatusBadRequest {
		t.Errorf("%d", w.Code)
	}
	if shown += w.Body.String(); strings.Contains(shown, password) {
		t.Errorf("a page has the password: %s", shown)
	}

	address = Path + "people/ana/do/key"
	if text := visited(c, http.MethodPost, address, url.Values{"label": {"scanner"}, "expires": {"soon"}, "step": {"preview"}}).Body.String(); !strings.Contains(text, "cannot be read") || !strings.Contains(text, `value="scanner"`) {
		t.Errorf("a day that is none: %s", text)
	}
	text = visited(c, http.MethodPost, address, url.Values{"label": {"scanner"}, "key": {"k"}}).Body.String()
	if strings.Count(text, key) != 1 || !strings.Contains(text, "the only time") {
		t.Error(text)
	}
}

// TestPeopleCommandsShown: the page of a user has the commands that may be given now, and each right
// and each key that counts has its own.
func TestPeopleCommandsShown(t *testing.T) {
	t.Parallel()
	user := map[string]any{"id": "ana", "rights": []any{map[string]any{"role": "reader", "all": true}, map[string]any{"role": "depositor", "collections": []string{"maps", "texts"}}}}
	keys := map[string]any{"items": []any{map[string]any{"id": "abcdefgh", "user": "ana"}, map[string]any{"id": "revoked1", "user": "ana", "revoked_at": "2026-11-28T10:00:00Z"}}}
	h := opened(t, &told{answers: map[string]any{"/v1/users/ana": user, "/v1/keys": keys, "/v1/users": map[string]any{"items": []any{user}}}}, access.Admin)
	text := visited(h, http.MethodGet, Path+"people/ana", nil).Body.String()
	for address, want := range map[string]bool{"/people/ana/do/disable": true, "/people/ana/do/enable": false, "/people/ana/do/password": true, "/people/ana/do/key": true, "/people/ana/do/withdraw?all=true&amp;role=reader": true,
		"/people/ana/do/withdraw?collections=maps%0Atexts&amp;role=depositor": true, `/people/ana/do/withdraw"`: false, "/keys/abcdefgh/do/revoke": true, "/keys/revoked1/do/revoke": false} {
		if strings.Contains(text, "/console"+address) != want {
			t.Errorf("%s: %v wanted in %s", address, want, text)
		}
	}
	user["disabled_at"] = "2026-11-28T10:00:00Z"
	if text = visited(h, http.MethodGet, Path+"people/ana", nil).Body.String(); strings.Contains(text, "/do/disable") || !strings.Contains(text, "/do/enable") {
		t.Errorf("disabled: %s", text)
	}
	if text = visited(h, http.MethodGet, Path+"people", nil).Body.String(); !strings.Contains(text, `href="`+newUserPath+`"`) {
		t.Errorf("people: %s", text)
	}
	if text = visited(h, http.MethodGet, Path+"keys", nil).Body.String(); !strings.Contains(text, "/keys/abcdefgh/do/revoke") {
		t.Errorf("keys: %s", text)
	}
	if text = visited(h, http.MethodGet, Path+"keys.csv", nil).Body.String(); strings.Contains(text, "evoke,") {
		t.Errorf("keys as CSV: %s", text)
	}
}
