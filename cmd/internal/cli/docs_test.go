package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/config"
)

var update = flag.Bool("update", false, "update docs/cli.md and docs/output.schema.json")

const page = "../../../docs/cli.md"

// all returns every command that does something or groups others.
func all(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			list = append(list, all(sub)...)
		}
	}
	return list
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, c := range all((&program{}).root()) {
		name := c.CommandPath()
		if c.Short == "" || c.Long == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: Short %q, Long %q", name, c.Short, c.Long)
		}
		if c.Runnable() && c.Example == "" {
			t.Errorf("%s has no example", name)
		}
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  accession ") {
				t.Errorf("%s: the example %q does not call the program", name, line)
			}
		}
		for line := range strings.Lines(c.Long) {
			if len([]rune(line)) > 90 {
				t.Errorf("%s: a line of the help is too long: %q", name, line)
			}
		}
		for line := range strings.Lines(c.LocalFlags().FlagUsages()) {
			if len(strings.Fields(line)) < 4 {
				t.Errorf("%s: a flag is not explained: %q", name, line)
			}
		}
	}
}

// quoted is a word of an example that holds spaces.
var quoted = regexp.MustCompile(`"[^"]*"`)

// TestExamplesAreUnderstood parses each example's flags and arguments.
func TestExamplesAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, c := range all((&program{}).root()) {
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			if i := strings.IndexAny(line, "|>"); i >= 0 {
				line = line[:i]
			}
			args := strings.Fields(quoted.ReplaceAllString(line, "x"))[1:]
			root := (&program{}).root()
			found, rest, err := root.Find(args)
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil && found.Args != nil {
				err = found.Args(found, found.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), line, err)
			}
		}
	}
}

func TestDocumentationOfTheCommandLine(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writePage(&b)
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatalf("%v; write it with `make generate`", err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/cli.md is out of date; run `make generate`:\n%s", diff)
	}
}

func writePage(w io.Writer) {
	root := (&program{}).root()
	fmt.Fprint(w, "# The command line\n\nGenerated from the commands by `make generate`; `accession help COMMAND` shows the same.\n\n")
	fmt.Fprintf(w, "%s\n\n", root.Long)
	fmt.Fprint(w, "Answers are tables for people, or JSON with `-o json`, which [output.schema.json](output.schema.json) describes: `urn:accession:output#job-show` is what `accession job show` writes. Errors are two lines on the error stream: `accession: WHAT: WHY`, and `hint: …` with what to do next; with `-o json` one object on one line, the problem that the service would answer with: `{\"title\":…,\"status\":…,\"detail\":…,\"code\":…,\"hint\":…,\"exit\":…}`. Lists in JSON are `{\"items\":[…],\"total\":N,\"next\":CURSOR}`: more than 10,000 have no total, `--cursor CURSOR` shows the next page, and without `next` there is none. A command that takes several things writes such a list also for one: each item is what the service answers about it, or its `id` and the problem as `error`.\n\n`accession completion bash`, or `zsh`, `fish` or `powershell`, writes what makes a shell complete commands, flags, states, profiles, collections, queues, and the newest ids of batches and queries, and ids of jobs and files.\n\n")
	fmt.Fprint(w, "## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, c := range exit.Codes {
		fmt.Fprintf(w, "| %d | %s |\n", c.Code, c.About)
	}
	fmt.Fprintf(w, "\n## Flags of every command\n\n```\n%s```\n", root.PersistentFlags().FlagUsages())
	fmt.Fprint(w, "\n## Commands\n")
	for _, c := range all(root)[1:] {
		if !c.Runnable() || c.Name() == "exit-codes" {
			continue
		}
		fmt.Fprintf(w, "\n### %s\n\n%s\n\n```\n%s\n```\n", c.CommandPath(), c.Long, strings.TrimRight(c.Example, "\n"))
		if c.HasAvailableLocalFlags() {
			fmt.Fprintf(w, "\n```\n%s```\n", c.LocalFlags().FlagUsages())
		}
	}
	fmt.Fprint(w, "\n## Settings\n\n")
	fmt.Fprintf(w, "Each is given as `--set KEY=VALUE`, as `%sKEY` in the environment, or as `KEY: VALUE` in the file that `--config` or `%sCONFIG` names; the first source that has one wins. Settings with * may hold a password, which is never shown; they can also be read from the file that `%sKEY_FILE` names. What each does is in the comments of `cmd/internal/config/config.go`.\n\n| key | default | bounds |\n|---|---|---|\n", config.EnvPrefix, config.EnvPrefix, config.EnvPrefix)
	for _, s := range (config.Resolved{}).Rows() {
		star := ""
		if s.Secret {
			star = " *"
		}
		fmt.Fprintf(w, "| `%s`%s | %s | %s |\n", s.Name, star, s.Default, s.Bounds)
	}
}
