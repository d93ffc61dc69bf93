package e2e

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestInterruptOfAWatchTellsThatTheBatchGoesOn: Ctrl-C ends the watching, not the
// batch.
func TestInterruptOfAWatchTellsThatTheBatchGoesOn(t *testing.T) {
	t.Parallel()
	env := ownSettings(t)
	depositor := httptest.NewServer(http.NotFoundHandler())
	defer depositor.Close()
	submit := program(t, env, "submit", "--profile", "maps", "--watch", depositor.URL+"/x.txt") // and no service runs
	errs, err := submit.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(errs)
	first, err := said.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, "bid0000000001 accepted") {
		t.Fatalf("%q, %v", first, err)
	}
	if err := submit.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	_ = submit.Wait()
	if code := submit.ProcessState.ExitCode(); code != 130 || !strings.Contains(string(rest), "bid0000000001 continues; follow it with `accession batch show bid0000000001 --watch`") {
		t.Errorf("exit code %d\n%s%s", code, first, rest)
	}
}
