package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/internal/testkit/browser"
	"github.com/accession-ingest/accession/internal/testkit/openidserver"
)

// TestOpenIDInTheConsole: in a browser, behind a proxy, a person signs in at a provider as the user
// to whom an administrator has bound the person, and is where the way began; another person, and one
// whose user is disabled, are not let in; while the provider is down, the service starts, says so,
// and passwords sign in.
func TestOpenIDInTheConsole(t *testing.T) {
	t.Parallel()
	var service atomic.Pointer[url.URL]
	front := webServer(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(service.Load())
		r.SetXForwarded()
		r.Out.Host = r.In.Host
	}})
	provider := openidserver.New(t, openidserver.Options{Client: "accession", Secret: "a secret", ReturnTo: front + "/console/sign-in/openid/done"})
	in := newInstallation(t, "listen_http=127.0.0.1:0", "http_proxies=127.0.0.1/32", "public_url="+front,
		"openid_issuer="+provider.Issuer(), "openid_client=accession", "openid_secret=a secret")
	in.keyOf("olga", "operator", "--all")
	in.withPassword("olga", password)
	provider.Down()
	at, err := url.Parse(in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url)
	in.must(err)
	service.Store(at)

	b := browser.Start(t)
	anonymous := b.Tab(t)
	anonymous.Look(360, true)
	anonymous.Open(front + "/console/sign-in")
	anonymous.Sound("sign-in", strings.TrimPrefix(front, "http://"))
	signsIn := func(then string) *browser.Tab {
		t.Helper()
		p := b.Tab(t)
		p.Open(front + "/console/jobs?state=failed")
		p.Click(`a[href^="/console/sign-in/openid"]`)
		p.See(then)
		return p
	}
	p := signsIn(".problem")
	if text := p.Text(); !strings.Contains(text, "does not answer as it should") || !strings.Contains(text, "or sign in with name and password") {
		t.Errorf("while it is down: %s", text)
	}
	p.Fill("#name", "olga")
	p.Fill("#password", password+"\r")
	p.See(".who")

	provider.Up()
	provider.Person("person-1")
	waitFor(t, "the provider's time alone to end", func() bool {
		p = signsIn(".problem")
		return strings.Contains(p.Text(), "no user is bound to you, person-1 at "+provider.Issuer())
	})
	_, hint, _ := strings.Cut(p.Text(), "`accession user set NAME ")
	hint, _, _ = strings.Cut(hint, "`")
	in.says(0, words("user set olga "+hint))
	p = signsIn(".who")
	if at := p.At(); at != "/console/jobs?state=failed" {
		t.Errorf("after signing in the way led to %s", at)
	}
	if text, wrong := p.Text(), p.Wrong(); !strings.Contains(text, "olga") || len(wrong) > 0 {
		t.Errorf("%q %s", wrong, text)
	}
	if wrong := provider.Refused(); len(wrong) > 0 {
		t.Errorf("the provider refused %q", wrong)
	}
	var u people.User
	in.must(json.Unmarshal([]byte(in.says(0, words("user show olga -o json"))), &u))
	if u.OpenID == nil || u.OpenID.Subject != "person-1" || u.OpenID.Issuer != provider.Issuer() {
		t.Errorf("%+v", u)
	}
	in.says(0, words("user disable olga --reason left"))
	p.Open(front + "/console/jobs")
	p.See("#password")
	if text := signsIn(".problem").Text(); !strings.Contains(text, "the user olga is disabled") {
		t.Error(text)
	}
	var audit app.Page[people.Entry]
	in.must(json.Unmarshal([]byte(in.says(0, words("audit ls --action session.begin -o json"))), &audit))
	var got []string
	for _, e := range audit.Items {
		got = append(got, e.Caller+" "+e.Via+" "+e.Outcome)
	}
	if slices.Sort(got); !slices.Contains(got, " openid refused") || !slices.Contains(got, "olga openid done") || !slices.Contains(got, "olga openid refused") || !slices.Contains(got, "olga password done") {
		t.Errorf("audited are %q", got)
	}
	r, err := http.NewRequestWithContext(in.ctx(), http.MethodGet, front+"/v1/self", http.NoBody)
	in.must(err)
	res, err := http.DefaultClient.Do(r)
	in.must(err)
	in.must(res.Body.Close())
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a session: %s", res.Status)
	}
}

// signsIn signs in by OpenID Connect as a browser does, of which the service believes that it comes
// by another address, and returns the last status and all that the service has said.
func (d *door) signsIn(public string) (status int, said []any) {
	d.in.t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var cookies []*http.Cookie
	for at := d.url + "/console/sign-in/openid?next=%2Fconsole%2Fjobs"; ; {
		r, err := http.NewRequestWithContext(d.in.ctx(), http.MethodGet, at, http.NoBody)
		d.in.must(err)
		ours := strings.HasPrefix(at, d.url)
		for _, one := range cookies {
			if ours {
				r.AddCookie(one)
			}
		}
		res, err := c.Do(r)
		d.in.must(err)
		text, err := io.ReadAll(res.Body)
		d.in.must(err)
		d.in.must(res.Body.Close())
		to := res.Header.Get("Location")
		if ours {
			said, cookies = append(said, at, string(text), fmt.Sprint(res.Header)), append(cookies, res.Cookies()...)
		}
		if to == "" || to == "/console/jobs" {
			return res.StatusCode, said
		}
		at = strings.Replace(to, public, d.url, 1)
	}
}
