//go:build !race

package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// TestCrowdOfPasswords: hundreds of wrong passwords at once, each of another name and from another
// address, take the memory of two hashes. What is too much is refused at once, with Retry-After,
// and is no attempt. Meanwhile keys and sessions are served, and afterwards passwords are.
func TestCrowdOfPasswords(t *testing.T) {
	t.Parallel()
	const clients, rounds = 300, 3
	in := newInstallation(t, "listen_http=127.0.0.1:0", "listen_ops=127.0.0.1:0", "http_proxies=127.0.0.1/32")
	key := in.keyOf("ana", "reader", "--all")
	const password = "correct horse battery"
	in.withPassword("ana", password)
	s := in.serve("--roles", "http")
	s.until(200, "ok")
	d := in.doorOf(s)
	basic := func(name, password string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	}
	signIn := func() (got people.Session) {
		t.Helper()
		d.ask("", "POST", "/v1/sessions", "", basic("ana", password), "X-Forwarded-For: 203.0.113.1").into(d, &got)
		return got
	}
	session := signIn()
	before := highest(s.cmd.Process.Pid)

	var crowd sync.WaitGroup
	var refused, wrong atomic.Int64
	for n := range clients {
		crowd.Go(func() {
			for round := range rounds {
				name, from := fmt.Sprintf("eve%d-%d", n, round), fmt.Sprintf("X-Forwarded-For: 198.18.%d.%d", round*2+n/256, n%256)
				switch a := d.ask("", "GET", "/v1/self", "", basic(name, "wrong password"), from); {
				case a.status == http.StatusUnauthorized:
					wrong.Add(1)
				case a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "" && a.Code == string(app.Full):
					refused.Add(1)
				default:
					t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
			}
		})
	}
	for range 20 {
		for _, token := range []string{key, session.Token} {
			d.ask(token, "GET", "/v1/self", "").into(d, new(any))
		}
	}
	crowd.Wait()
	if wrong.Load() == 0 || refused.Load() == 0 || wrong.Load()+refused.Load() != clients*rounds {
		t.Errorf("%d were wrong, %d refused", wrong.Load(), refused.Load())
	}
	if counted := in.count("select count(*) from record.sign_in where subject like 'name/eve%'"); int64(counted) != wrong.Load() {
		t.Errorf("%d attempts are counted, %d passwords were checked", counted, wrong.Load())
	}
	if after := highest(s.cmd.Process.Pid); after > before+1<<30 { // two at once, and those that were not collected yet
		t.Errorf("the service took %d MiB more", (after-before)>>20)
	}
	signIn()
}
