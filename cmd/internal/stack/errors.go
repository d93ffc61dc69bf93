package stack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrLocked is the error of Start and Remove when a stack runs in the directory.
var ErrLocked = errors.New("another stack runs in this directory")

// ServerError is the failure of one server in one step, with the end of its log.
type ServerError struct {
	Server Server
	Op     string // prepare, start, run, stop, kill
	Err    error
	Log    string // path of its whole log
	Tail   string // the last lines of Log
}

func (e *ServerError) Error() string {
	text := fmt.Sprintf("stack: %s %s: %v", e.Op, e.Server, e.Err)
	if e.Tail == "" {
		return text
	}
	return fmt.Sprintf("%s\n  end of %s:\n    %s", text, e.Log, strings.ReplaceAll(e.Tail, "\n", "\n    "))
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// How much of a log an error shows: enough for the head of a Java stack trace.
const (
	tailBytes = 4096
	tailLines = 15
)

// tail returns the last lines of a log file, "" when there are none.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if from := len(data) - tailBytes; from > 0 {
		_, data, _ = bytes.Cut(data[from:], []byte("\n")) // begins in the middle of a line
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// MissingTool is something that a stack needs and the machine lacks.
type MissingTool struct {
	Name    string // a program or file
	Package string // the Debian and Ubuntu package that brings it
}

// MissingError lists all that must be installed before a stack can start.
type MissingError struct{ Tools []MissingTool }

func (e *MissingError) Error() string {
	var names, packages []string
	for _, t := range e.Tools {
		names = append(names, t.Name)
		packages = append(packages, t.Package)
	}
	return fmt.Sprintf("stack: not installed: %s: run `make setup` (Debian packages: %s), or use compose.yaml",
		strings.Join(names, ", "), strings.Join(packages, " "))
}

// Missing returns what is not installed, in the order in which to install it; empty
// when a stack can start.
func Missing() (missing []MissingTool) {
	_, noJava := findJava()
	_, noPostgres := findPostgres("")
	_, noZooKeeper := os.Stat(zooKeeperJar)
	_, noLogger := os.Stat(loggerJar)
	for _, t := range []struct {
		tool MissingTool
		err  error
	}{
		{MissingTool{"java", "default-jre-headless"}, noJava}, {MissingTool{zooKeeperJar, "libzookeeper-java"}, noZooKeeper},
		{MissingTool{loggerJar, "libslf4j-java"}, noLogger}, {MissingTool{"initdb and postgres", "postgresql"}, noPostgres},
	} {
		if t.err != nil {
			missing = append(missing, t.tool)
		}
	}
	return missing
}
