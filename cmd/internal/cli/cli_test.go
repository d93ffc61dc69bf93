package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/domain"
)

// call runs a command line.
func call(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), args, IO{Out: &o, Err: &e, Environ: environ})
	return code, o.String(), e.String()
}

// nowhere returns settings under which no server answers.
func nowhere(t *testing.T) []string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	dir, at := t.TempDir(), l.Addr().String()
	if err := os.Mkdir(filepath.Join(dir, "profiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	profile := "name: maps\ncollection: maps\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}\n"
	if err := os.WriteFile(filepath.Join(dir, "profiles", "maps.yaml"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"ACCESSION_NATS=nats://" + at, "ACCESSION_POSTGRES=postgres://me:s3cret@" + at + "/x", "ACCESSION_DATA_DIR=" + dir}
}

func TestExitCodesAndMessages(t *testing.T) {
	t.Parallel()
	env := nowhere(t)
	for _, c := range []struct {
		args string
		code int
		says []string // of the error stream
	}{
		{"", 0, nil},
		{"version", 0, nil},
		{"help exit-codes", 0, nil},
		{"config check", 0, nil},
		{"batch", 0, nil},
		{"bach", 2, []string{`accession: unknown command "bach" for "accession"; did you mean batch?`, "hint: `accession --help` explains the command"}},
		{"batch lst", 2, []string{`unknown command "lst" for "accession batch"`, "hint: `accession batch --help`"}},
		{"batch ls --colour", 2, []string{"unknown flag: --colour", "hint: `accession batch ls --help`"}},
		{"batch ls extra", 2, []string{"unknown command \"extra\""}},
		{"batch ls --state odd", 2, []string{`"odd" for "--state" flag: choose one of pending, held`}},
		{"batch show", 2, []string{"give one batch id, not 0 arguments"}},
		{"batch show 42", 2, []string{`"42" is not an id: want bid and 10 digits`}},
		{"job show bid0000000001", 2, []string{`"bid0000000001" is not an id: want jid`}},
		{"job ls --state odd", 2, []string{`"--state" flag: choose one of`}},
		{"events ls --job x", 2, []string{`"x" is not an id`}},
		{"events ls --since yesterday", 2, []string{`"yesterday" is not a time: give a date`}},
		{"job show jid0000000001 --at noon", 2, []string{`"noon" is not a time`}},
		{"batch show bid0000000001 --at 7", 5, []string{"accession: nats: "}},
		{"replay --format odd", 2, []string{`"odd" for "--format" flag: choose one of table, jsonl, csv, parquet`}},
		{"replay --out x --publish y", 2, []string{"[out publish] were all set"}},
		{"replay --type job.exploded", 2, []string{`no event type is "job.exploded"`, "hint: batch.*, job.*"}},
		{"replay --from 5 --to 4", 2, []string{"from 5 to 4 there is nothing"}},
		{"replay", 5, []string{"accession: nats: "}},
		{"events tail --batch x", 2, []string{`"x" is not an id`}},
		{"status -o xml", 2, []string{`"xml" for "-o, --output" flag: choose one of table, json`}},
		{"rebuild --drop --resume", 2, []string{"[drop resume] were all set", "hint: `accession rebuild --help`"}},
		{"batch show bid0000000001 --watch --at 7", 2, []string{"[at watch] were all set"}},
		{"verify --yes", 2, []string{"--yes needs --repair"}},
		{"poison retry", 2, []string{"give one aggregate, such as job/jid0000000042, or --all"}},
		{"poison retry --all job/jid0000000042", 2, []string{"give one aggregate, such as job/jid0000000042, or --all"}},
		{"poison show first", 2, []string{`"first" is not a sequence of the log`}},
		{"stack exec", 2, []string{"give at least one command after --"}},
		{"sweep now", 2, []string{"unknown command \"now\""}},
		{"sweep", 5, []string{"accession: nats: ", "hint: is it running?"}},
		{"file requeue", 2, []string{"give at least one file hash"}},
		{"file requeue 42", 2, []string{`"42" is not a file's hash: want 64`}},
		{"file skip " + sampleHash, 2, []string{"leaving a file out needs a reason", "hint: say why with --reason"}},
		{"file skip --reason unwanted " + sampleHash, 5, []string{"accession: nats: "}},
		{"serve --roles cook", 2, []string{`there is no role "cook": choose all, daemons, relay, projector, sweeper, transfer, discover, download, ready, auditor, types`}},
		{"--set nonsense config check", 2, []string{"nonsense (flag --set): it has no ="}},
		{"--set outbox_shards=0 --log-level loud config check", 2, []string{"faults in the settings: 2", "outbox_shards (flag)", "log_level (flag)", "hint: `accession config print`"}},
		{"--set outbox_shards=0 batch ls", 2, []string{"outbox_shards (flag): 0 is out of bounds"}},
		{"batch report bid0000000001 --limit 0", 2, []string{`"0" for "--limit" flag: give a whole number, at least 1`}},
		{"batch show bid0000000001 --limit 0", 2, []string{`"0" for "--limit" flag: give a whole number, at least 1`}},
		{"batch ls --limit 0", 2, []string{`"0" for "--limit" flag: give a whole number, at least 1`}},
		{"job ls --limit -1", 2, []string{`"-1" for "--limit" flag: give a whole number, at least 1`}},
		{"file ls --limit 0", 2, []string{`"0" for "--limit" flag: give a whole number, at least 1`}},
		{"foo", 2, []string{"unknown command \"foo\" for \"accession\"\n"}},
		{"submit file.txt", 2, []string{"submit: no profile is given", "hint: name the collection's profile with --profile; `accession profile ls`"}},
		{"submit --profile maps --mode sideways --digest md5:1 ftp://h/x", 2, []string{"mode \"sideways\"", "digest: the digest has 1 digits", "neither http nor https"}},
		{"submit --profile maps --mode update https://h/x.txt", 2, []string{"an update must name its object", "hint: give its identifier with --identifier"}},
		{"submit --profile maps --title " + strings.Repeat("x", 5000) + " https://h/x.txt", 2, []string{"the title has 5000 bytes"}},
		{"submit --profile maps no-such-file", 4, []string{"submit: open no-such-file", "hint: give the path of a file, or a URL"}},
		{"submit --profile charts https://example.org/x.txt", 4, []string{`no profile is named "charts"; known are: maps`}},
		{"batch ls", 5, []string{"accession: postgres: ", "hint: is it running? The setting postgres says that it is at postgres://me:xxxxx@127.0.0.1:"}},
		{"migrate", 5, []string{"accession: postgres: "}},
		{"events tail", 5, []string{"accession: nats: ", "hint: is it running? The setting nats says"}},
		{"--set listen_ops=off serve", 5, []string{"accession: postgres: "}},
	} {
		code, out, errs := call(t, env, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("accession %s: exit code %d, want %d\n%s", c.args, code, c.code, errs)
		}
		for _, want := range c.says {
			if !strings.Contains(errs, want) {
				t.Errorf("accession %s: the error does not say %q:\n%s", c.args, want, errs)
			}
		}
		if c.code == 0 && (out == "" || errs != "") || c.code != 0 && errs == "" {
			t.Errorf("accession %s: output %q, errors %q", c.args, out, errs)
		}
		if strings.Contains(out+errs, "s3cret") {
			t.Errorf("accession %s shows a password:\n%s%s", c.args, out, errs)
		}
	}
}

func TestHelpOfExitCodesIsComplete(t *testing.T) {
	t.Parallel()
	_, out, _ := call(t, nil, "help", "exit-codes")
	for _, c := range exit.Codes {
		if !strings.Contains(out, fmt.Sprintf("%3d  %s\n", c.Code, c.About)) {
			t.Errorf("%d is not explained:\n%s", c.Code, out)
		}
	}
}

// TestHelpNamesEveryRole: who reads the help of serve learns of every role, and what it does.
func TestHelpNamesEveryRole(t *testing.T) {
	t.Parallel()
	_, help, _ := call(t, nil, "serve", "--help")
	_, list, _ := strings.Cut(help, "--roles LIST")
	for _, role := range slices.Concat(run.AllRoles, run.OptionalRoles) {
		if !strings.Contains(help, "\n  "+role+" ") || !strings.Contains(list, " "+role) {
			t.Errorf("the role %s is missing in\n%s", role, help)
		}
	}
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{exit.Usagef("x"), 2},
		{config.Faults{{Key: "x"}}, 2},
		{&app.Error{Kind: app.Invalid, Err: errors.New("x")}, 2},
		{&app.Error{Kind: app.Refused, Err: &domain.Refused{}}, 3},
		{fmt.Errorf("start: %w", stack.ErrLocked), 3},
		{&app.Error{Kind: app.NotFound, Err: fs.ErrNotExist}, 4},
		{&app.Error{Kind: app.Unavailable, Err: errors.New("x")}, 5},
		{exit.Error(exit.BatchFailed), 6},
		{&app.Error{Kind: app.Full, Err: errors.New("x")}, 7},
		{&app.Error{Kind: app.Failed, Err: errors.New("x")}, 1},
		{&app.Error{Kind: app.Interrupted, Err: errors.New("x")}, 130},
		{&stack.MissingError{Tools: []stack.MissingTool{{Name: "java"}}}, 1},
		{exit.ErrInterrupted, 130},
		{fmt.Errorf("x: %w", context.Canceled), 130},
	} {
		if code, _ := exit.Explain(c.err); code != c.code {
			t.Errorf("%v has exit code %d, want %d", c.err, code, c.code)
		}
	}
}

func TestConfigPrintIsForProgramsToo(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, nowhere(t), "config", "print", "-o", "json")
	var list app.Page[config.Row]
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list.Items) != len(config.Resolved{}.Rows()) {
		t.Errorf("code %d, %v, %s%s", code, err, out, errs)
	}
}

// What a signal ends says no more than that, unless it has to tell how things stand.
func TestInterruptedTellsHowThingsStand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(exit.ErrInterrupted)
	c := &cobra.Command{}
	c.SetContext(ctx)
	stands := &app.Error{Kind: app.Interrupted, Err: errors.New("x")}
	for _, k := range []struct{ err, want error }{
		{errors.New("x"), exit.ErrInterrupted}, {&app.Error{Kind: app.Unavailable, Err: errors.New("x")}, exit.ErrInterrupted}, {stands, stands}, {nil, nil},
	} {
		err := (&program{}).run(func(context.Context, []string) error { return k.err })(c, nil)
		if !errors.Is(err, k.want) {
			t.Errorf("%v became %v, want %v", k.err, err, k.want)
		}
	}
}
