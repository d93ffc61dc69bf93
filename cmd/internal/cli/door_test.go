package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// The reasons why a command is not over HTTP.
const (
	isServers = "it runs, rebuilds, compares or restores servers"
	isFiles   = "it is about files of the machine alone"
	isPublish = "it publishes to NATS, and an operator of the service tells those who follow"
	isCommand = "it runs another command, on servers of its own"
	isOwn     = "it says something of the program, and asks no server"
)

// notOverHTTP are the commands that ask no service, with the reason; with flags, one that does
// so only with them.
var notOverHTTP = map[string]string{
	"compute worker": "it runs a command on this machine, under a session with ZooKeeper",
	"serve":          isServers, "sweep": "it is the sweeper of serve, once, which every installation runs", "migrate": isServers, "rebuild": isServers, "diff": isServers, "verify": isServers,
	"restore zookeeper": isServers, "restore log": isServers, "stack": isServers, "stack exec": isCommand, "demo": isServers,
	"replay --publish x": isPublish, "profile check": isFiles, "submit --drop --profile maps a.tif": "it puts a file into the drop folder of the machine; without --drop it is sent",
	"queue simulate": isFiles, "manifest check": isFiles, "manifest make": isFiles,
	"config print": isOwn, "config sample": isOwn, "profile init": isOwn, "config check": isOwn, "version": isOwn, "schema": isOwn, "report ls": isOwn, "logout": "it forgets what is kept on this machine, and ends the session if the service answers",
}

// instead are command lines in place of the first example of a command.
var instead = map[string]string{
	"login": "login", "query answer": "query answer FILE", "query submit": "query submit FILE", "report": "report retries",
	"submit": "submit --profile maps FILE", "user password": "user password ana --stdin",
}

// TestEveryCommandIsOverHTTP: with --server each command asks the service, or is listed with
// the reason why not.
func TestEveryCommandIsOverHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("local:none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asks := func(args ...string) (asked bool, errs string) {
		var n atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"code":"refused","detail":"ask: not now","exit":3}`)
		}))
		defer s.Close()
		var e bytes.Buffer
		Main(t.Context(), append([]string{"--server", s.URL}, args...), IO{In: strings.NewReader("a long password\n"), Out: io.Discard, Err: &e, Environ: []string{"HOME=" + dir, "ACCESSION_API_KEY=x"}})
		return n.Load() > 0, e.String()
	}
	listed := map[string]bool{}
	for _, c := range all((&program{}).root()) {
		name := strings.TrimPrefix(c.CommandPath(), "accession ")
		if !c.Runnable() || c.HasSubCommands() && c.Name() != "report" && c.Name() != "stack" || c.Hidden {
			continue
		}
		if notOverHTTP[name] != "" {
			listed[name] = true
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
		line, _, _ = strings.Cut(line, " |")
		line, _, _ = strings.Cut(line, " >")
		args := strings.Fields(quoted.ReplaceAllString(line, "x"))[1:]
		if text := instead[name]; text != "" {
			args = strings.Fields(strings.ReplaceAll(text, "FILE", file))
		}
		if c.Flags().Lookup("yes") != nil {
			args = append(args, "--yes")
		}
		if asked, errs := asks(args...); !asked {
			t.Errorf("accession %s asks no service, and is not listed with a reason: %s", strings.Join(args, " "), errs)
		}
	}
	for name, why := range notOverHTTP {
		words := strings.Fields(name)
		if !listed[name] && !strings.Contains(name, " --") {
			t.Errorf("%s is no command", name)
		}
		if why == isServers || strings.Contains(name, " --") {
			if asked, errs := asks(words...); asked || !strings.Contains(errs, errNotOverHTTP.Error()) {
				t.Errorf("accession %s: asked %t: %s", name, asked, errs)
			}
		}
	}
}
