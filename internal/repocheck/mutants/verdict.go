package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// verdict is what came of a run.
type verdict string

const (
	found     verdict = "red"            // the test failed by itself
	survived  verdict = "NOT NOTICED"    // it passed
	absent    verdict = "NO SUCH TEST"   // it did not run
	unbuilt   verdict = "NOT COMPILED"   // the mutant is no program
	panicked  verdict = "PANIC"          // the test's process ended early
	hung      verdict = "HANGS"          // the test waited until its time was over
	redAnyhow verdict = "RED ANYHOW"     // it fails without the mutant too
	unclear   verdict = "NO TEST RESULT" // the process ended without one
)

// event is one line of `go test -json`.
type event struct {
	Action, Test, Output string
	FailedBuild          string
}

// judge reads what `go test -json` wrote about one test.
func judge(stream []byte, test string) verdict {
	ran, result := false, ""
	panics, times := false, false
	for line := range bytes.Lines(stream) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch {
		case e.Action == "build-fail" || e.FailedBuild != "":
			return unbuilt
		case strings.HasPrefix(e.Output, "panic: test timed out"):
			times = true
		case strings.HasPrefix(e.Output, "panic: "), strings.HasPrefix(e.Output, "fatal error: "):
			panics = true
		case e.Test != test:
		case e.Action == "run":
			ran = true
		case e.Action == "pass", e.Action == "fail":
			result = e.Action
		}
	}
	switch {
	case times && ran:
		return hung
	case panics:
		return panicked
	case !ran:
		return absent
	case result == "fail":
		return found
	case result == "pass":
		return survived
	}
	return unclear
}
