package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// command prepares the program with this installation's settings, which arguments
// may change.
func (in *installation) command(args ...string) *exec.Cmd {
	in.t.Helper()
	if in.program == "" {
		var err error
		in.program, err = released()
		in.must(err)
	}
	return in.commandOf(in.program, args...)
}

// commandOf prepares another build of it.
func (in *installation) commandOf(binary string, args ...string) *exec.Cmd {
	in.calls.Add(1)
	var all []string
	for key, value := range in.settings {
		all = append(all, "--set", key+"="+value)
	}
	cmd := exec.Command(binary, append(all, args...)...) //nolint:noctx // the test ends it by signals
	cmd.Env = append(os.Environ(), in.environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs the program to its end and returns what it printed.
func (in *installation) run(args ...string) string {
	in.t.Helper()
	cmd := in.command(args...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		in.t.Fatalf("accession %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	written(in.t, args, string(out), "")
	return string(out)
}

// call runs a command line in this process and returns its exit code and what it writes.
func (in *installation) call(args ...string) (code int, out, errs string) {
	in.t.Helper()
	in.calls.Add(1)
	all := slices.Clone(args)
	for key, value := range in.settings {
		all = append(all, "--set", key+"="+value)
	}
	var o, e bytes.Buffer
	code = cli.Main(in.ctx(), all, cli.IO{Out: &o, Err: &e})
	written(in.t, args, o.String(), e.String())
	return code, o.String(), e.String()
}

// says runs a command line, which must end with the code and say all of this.
func (in *installation) says(code int, args []string, texts ...string) string {
	in.t.Helper()
	got, out, errs := in.call(args...)
	if got != code {
		in.t.Fatalf("accession %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			in.t.Errorf("accession %s does not say %q:\n%s%s", strings.Join(args, " "), text, out, errs)
		}
	}
	return out
}

func words(s string) []string { return strings.Fields(s) }

// submit deposits and returns the batch.
func (in *installation) submit(d app.Deposit) domain.BatchID {
	in.t.Helper()
	d.Profile, d.Submitter = "test", "tester"
	s, err := in.app.Submit(in.ctx(), d)
	if err != nil {
		in.t.Fatalf("submit %s: %v", d.Payload, err)
	}
	return s.Batch
}

// service is one `accession serve`: a process, or run.Service in the test's own.
type service struct {
	in   *installation
	log  *lockedBuffer
	once sync.Once

	cmd    *exec.Cmd // of a process, else nil
	cancel context.CancelFunc
	ended  chan error
}

// serve starts one with further arguments.
func (in *installation) serve(args ...string) *service { return in.serveAt("", args...) }

// serveAt starts one with variables such as that which names a crash point,
// NAME=point, with spaces between them.
func (in *installation) serveAt(env string, args ...string) *service {
	in.t.Helper()
	s := &service{in: in, cmd: in.command(append([]string{"serve"}, args...)...), log: &lockedBuffer{}}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = append(s.cmd.Env, strings.Fields(env)...)
	in.must(s.cmd.Start())
	in.t.Cleanup(func() {
		s.kill()
		if in.t.Failed() {
			in.t.Logf("log of serve %d:\n%s", s.cmd.Process.Pid, s.log.tail(6000))
		}
	})
	return s
}

// serveInProcess runs the service with these roles, or all, until stop is called or
// the test ends, and returns when it is ready.
func (in *installation) serveInProcess(roles ...run.Role) *service {
	in.t.Helper()
	if len(roles) == 0 {
		roles = run.AllRoles
	}
	s := &service{in: in, log: &lockedBuffer{}, ended: make(chan error, 1)}
	level := slog.LevelInfo
	in.must(level.UnmarshalText([]byte(in.cfg.LogLevel)))
	ready := make(chan struct{})
	program := &run.Service{Config: in.cfg, Roles: roles, Version: "test", Ready: func() { close(ready) },
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: level}))}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() { s.ended <- program.Run(ctx) }()
	in.t.Cleanup(func() {
		s.stop()
		if in.t.Failed() {
			in.t.Logf("log of %v:\n%s", roles, s.log.tail(20_000))
		}
	})
	select {
	case <-ready:
	case err := <-s.ended:
		s.ended <- err
		in.t.Fatalf("the service did not start: %v", err)
	}
	return s
}

// kill ends the process as a power cut would.
func (s *service) kill() {
	s.once.Do(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
}

// stop ends the service as an operator does, in order.
func (s *service) stop() {
	s.in.t.Helper()
	s.once.Do(func() {
		var err error
		if s.cmd == nil {
			s.cancel()
			err = <-s.ended
		} else {
			s.in.should(s.cmd.Process.Signal(syscall.SIGTERM))
			err = s.cmd.Wait()
		}
		if err != nil {
			s.in.t.Errorf("the service did not stop in order: %v", err)
		}
	})
}

func (s *service) signal(sig os.Signal) {
	s.in.t.Helper()
	s.in.must(s.cmd.Process.Signal(sig))
}

var operatorsAt = regexp.MustCompile(`operators are answered"[ ,]"?address(?:=|":")([0-9.:]+)`)

// asked asks the service's listener for operators; 0 = it does not answer.
func (s *service) asked(path string) (code int, text string) {
	at := operatorsAt.FindStringSubmatch(s.log.String())
	if at == nil {
		return 0, "it does not say where operators are answered"
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + at[1] + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// get is asked for what must be answered.
func (s *service) get(path string) string {
	s.in.t.Helper()
	code, text := s.asked(path)
	if code != http.StatusOK {
		s.in.t.Fatalf("%s answers %d: %s", path, code, text)
	}
	return text
}

// until waits until /readyz says so.
func (s *service) until(code int, says string) {
	s.in.t.Helper()
	last := ""
	waitFor(s.in.t, "/readyz to say "+says, func() bool {
		got, text := s.asked("/readyz")
		if text != last {
			s.in.t.Logf("/readyz: %d %s", got, text)
			last = text
		}
		return got == code && strings.HasPrefix(text, says)
	})
}

// tells waits until the service's log has a text.
func (s *service) tells(text string) {
	s.in.t.Helper()
	waitFor(s.in.t, "the service to log "+text, func() bool { return strings.Contains(s.log.String(), text) })
}

// lockedBuffer keeps what a service logs.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string { return l.tail(1 << 30) }

func (l *lockedBuffer) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	return s[max(0, len(s)-n):]
}
