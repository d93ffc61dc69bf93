package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// What is repeated of a failed test at the end.
const (
	messageLines = 5   // of one message: the rest is mostly a log
	firstLines   = 5   // of the test, when it has more than
	shownLines   = 15  // of the test
	lineBytes    = 400 // of a line
)

// place is how the package testing begins a message.
var place = regexp.MustCompile(`^ +([A-Za-z0-9_]+\.go):([0-9]+): `)

// messages returns the beginnings of what a test said by Error or Fatal, or the program
// in a panic, and not what it logged. The stream does not tell one from the other: what
// stands in the source at the message's place does.
func messages(source fs.FS, dir string, output []string) (said []string) {
	left := 0 // lines of this message
	for _, line := range output {
		line = strings.TrimRight(line, "\n")
		at := place.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "=== "), strings.HasPrefix(strings.TrimLeft(line, " "), "--- "):
			left = 0
			continue
		case len(at) > 2 && logs(source, path.Join(dir, at[1]), at[2]):
			left = 0
		case len(at) > 2, isPanic(line), strings.HasPrefix(line, "WARNING: DATA RACE"):
			left = messageLines
		}
		if left > 0 {
			left--
			said = append(said, line[:min(len(line), lineBytes)])
		}
	}
	if over := len(said) - shownLines; over > 0 {
		ends := said[firstLines+over:]
		said = append(said[:firstLines:firstLines], fmt.Sprintf("    … %d lines more", over))
		said = append(said, ends...)
	}
	return said
}

// logged returns the first of the lines that a test logged.
func logged(output []string) (said []string) {
	for _, line := range output {
		if line = strings.TrimRight(line, "\n"); place.MatchString(line) && len(said) < shownLines {
			said = append(said, line[:min(len(line), lineBytes)])
		}
	}
	return said
}

// logs reports whether a line of a file calls Log or Logf.
func logs(source fs.FS, name, line string) bool {
	text, err := fs.ReadFile(source, name)
	n, bad := strconv.Atoi(line)
	lines := strings.Split(string(text), "\n")
	return err == nil && bad == nil && n <= len(lines) && (strings.Contains(lines[n-1], ".Log(") || strings.Contains(lines[n-1], ".Logf("))
}
