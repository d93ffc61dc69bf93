// Command mutants breaks the program on purpose, one protection at a time, and checks
// that the test that is there for it fails. The table (table_*.go) names for
// each protection the function that holds it, the operation on its syntax tree that
// takes it away (ops.go), and the one test.
//
// The tree is not touched: `go test -overlay` compiles the changed text in the place
// of a file. All mutants of functions are in one program, which is built once and told by a
// variable of the environment which of them it is (together.go); one that is not found so, and
// those of constants and variables, are tried in a program of their own. A mutant counts as found
// only when its own test fails by itself. One
// that does not compile, that panics, or whose test hangs (unless the row says so)
// is an error of the table. Every test runs once without a mutant first and must
// pass.
//
// Exit code 1: a mutant was not found. 2: it could not be tried.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	only := flag.String("run", ".", "mutants whose name or function matches this regular expression")
	at := flag.Int("j", 2, "mutants tried at once")
	to := flag.String("overlay", "", "try nothing: write the one chosen to FILE.go and FILE.json, which `go test -overlay` takes")
	flag.Parse()
	all, err := tryAll(*only, *at, *to)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case !all:
		os.Exit(1)
	}
}

func tryAll(only string, at int, to string) (bool, error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	if to != "" {
		return true, lend(to, choose(chosen))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, os.Stdout, choose(chosen), at)
}

func choose(which *regexp.Regexp) []Mutant {
	var chosen []Mutant
	for _, m := range Mutants() {
		if which.MatchString(m.Name) || which.MatchString(m.At) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}
