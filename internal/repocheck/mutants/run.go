package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Time limits of a test's process.
const (
	limit     = "90s"
	limitHang = "20s" // where waiting for ever is the failure
)

// result is what came of one mutant.
type result struct {
	verdict verdict
	took    time.Duration
	output  []byte
}

// run tries the mutants, prints the table, and reports whether all were found. An
// error says that they could not be tried.
func run(ctx context.Context, out io.Writer, all []Mutant, at int) (bool, error) {
	root, err := findRoot()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	changed := make([]changedFile, len(all))
	for i, m := range all {
		if changed[i], err = m.mutate(root); err != nil {
			return false, err
		}
	}
	results := make([]result, len(all))
	t, err := joined(root, all, changed)
	if err != nil {
		return false, err
	}
	if t.overlaid, err = t.overlay(root, dir); err != nil {
		return false, err
	}
	green, err := baseline(ctx, out, root, all, results, t)
	if err != nil {
		return false, err
	}
	running := make(chan struct{}, max(at, 1))
	var mu sync.Mutex
	var tries sync.WaitGroup
	errs := make([]error, len(all))
	for i, m := range all {
		if !green[i] {
			continue
		}
		running <- struct{}{}
		tries.Go(func() {
			defer func() { <-running }()
			if t.has[i] {
				began := time.Now()
				stream := t.test(ctx, root, m.Package, fmt.Sprint(i), "-test.timeout="+m.limit(), "-test.run="+m.pattern())
				results[i] = result{m.weigh(judge(stream, m.Test)), time.Since(began), stream}
			}
			if results[i].verdict != found { // alone, in a program of its own
				results[i], errs[i] = try(ctx, root, filepath.Join(dir, fmt.Sprint(i)), m, changed[i])
			}
			if errs[i] != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(out, "%-14s %5.1f s  %s: %s\n", results[i].verdict, results[i].took.Seconds(), m.Name, m.Test)
		})
	}
	tries.Wait()
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return summary(out, all, results), nil
}

// summary prints what was not found, in full.
func summary(out io.Writer, all []Mutant, results []result) bool {
	missed := 0
	for i, m := range all {
		r := results[i]
		if r.verdict == found {
			continue
		}
		missed++
		fmt.Fprintf(out, "\n%s: %s\n  in %s, by %s of %s\n%s", r.verdict, m.Name, m.At, m.Test, m.Package, readable(r.output))
	}
	fmt.Fprintf(out, "\n%d of %d mutants noticed\n", len(all)-missed, len(all))
	return missed == 0
}

// weigh makes a verdict the one that the row promises, if it promises it.
func (m Mutant) weigh(v verdict) verdict {
	if m.Hangs && v == hung {
		return found
	}
	return v
}

// baseline runs all tests of the table without a mutant, a package at a time. It reports
// which passed, and fills in the results of the others. The program is that which has all
// mutants.
func baseline(ctx context.Context, out io.Writer, root string, all []Mutant, results []result, t *together) ([]bool, error) {
	green := make([]bool, len(all))
	of := map[string][]int{}
	var order []string
	for i, m := range all {
		if of[m.Package] == nil {
			order = append(order, m.Package)
		}
		of[m.Package] = append(of[m.Package], i)
	}
	for _, pkg := range order {
		began := time.Now()
		if err := t.build(ctx, root, pkg); err != nil {
			return nil, err
		}
		var patterns []string
		for _, i := range of[pkg] {
			if p := all[i].pattern(); !slices.Contains(patterns, p) {
				patterns = append(patterns, p)
			}
		}
		stream := t.test(ctx, root, pkg, "", "-test.timeout=10m", "-test.run="+strings.Join(patterns, "|"))
		passed := 0
		for _, i := range of[pkg] {
			v := judge(stream, all[i].Test)
			if green[i] = v == survived; green[i] {
				passed++
				continue
			}
			if v == found {
				v = redAnyhow
			}
			results[i] = result{verdict: v, output: stream}
		}
		fmt.Fprintf(out, "%-14s %5.1f s  %s: %d of %d pass as the program is\n", "", time.Since(began).Seconds(), pkg, passed, len(of[pkg]))
	}
	return green, ctx.Err()
}

// limit is how long the row's test may take.
func (m Mutant) limit() string {
	if m.Hangs {
		return limitHang
	}
	return limit
}

// try runs the row's test with the changed file in the place of its own.
func try(ctx context.Context, root, name string, m Mutant, changed changedFile) (result, error) {
	began := time.Now()
	if err := changed.overlay(root, name); err != nil {
		return result{}, err
	}
	stream := goTest(ctx, root, m.Package, name+".json", "-timeout="+m.limit(), "-run="+m.pattern())
	return result{m.weigh(judge(stream, m.Test)), time.Since(began), stream}, ctx.Err()
}

// overlay writes NAME.go, the changed file, and NAME.json, which puts it in the place
// of its own for `go test -overlay`.
func (c changedFile) overlay(root, name string) error {
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, filepath.FromSlash(c.path)): name + ".go"}})
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(name+".go", []byte(c.text), 0o600), os.WriteFile(name+".json", overlay, 0o600))
}

// lend writes the overlay of the one mutant that was chosen, for tests that run it
// otherwise.
func lend(name string, chosen []Mutant) error {
	if len(chosen) != 1 {
		return fmt.Errorf("%d mutants match: choose one", len(chosen))
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	changed, err := chosen[0].mutate(root)
	if err != nil {
		return err
	}
	return changed.overlay(root, name)
}

// goTest returns what `go test -json` writes. Its exit code says nothing more. The
// overlay, if there is one, holds for programs too that the test builds.
func goTest(ctx context.Context, root, pkg, overlay string, args ...string) []byte {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json", "-count=1", "-vet=off"}, args, []string{"./" + pkg})...)
	cmd.Dir = root
	cmd.Env = overlaid(overlay)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stream, _ := cmd.CombinedOutput()
	return stream
}

// overlaid is the environment in which programs are built with an overlay, and tests take all steps
// of which a run takes a share.
func overlaid(overlay string) []string {
	return append(os.Environ(), "ACCESSION_TEST_STEPS=all", "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
}

// mostLines is how much of a test's output is shown: one that hangs lists every
// goroutine.
const mostLines = 60

// readable returns the beginning of a stream's outputs.
func readable(stream []byte) string {
	var b strings.Builder
	lines := 0
	for line := range strings.Lines(string(stream)) {
		if lines++; lines > mostLines {
			b.WriteString("…\n")
			break
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			b.WriteString(line)
			continue
		}
		b.WriteString(e.Output)
	}
	return b.String()
}
